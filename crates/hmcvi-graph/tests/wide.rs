//! Values of many columns are computed block by block and not kept: results, derivatives, bits and memory.
#![allow(missing_docs, reason = "tests are named for what they guard")]

mod common;

use hmcvi_graph::{CpuOptions, Executable, Expr, Graph, Program, Real, Run, Store};

const VARIABLES: usize = 7;
const GROUPS: usize = 5;

fn number(i: usize, stream: f64) -> f64 {
    (i as f64 * 0.618 + stream).sin()
}

/// `log p(y | z)` of some of the observations: a logistic regression with an intercept for each group, and errors whose
/// size is inferred.
fn likelihood<'g>(z: Expr<'g>, observations: std::ops::Range<usize>) -> Expr<'g> {
    let (graph, n) = (z.graph(), observations.len());
    let values = |f: &dyn Fn(usize) -> f64| observations.clone().map(f).collect::<Vec<f64>>();
    let x: Vec<f64> = observations.clone().flat_map(|i| [number(i, 0.1), number(2 * i, 0.2)]).collect();
    let x = graph.constant_matrix(n, 2, &x);
    let y = graph.constant_matrix(1, n, &values(&|i| f64::from(u8::from(number(3 * i, 0.3) > 0.1))));
    let size = graph.constant_matrix(1, n, &values(&|i| 1.0 + number(5 * i, 0.4)));
    let groups: Vec<usize> = observations.clone().map(|i| (i * i + i / 3) % GROUPS).collect();
    let (slopes, intercepts) = (z.slice_cols(0, 2), z.slice_cols(2, GROUPS));
    let logits = slopes.matmul_transposed(x) + intercepts.gather_cols(&groups);
    let scale = z.slice_cols(0, 1).exp();
    let errors = (size - logits.tanh()) / scale;
    (y * logits - logits.softplus() - 0.5 * errors.square() - scale.log()).sum_cols()
}

fn density<'g>(z: Expr<'g>, observations: usize, piece: usize) -> Expr<'g> {
    let pieces = (0..observations).step_by(piece);
    let likelihood = |start: usize| likelihood(z, start..(start + piece).min(observations));
    pieces.map(likelihood).fold(-0.5 * z.square().sum_cols(), |sum, part| sum + part)
}

/// The density, its gradient, and the derivative of the density where one step uphill ends; with the observations in
/// pieces of so many.
fn program(observations: usize, piece: usize) -> Program {
    let graph = Graph::new();
    let z = graph.batch_input("z", VARIABLES);
    let log_density = density(z, observations, piece);
    let gradient = graph.row_grad(log_density, z);
    let second = graph.row_grad(density(z + 0.001 * gradient, observations, piece), z);
    let program = graph.program().output("log_density", log_density).output("gradient", gradient);
    program.output("second", second).output("sum", second.square().sum_rows()).compile().expect("well formed")
}

fn places(rows: usize) -> Vec<f64> {
    (0..rows * VARIABLES).map(|i| 0.5 * number(i, 0.7)).collect()
}

fn run<T: Real>(program: &Program, options: CpuOptions, z: &[f64]) -> Executable<T> {
    let mut executable = program.on_cpu::<T>(options);
    let z: Vec<T> = z.iter().map(|x| T::from_f64(*x)).collect();
    let run = Run { rows: z.len() / VARIABLES, inputs: &[("z", &z)], ..Run::default() };
    executable.evaluate(&Store::new(), &run).expect("it runs");
    executable
}

fn output<T: Real>(executable: &Executable<T>, name: &str) -> Vec<f64> {
    executable.output(name).expect("an output").iter().map(|x| x.to_f64()).collect()
}

#[track_caller]
fn near(found: &[f64], expected: &[f64], tolerance: f64) {
    for (found, expected) in found.iter().zip(expected) {
        let limit = tolerance * (1.0 + expected.abs());
        assert!((found - expected).abs() < limit, "{found} is not {expected}");
    }
}

const OUTPUTS: [&str; 4] = ["log_density", "gradient", "second", "sum"];

#[test]
fn passes_give_what_values_in_memory_give() {
    let z = places(20);
    // Whole blocks only, one column more, and a block that is nearly whole.
    for observations in [2048, 2049, 1535] {
        let (wide, narrow) = (program(observations, observations), program(observations, 500));
        assert!(wide.to_string().contains(&format!("pass over {observations} columns")));
        assert!(!narrow.to_string().contains("pass over"));
        let options = CpuOptions::for_rows(20);
        let (found, expected) = (run::<f64>(&wide, options, &z), run::<f64>(&narrow, options, &z));
        let single = run::<f32>(&wide, options, &z);
        for name in OUTPUTS {
            near(&output(&found, name), &output(&expected, name), 1e-11);
            near(&output(&single, name), &output(&expected, name), 2e-3);
        }
    }
}

