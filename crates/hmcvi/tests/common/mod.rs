//! Share what the tests of samplers and bounds need: running expressions, draws, statistics.
#![allow(dead_code, reason = "each test file uses its own part")]

pub(crate) mod linear;
pub(crate) mod model;
pub(crate) mod principal;
pub(crate) mod reference;

use std::collections::BTreeMap;
use std::sync::Arc;

use hmcvi::data::{Dataset, Table};
use hmcvi::family::{Acceptance, ChainSettings, Mass, Reverse, StepSize};
use hmcvi_graph::random::{self, Key};
use hmcvi_graph::{CpuOptions, Executable, Expr, Graph, Rows, Run, Shape, Store};

/// A limit for statistical tests: a right implementation stays below it for all but one in 16,000
/// seeds, and the seeds are fixed.
pub(crate) const STANDARD_ERRORS: f64 = 4.0;

/// So many embedded images of training, and so many of validation and of test: few, so that training is quick.
pub(crate) fn part_of_the_data(train: usize, others: usize) -> Arc<Dataset> {
    let all = Dataset::embedded().expect("embedded images");
    let first = |images: &Table, n: usize| images.slice(0..n).expect("there are as many");
    let parts = (first(all.train(), train), first(all.validation(), others), first(all.test(), others));
    Arc::new(Dataset::new("part", "embedded", parts.0, parts.1, parts.2).expect("the parts fit"))
}

/// Values of outputs by name.
pub(crate) type Outputs = BTreeMap<String, Vec<f64>>;

/// A compiled set of expressions in f64.
pub(crate) struct Compiled {
    names: Vec<String>,
    executable: Executable<f64>,
}

