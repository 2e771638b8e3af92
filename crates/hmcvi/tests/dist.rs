//! Check that each distribution's draws, densities, entropies and derivatives belong together.

mod common;

use std::f64::consts::TAU;

use common::{Compiled, STENCIL, assert_close, assert_mean, evaluate, normals, per_row, uniforms};
use hmcvi::dist::{Bernoulli, Gaussian, StudentT};
use hmcvi_graph::{Expr, Graph, Run, Store};

const MEAN: [f64; 2] = [0.7, -1.2];
const LOG_VARIANCE: [f64; 2] = [0.5, -0.8];
const LOGITS: [f64; 5] = [-1.5, 0.0, 0.3, 2.0, -0.2];

fn gaussian(graph: &Graph) -> Gaussian<'_> {
    Gaussian {
        mean: graph.constant_matrix(1, 2, &MEAN),
        log_variance: graph.constant_matrix(1, 2, &LOG_VARIANCE),
    }
}

fn probability(logit: f64) -> f64 {
    1.0 / (1.0 + (-logit).exp())
}

#[test]
fn the_gaussian_density_integrates_to_one() {
    let graph = Graph::new();
    let x = graph.batch_input("x", 2);
    // The trapezoidal rule on ±10 standard deviations, a quarter of one apart: its error for a
    // Gaussian falls as exp(-2π²/h²), h = ¼, and is far below rounding.
    let points: Vec<f64> = (-40..=40).map(|i| f64::from(i) / 4.0).collect();
    let sd: Vec<f64> = LOG_VARIANCE.iter().map(|l| (0.5 * l).exp()).collect();
    let place = |a: f64, b: f64| [MEAN[0] + a * sd[0], MEAN[1] + b * sd[1]];
    let grid: Vec<f64> = points.iter().flat_map(|&a| points.iter().flat_map(move |&b| place(a, b))).collect();
    let rows = points.len() * points.len();
    let density = evaluate(&graph, rows, &[("x", &grid)], &[("p", gaussian(&graph).log_prob(x).exp())]);
    let cell = sd[0] * sd[1] / 16.0;
    let sum: f64 = density["p"].iter().map(|p| p * cell).sum();
    assert_close("integral", &[sum], &[1.0], 1e-12);
}

#[test]
fn the_gaussian_density_is_the_textbook_one() {
    let graph = Graph::new();
    let x = graph.batch_input("x", 2);
    let points = normals(1, 20);
    let found = evaluate(&graph, 10, &[("x", &points)], &[("log_prob", gaussian(&graph).log_prob(x))]);
    let one = |x: f64, i: usize| {
        let variance = LOG_VARIANCE[i].exp();
        -(x - MEAN[i]).powi(2) / (2.0 * variance) - 0.5 * (TAU * variance).ln()
    };
    let expected: Vec<f64> = points.chunks(2).map(|p| one(p[0], 0) + one(p[1], 1)).collect();
    assert_close("log density", &found["log_prob"], &expected, 1e-13);
    // The standard Gaussian: -½ |x|² - log 2π in two dimensions.
    let standard = Gaussian::standard(&graph, 2).log_prob(x);
    let found = evaluate(&graph, 10, &[("x", &points)], &[("log_prob", standard)]);
    let expected: Vec<f64> =
        points.chunks(2).map(|p| -0.5 * (p[0] * p[0] + p[1] * p[1]) - TAU.ln()).collect();
    assert_close("standard log density", &found["log_prob"], &expected, 1e-13);
}

#[test]
fn gaussian_draws_have_the_moments_and_the_entropy_of_their_density() {
    const ROWS: usize = 20_000;
    let graph = Graph::new();
    let gaussian = gaussian(&graph);
    let draw = gaussian.sample(graph.normal(3, 2));
    let outputs = [("x", draw), ("log_prob", gaussian.log_prob(draw)), ("entropy", gaussian.entropy())];
    let found = evaluate(&graph, ROWS, &[], &outputs);
    let column = |i: usize| -> Vec<f64> { found["x"].chunks(2).map(|x| x[i]).collect() };
    for i in 0..2 {
        let x = column(i);
        assert_mean("mean", &x, MEAN[i]);
        let squares: Vec<f64> = x.iter().map(|x| (x - MEAN[i]).powi(2)).collect();
        assert_mean("variance", &squares, LOG_VARIANCE[i].exp());
    }
    let products: Vec<f64> =
        column(0).iter().zip(column(1)).map(|(a, b)| (a - MEAN[0]) * (b - MEAN[1])).collect();
    assert_mean("covariance", &products, 0.0);
    // ½ Σ (log σ² + 1 + log 2π)
    let entropy = LOG_VARIANCE.iter().map(|l| 0.5 * (l + 1.0 + TAU.ln())).sum();
    assert_close("entropy", &found["entropy"], &[entropy], 1e-13);
    let surprise: Vec<f64> = found["log_prob"].iter().map(|l| -l).collect();
    assert_mean("mean of -log density", &surprise, entropy);
}

