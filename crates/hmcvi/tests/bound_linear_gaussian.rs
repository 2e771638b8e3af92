//! Hold the bound against the exact evidence of linear-Gaussian models.

mod common;

use std::f64::consts::TAU;

use common::linear::{Dynamics, Inputs, LATENT, Linear, OBSERVED, chain, correlated, diagonal, observations};
use common::{
    Compiled, Outputs, STANDARD_ERRORS, assert_close, assert_mean, combinations, describe, evaluate,
    mean_and_error, per_row, seeing_the_score,
};
use hmcvi::family::{Acceptance, ChainSettings, Entropies, Mass, StepSize};
use hmcvi::nn::Parameters;
use hmcvi::potential::LinearGaussian;
use hmcvi_graph::{Graph, Run, Store};

/// What a chain gives for many observations.
struct Batch {
    /// Observations, `rows · OBSERVED`.
    x: Vec<f64>,
    /// Exact `log p(x)` of every row.
    evidence: Vec<f64>,
    /// `closed`, `sampled`, `end`, `accepted`.
    found: Outputs,
}

/// Runs a chain on observations of the model. `initial` gives mean and log variance of `q_0` for an
/// observation, `values` the parameters.
fn run(
    model: &LinearGaussian,
    settings: ChainSettings,
    hidden: &[usize],
    rows: usize,
    initial: impl Fn(&[f64]) -> (Vec<f64>, Vec<f64>),
    values: impl Fn(&Parameters<'_>) -> Store<f64>,
) -> Batch {
    let x = observations(model, 17, rows);
    let (mean, log_variance): (Vec<_>, Vec<_>) = x.chunks(OBSERVED).map(initial).unzip();
    let (mean, log_variance) = (mean.concat(), log_variance.concat());
    let given: &[(&str, &[f64])] = &[("x", &x), ("mean", &mean), ("log_variance", &log_variance)];
    // Each form has a graph of its own, in which its chain is the first: both see the same noise.
    let of = |name: &'static str, entropies| {
        let graph = Graph::new();
        let (parameters, inputs) = (Parameters::new(&graph), Inputs::new(&graph));
        let chain = chain(&parameters, model, &inputs, settings, entropies, hidden);
        let accepted = chain.steps.iter().map(|s| s.info.accepted).reduce(|a, b| a + b);
        let outputs = [
            (name, chain.terms.total()),
            ("end", chain.end),
            ("accepted", per_row(accepted.expect("there are steps"))),
            ("diverging", per_row(chain.diverging)),
        ];
        let run = Run { rows, inputs: given, seed: 19, ..Run::default() };
        Compiled::new(&graph, rows, &outputs).run(&mut values(&parameters), &run)
    };
    let mut found = of("sampled", Entropies::Sampled);
    found.extend(of("closed", Entropies::ClosedForm));
    assert!(found["diverging"].iter().all(|d| *d == 0.0), "{}: no row diverges", describe(&settings));
    Batch { evidence: x.chunks(OBSERVED).map(|x| model.log_evidence(x)).collect(), x, found }
}

/// Mean and variances of a posterior with a diagonal covariance.
fn diagonal_posterior(model: &LinearGaussian, x: &[f64]) -> (Vec<f64>, Vec<f64>) {
    let (mean, covariance) = model.posterior(x);
    for (i, c) in covariance.iter().enumerate() {
        assert!(i % (LATENT + 1) == 0 || c.abs() < 1e-12, "the posterior is diagonal");
    }
    (mean, (0..LATENT).map(|i| covariance[i * (LATENT + 1)]).collect())
}

fn logs(values: &[f64]) -> Vec<f64> {
    values.iter().map(|v| v.ln()).collect()
}

