//! Evaluate models at rows of real numbers, with exact derivatives and those by differences.

use hmcvi::bayes::Bound;
use hmcvi_graph::{CpuOptions, Graph, Run, Store};

/// Rows for which a program is prepared.
const MOST_ROWS: usize = 4096;

/// What is computed from a row of real numbers.
#[derive(Clone, Copy, PartialEq)]
#[allow(dead_code, reason = "not every test needs all of them")]
pub(crate) enum Wanted {
    LogDensity,
    Gradient,
    /// Derivatives of the gradient, one row of the matrix after the other.
    Hessian,
    Values,
    LogPrior,
}

/// Some function of the model at rows `z`, one row after the other.
pub(crate) fn at(bound: &Bound, wanted: Wanted, z: &[f64]) -> Vec<f64> {
    let (graph, size) = (Graph::new(), bound.dimension());
    let input = graph.batch_input("z", size);
    let built = bound.at(input);
    let log_density = built.log_density();
    let gradient = || graph.grad(log_density.sum(), &[input])[0];
    let outputs = match wanted {
        Wanted::LogDensity => log_density,
        Wanted::LogPrior => built.log_prior,
        Wanted::Values => built.row(),
        Wanted::Gradient => gradient(),
        Wanted::Hessian => {
            let row = |i| graph.grad(gradient().slice_cols(i, 1).sum(), &[input])[0];
            hmcvi_graph::Expr::concat_cols(&(0..size).map(row).collect::<Vec<_>>())
        }
    };
    let outputs = outputs.broadcast_to(hmcvi_graph::Shape::batch(outputs.cols()));
    let program = graph.program().output("output", outputs).compile().expect("a program");
    let rows = (z.len() / size).min(MOST_ROWS);
    let mut executable = program.on_cpu::<f64>(CpuOptions::for_rows(rows));
    let mut found = Vec::new();
    for z in z.chunks(MOST_ROWS * size) {
        let run = Run { rows: z.len() / size, inputs: &[("z", z)], ..Run::default() };
        executable.evaluate(&Store::new(), &run).expect("it runs");
        found.extend_from_slice(executable.output("output").expect("an output"));
    }
    found
}

/// Derivatives by each element of one row `z`, by differences of four values: column `i` of the Jacobian comes as part `i`.
pub(crate) fn differences(bound: &Bound, wanted: Wanted, z: &[f64]) -> Vec<Vec<f64>> {
    let steps: Vec<f64> = z.iter().map(|x| 3e-4 * x.abs().clamp(0.02, 1.0)).collect();
    let mut rows = Vec::new();
    for (i, step) in steps.iter().enumerate() {
        for multiple in [-2.0, -1.0, 1.0, 2.0] {
            let mut row = z.to_vec();
            row[i] += multiple * step;
            rows.extend(row);
        }
    }
    let found = at(bound, wanted, &rows);
    let size = found.len() / (4 * z.len());
    let slope = |i: usize, j: usize| {
        let f = |k: usize| found[(4 * i + k) * size + j];
        (f(0) - 8.0 * f(1) + 8.0 * f(2) - f(3)) / (12.0 * steps[i])
    };
    (0..z.len()).map(|i| (0..size).map(|j| slope(i, j)).collect()).collect()
}
