//! Hold the estimates of the derivative through the acceptance step against the derivative of the expected bound, which
//! quadrature gives where there is one dimension.

mod common;

use std::rc::Rc;
use std::sync::Arc;

use common::{Compiled, STENCIL, mean_and_error};
use hmcvi::family::{
    Acceptance, AcceptanceGradient, ChainSettings, Combine, Family, HmcChain, Several, Target, WeightGradient,
};
use hmcvi::nn::{Activation, Parameters};
use hmcvi::potential::Potential;
use hmcvi_graph::{Expr, Graph, Run, Store};

use AcceptanceGradient::{Marginal, Pathwise, Score};

/// The posterior's precision.
const PRECISION: f64 = 2.5;
/// What is differentiated: log step size, log mass, the encoder's mean and log variance.
const AT: [f64; 4] = [-0.1, -0.5, 0.0, -0.5];
/// The reverse model, `N(AT z + b, 1)` where `z` is the position.
const REVERSE: (f64, f64) = (0.5, 0.2);

const LOG_TAU_HALF: f64 = 0.918_938_533_204_672_7;

fn log_normal(x: f64, mean: f64, log_variance: f64) -> f64 {
    -0.5 * ((x - mean).powi(2) / log_variance.exp() + log_variance) - LOG_TAU_HALF
}

/// `log p(x, z)`: not that of a Gaussian, so that energy errors are of every size.
fn log_density(z: f64) -> f64 {
    -0.5 * PRECISION * z * z - 0.1 * z.powi(4)
}

fn force(z: f64) -> f64 {
    -PRECISION * z - 0.4 * z.powi(3)
}

/// The bound's expectation over the decisions of some steps, without the first position's and the momenta's entropies.
fn expected_tail(z: f64, v: &[f64], theta: &[f64; 4]) -> f64 {
    let (step, mass) = (theta[0].exp(), theta[1].exp());
    let Some((noise, later)) = v.split_first() else { return 0.0 };
    let u = (0.5 * theta[1]).exp() * noise;
    let kicked = u + 0.5 * step * force(z);
    let moved = z + step * kicked / mass;
    let pushed = kicked + 0.5 * step * force(moved);
    let energy = |z: f64, v: f64| 0.5 * v * v / mass - log_density(z);
    let error = energy(moved, pushed) - energy(z, u);
    let probability = (-error).min(0.0).exp();
    let after = |z: f64, v: f64| {
        let reverse = log_normal(v, REVERSE.0 * z + REVERSE.1, 0.0);
        reverse + if later.is_empty() { log_density(z) } else { expected_tail(z, later, theta) }
    };
    probability * (error + after(moved, pushed)) + (1.0 - probability) * after(z, -u)
}

/// The expected bound, by the trapezoidal rule over the noise.
fn expected_bound(steps: usize, theta: &[f64; 4]) -> f64 {
    // From -6 to 6.
    let points = if steps == 1 { 241 } else { 161 };
    let width = 12.0 / (points - 1) as f64;
    let at = |i: usize| -6.0 + i as f64 * width;
    let weight = |x: f64| width * (-0.5 * x * x - LOG_TAU_HALF).exp();
    let entropy = |log_variance: f64| 0.5 * (1.0 + log_variance) + LOG_TAU_HALF;
    let mut sum = 0.0;
    for i in 0..points {
        let z = theta[2] + (0.5 * theta[3]).exp() * at(i);
        for j in 0..points {
            let first = weight(at(i)) * weight(at(j));
            match steps {
                1 => sum += first * expected_tail(z, &[at(j)], theta),
                _ => {
                    for k in 0..points {
                        sum += first * weight(at(k)) * expected_tail(z, &[at(j), at(k)], theta);
                    }
                }
            }
        }
    }
    sum + entropy(theta[3]) + steps as f64 * entropy(theta[1])
}

fn expected_gradient(steps: usize) -> [f64; 4] {
    let h = 0.02;
    std::array::from_fn(|i| {
        let at = |distance: f64| {
            let mut theta = AT;
            theta[i] += distance;
            expected_bound(steps, &theta)
        };
        STENCIL.iter().map(|(k, weight)| weight * at(k * h) / h).sum()
    })
}

fn values(parameters: &Parameters<'_>, theta: &[f64; 4]) -> Store<f64> {
    let mut store = parameters.initial_values::<f64>(1);
    for (name, _) in parameters.all() {
        let values = &mut store.get_mut(&name).expect("it has first values").values;
        values.fill(0.0);
        match name.as_str() {
            "log_step_size" => values[0] = theta[0],
            "log_mass" => values[0] = theta[1],
            "encoder.0.bias" => values.copy_from_slice(&theta[2..]),
            "reverse.0.bias" => values[0] = REVERSE.1,
            // Inputs are x, z and t, outputs a mean and a log variance.
            "reverse.0.weight" => values[2] = REVERSE.0,
            _ => {}
        }
    }
    store
}