/// All `2^5` values of five bits.
fn patterns() -> Vec<f64> {
    (0..32u32).flat_map(|n| (0..5).map(move |bit| f64::from((n >> bit) & 1))).collect()
}

#[test]
fn the_bernoulli_probabilities_sum_to_one_and_are_products_of_rates() {
    let graph = Graph::new();
    let x = graph.batch_input("x", 5);
    let bernoulli = Bernoulli { logits: graph.constant_matrix(1, 5, &LOGITS) };
    let outputs = [("log_prob", bernoulli.log_prob(x)), ("mean", per_row(bernoulli.mean()))];
    let found = evaluate(&graph, 32, &[("x", &patterns())], &outputs);
    let sum: f64 = found["log_prob"].iter().map(|l| l.exp()).sum();
    assert_close("sum", &[sum], &[1.0], 1e-13);
    // Π p^x (1 - p)^(1 - x)
    let rate = |x: f64, i: usize| {
        let p = probability(LOGITS[i]);
        if x == 1.0 { p } else { 1.0 - p }
    };
    let product = |x: &[f64]| (0..5).map(|i| rate(x[i], i).ln()).sum::<f64>();
    let expected: Vec<f64> = patterns().chunks(5).map(product).collect();
    assert_close("log probability", &found["log_prob"], &expected, 1e-13);
    assert_close("mean", &found["mean"][..5], &LOGITS.map(probability), 1e-15);
}

#[test]
fn grey_values_have_the_cross_entropy_of_their_rates() {
    let graph = Graph::new();
    let x = graph.batch_input("x", 5);
    let bernoulli = Bernoulli { logits: graph.constant_matrix(1, 5, &LOGITS) };
    let grey = uniforms(2, 20);
    let found = evaluate(&graph, 4, &[("x", &grey)], &[("log_prob", bernoulli.log_prob(x))]);
    // Σ x log p + (1 - x) log(1 - p)
    let one = |x: f64, l: f64| x * probability(l).ln() + (1.0 - x) * (1.0 - probability(l)).ln();
    let expected: Vec<f64> =
        grey.chunks(5).map(|x| x.iter().zip(LOGITS).map(|(x, l)| one(*x, l)).sum()).collect();
    assert_close("cross-entropy", &found["log_prob"], &expected, 1e-13);
}

#[test]
fn extreme_logits_keep_a_finite_log_probability() {
    let graph = Graph::new();
    let (x, logits) = (graph.batch_input("x", 1), graph.batch_input("logits", 1));
    let log_prob = Bernoulli { logits }.log_prob(x);
    let inputs: &[(&str, &[f64])] =
        &[("x", &[0.0, 1.0, 0.0, 1.0]), ("logits", &[800.0, 800.0, -800.0, -800.0])];
    let found = evaluate(&graph, 4, inputs, &[("log_prob", log_prob)]);
    // log(1 - σ(l)) = -l and log σ(l) = 0 for large l, by symmetry for small ones.
    assert_close("log probability", &found["log_prob"], &[-800.0, 0.0, 0.0, -800.0], 1e-12);
}

#[test]
fn bernoulli_draws_have_the_rates_and_the_entropy_of_their_probabilities() {
    const ROWS: usize = 20_000;
    let graph = Graph::new();
    let bernoulli = Bernoulli { logits: graph.constant_matrix(1, 5, &LOGITS) };
    let draw = bernoulli.sample(graph.uniform(4, 5));
    let outputs = [("x", draw), ("log_prob", bernoulli.log_prob(draw)), ("entropy", bernoulli.entropy())];
    let found = evaluate(&graph, ROWS, &[], &outputs);
    for (i, &l) in LOGITS.iter().enumerate() {
        let column: Vec<f64> = found["x"].chunks(5).map(|x| x[i]).collect();
        assert!(column.iter().all(|x| *x == 0.0 || *x == 1.0));
        assert_mean("rate", &column, probability(l));
    }
    // -Σ p log p + (1 - p) log(1 - p)
    let entropy = |p: f64| -(p * p.ln() + (1.0 - p) * (1.0 - p).ln());
    let surprise: Vec<f64> = found["log_prob"].iter().map(|l| -l).collect();
    let entropy = LOGITS.iter().map(|l| entropy(probability(*l))).sum();
    assert_mean("mean of -log probability", &surprise, entropy);
    assert_close("entropy", &found["entropy"], &[entropy], 1e-13);
}

