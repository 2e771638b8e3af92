//! Compare log densities and their first and second derivatives with those of SciPy and of 80 digits
//! (`reference/likelihoods.py`), in both precisions, for ordinary and for extreme arguments.

mod common;

use std::collections::BTreeMap;

use common::Outputs;
use hmcvi::dist::{
    Bernoulli, Categorical, Gaussian, Multinomial, NegativeBinomial, Poisson, ZeroInflatedNegativeBinomial,
};
use hmcvi_graph::{CpuOptions, Expr, Graph, Real, Run, Store};
use serde::Deserialize;

#[derive(Deserialize)]
struct File {
    scalars: BTreeMap<String, Vec<Case>>,
    multinomial: Vec<RowCase>,
    categorical: Vec<RowCase>,
}

/// One variable: the value and what its distribution has, with the derivatives by the latter.
#[derive(Deserialize)]
struct Case {
    arguments: Vec<f64>,
    scipy: bool,
    value: f64,
    gradient: Vec<f64>,
    hessian: Vec<f64>,
}

/// A row of variables.
#[derive(Deserialize)]
struct RowCase {
    x: Vec<f64>,
    logits: Vec<f64>,
    value: f64,
    gradient: Vec<f64>,
}

fn reference() -> File {
    serde_json::from_str(include_str!("reference/likelihoods.json")).expect("the file that the script writes")
}

fn log_density<'g>(name: &str, arguments: &[Expr<'g>]) -> Expr<'g> {
    let counts = || NegativeBinomial { log_mean: arguments[1], log_dispersion: arguments[2] };
    let x = arguments[0];
    match name {
        "bernoulli" => Bernoulli { logits: arguments[1] }.log_prob_terms(x),
        "gaussian" => Gaussian { mean: arguments[1], log_variance: arguments[2] }.log_prob_terms(x),
        "poisson" => Poisson { log_rate: arguments[1] }.log_prob_terms(x),
        "negative binomial" => counts().log_prob_terms(x),
        "zero-inflated negative binomial" => {
            ZeroInflatedNegativeBinomial { counts: counts(), zero_logits: arguments[3] }.log_prob_terms(x)
        }
        _ => panic!("no such distribution: {name}"),
    }
}

