//! Chains find known posteriors.
#![allow(missing_docs, reason = "tests are named for what they guard")]

use std::ops::ControlFlow;

use hmcvi::bayes::{Bound, Data, Model, half_cauchy, normal};
use hmcvi::hmc::diagnostics::{self, ESS_LIMIT, R_HAT_LIMIT};
use hmcvi_nuts::{Nuts, Row, Sampled, Start};

/// `x ~ N(1, 2²)` and `y | x ~ N(3 + 1.5 (x - 1), 0.5²)`, a correlation of 0.986.
fn gaussian() -> Bound {
    let model = Model::new(|m| {
        let x = m.sample("x", normal(1.0, 2.0));
        let y = m.sample("y", normal((x - 1.0) * 1.5 + 3.0, 0.5));
        m.deterministic("xx", (x - 1.0).square());
        m.deterministic("yy", (y - 3.0).square());
        m.deterministic("xy", (x - 1.0) * (y - 3.0));
    });
    model.bind(&Data::new()).expect("a model")
}

fn schools() -> Bound {
    let model = Model::new(|m| {
        let (y, sd) = (m.data("y"), m.data("sigma"));
        let mu = m.sample("mu", normal(0.0, 5.0));
        let tau = m.sample("tau", half_cauchy(5.0));
        let raw = m.sample("raw", normal(0.0, 1.0).shape(8));
        let theta = m.deterministic("theta", mu + tau * raw);
        m.observe("y", normal(theta, sd), y);
    });
    let data = Data::new()
        .with("y", [28.0, 8.0, -3.0, 7.0, -1.0, 1.0, 18.0, 12.0])
        .with("sigma", [15.0, 10.0, 16.0, 11.0, 9.0, 11.0, 10.0, 18.0]);
    model.bind(&data).expect("a model")
}

fn run(nuts: &Nuts, bound: &Bound, start: Option<&Start>) -> Sampled {
    nuts.run(bound, start, |_| ControlFlow::Continue(())).expect("draws")
}

fn named<'s>(summary: &'s [Row], name: &str) -> &'s Row {
    summary.iter().find(|row| row.name == name).expect("a number of the model")
}

/// Chains agree, and there are enough draws to go by.
fn assert_converged(summary: &[Row]) {
    for row in summary {
        assert!(row.r_hat.is_some_and(|r_hat| r_hat <= R_HAT_LIMIT), "{row:?}");
        assert!(row.ess_bulk.is_some_and(|ess| ess >= ESS_LIMIT), "{row:?}");
        assert!(row.ess_tail.is_some_and(|ess| ess >= ESS_LIMIT), "{row:?}");
    }
}

/// Mean steps of a trajectory.
fn steps(sampled: &Sampled) -> f64 {
    let all: Vec<u64> = sampled.chains.iter().flat_map(|chain| chain.steps.clone()).collect();
    all.iter().sum::<u64>() as f64 / all.len() as f64
}

#[test]
fn a_correlated_gaussian_has_its_moments_cold_and_warm() {
    let bound = gaussian();
    let nuts = Nuts { seed: 3, ..Nuts::default() };
    // Var y = 1.5² · 4 + 0.25, Cov(x, y) = 1.5 · 4
    let moments = [("x", 1.0), ("y", 3.0), ("xx", 4.0), ("yy", 9.25), ("xy", 6.0)];
    let start = Start::new(&[1.0, 3.0], &[4.0, 6.0, 6.0, 9.25]).expect("a Gaussian");
    let (cold, warm) = (run(&nuts, &bound, None), run(&nuts, &bound, Some(&start)));
    for sampled in [&cold, &warm] {
        let summary = sampled.summary();
        assert_converged(&summary);
        for (name, expected) in moments {
            let row = named(&summary, name);
            let z = (row.mean - expected) / row.mcse.expect("an error");
            assert!(z.abs() < 4.0, "{name}: {z} {row:?}");
        }
        assert_eq!(sampled.divergences(), [0; 4]);
        assert!(sampled.chains.iter().all(|chain| chain.e_bfmi().is_some_and(|share| share > 0.3)));
        assert!(sampled.step_sizes().iter().all(|size| size.is_finite() && *size > 0.0));
    }
    // In the coordinates of the Gaussian itself there is no correlation left.
    assert!(2.0 * steps(&warm) < steps(&cold), "{} {}", steps(&warm), steps(&cold));
}