#[test]
fn derivatives_of_passes_are_those_of_finite_differences() {
    let program = program(1500, 1500);
    let options = CpuOptions::for_rows(1);
    let z = places(1);
    let at = |z: &[f64], name: &str| output(&run::<f64>(&program, options, z), name);
    let (gradient, second) = (at(&z, "gradient"), at(&z, "second"));
    let uphill =
        |z: &[f64]| -> Vec<f64> { z.iter().zip(at(z, "gradient")).map(|(z, g)| z + 0.001 * g).collect() };
    for i in 0..VARIABLES {
        let moved = |by: f64| {
            let mut z = z.clone();
            z[i] += by;
            z
        };
        let slope = |f: &dyn Fn(&[f64]) -> f64| (f(&moved(1e-5)) - f(&moved(-1e-5))) / 2e-5;
        near(&[slope(&|z| at(z, "log_density")[0])], &[gradient[i]], 1e-7);
        near(&[slope(&|z| at(&uphill(z), "log_density")[0])], &[second[i]], 1e-7);
    }
}

#[test]
fn rows_have_the_same_bits_beside_any_others_and_on_any_threads() {
    let (program, z) = (program(1600, 1600), places(50));
    let options = CpuOptions { threads: 1, ..CpuOptions::for_rows(50) };
    let one = run::<f64>(&program, options, &z);
    for threads in [2, 3] {
        let many = run::<f64>(&program, CpuOptions { threads, ..options }, &z);
        OUTPUTS.iter().for_each(|name| assert_eq!(output(&one, name), output(&many, name), "{name}"));
    }
    for row in [0, 17, 49] {
        let alone = run::<f64>(&program, CpuOptions::for_rows(1), &z[row * VARIABLES..][..VARIABLES]);
        let all = output(&one, "second");
        assert_eq!(output(&alone, "second"), all[row * VARIABLES..][..VARIABLES], "row {row}");
    }
}

#[test]
fn memory_does_not_grow_with_rows_and_observations() {
    let bytes = |observations: usize, rows: usize| {
        let options = CpuOptions { threads: 1, ..CpuOptions::for_rows(rows) };
        program(observations, observations).cpu_bytes::<f64>(options)
    };
    let of_rows = |observations: usize| bytes(observations, 64) - bytes(observations, 1);
    assert_eq!(of_rows(8000), of_rows(4000));
    // Constants and operands that are laid out once: y, size, and x as it is, transposed, and with its two columns filled
    // up to a vector of at most 8.
    let of_each = (bytes(8000, 64) - bytes(4000, 64)) as f64 / 4000.0;
    assert!(of_each < 8.0 * 15.0, "{of_each} bytes for each observation");
}

#[test]
fn constants_of_a_density_are_shared_by_all_its_calls() {
    let graph = Graph::new();
    let z = graph.batch_input("z", VARIABLES);
    let first = density(z, 1500, 1500);
    let nodes = graph.len();
    assert!(density(z, 1500, 1500) == first);
    assert_eq!(graph.len(), nodes, "the same call gives nothing new");
    // At another place only what depends on it is new: no matrix and no list of columns is there twice.
    let moved = density(z + 1.0, 1500, 1500);
    let program = |values: &[Expr<'_>]| {
        let named = values.iter().enumerate();
        let program =
            named.fold(graph.program(), |program, (i, value)| program.output(&i.to_string(), *value));
        program
            .compile()
            .expect("well formed")
            .cpu_bytes::<f64>(CpuOptions { threads: 1, ..CpuOptions::for_rows(1) })
    };
    let (one, two) = (program(&[first]), program(&[first, moved]));
    assert!(two < one + 20_000, "{two} bytes for two calls, {one} for one of them");
}

#[test]
fn wide_values_that_are_wanted_are_kept() {
    let graph = Graph::new();
    let z = graph.batch_input("z", VARIABLES);
    let x: Vec<f64> = (0..2000 * VARIABLES).map(|i| number(i, 0.5)).collect();
    let logits = z.matmul_transposed(graph.constant_matrix(2000, VARIABLES, &x));
    let (terms, other) = (logits.softplus(), (logits - 1.0).exp().sum_cols());
    let program =
        graph.program().output("terms", terms).output("sum", terms.sum_cols()).output("other", other);
    let program = program.compile().expect("well formed");
    let executable = run::<f64>(&program, CpuOptions::for_rows(3), &places(3));
    let terms = output(&executable, "terms");
    let sums: Vec<f64> = terms.chunks(2000).map(|row| row.iter().sum()).collect();
    near(&output(&executable, "sum"), &sums, 1e-13);
    let logit: f64 = places(3)[..VARIABLES].iter().zip(&x).map(|(z, x)| z * x).sum();
    near(&terms[..1], &[logit.exp().ln_1p()], 1e-13);
    let before = |t: &f64| (t.exp_m1().ln() - 1.0).exp();
    let others: Vec<f64> = terms.chunks(2000).map(|row| row.iter().map(before).sum()).collect();
    near(&output(&executable, "other"), &others, 1e-11);
}
