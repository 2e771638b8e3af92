//! Share rows out among processes with a GPU each, which are threads here that share a card: results are those of one, up
//! to the rounding of sums. Without a GPU every test says so and passes.
#![cfg(feature = "cuda")]
#![allow(
    missing_docs,
    clippy::print_stderr,
    reason = "tests are named for what they guard, and say where they are skipped"
)]

mod common;
#[path = "common/meeting.rs"]
mod meeting;
#[path = "common/training.rs"]
mod training;

use std::sync::Arc;

use common::on_cuda::{card, exact, required_nccl};
use hmcvi_graph::cuda::{
    CudaData, CudaDevice, CudaExecutable, CudaIndices, CudaRanks, CudaRun, CudaStore, Way,
};
use hmcvi_graph::{Alone, DataSet, Graph, Program, Ranks, Store};
use meeting::together;
use training::{IMAGES, SMALL, images, model, random_store};

/// Batches of many sizes, so that processes have different numbers of rows, and some have none.
const BATCHES: [usize; 6] = [170, 300, 41, 16, 3, 1];

fn prepared(
    program: &Program,
    device: &CudaDevice,
    rows: usize,
    ranks: Option<&Arc<CudaRanks>>,
) -> CudaExecutable {
    let options = exact(rows, (0, 0));
    let executable = match ranks {
        Some(ranks) => program.on_cuda_of_all(device, &options, ranks),
        None => program.on_cuda(device, &options),
    };
    executable.unwrap_or_else(|why| panic!("{why}"))
}

/// Parameters and bounds after a step on each of the batches.
fn train(device: &CudaDevice, ranks: Option<&Arc<CudaRanks>>) -> (Store<f32>, Vec<f32>) {
    let mut executable = prepared(&model::training_step(SMALL), device, 300, ranks);
    let mut store = CudaStore::upload(device, &random_store(SMALL)).expect("there is memory");
    let data = CudaData::upload(device, DataSet::Bytes(&images(SMALL))).expect("there is memory");
    for (step, rows) in BATCHES.into_iter().enumerate() {
        let batch: Vec<u32> = (0..rows).map(|i| ((i * 7 + step * 31) % IMAGES) as u32).collect();
        let run = CudaRun {
            rows,
            inputs: &[("learning_rate", &[1e-5]), ("count", &[step as f32 + 1.0])],
            data: &[("images", &data)],
            indices: &[("batch", CudaIndices::Host(&batch))],
            seed: 42,
            step: step as u64,
            ..CudaRun::default()
        };
        executable.run(&mut store, &run).expect("everything is given");
    }
    let bounds = executable.history().expect("it ran").output("bound").expect("an output");
    (store.download().expect("it is there"), bounds)
}

/// Largest difference of gradients' running means, relative to the largest of their tensor: parameters after Adam's steps
/// say nothing, since a step does not depend on the size of a gradient.
fn difference(a: &Store<f32>, b: &Store<f32>) -> f32 {
    let of_tensor = |(name, t): (&str, &hmcvi_graph::Tensor<f32>)| {
        let others = &b.get(name).expect("the same tensors").values;
        let scale = t.values.iter().fold(f32::MIN_POSITIVE, |most, x| most.max(x.abs()));
        t.values.iter().zip(others).map(|(x, y)| (x - y).abs() / scale).fold(0.0, f32::max)
    };
    a.iter().filter(|(name, _)| name.starts_with("adam.m.")).map(of_tensor).fold(0.0, f32::max)
}

/// What all processes have found is the same, and what one finds but for rounding.
#[track_caller]
fn agree(results: &[(Store<f32>, Vec<f32>)], (alone, bounds): &(Store<f32>, Vec<f32>)) {
    let size = results.len();
    for (store, found) in results {
        assert!(store.iter().zip(results[0].0.iter()).all(|(a, b)| a.1.values == b.1.values));
        assert_eq!(*found, results[0].1, "all processes have the same");
    }
    for (found, expected) in results[0].1.iter().zip(bounds) {
        assert!((found / expected - 1.0).abs() < 1e-4, "bound {found}, not {expected}, of {size}");
    }
    let error = difference(alone, &results[0].0);
    // Each may be this far from the gradient in f64 (`cuda_training`); steps are too short to add to that.
    assert!(error < 2.0 * 1e-4, "{size} processes differ by {error}");
}