#[test]
fn evidence_and_posterior_are_the_integrals_of_the_potential() {
    // Two latent variables, three observed; the integral of p(x, z) over a grid of ±8 by 0.1, far
    // finer than the posterior's standard deviations of 0.4 and more.
    let model = LinearGaussian::new(2, &[0.8, 0.5, -0.3, 0.2, -0.9, 0.4], &[0.1, 0.2, -0.3], 0.6);
    let x = [0.7, -0.4, 1.1];
    let points: Vec<f64> = (-80..=80).map(|i| f64::from(i) * 0.1).collect();
    let grid: Vec<f64> = points.iter().flat_map(|&a| points.iter().flat_map(move |&b| [a, b])).collect();
    let rows = points.len() * points.len();
    let graph = Graph::new();
    let z = graph.batch_input("z", 2);
    let density = model.potential(&graph, graph.constant_matrix(1, 3, &x)).log_density(z).exp();
    let density = &evaluate(&graph, rows, &[("z", &grid)], &[("p", density)])["p"];
    let integral = |f: &dyn Fn(&[f64]) -> f64| -> f64 {
        grid.chunks(2).zip(density).map(|(z, p)| f(z) * p * 0.01).sum()
    };
    let evidence = integral(&|_| 1.0);
    assert_close("log evidence", &[evidence.ln()], &[model.log_evidence(&x)], 1e-10);
    let (mean, covariance) = model.posterior(&x);
    for i in 0..2 {
        assert_close("mean", &[integral(&|z| z[i]) / evidence], &mean[i..=i], 1e-10);
        for j in 0..2 {
            let found = integral(&|z| (z[i] - mean[i]) * (z[j] - mean[j])) / evidence;
            assert_close("covariance", &[found], &covariance[2 * i + j..=2 * i + j], 1e-10);
        }
    }
    // The force is that of a Gaussian posterior: -Λ(z - μ), at one point.
    let at = [0.3, -0.8];
    let force = model.potential(&graph, graph.constant_matrix(1, 3, &x)).force(z);
    let found = evaluate(&graph, 1, &[("z", &at)], &[("force", force)]);
    let determinant = covariance[0] * covariance[3] - covariance[1] * covariance[2];
    let (a, b) = (at[0] - mean[0], at[1] - mean[1]);
    let expected = [
        -(covariance[3] * a - covariance[1] * b) / determinant,
        -(covariance[0] * b - covariance[2] * a) / determinant,
    ];
    assert_close("force", &found["force"], &expected, 1e-10);
}

#[test]
fn with_acceptance_and_the_exact_posterior_every_path_gives_the_evidence() {
    // HMC with acceptance keeps the posterior: started there, momenta stay N(0, M), the converged
    // chain's reverse acceptance is exact, and by detailed balance every path has log p(x).
    let model = diagonal();
    for settings in combinations().into_iter().filter(|s| s.acceptance != Acceptance::None) {
        let dynamics = Dynamics { settings, step_size: 0.6, alpha: 0.55 };
        let initial = |x: &[f64]| {
            let (mean, variance) = diagonal_posterior(&model, x);
            (mean, logs(&variance))
        };
        let rows = 400;
        let batch = run(&model, settings, &[], rows, initial, |p| dynamics.stationary_parameters(p));
        let what = describe(&settings);
        let rate = batch.found["accepted"].iter().sum::<f64>() / (rows * settings.hmc_steps) as f64;
        assert!(rate > 0.3 && rate < 0.97, "{what}: {rate} accepted");
        // The network's probabilities are clipped to [δ, 1 - δ], δ = 1e-4: an accepted step may lose
        // log(1 - δ).
        let clip = if settings.acceptance == Acceptance::Network { 1.1e-4 } else { 0.0 };
        let tolerance = 1e-9 + clip * settings.hmc_steps as f64;
        assert_close(&what, &batch.found["sampled"], &batch.evidence, tolerance);
        let rest: Vec<f64> = batch.found["closed"].iter().zip(&batch.evidence).map(|(a, b)| a - b).collect();
        assert_mean(&what, &rest, 0.0);
    }
}

