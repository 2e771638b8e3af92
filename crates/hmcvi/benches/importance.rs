//! Time importance sampling of a variational auto-encoder, in turn with plain matrix products.
//!
//! `cargo bench -p hmcvi --bench importance` prints GFLOP/s of the matrix products of both and the median of their
//! ratios, for 20 latent dimensions, two hidden layers of 200, 784 pixels and 5,000 samples an image.
#![allow(clippy::print_stdout, unreachable_pub, missing_docs)]

use std::time::Instant;

use hmcvi::Problem;
use hmcvi::config::preset;
use hmcvi::device::Device;
use hmcvi::eval::{ImportanceSampler, Proposal};
use hmcvi_graph::Store;
use hmcvi_yardstick::plain_products;

const SAMPLES: usize = 5000;
const IMAGES: usize = 25;
const ROUNDS: usize = 9;
const THREADS: usize = 2;

fn main() {
    let model = Problem::of_run(&preset("basic-20d").expect("a preset"), 784);
    let store: Store<f32> = model.initial_values(1);
    let mut sampler = ImportanceSampler::new(&model, Proposal::Gaussian, SAMPLES, &Device::cpu(THREADS))
        .expect("it compiles");
    let x: Vec<f32> = (0..784).map(|i| f32::from(u8::from(i % 5 == 0))).collect();
    let proposal = (&[0.1f32; 20][..], &[-2f32; 20][..]);
    let mut run = |images: u64| {
        let start = Instant::now();
        for image in 0..images {
            sampler.run(&store, &x, proposal, SAMPLES, (1, image)).expect("it runs");
        }
        let flop = sampler.flop_per_sample() * SAMPLES as u64 * images;
        flop as f64 / start.elapsed().as_secs_f64() / 1e9
    };
    run(3);
    let mut rounds: Vec<[f64; 3]> = Vec::new();
    for _ in 0..ROUNDS {
        let (ours, plain) = (run(IMAGES as u64), plain_products(THREADS));
        rounds.push([ours / plain, ours, plain]);
    }
    rounds.sort_by(|a, b| a[0].total_cmp(&b[0]));
    let [ratio, ours, plain] = rounds[ROUNDS / 2];
    let (least, most) = (rounds[0][0], rounds[ROUNDS - 1][0]);
    println!(
        "importance sampling, {THREADS} threads: {ours:.1} GFLOP/s of {plain:.1} in plain products: {:.1}% ({:.1} to {:.1})",
        100.0 * ratio,
        100.0 * least,
        100.0 * most
    );
}
