//! Evaluate expressions at points, take differences of them, and draw random points and cases.
#![allow(dead_code, missing_docs, unreachable_pub, reason = "each test file uses a part of this")]

#[cfg(feature = "cuda")]
pub mod on_cuda;
#[cfg(feature = "cuda")]
mod required;

use hmcvi_graph::{CpuOptions, Executable, Expr, Graph, Program, Real, Run, Shape, Store};
use proptest::strategy::Strategy;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};

/// Runs a property on `cases` random values, the same ones in every run. `salt` chooses which.
#[track_caller]
pub fn check<S: Strategy>(salt: u64, cases: u32, strategy: S, property: impl Fn(S::Value)) {
    let config = Config { cases, failure_persistence: None, ..Config::default() };
    let mut seed = [0; 32];
    seed[..8].copy_from_slice(&salt.to_le_bytes());
    let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &seed);
    let property = |value| {
        property(value);
        Ok(())
    };
    if let Err(failure) = TestRunner::new_with_rng(config, rng).run(&strategy, property) {
        panic!("{failure}");
    }
}

/// A small random source (splitmix64) for values inside a case.
pub struct Draws(pub u64);

impl Draws {
    pub fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    pub fn below(&mut self, n: usize) -> usize {
        (self.bits() % n as u64) as usize
    }

    pub fn uniform(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * (self.bits() >> 11) as f64 / (1u64 << 53) as f64
    }

    pub fn vector(&mut self, len: usize, low: f64, high: f64) -> Vec<f64> {
        (0..len).map(|_| self.uniform(low, high)).collect()
    }
}

/// Number of values of a shape in a batch of some rows.
pub fn len(shape: Shape, rows: usize) -> usize {
    match shape.rows {
        hmcvi_graph::Rows::Batch => rows * shape.cols,
        hmcvi_graph::Rows::Fixed(n) => n * shape.cols,
    }
}

/// Values of all inputs and parameters.
#[derive(Clone)]
pub struct Point<T> {
    pub rows: usize,
    pub inputs: Vec<(String, Vec<T>)>,
    pub store: Store<T>,
}

impl<T: Real> Point<T> {
    pub fn new(rows: usize) -> Self {
        Point { rows, inputs: Vec::new(), store: Store::new() }
    }

    /// Adds an input to the graph and its values to the point.
    pub fn input<'g>(&mut self, graph: &'g Graph, name: &str, shape: Shape, values: Vec<T>) -> Expr<'g> {
        self.inputs.push((name.into(), values));
        graph.input(name, shape.rows, shape.cols)
    }

    /// Adds a parameter to the graph and its values to the point.
    pub fn parameter<'g>(&mut self, graph: &'g Graph, name: &str, shape: Shape, values: Vec<T>) -> Expr<'g> {
        let rows = len(shape, 0) / shape.cols;
        self.store.insert(name, rows, shape.cols, values).expect("sizes agree");
        graph.parameter(name, rows, shape.cols)
    }

    /// The values of an input or a parameter.
    pub fn values(&mut self, name: &str) -> &mut Vec<T> {
        match self.inputs.iter().position(|(n, _)| n == name) {
            Some(i) => &mut self.inputs[i].1,
            None => &mut self.store.get_mut(name).expect("the point has this name").values,
        }
    }
}

/// Expressions as a function of a point, evaluated in the order in which they were given. The first value of every
/// function is compared with that of a GPU, where there is one.
pub struct Function<T: Real> {
    program: Program,
    executable: Executable<T>,
    names: Vec<String>,
    calls: usize,
}

impl<T: Real> Function<T> {
    #[track_caller]
    pub fn new(outputs: &[Expr<'_>], rows: usize) -> Self {
        let names: Vec<String> = (0..outputs.len()).map(|i| format!("output {i}")).collect();
        let mut program = outputs[0].graph().program();
        for (name, output) in names.iter().zip(outputs) {
            program = program.output(name, *output);
        }
        let program = program.compile().expect("the program is well formed");
        let options = CpuOptions { threads: 1, ..CpuOptions::for_rows(rows) };
        Function { executable: program.on_cpu(options), program, names, calls: 0 }
    }

    /// The listing of the program behind the function.
    pub fn listing(&self) -> String {
        self.program.to_string()
    }

    pub fn call(&mut self, point: &Point<T>) -> Vec<Vec<T>> {
        self.run(point);
        self.names
            .iter()
            .map(|name| self.executable.output(name).expect("it is an output").to_vec())
            .collect()
    }

    /// The value of an output `[1, 1]`.
    pub fn number(&mut self, point: &Point<T>, output: usize) -> T {
        self.run(point);
        self.executable.output(&self.names[output]).expect("it is an output")[0]
    }

    fn run(&mut self, point: &Point<T>) {
        let inputs: Vec<(&str, &[T])> =
            point.inputs.iter().map(|(n, v)| (n.as_str(), v.as_slice())).collect();
        let run = Run { rows: point.rows, inputs: &inputs, ..Run::default() };
        // Functions have no updates, but a run borrows the store to write to.
        let mut store = point.store.clone();
        self.executable.run(&mut store, &run).expect("the point fits the program");
        #[cfg(feature = "cuda")]
        if self.calls == 0 {
            on_cuda::compare(&self.program, &self.names, point);
        }
        self.calls += 1;
    }
}

/// Values of some expressions at a point.
#[track_caller]
pub fn evaluate<T: Real>(outputs: &[Expr<'_>], point: &Point<T>) -> Vec<Vec<T>> {
    Function::new(outputs, point.rows).call(point)
}

/// Step of the differences. The error of the rule below is `h⁴ f⁽⁵⁾ / 30 = 3e-14 f⁽⁵⁾` from the
/// rule and about `1e-16 |f| / h = 1e-13 |f|` from rounding.
pub const STEP: f64 = 1e-3;

/// Derivative by the five-point rule `(8 (f(h) - f(-h)) - (f(2h) - f(-2h))) / 12h`.
pub fn five_point(mut f: impl FnMut(f64) -> f64, h: f64) -> f64 {
    (8.0 * (f(h) - f(-h)) - (f(2.0 * h) - f(-2.0 * h))) / (12.0 * h)
}

/// Derivatives of a number with respect to every value of an input or parameter, by differences.
pub fn differences(f: &mut Function<f64>, output: usize, point: &Point<f64>, name: &str) -> Vec<f64> {
    let mut moved = point.clone();
    let centre = moved.values(name).clone();
    let derivative = |i: usize| {
        five_point(
            |h| {
                moved.values(name).clone_from(&centre);
                moved.values(name)[i] += h;
                f.number(&moved, output)
            },
            STEP,
        )
    };
    (0..centre.len()).map(derivative).collect()
}

/// Largest difference of two vectors, relative to the larger of 1 and the expected value.
#[track_caller]
pub fn error(found: &[f64], expected: &[f64]) -> f64 {
    assert_eq!(found.len(), expected.len());
    let each = |(f, e): (&f64, &f64)| (f - e).abs() / e.abs().max(1.0);
    // `max` would drop what is not a number.
    found.iter().zip(expected).map(each).fold(0.0, |a, b| if b > a || b.is_nan() { b } else { a })
}

/// Requires two vectors to agree within an error as [`error`] measures it.
#[track_caller]
pub fn assert_close(what: &str, found: &[f64], expected: &[f64], limit: f64) {
    let error = error(found, expected);
    assert!(
        error <= limit,
        "{what}: error {error:e} is over {limit:e}\n found {found:?}\n expected {expected:?}"
    );
}