#[test]
fn without_acceptance_the_bound_misses_the_evidence_by_the_shadow_energys_divergence() {
    // Leapfrog on a Gaussian keeps N(μ, s̃²) with s̃² = s²/(1 - ε²/4s²m) for the position and N(0, m)
    // for the momentum. Started there, the path's value is log p(x, z_T) - log N(z_T; μ, s̃²), whose
    // mean is log p(x) - KL(N(μ, s̃²) | N(μ, s²)).
    let model = diagonal();
    for settings in combinations().into_iter().filter(|s| s.acceptance == Acceptance::None) {
        let dynamics = Dynamics { settings, step_size: 0.4, alpha: 0.55 };
        let shadow = |x: &[f64]| -> Vec<f64> {
            let (_, variance) = diagonal_posterior(&model, x);
            let (log_mass, epsilon) = (dynamics.log_mass(x), dynamics.step_sizes(x));
            let one = |i: usize| 1.0 - epsilon[i].powi(2) / (4.0 * variance[i] * log_mass[i].exp());
            (0..LATENT).map(|i| variance[i] / one(i)).collect()
        };
        let initial = |x: &[f64]| (diagonal_posterior(&model, x).0, logs(&shadow(x)));
        let rows = 2000;
        let batch = run(&model, settings, &[], rows, initial, |p| dynamics.stationary_parameters(p));
        let what = describe(&settings);
        let mut divergences = Vec::new();
        for row in 0..rows {
            let x = &batch.x[row * OBSERVED..(row + 1) * OBSERVED];
            let (mean, variance) = diagonal_posterior(&model, x);
            let (z, shadow) = (&batch.found["end"][row * LATENT..(row + 1) * LATENT], shadow(x));
            // log N(z; μ, s²) - log N(z; μ, s̃²)
            let one = |i: usize| {
                let square = (z[i] - mean[i]).powi(2);
                -0.5 * square * (1.0 / variance[i] - 1.0 / shadow[i]) + 0.5 * (shadow[i] / variance[i]).ln()
            };
            let expected = batch.evidence[row] + (0..LATENT).map(one).sum::<f64>();
            assert_close(
                &format!("{what}, row {row}"),
                &batch.found["sampled"][row..=row],
                &[expected],
                1e-9,
            );
            // ½ Σ (ρ - 1 - log ρ), ρ = s̃²/s²
            let divergence = |i: usize| {
                let ratio: f64 = shadow[i] / variance[i];
                0.5 * (ratio - 1.0 - ratio.ln())
            };
            divergences.push((0..LATENT).map(divergence).sum::<f64>());
        }
        for name in ["sampled", "closed"] {
            let rest = batch.found[name].iter().zip(&batch.evidence).zip(&divergences);
            let rest: Vec<f64> = rest.map(|((bound, evidence), d)| bound - (evidence - d)).collect();
            assert_mean(&format!("{what}, {name}"), &rest, 0.0);
        }
        let (mean, _) = mean_and_error(&divergences);
        assert!(mean > 0.01, "{what}: the divergence of {mean} can be seen");
    }
}

/// The map `(z - μ, v) -> (z' - μ, v')` of a leapfrog trajectory on a Gaussian of variance `s²`.
fn leapfrog_matrix(variance: f64, mass: f64, epsilon: f64, steps: usize) -> [[f64; 2]; 2] {
    let times = |a: [[f64; 2]; 2], b: [[f64; 2]; 2]| -> [[f64; 2]; 2] {
        std::array::from_fn(|i| std::array::from_fn(|j| a[i][0] * b[0][j] + a[i][1] * b[1][j]))
    };
    let kick = [[1.0, 0.0], [-0.5 * epsilon / variance, 1.0]];
    let drift = [[1.0, epsilon / mass], [0.0, 1.0]];
    let step = times(kick, times(drift, kick));
    (0..steps).fold([[1.0, 0.0], [0.0, 1.0]], |all, _| times(step, all))
}