/// Estimates of the gradient and the bound from many batches: log step size, log mass, mean, log variance, bound.
fn batches(
    steps: usize,
    draws: usize,
    combine: Combine,
    how: AcceptanceGradient,
    theta: &[f64; 4],
) -> Vec<[f64; 5]> {
    let settings = ChainSettings {
        hmc_steps: steps,
        leapfrog_steps: 1,
        acceptance: Acceptance::Simple,
        acceptance_gradient: how,
        ..ChainSettings::default()
    };
    let activation = Activation::Tanh;
    let chain = Arc::new(HmcChain { settings, encoder: Some(vec![]), hidden: vec![], activation });
    let several =
        Several { family: chain, draws, shared_start: false, combine, gradient: WeightGradient::Plain };
    let graph = Graph::new();
    let parameters = Rc::new(Parameters::new(&graph));
    let potential =
        Potential::from_expression(1, |z| z.square() * (-0.5 * PRECISION) - z.square().square() * 0.1);
    let context = graph.batch_input("x", 1);
    let draw = several.draw(&Target { parameters: &parameters, potential: &potential, context });
    let loss = draw.loss.expect("several draws have a loss").mean_rows();
    let (names, wrt): (Vec<String>, Vec<Expr<'_>>) = parameters.all().into_iter().unzip();
    let mut outputs: Vec<_> = names.iter().map(String::as_str).zip(graph.grad(loss, &wrt)).collect();
    outputs.push(("bound", draw.bound.mean_rows()));
    let rows = 2000;
    let (mut compiled, x) = (Compiled::new(&graph, rows, &outputs), vec![0.0; rows]);
    let mut store = values(&parameters, theta);
    let batch = |step| {
        let run = Run { rows, inputs: &[("x", &x)], seed: 5, step, ..Run::default() };
        let found = compiled.run(&mut store, &run);
        let of = |name: &str, i: usize| -found[name][i];
        let encoder = [of("encoder.0.bias", 0), of("encoder.0.bias", 1)];
        [of("log_step_size", 0), of("log_mass", 0), encoder[0], encoder[1], found["bound"][0]]
    };
    (0..100).map(batch).collect()
}

/// Mean and standard error of every column.
fn estimated(batches: &[[f64; 5]]) -> Vec<(f64, f64)> {
    let column = |i: usize| batches.iter().map(|values| values[i]).collect::<Vec<_>>();
    (0..5).map(|i| mean_and_error(&column(i))).collect()
}

/// How far an estimate is from the truth, in standard errors.
fn distances(found: &[(f64, f64)], truth: &[f64]) -> Vec<f64> {
    found.iter().zip(truth).map(|((mean, error), truth)| (mean - truth).abs() / error).collect()
}

#[test]
fn only_pathwise_gradients_are_biased() {
    for steps in [1, 2] {
        let truth = expected_gradient(steps);
        let bound = expected_bound(steps, &AT);
        for (draws, how) in [(1, Pathwise), (3, Score), (1, Marginal), (2, Marginal)] {
            let found = estimated(&batches(steps, draws, Combine::Mean, how, &AT));
            let what =
                format!("{steps} steps, {draws} draws, {how:?}: {found:?}, in truth {truth:?} {bound}");
            let far = distances(&found, &[&truth[..], &[bound]].concat());
            assert!(far[4] < 3.0, "{what}");
            // With one draw and two steps the first decision is taken as given.
            let biased = how == Pathwise || steps > draws;
            let worst = far[..4].iter().fold(0.0f64, |worst, far| worst.max(*far));
            assert!(if biased { worst > 6.0 } else { worst < 3.0 }, "{what}: {far:?}");
        }
    }
}

#[test]
fn scores_of_decisions_are_right_for_bounds_by_weights() {
    // The expectation of log ½(w₁ + w₂) has no simple integral: its differences are estimates, too, with the same noise.
    let of = |how, theta: &[f64; 4]| batches(1, 2, Combine::Importance, how, theta);
    let (scored, pathwise) = (of(Score, &AT), of(Pathwise, &AT));
    let mut biased = 0.0f64;
    for i in 0..4 {
        // Decisions that change make differences noisy, the more the smaller they are; those of the fourth order have
        // an error of a few h⁴ = 1e-3 times the fifth derivative, below the noise.
        let h = 0.2;
        let mut differences = vec![0.0; scored.len()];
        for (distance, weight) in STENCIL {
            let mut theta = AT;
            theta[i] += distance * h;
            let found = of(Pathwise, &theta);
            differences.iter_mut().zip(found).for_each(|(sum, found)| *sum += weight * found[4] / h);
        }
        let less = |found: &[[f64; 5]]| {
            let each: Vec<f64> = found.iter().zip(&differences).map(|(found, d)| found[i] - d).collect();
            let (mean, error) = mean_and_error(&each);
            mean.abs() / error
        };
        assert!(less(&scored) < 3.0, "parameter {i}: {} errors", less(&scored));
        biased = biased.max(less(&pathwise));
    }
    assert!(biased > 6.0, "the pathwise gradient is only {biased} errors off");
}
