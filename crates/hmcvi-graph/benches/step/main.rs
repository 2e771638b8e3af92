//! Time the HMCVI training step, in turn with the JAX peer if one is given.
mod model;
use std::time::Instant;
use hmcvi_graph::{CpuOptions, Run};
use model::Sizes;

fn main() {
    let args: Vec<String> = std::env::args().collect();
    let get = |k: &str, d: usize| args.iter().position(|a| a == k).map_or(d, |i| args[i + 1].parse().unwrap());
    let (batch, t, l, threads, tile, reps) = (get("--batch", 100), get("--t", 3), get("--l", 4), get("--threads", 2), get("--tile", 64), get("--reps", 8));
    let sizes = Sizes::paper(t, l);
    let program = model::training_step(sizes);
    let mut store = model::initial_store(sizes);
    let mut options = CpuOptions::for_rows(batch);
    options.threads = threads; options.tile_rows = tile;
    let mut exe = program.on_cpu::<f32>(options);
    eprintln!("{} MB", exe.bytes() / 1_000_000);
    let mut s = 1u32;
    let mut next = || { s = s.wrapping_mul(1664525).wrapping_add(1013904223); s >> 8 };
    let images: Vec<u8> = (0..2000 * 784).map(|_| if next() % 100 < 19 { (next() % 255) as u8 } else { 0 }).collect();
    let index: Vec<u32> = (0..batch as u32).map(|i| i % 2000).collect();
    let mut step = 0u64;
    let mut one = |exe: &mut hmcvi_graph::Executable<f32>| {
        step += 1;
        exe.run(&mut store, &Run { rows: batch, inputs: &[("learning_rate", &[1e-4]), ("count", &[step as f32])], data: &[("images", &images)], indices: &[("batch", &index)], seed: 7, step, row_offset: 0 }).unwrap();
    };
    for _ in 0..3 { one(&mut exe); }
    let steps = (20_000 / batch).clamp(3, 60);
    for _ in 0..reps {
        let start = Instant::now();
        for _ in 0..steps { one(&mut exe); }
        let us = start.elapsed().as_secs_f64() * 1e6 / (steps * batch) as f64;
        println!("{us:8.1} us per image, bound {}", exe.output("bound").unwrap()[0]);
    }
}
