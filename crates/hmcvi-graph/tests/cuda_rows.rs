//! Compare functions of whole rows, and likelihoods of many columns, on a GPU with the CPU. Without a GPU every test says
//! so and passes.
#![cfg(feature = "cuda")]
#![allow(missing_docs, reason = "tests are named for what they guard")]

mod common;

use common::on_cuda::{DIVISIONS, card, exact};
use common::{Draws, Point};
use hmcvi_graph::cuda::{CudaRun, CudaStore};
use hmcvi_graph::{CpuOptions, Expr, Graph, Run, Shape, Store};

const ROWS: usize = 37;

/// Values, a gradient of them and a derivative of that gradient, on the GPU and in f64 on the CPU.
#[track_caller]
fn compare(cols: usize, name: &str, build: impl for<'g> Fn(Expr<'g>) -> Expr<'g>) {
    let Some(device) = card() else { return };
    let graph = Graph::new();
    let mut point = Point::<f64>::new(ROWS);
    let x = point.input(&graph, "x", Shape::batch(cols), Draws(7).vector(ROWS * cols, -1.0, 1.0));
    let y = build(x);
    let gradient = graph.row_grad(y.sum_cols() + 0.5 * y.square().sum_cols(), x);
    let second = graph.row_grad(gradient.sin().sum_cols(), x);
    let program = graph.program().output("value", y).output("gradient", gradient).output("second", second);
    let program = program.compile().expect("well formed");
    let wide: Vec<f64> = point.inputs[0].1.iter().map(|x| f64::from(*x as f32)).collect();
    let single: Vec<f32> = wide.iter().map(|x| *x as f32).collect();
    let mut on_cpu = program.on_cpu::<f64>(CpuOptions::for_rows(ROWS));
    let run = Run { rows: ROWS, inputs: &[("x", &wide)], ..Run::default() };
    on_cpu.evaluate(&Store::new(), &run).expect("it runs");
    for division in DIVISIONS {
        let mut on_gpu =
            program.on_cuda(&device, &exact(ROWS, division)).unwrap_or_else(|why| panic!("{why}"));
        let mut store = CudaStore::upload(&device, &Store::new()).expect("there is memory");
        let run = CudaRun { rows: ROWS, inputs: &[("x", &single)], ..CudaRun::default() };
        on_gpu.run(&mut store, &run).expect("it runs");
        for output in ["value", "gradient", "second"] {
            let (found, expected) = (on_gpu.output(output).expect("an output"), on_cpu.output(output));
            let expected = expected.expect("an output");
            let size = expected.iter().map(|x| x.abs()).fold(1.0, f64::max);
            for (i, (found, expected)) in found.iter().zip(expected).enumerate() {
                let error = (f64::from(*found) - expected).abs();
                assert!(error < 1e-4 * size, "{name}, {division:?}, {output} {i}: {found}, not {expected}");
            }
        }
    }
}

fn identity(graph: &Graph, n: usize, size: f64) -> Expr<'_> {
    let values: Vec<f64> = (0..n * n).map(|i| if i / n == i % n { size } else { 0.0 }).collect();
    graph.constant_matrix(1, n * n, &values)
}

#[test]
fn columns_picked_and_summed_are_those_of_the_cpu() {
    compare(9, "gather_cols", |x| x.gather_cols(&[3, 0, 0, 8, 3, 7, 1, 1, 2, 5, 4]));
    compare(9, "segment_sum_cols", |x| x.segment_sum_cols(&[2, 0, 2, 4, 4, 2, 1, 0, 0], 6));
    compare(70, "cumsum_cols", |x| x.cumsum_cols());
    compare(70, "reverse_cumsum_cols", |x| x.reverse_cumsum_cols());
    compare(70, "cumsum_groups", |x| x.cumsum_groups(35));
    compare(12, "log_sum_exp_groups", |x| (3.0 * x).log_sum_exp_groups(4));
    compare(12, "sum_groups", |x| x.sum_groups(3));
    compare(5, "repeat_cols", |x| x.repeat_cols(4));
}

#[test]
fn small_matrices_are_those_of_the_cpu() {
    compare(18, "row_matmul", |x| x.slice_cols(0, 6).row_matmul(x.slice_cols(6, 12), [2, 3, 4]));
    compare(25, "cholesky", |x| {
        let squares = x.row_matmul(x.row_transpose(5, 5), [5, 5, 5]);
        (squares + identity(x.graph(), 5, 2.0)).cholesky(5)
    });
    compare(25, "eigenvalues", |x| x.symmetric_eigen(5).0);
    compare(25, "eigenvectors", |x| {
        // What does not depend on the signs of vectors.
        let vectors = x.symmetric_eigen(5).1;
        vectors * vectors
    });
    for transposed in [false, true] {
        compare(24, "triangular_solve", move |x| {
            let l = x.slice_cols(0, 16) + identity(x.graph(), 4, 3.0);
            l.triangular_solve(x.slice_cols(16, 8), 4, transposed)
        });
    }
}

#[test]
fn likelihoods_of_many_columns_are_those_of_the_cpu() {
    compare(6, "logistic regression", |x| {
        let graph = x.graph();
        let design: Vec<f64> = (0..2100 * 3).map(|i| (i as f64 * 0.37).sin()).collect();
        let groups: Vec<usize> = (0..2100).map(|i| i * i % 3).collect();
        let logits = x.slice_cols(0, 3).matmul_transposed(graph.constant_matrix(2100, 3, &design));
        let logits = logits + x.slice_cols(3, 3).gather_cols(&groups);
        // A mean, so that values are of the size of the others.
        (logits.sigmoid() - logits.softplus()).sum_cols() * (1.0 / 2100.0)
    });
}