#[test]
fn processes_that_share_a_card_agree_with_one() {
    let Some(device) = card() else { return };
    let alone = train(&device, None);
    for size in [2, 3] {
        let (results, moved) = together(size, |ranks| {
            let device = CudaDevice::new(0).expect("it was there");
            let ranks = CudaRanks::new(&device, ranks, Way::Usual).expect("it needs nothing");
            assert!(!ranks.is_by_nccl(), "one card");
            train(&device, Some(&Arc::new(ranks)))
        });
        assert!(moved > 0);
        agree(&results, &alone);
    }
}

#[test]
fn processes_with_a_card_each_agree_with_one_by_nccl() {
    let Some(device) = card() else { return };
    let cards = CudaDevice::count();
    if cards < 2 {
        eprintln!("skipped: sums from card to card need several of them");
        return;
    }
    let apart: Arc<dyn Ranks> = Arc::new(Alone);
    if required_nccl(CudaRanks::new(&device, apart, Way::Nccl)).is_none() {
        return;
    }
    let alone = train(&device, None);
    for size in 2..=cards.min(4) {
        let (results, _) = together(size, |ranks| {
            let device = CudaDevice::new(ranks.rank()).expect("there are so many");
            let ranks = CudaRanks::new(&device, ranks, Way::Usual).expect("NCCL is there");
            assert!(ranks.is_by_nccl(), "a card each");
            train(&device, Some(&Arc::new(ranks)))
        });
        agree(&results, &alone);
    }
}

#[test]
fn outputs_have_the_rows_of_all_processes() {
    let Some(device) = card() else { return };
    let graph = Graph::new();
    let x = graph.batch_input("x", 3);
    let sum = x.square().sum_cols();
    let total = sum.sum_rows();
    // A second stage of rows, which needs the sums of all of them, and draws that depend on the row's number.
    let share = sum / total + graph.uniform(3, 1).sum_cols();
    let program = graph.program().output("share", share).output("total", total);
    let program = program.compile().expect("well formed");
    let values: Vec<f32> = (0..3 * 250).map(|i| (i as f32 * 0.37).sin()).collect();
    let evaluate = |device: &CudaDevice, ranks: Option<&Arc<CudaRanks>>, rows: usize| {
        let mut executable = prepared(&program, device, 250, ranks);
        let store = CudaStore::upload(device, &Store::new()).expect("there is memory");
        let run =
            CudaRun { rows, inputs: &[("x", &values[..3 * rows])], row_offset: 5, ..CudaRun::default() };
        executable.evaluate(&store, &run).expect("everything is given");
        ["share", "total"].map(|name| executable.output(name).expect("an output"))
    };
    for rows in [250, 17, 2] {
        let alone = evaluate(&device, None, rows);
        assert_eq!((alone[0].len(), alone[1].len()), (rows, 1));
        let (results, _) = together(3, |ranks| {
            let device = CudaDevice::new(0).expect("it was there");
            let ranks = CudaRanks::new(&device, ranks, Way::Host).expect("it needs nothing");
            evaluate(&device, Some(&Arc::new(ranks)), rows)
        });
        assert!(results.iter().all(|found| *found == results[0]), "all processes have the same");
        for (found, expected) in results[0].iter().flatten().zip(alone.iter().flatten()) {
            assert!((found - expected).abs() < 1e-5 * expected.abs(), "{found}, not {expected}, of {rows}");
        }
    }
}

#[test]
fn one_process_has_the_same_bits_by_nccl() {
    let Some(device) = card() else { return };
    let alone: Arc<dyn Ranks> = Arc::new(Alone);
    let Some(ranks) = required_nccl(CudaRanks::new(&device, alone, Way::Nccl)) else { return };
    assert!(ranks.is_by_nccl());
    let (expected, bounds) = train(&device, None);
    let (found, found_bounds) = train(&device, Some(&Arc::new(ranks)));
    assert_eq!(found_bounds, bounds);
    assert!(found.iter().zip(expected.iter()).all(|(a, b)| a.1.values == b.1.values));
}