impl Compiled {
    /// Compiles expressions for at most `rows` rows. Those that are the same for all rows are
    /// repeated, so that every output has one row for each data point; sums stay as they are.
    pub(crate) fn new(graph: &Graph, rows: usize, outputs: &[(&str, Expr<'_>)]) -> Self {
        let builder =
            outputs.iter().fold(graph.program(), |program, (name, value)| program.output(name, *value));
        let program = builder.compile().expect("the expressions make a program");
        let options = CpuOptions { threads: 1, ..CpuOptions::for_rows(rows) };
        let names = outputs.iter().map(|(name, _)| (*name).to_owned()).collect();
        Compiled { names, executable: program.on_cpu(options) }
    }

    /// Values of all outputs.
    pub(crate) fn run(&mut self, store: &mut Store<f64>, run: &Run<'_, f64>) -> Outputs {
        self.executable.run(store, run).expect("the run is given all that the program asks for");
        let value =
            |name: &String| self.executable.output(name).expect("the program has this output").to_vec();
        self.names.iter().map(|name| (name.clone(), value(name))).collect()
    }
}

/// Values of expressions of inputs alone.
pub(crate) fn evaluate(
    graph: &Graph,
    rows: usize,
    inputs: &[(&str, &[f64])],
    outputs: &[(&str, Expr<'_>)],
) -> Outputs {
    let run = Run { rows, inputs, ..Run::default() };
    Compiled::new(graph, rows, outputs).run(&mut Store::new(), &run)
}

/// One row for each data point, also where the value is the same for all.
pub(crate) fn per_row(x: Expr<'_>) -> Expr<'_> {
    x.broadcast_to(Shape::batch(x.cols()))
}

/// Rows of a parameter.
pub(crate) fn fixed_rows(x: Expr<'_>) -> usize {
    match x.shape().rows {
        Rows::Fixed(rows) => rows,
        Rows::Batch => panic!("a parameter has fixed rows"),
    }
}

/// Independent standard normal draws.
pub(crate) fn normals(seed: u64, count: usize) -> Vec<f64> {
    let mut values = vec![0.0; count];
    random::normal(Key { seed, stream: 900, step: 0, row: 0 }, &mut values);
    values
}

/// Independent uniform draws in `[0, 1)`.
pub(crate) fn uniforms(seed: u64, count: usize) -> Vec<f64> {
    let mut values = vec![0.0; count];
    random::uniform(Key { seed, stream: 901, step: 0, row: 0 }, &mut values);
    values
}

/// Mean of independent values and its standard error.
pub(crate) fn mean_and_error(values: &[f64]) -> (f64, f64) {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let variance = values.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / (n - 1.0);
    (mean, (variance / n).sqrt())
}

/// Checks that independent values have the expected mean.
#[track_caller]
pub(crate) fn assert_mean(what: &str, values: &[f64], expected: f64) {
    let (mean, error) = mean_and_error(values);
    let distance = (mean - expected).abs() / error;
    assert!(
        distance < STANDARD_ERRORS,
        "{what}: mean {mean} ± {error}, expected {expected}: {distance:.1} errors"
    );
}

/// Checks that two lists of numbers agree within an absolute tolerance.
#[track_caller]
pub(crate) fn assert_close(what: &str, found: &[f64], expected: &[f64], tolerance: f64) {
    assert_eq!(found.len(), expected.len(), "{what}");
    for (i, (a, b)) in found.iter().zip(expected).enumerate() {
        assert!(
            (a - b).abs() <= tolerance,
            "{what}, value {i}: found {a}, expected {b}, tolerance {tolerance}"
        );
    }
}

/// Determinant of a square matrix, by elimination with row exchanges.
pub(crate) fn determinant(mut a: Vec<Vec<f64>>) -> f64 {
    let n = a.len();
    let mut product = 1.0;
    for k in 0..n {
        let pivot = (k..n).max_by(|&i, &j| a[i][k].abs().total_cmp(&a[j][k].abs())).expect("k < n");
        if pivot != k {
            a.swap(pivot, k);
            product = -product;
        }
        product *= a[k][k];
        let (upper, lower) = a.split_at_mut(k + 1);
        for row in lower {
            let factor = row[k] / upper[k][k];
            row.iter_mut().zip(&upper[k]).for_each(|(x, above)| *x -= factor * above);
        }
    }
    product
}

/// Weights of the fourth-order central difference `f' ≈ Σ w f(x + k·h) / h`, error `h⁴ f⁽⁵⁾ / 30`.
pub(crate) const STENCIL: [(f64, f64); 4] =
    [(-2.0, 1.0 / 12.0), (-1.0, -8.0 / 12.0), (1.0, 8.0 / 12.0), (2.0, -1.0 / 12.0)];

/// Every choice of momentum update, mass and acceptance with short and long chains, and other step
/// sizes for some of them.
pub(crate) fn combinations() -> Vec<ChainSettings> {
    let mut all = Vec::new();
    for (hmc_steps, leapfrog_steps) in [(1, 4), (3, 2)] {
        for partial_momentum in [false, true] {
            for mass in [Mass::Identity, Mass::Global, Mass::Network] {
                for acceptance in [Acceptance::None, Acceptance::Simple, Acceptance::Network] {
                    let step_size = StepSize::Global;
                    all.push(ChainSettings {
                        hmc_steps,
                        leapfrog_steps,
                        partial_momentum,
                        mass,
                        acceptance,
                        step_size,
                        ..ChainSettings::default()
                    });
                }
            }
        }
    }
    for step_size in [StepSize::PerDimension, StepSize::Network] {
        for (partial_momentum, mass, acceptance) in [
            (false, Mass::Global, Acceptance::None),
            (true, Mass::Network, Acceptance::Simple),
            (true, Mass::Identity, Acceptance::Network),
        ] {
            let (hmc_steps, leapfrog_steps) = (3, 2);
            all.push(ChainSettings {
                hmc_steps,
                leapfrog_steps,
                partial_momentum,
                mass,
                acceptance,
                step_size,
                ..ChainSettings::default()
            });
        }
    }
    all
}

/// Some of these with reverse models that see the score.
pub(crate) fn seeing_the_score() -> Vec<ChainSettings> {
    let all =
        combinations().into_iter().filter(|s| s.mass == Mass::Global && s.step_size == StepSize::Global);
    all.map(|s| ChainSettings { reverse: Reverse::Score, ..s }).collect()
}

/// The settings in few words, for messages.
pub(crate) fn describe(s: &ChainSettings) -> String {
    format!(
        "T={} L={} partial={} mass={:?} acceptance={:?} step_size={:?} reverse={:?}",
        s.hmc_steps, s.leapfrog_steps, s.partial_momentum, s.mass, s.acceptance, s.step_size, s.reverse
    )
}