/// Values of expressions in either precision.
fn evaluate<T: Real>(
    graph: &Graph,
    rows: usize,
    inputs: &[(&str, Vec<f64>)],
    outputs: &[(&str, Expr<'_>)],
) -> Outputs {
    let inputs: Vec<(&str, Vec<T>)> = inputs
        .iter()
        .map(|(name, values)| (*name, values.iter().map(|v| T::from_f64(*v)).collect()))
        .collect();
    let inputs: Vec<(&str, &[T])> = inputs.iter().map(|(name, values)| (*name, values.as_slice())).collect();
    let program = outputs.iter().fold(graph.program(), |program, (name, value)| program.output(name, *value));
    let mut executable = program.compile().expect("a program").on_cpu::<T>(CpuOptions::for_rows(rows));
    let run = Run { rows, inputs: &inputs, ..Run::default() };
    executable.run(&mut Store::new(), &run).expect("all inputs are given");
    let values =
        |name: &str| executable.output(name).expect("an output").iter().map(|v| v.to_f64()).collect();
    outputs.iter().map(|(name, _)| ((*name).to_owned(), values(name))).collect()
}

/// Value, gradient and Hessian of every case.
fn differentiated<T: Real>(name: &str, cases: &[Case]) -> Vec<(f64, Vec<f64>, Vec<f64>)> {
    const NAMES: [&str; 4] = ["x", "a", "b", "c"];
    let graph = Graph::new();
    let count = cases[0].arguments.len();
    let arguments: Vec<Expr<'_>> = NAMES[..count].iter().map(|name| graph.batch_input(name, 1)).collect();
    let value = log_density(name, &arguments);
    let gradient: Vec<Expr<'_>> = arguments[1..].iter().map(|a| graph.row_grad(value, *a)).collect();
    let hessian = gradient.iter().flat_map(|g| arguments[1..].iter().map(|a| graph.row_grad(*g, *a)));
    let all: Vec<Expr<'_>> = std::iter::once(value).chain(gradient.iter().copied()).chain(hessian).collect();
    let input = |i: usize| cases.iter().map(|case| case.arguments[i]).collect();
    let inputs: Vec<(&str, Vec<f64>)> = (0..count).map(|i| (NAMES[i], input(i))).collect();
    let found = evaluate::<T>(&graph, cases.len(), &inputs, &[("all", Expr::concat_cols(&all))]);
    let rows = found["all"].chunks(all.len());
    rows.map(|row| (row[0], row[1..count].to_vec(), row[count..].to_vec())).collect()
}

/// Distance relative to the expected number, or absolute if that is small.
fn distance(found: f64, expected: f64) -> f64 {
    let error = (found - expected).abs() / expected.abs().max(1.0);
    if error.is_nan() { f64::INFINITY } else { error }
}

#[test]
fn log_densities_and_their_derivatives_are_those_of_the_reference() {
    for (name, cases) in reference().scalars {
        assert!(cases.iter().any(|case| case.scipy) && cases.iter().any(|case| !case.scipy), "{name}");
        for (case, (value, gradient, hessian)) in cases.iter().zip(differentiated::<f64>(&name, &cases)) {
            let found = [vec![value], gradient, hessian].concat();
            let expected = [&[case.value][..], &case.gradient, &case.hessian].concat();
            for (found, expected) in found.into_iter().zip(expected) {
                let error = distance(found, expected);
                // The series of Stirling's formula ends where it is right to 6e-12; derivatives lose some of that.
                assert!(error < 1e-9, "{name} of {:?}: {found}, not {expected}", case.arguments);
            }
        }
    }
}

/// What arithmetic in single precision may get wrong: arguments and logarithms of counts are known to the last place
/// only, and first derivatives are differences of expected and seen counts (up to the dispersion, beyond which a
/// gamma variable hides them).
struct Rounding {
    arguments: f64,
    counts: f64,
}

impl Rounding {
    fn of(name: &str, arguments: &[f64]) -> Self {
        let x = arguments[0];
        let largest = arguments[1..].iter().fold(x.max(1.0).ln().max(1.0), |most, a| most.max(a.abs()));
        let counts = match name {
            "poisson" => x.max(arguments[1].exp()),
            "negative binomial" | "zero-inflated negative binomial" => {
                x.max(arguments[1].exp()).min(arguments[2].exp())
            }
            _ => 0.0,
        };
        Rounding { arguments: largest, counts }
    }

    /// An error in units in the last place of the number itself and of what it follows from: `derivatives` times the
    /// arguments, and `others`.
    fn units(&self, (found, expected): (f64, f64), derivatives: &[f64], others: f64) -> f64 {
        let moved: f64 = derivatives.iter().map(|d| d.abs() * self.arguments).sum();
        let unit = f64::from(f32::EPSILON) * (1.0 + expected.abs() + moved + others);
        let error = (found - expected).abs() / unit;
        if error.is_nan() { f64::INFINITY } else { error }
    }
}

#[test]
fn single_precision_is_right_to_a_rounding_of_its_arguments() {
    for (name, cases) in reference().scalars {
        for (case, (value, gradient, hessian)) in cases.iter().zip(differentiated::<f32>(&name, &cases)) {
            let rounding = Rounding::of(&name, &case.arguments);
            let check = |what: &str, pair: (f64, f64), derivatives: &[f64], others: f64, limit: f64| {
                let error = rounding.units(pair, derivatives, others);
                let at = &case.arguments;
                assert!(error < limit, "{name} of {at:?}, {what}: (found, expected) {pair:?}, {error} units");
            };
            check("value", (value, case.value), &case.gradient, 0.0, 1.0);
            let n = gradient.len();
            let slopes: f64 = case.gradient.iter().map(|g| g.abs()).sum();
            for i in 0..n {
                let row = &case.hessian[i * n..(i + 1) * n];
                check("derivative", (gradient[i], case.gradient[i]), row, rounding.counts, 4.0);
                for j in 0..n {
                    let pair = (hessian[i * n + j], row[j]);
                    // Third derivatives are of the order of the counts.
                    check("second derivative", pair, &[rounding.counts], slopes, 4.0);
                }
            }
        }
    }
}

#[test]
fn the_textbooks_form_would_lose_a_nat_in_single_precision() {
    let graph = Graph::new();
    let [x, a, b] = ["x", "a", "b"].map(|name| graph.batch_input(name, 1));
    let (r, d) = (b.exp(), a - b);
    let textbook =
        (x + r).lgamma() - r.lgamma() - (x + 1.0).lgamma() - r * d.softplus() - x * (-d).softplus();
    let ours = NegativeBinomial { log_mean: a, log_dispersion: b }.log_prob_terms(x);
    let inputs = [("x", vec![5.0, 1000.0, 1e6]), ("a", vec![1.5, 7.0, 13.75]), ("b", vec![15.0; 3])];
    let outputs = [("textbook", textbook), ("ours", ours)];
    let (single, double) =
        (evaluate::<f32>(&graph, 3, &inputs, &outputs), evaluate::<f64>(&graph, 3, &inputs, &outputs));
    let error = |name: &str| {
        let errors = single[name].iter().zip(&double[name]).map(|(a, b)| (a - b).abs());
        errors.fold(0.0, f64::max)
    };
    assert!(error("textbook") > 0.9 && error("ours") < 0.02, "{single:?} {double:?}");
    for (textbook, ours) in double["textbook"].iter().zip(&double["ours"]) {
        assert!((textbook - ours).abs() < 1e-7, "in double precision they agree: {textbook} {ours}");
    }
}

/// Checks log probabilities of rows and their derivatives by the logits. In single precision, `rounding` is how much of
/// a unit in the last place of counts and of arguments may be lost; in double precision it is 0.
fn check_rows<T: Real>(
    cases: &[RowCase],
    rounding: f64,
    log_prob: impl for<'g> Fn(Expr<'g>, Expr<'g>) -> Expr<'g>,
) {
    let graph = Graph::new();
    let cols = cases[0].x.len();
    let (x, logits) = (graph.batch_input("x", cols), graph.batch_input("logits", cols));
    let value = log_prob(x, logits);
    let outputs = [("value", value), ("gradient", graph.row_grad(value, logits))];
    let flat = |part: fn(&RowCase) -> &Vec<f64>| cases.iter().flat_map(part).copied().collect();
    let inputs = [("x", flat(|case| &case.x)), ("logits", flat(|case| &case.logits))];
    let found = evaluate::<T>(&graph, cases.len(), &inputs, &outputs);
    for (i, case) in cases.iter().enumerate() {
        let check = |what: &str, found: f64, expected: f64, follows_from: f64| {
            let limit = 1e-11 * expected.abs().max(1.0) + rounding * (1.0 + expected.abs() + follows_from);
            let error = (found - expected).abs();
            assert!(error < limit, "{what} of {:?}: {found}, not {expected}", case.x);
        };
        let total: f64 = case.x.iter().sum();
        let largest = case.logits.iter().fold(total.max(1.0).ln().max(1.0), |most, l| most.max(l.abs()));
        let slopes: f64 = case.gradient.iter().map(|g| g.abs()).sum();
        check("log probability", found["value"][i], case.value, slopes * largest);
        for (j, expected) in case.gradient.iter().enumerate() {
            check("derivative", found["gradient"][i * cols + j], *expected, total * largest);
        }
    }
}

fn multinomial<'g>(x: Expr<'g>, logits: Expr<'g>) -> Expr<'g> {
    Multinomial { logits, total: x.sum_cols() }.log_prob(x)
}

fn categorical<'g>(x: Expr<'g>, logits: Expr<'g>) -> Expr<'g> {
    Categorical::new(logits, &[4]).log_prob(x)
}

#[test]
fn multinomial_and_categorical_probabilities_are_those_of_the_reference() {
    let reference = reference();
    assert!(reference.multinomial.iter().any(|case| case.x.iter().all(|x| *x == 0.0)), "an empty row");
    check_rows::<f64>(&reference.multinomial, 0.0, multinomial);
    check_rows::<f32>(&reference.multinomial, f32::EPSILON.into(), multinomial);
    check_rows::<f64>(&reference.categorical, 0.0, categorical);
    check_rows::<f32>(&reference.categorical, f32::EPSILON.into(), categorical);
}

#[test]
fn groups_of_classes_do_not_know_of_each_other() {
    let graph = Graph::new();
    let (x, logits) = (graph.batch_input("x", 5), graph.batch_input("logits", 5));
    let both = Categorical::new(logits, &[2, 3]);
    let part = |start, cols| Categorical::new(logits.slice_cols(start, cols), &[cols]);
    let apart = part(0, 2).log_prob(x.slice_cols(0, 2)) + part(2, 3).log_prob(x.slice_cols(2, 3));
    let outputs = [("both", both.log_prob(x)), ("apart", apart), ("mean", both.mean())];
    let inputs = [("x", vec![0.0, 1.0, 1.0, 0.0, 0.0]), ("logits", vec![0.4, -1.0, 3.0, 2.0, -0.7])];
    let found = evaluate::<f64>(&graph, 1, &inputs, &outputs);
    assert!((found["both"][0] - found["apart"][0]).abs() < 1e-14);
    let sums = [found["mean"][..2].iter().sum::<f64>(), found["mean"][2..].iter().sum()];
    assert!(sums.iter().all(|sum| (sum - 1.0).abs() < 1e-14), "{sums:?}");
}