#[test]
fn one_trajectory_with_the_exact_reverse_model_reaches_the_evidence() {
    // T = 1, α = 0, no acceptance: (z_0, u_0) is Gaussian and the trajectory linear, so (z_1, v_1) is
    // Gaussian with covariance C = A diag(σ₀², m) Aᵀ. With σ₀² such that C₁₁ = s², z_1 has the exact
    // posterior, and with r_final(v_1 | z_1) = N(C₂₁/C₁₁ (z_1 - μ), C₂₂ - C₂₁²/C₁₁), which is linear in
    // z_1 and x, every path gives log p(x).
    let model = diagonal();
    let (centre, variance) = diagonal_posterior(&model, &[0.0; OBSERVED]);
    for (mass, step_size, leapfrog_steps, epsilon) in [
        (Mass::Identity, StepSize::Global, 4, 0.4),
        (Mass::Global, StepSize::Global, 5, 0.3),
        (Mass::Global, StepSize::PerDimension, 4, 0.25),
    ] {
        let (partial_momentum, acceptance) = (false, Acceptance::None);
        let settings = ChainSettings {
            hmc_steps: 1,
            leapfrog_steps,
            partial_momentum,
            mass,
            acceptance,
            step_size,
            ..ChainSettings::default()
        };
        let dynamics = Dynamics { settings, step_size: epsilon, alpha: 0.0 };
        let masses = dynamics.log_mass(&[0.0; OBSERVED]).map(f64::exp);
        let epsilons = dynamics.step_sizes(&[0.0; OBSERVED]);
        let a: [_; LATENT] =
            std::array::from_fn(|i| leapfrog_matrix(variance[i], masses[i], epsilons[i], leapfrog_steps));
        let first = |i: usize| (variance[i] - a[i][0][1].powi(2) * masses[i]) / a[i][0][0].powi(2);
        let first: Vec<f64> = (0..LATENT).map(first).collect();
        assert!(first.iter().zip(&variance).all(|(f, v)| *f > 0.0 && f < v), "{first:?} {variance:?}");
        let values = |parameters: &Parameters<'_>| {
            let mut store = dynamics.stationary_parameters(parameters);
            let mut linear = Linear { store: &mut store };
            for i in 0..LATENT {
                let covariance = a[i][0][0] * a[i][1][0] * first[i] + a[i][0][1] * a[i][1][1] * masses[i];
                let momentum = a[i][1][0].powi(2) * first[i] + a[i][1][1].powi(2) * masses[i];
                let slope = covariance / variance[i];
                // The mean slope·(z - μ(x)), with μ(x) = μ(0) + Σ x_j (μ(e_j) - μ(0)).
                linear.weight("reverse", OBSERVED + i, i, slope);
                linear.bias("reverse", i, -slope * centre[i]);
                for j in 0..OBSERVED {
                    let unit: [f64; OBSERVED] = std::array::from_fn(|k| f64::from(u8::from(j == k)));
                    let rise = diagonal_posterior(&model, &unit).0[i] - centre[i];
                    linear.weight("reverse", j, i, -slope * rise);
                }
                linear.bias("reverse", LATENT + i, (momentum - covariance * slope).ln());
            }
            store
        };
        let initial = |x: &[f64]| (diagonal_posterior(&model, x).0, logs(&first));
        let batch = run(&model, settings, &[], 2000, initial, values);
        let what = describe(&settings);
        assert_close(&what, &batch.found["sampled"], &batch.evidence, 1e-9);
        let rest: Vec<f64> = batch.found["closed"].iter().zip(&batch.evidence).map(|(a, b)| a - b).collect();
        assert_mean(&what, &rest, 0.0);
        // Closed-form entropies of 2 × 3 variables leave the noise of their squares: 6 / 2.
        let (_, error) = mean_and_error(&rest);
        assert!((error * error * 2000.0 - 3.0).abs() < 0.6, "{what}: variance {}", error * error * 2000.0);
        // It is the chain that reaches it: the initial Gaussian alone has a divergence left.
        let short: f64 = first.iter().zip(&variance).map(|(f, v)| 0.5 * (f / v - 1.0 - (f / v).ln())).sum();
        assert!(short > 0.01, "{what}: {short}");
    }
}

/// A chain that is not exact in any part: an initial Gaussian that is off and too wide, networks at
/// random, a mass that does not fit.
fn inexact(settings: ChainSettings, rows: usize) -> Batch {
    let model = correlated();
    let initial = |x: &[f64]| {
        let (mean, covariance) = model.posterior(x);
        let variance = |i: usize| (1.15 * covariance[i * (LATENT + 1)]).ln();
        (mean.iter().map(|m| m + 0.05).collect(), (0..LATENT).map(variance).collect())
    };
    run(&model, settings, &[4], rows, initial, |parameters| {
        let mut store = parameters.initial_values(23);
        // With an acceptance step, one at which it has work.
        let step_size: f64 = if settings.acceptance == Acceptance::None { 0.3 } else { 0.6 };
        for (name, value) in [("log_step_size", step_size.ln()), ("raw_alpha", 0.25)] {
            if let Some(tensor) = store.get_mut(name) {
                tensor.values.fill(value);
            }
        }
        for name in ["force", "position", "momentum"] {
            for time in 1..=settings.hmc_steps + 1 {
                if let Some(tensor) = store.get_mut(&format!("reverse.{name}.{time}")) {
                    tensor.values.fill(0.05);
                }
            }
        }
        // Reverse models that are narrower than the momenta: weights r/q then have light tails.
        for name in ["reverse.1.bias", "final.1.bias"] {
            if let Some(tensor) = store.get_mut(name) {
                tensor.values[LATENT..].iter_mut().for_each(|log_variance| *log_variance -= 0.3);
            }
        }
        store
    })
}

