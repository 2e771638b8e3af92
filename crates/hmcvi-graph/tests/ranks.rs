//! Share rows out among processes, which are threads here: results are those of one, to the bit.
#![allow(missing_docs, unreachable_pub, reason = "tests are named for what they guard")]

mod common;
#[path = "common/meeting.rs"]
mod meeting;
#[path = "common/training.rs"]
mod training;

use std::sync::Arc;

use hmcvi_graph::{CpuOptions, Graph, Ranks, Run, Store, Sums};
use meeting::together;
use training::{SMALL, Trainer, model, random_store};

fn bits(store: &Store<f32>) -> Vec<u32> {
    store.iter().flat_map(|(_, t)| t.values.iter().map(|v| v.to_bits())).collect()
}

/// Largest difference of two stores, relative to the largest value of the tensor.
fn difference(a: &Store<f64>, b: &Store<f64>) -> f64 {
    let of_tensor = |(name, t): (&str, &hmcvi_graph::Tensor<f64>)| {
        let others = &b.get(name).expect("the same tensors").values;
        let scale = t.values.iter().fold(1e-3, |most: f64, x| most.max(x.abs()));
        t.values.iter().zip(others).map(|(x, y)| (x - y).abs() / scale).fold(0.0, f64::max)
    };
    a.iter().map(of_tensor).fold(0.0, f64::max)
}

/// Batches of many sizes, so that shards do not divide evenly, and some processes have none.
const BATCHES: [usize; 6] = [170, 300, 41, 16, 3, 1];

#[test]
fn training_has_the_same_bits_on_any_number_of_processes() {
    let program = model::training_step(SMALL);
    let train = |ranks: Option<Arc<dyn Ranks>>, threads: usize| {
        let options = CpuOptions { threads, ..CpuOptions::for_rows(300) };
        let mut trainer = Trainer::<f32>::new(&program, options, SMALL, random_store(SMALL));
        if let Some(ranks) = ranks {
            trainer.executable = trainer.executable.shared(ranks, Sums::Ordered);
        }
        let bounds: Vec<u32> = BATCHES.iter().map(|rows| trainer.step(*rows).to_bits()).collect();
        (bounds, bits(&trainer.store))
    };
    let alone = train(None, 1);
    for (size, threads) in [(1, 1), (2, 1), (2, 2), (3, 1), (4, 1), (9, 1)] {
        let (results, moved) = together(size, |ranks| train(Some(ranks), threads));
        assert!(results.iter().all(|found| *found == alone), "{size} processes of {threads} threads");
        assert_eq!(moved > 0, size > 1, "one process has nobody to talk to");
    }
}

#[test]
fn sums_added_by_process_differ_by_rounding_alone() {
    let program = model::training_step(SMALL);
    let train = |ranks: Option<Arc<dyn Ranks>>| {
        let options = CpuOptions { threads: 1, ..CpuOptions::for_rows(300) };
        let mut trainer = Trainer::<f64>::new(&program, options, SMALL, random_store(SMALL));
        if let Some(ranks) = ranks {
            trainer.executable = trainer.executable.shared(ranks, Sums::PerProcess);
        }
        BATCHES.iter().for_each(|rows| {
            trainer.step(*rows);
        });
        trainer.store
    };
    let alone = train(None);
    for size in [1, 2, 3, 9] {
        let (results, _) = together(size, |ranks| train(Some(ranks)));
        assert!(results.iter().all(|found| difference(found, &results[0]) == 0.0), "{size} processes");
        let error = difference(&alone, &results[0]);
        // Six updates multiply the rounding of f64, 1e-16, by far less than this.
        assert!(error < 1e-10 && (error > 0.0 || size == 1), "{size} processes differ by {error}");
    }
}

#[test]
fn outputs_have_the_rows_of_all_processes() {
    let graph = Graph::new();
    let x = graph.batch_input("x", 3);
    let sum = x.square().sum_cols();
    let total = sum.sum_rows();
    // A second stage of rows, which needs the sums of all of them.
    let share = sum / total;
    let program =
        graph.program().output("share", share).output("total", total).compile().expect("well formed");
    let values: Vec<f32> = (0..3 * 250).map(|i| (i as f32 * 0.37).sin()).collect();
    let evaluate = |ranks: Option<(Arc<dyn Ranks>, Sums)>, rows: usize| {
        let options = CpuOptions { threads: 1, ..CpuOptions::for_rows(250) };
        let mut executable = program.on_cpu::<f32>(options);
        if let Some((ranks, sums)) = ranks {
            executable = executable.shared(ranks, sums);
        }
        let run = Run { rows, inputs: &[("x", &values[..3 * rows])], ..Run::default() };
        executable.evaluate(&Store::default(), &run).expect("everything is given");
        ["share", "total"].map(|name| executable.output(name).expect("an output").to_vec())
    };
    for rows in [250, 99, 17, 2] {
        let alone = evaluate(None, rows);
        assert_eq!((alone[0].len(), alone[1].len()), (rows, 1));
        for size in [2, 5] {
            let (results, _) = together(size, |ranks| evaluate(Some((ranks, Sums::Ordered)), rows));
            assert!(results.iter().all(|found| *found == alone), "{rows} rows, {size} processes");
            let (results, _) = together(size, |ranks| evaluate(Some((ranks, Sums::PerProcess)), rows));
            assert!(results.iter().all(|found| *found == results[0]), "all processes have the same");
            for (found, expected) in results[0].iter().flatten().zip(alone.iter().flatten()) {
                assert!((found / expected - 1.0).abs() < 1e-5, "{found}, not {expected}, of {rows} rows");
            }
        }
    }
}

#[test]
fn large_batches_are_shared_among_more_processes() {
    for (rows, shards) in [(1, 16), (500, 16), (4000, 25), (16_000, 100), (1_000_000, 256)] {
        assert_eq!(CpuOptions::for_rows(rows).shards, shards, "{rows} rows");
    }
}

#[test]
fn processes_hear_each_other() {
    let (heard, _) = together(3, |ranks| {
        let rank = ranks.rank();
        let nobody = ranks.any(false);
        let somebody = ranks.any(rank == 2);
        let first = ranks.of_first(vec![rank as u8 + 7; 5 - rank]);
        let all = ranks.of_all(&vec![rank as u8; rank]);
        (nobody, somebody, first, all)
    });
    let expected = (false, true, vec![7; 5], vec![vec![], vec![1], vec![2, 2]]);
    assert!(heard.iter().all(|found| *found == expected), "{heard:?}");
}