/// Largest relative difference between derivatives of a `[N, 1]` expression of named inputs of equal
/// shape and finite differences, over all inputs and their values.
fn gradient_error<const N: usize>(
    cols: usize,
    inputs: [(&str, Vec<f64>); N],
    f: impl for<'g> Fn([Expr<'g>; N]) -> Expr<'g>,
) -> f64 {
    const STEP: f64 = 1e-3;
    let graph = Graph::new();
    let expressions = inputs.each_ref().map(|(name, _)| graph.batch_input(name, cols));
    let value = f(expressions);
    let rows = inputs[0].1.len() / cols;
    let mut derivatives = inputs.each_ref().map(|(name, _)| *name).to_vec();
    let outputs: Vec<_> =
        derivatives.iter().zip(&expressions).map(|(name, x)| (*name, graph.row_grad(value, *x))).collect();
    let mut all = outputs.clone();
    all.push(("value", value));
    let mut compiled = Compiled::new(&graph, rows, &all);
    let mut at = |values: &[(&str, Vec<f64>); N]| {
        let inputs = values.each_ref().map(|(name, values)| (*name, values.as_slice()));
        compiled.run(&mut Store::new(), &Run { rows, inputs: &inputs, ..Run::default() })
    };
    let exact = at(&inputs);
    let mut worst: f64 = 0.0;
    for (k, name) in derivatives.drain(..).enumerate() {
        for col in 0..cols {
            let mut difference = vec![0.0; rows];
            for (distance, weight) in STENCIL {
                let mut moved = inputs.clone();
                (0..rows).for_each(|row| moved[k].1[row * cols + col] += distance * STEP);
                let found = at(&moved);
                (0..rows).for_each(|row| difference[row] += weight * found["value"][row] / STEP);
            }
            for row in 0..rows {
                let exact = exact[name][row * cols + col];
                worst = worst.max((difference[row] - exact).abs() / exact.abs().max(0.1));
            }
        }
    }
    worst
}

#[test]
fn derivatives_of_the_log_densities_agree_with_finite_differences() {
    let gaussian = [("x", normals(1, 12)), ("mean", normals(2, 12)), ("log_variance", normals(3, 12))];
    let error = gradient_error(3, gaussian.clone(), |[x, mean, log_variance]| {
        Gaussian { mean, log_variance }.log_prob(x)
    });
    assert!(error < 1e-9, "Gaussian log density: {error}");
    // The draw as a function of its parameters: what training differentiates through.
    let error = gradient_error(3, gaussian.clone(), |[noise, mean, log_variance]| {
        Gaussian { mean, log_variance }.sample(noise).square().sum_cols()
    });
    assert!(error < 1e-9, "Gaussian draw: {error}");
    let [_, _, log_variance] = gaussian;
    let error = gradient_error(3, [log_variance], |[log_variance]| {
        Gaussian { mean: log_variance, log_variance }.entropy()
    });
    assert!(error < 1e-9, "Gaussian entropy: {error}");
    let bernoulli = [("x", uniforms(4, 12)), ("logits", normals(5, 12))];
    let error = gradient_error(3, bernoulli, |[x, logits]| Bernoulli { logits }.log_prob(x));
    assert!(error < 1e-9, "Bernoulli log probability: {error}");
}

#[test]
fn student_draws_have_the_variance_and_the_density_that_belong_to_them() {
    const ROWS: usize = 40_000;
    let graph = Graph::new();
    let scale = gaussian(&graph);
    let student = StudentT { scale };
    let draw = student.sample(graph.normal(6, 2), graph.uniform(7, 2));
    let outputs = [("x", draw), ("log_prob", student.log_prob(draw)), ("gaussian", scale.log_prob(draw))];
    let found = evaluate(&graph, ROWS, &[], &outputs);
    // The Gaussian's density has the integral one; weighed by the draws' density, its mean is that integral.
    let ratios = found["gaussian"].iter().zip(&found["log_prob"]).map(|(g, t)| (g - t).exp());
    assert_mean("integral", &ratios.collect::<Vec<_>>(), 1.0);
    // Half of the squares of four degrees of freedom, in two dimensions: P(r² < s) = 1 - (1 + s/4)^(-2).
    let square =
        |x: &[f64]| -> f64 { (0..2).map(|i| (x[i] - MEAN[i]).powi(2) / LOG_VARIANCE[i].exp()).sum() };
    for s in [0.5f64, 2.0, 10.0, 50.0] {
        let below: Vec<f64> = found["x"].chunks(2).map(|x| f64::from(u8::from(square(x) < s))).collect();
        assert_mean("share of near draws", &below, 1.0 - (1.0 + s / 4.0).powi(-2));
    }
}