#[test]
fn the_bound_does_not_exceed_the_evidence_and_its_weights_average_to_it() {
    const ROWS: usize = 4000;
    let basic = ChainSettings { hmc_steps: 1, leapfrog_steps: 1, ..ChainSettings::default() };
    for settings in combinations().into_iter().chain(seeing_the_score()).chain([basic]) {
        let what = describe(&settings);
        let batch = inexact(settings, ROWS);
        let rate = batch.found["accepted"].iter().sum::<f64>() / (ROWS * settings.hmc_steps) as f64;
        assert!(settings.acceptance == Acceptance::None || rate < 0.97, "{what}: {rate} accepted");
        let rest = |name: &str| -> Vec<f64> {
            batch.found[name].iter().zip(&batch.evidence).map(|(bound, evidence)| bound - evidence).collect()
        };
        for name in ["closed", "sampled"] {
            let (gap, error) = mean_and_error(&rest(name));
            assert!(gap < STANDARD_ERRORS * error, "{what}, {name}: {gap} ± {error} above the evidence");
            // Near enough to it that an excess would be seen.
            assert!(gap > -1.5, "{what}, {name}: {gap}");
        }
        // q and r are normalised densities of one path: E_q[p(x, z_T) r / q] = p(x). This fails if any
        // term is wrong in either direction, a bound only if it is too large.
        let weights: Vec<f64> = rest("sampled").iter().map(|w| w.exp()).collect();
        assert_mean(&format!("{what}, weights"), &weights, 1.0);
        let (sum, squares): (f64, f64) = (weights.iter().sum(), weights.iter().map(|w| w * w).sum());
        let size = sum * sum / squares;
        assert!(size > 0.15 * ROWS as f64, "{what}: an effective size of {size} is too small to evaluate");
    }
}

#[test]
fn closed_form_and_sampled_entropies_have_the_same_mean() {
    for settings in combinations() {
        let batch = inexact(settings, 4000);
        let difference = batch.found["closed"].iter().zip(&batch.found["sampled"]).map(|(a, b)| a - b);
        let difference: Vec<f64> = difference.collect();
        let what = describe(&settings);
        assert_mean(&what, &difference, 0.0);
        // Σ ½(χ² - 1) over the variables drawn.
        let draws = LATENT * (settings.hmc_steps + 1);
        let (_, error) = mean_and_error(&difference);
        let variance = error * error * 4000.0;
        let expected = draws as f64 / 2.0;
        // The variance of a sample variance of 4,000 draws of these: some percent.
        assert!((variance / expected - 1.0).abs() < 0.2, "{what}: variance {variance}, expected {expected}");
    }
}

#[test]
fn without_steps_the_exact_posterior_gives_the_evidence() {
    let model = diagonal();
    let graph = Graph::new();
    let (parameters, inputs) = (Parameters::new(&graph), Inputs::new(&graph));
    let total =
        |entropies| chain(&parameters, &model, &inputs, ChainSettings::basic(), entropies, &[]).terms.total();
    let outputs = [("sampled", total(Entropies::Sampled)), ("closed", total(Entropies::ClosedForm))];
    let x = observations(&model, 17, 1000);
    let (mean, variance): (Vec<_>, Vec<_>) =
        x.chunks(OBSERVED).map(|x| diagonal_posterior(&model, x)).unzip();
    let (mean, log_variance) = (mean.concat(), logs(&variance.concat()));
    let found =
        evaluate(&graph, 1000, &[("x", &x), ("mean", &mean), ("log_variance", &log_variance)], &outputs);
    let evidence: Vec<f64> = x.chunks(OBSERVED).map(|x| model.log_evidence(x)).collect();
    assert_close("sampled", &found["sampled"], &evidence, 1e-10);
    let rest: Vec<f64> = found["closed"].iter().zip(&evidence).map(|(a, b)| a - b).collect();
    assert_mean("closed", &rest, 0.0);
    // log p(x) itself, of one observation at the mean of x: -½ log |2πΣ|, Σ = WᵀW + σ²I, whose
    // eigenvalues are the squared lengths of the rows plus σ², and σ².
    let noise = 0.49;
    let eigenvalues = [0.64 + noise, 2.25 + noise, 0.16 + noise, noise];
    let expected = -0.5 * eigenvalues.iter().map(|e: &f64| (TAU * e).ln()).sum::<f64>();
    assert_close("evidence", &[model.log_evidence(&[0.1, -0.2, 0.3, 0.0])], &[expected], 1e-12);
}