/// Means and standard deviations of 10,000 reference draws of `eight_schools-eight_schools_noncentered` in posteriordb
/// (Magnusson, Bürkner and Vehtari).
const REFERENCE: [(&str, f64, f64); 10] = [
    ("theta[1]", 6.150502293344254, 5.615863418889274),
    ("theta[2]", 4.939581140742195, 4.645578113940842),
    ("theta[3]", 3.9059060900158236, 5.280711952216745),
    ("theta[4]", 4.79601675138494, 4.770938024092453),
    ("theta[5]", 3.6144363246798967, 4.614720692235884),
    ("theta[6]", 4.051147578967499, 4.796248400609525),
    ("theta[7]", 6.317169758868929, 5.002855395177529),
    ("theta[8]", 4.883996943532884, 5.317692056077128),
    ("mu", 4.4105183369549295, 3.3092964767263533),
    ("tau", 3.6020595236405932, 3.1984776709766325),
];
const REFERENCE_DRAWS: f64 = 10_000.0;

/// Standard errors of a mean: of these chains, and of as many independent draws as the reference has.
fn errors(chains: &[Vec<f64>]) -> (f64, f64, f64) {
    let found = diagnostics::summary(chains).expect("draws");
    (found.mean, found.mcse_mean, found.standard_deviation / REFERENCE_DRAWS.sqrt())
}

fn assert_reference(sampled: &Sampled) {
    for (name, mean, sd) in REFERENCE {
        let chains = sampled.element(name).expect("a number of the model");
        let (found, own, theirs) = errors(&chains);
        let z = (found - mean) / own.hypot(theirs);
        assert!(z.abs() < 4.0, "mean of {name}: {found} {mean}, z {z}");
        // The variance is a mean of squares, about a mean whose own error is of second order.
        let squares: Vec<Vec<f64>> =
            chains.iter().map(|chain| chain.iter().map(|x| (x - found).powi(2)).collect()).collect();
        let (variance, own, theirs) = errors(&squares);
        let z = (variance - sd * sd) / own.hypot(theirs);
        assert!(z.abs() < 4.0, "variance of {name}: {variance} {}, z {z}", sd * sd);
    }
}

/// Mean and covariance of all draws, on the unconstrained scale.
fn moments(sampled: &Sampled) -> Start {
    let rows: Vec<&Vec<f64>> = sampled.chains.iter().flat_map(|chain| &chain.unconstrained).collect();
    let (n, d) = (rows.len() as f64, rows[0].len());
    let mean: Vec<f64> = (0..d).map(|i| rows.iter().map(|row| row[i]).sum::<f64>() / n).collect();
    let product =
        |i: usize, j: usize| rows.iter().map(|row| (row[i] - mean[i]) * (row[j] - mean[j])).sum::<f64>();
    let covariance: Vec<f64> = (0..d * d).map(|k| product(k / d, k % d) / n).collect();
    Start::new(&mean, &covariance).expect("a Gaussian")
}

#[test]
fn eight_schools_have_the_posterior_of_the_reference_cold_and_warm() {
    let bound = schools();
    let cold = run(&Nuts { seed: 5, target_accept: 0.95, ..Nuts::default() }, &bound, None);
    let summary = cold.summary();
    assert_converged(&summary);
    assert_eq!(summary[0].name, "mu");
    assert_eq!(summary[10].name, "theta[1]");
    assert_reference(&cold);
    let start = moments(&cold);
    let warm = run(&Nuts { seed: 6, target_accept: 0.95, ..Nuts::default() }, &bound, Some(&start));
    assert_converged(&warm.summary());
    assert_reference(&warm);
    for (cold, warm) in summary.iter().zip(warm.summary()) {
        let error = cold.mcse.zip(warm.mcse).map(|(cold, warm)| cold.hypot(warm)).expect("errors");
        assert!((cold.mean - warm.mean).abs() < 4.0 * error, "{cold:?} {warm:?}");
    }
    // A trajectory that fails now and then is no matter; one in a hundred would be.
    for sampled in [&cold, &warm] {
        assert!(sampled.divergences().iter().sum::<usize>() < 40, "{:?}", sampled.divergences());
    }
}

#[test]
fn places_without_density_end_trajectories_and_leave_the_rest_right() {
    let model = Model::new(|m| {
        let x = m.sample("x", normal(0.0, 1.0));
        m.add_log_density("edge", x.less(0.0).select(f64::NEG_INFINITY, 0.0));
    });
    let bound = model.bind(&Data::new()).expect("a model");
    let sampled = run(&Nuts { seed: 8, draws: 2000, ..Nuts::default() }, &bound, None);
    assert!(sampled.divergences().iter().all(|count| *count > 0), "{:?}", sampled.divergences());
    let chains = sampled.element("x").expect("the variable");
    assert!(chains.iter().flatten().all(|x| *x >= 0.0));
    // The mean of |N(0, 1)|
    let expected = std::f64::consts::FRAC_2_PI.sqrt();
    let found = diagnostics::summary(&chains).expect("draws");
    assert!((found.mean - expected).abs() < 4.0 * found.mcse_mean, "{found:?}");
}
