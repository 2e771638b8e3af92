//! Fits of models by description, held against what is known of their posteriors.

use std::f64::consts::{PI, TAU};

use hmcvi::bayes::fit::{Progress, Stage, Stopped};
use hmcvi::bayes::{
    Bound, Covariance, Data, Draws, Fit, FitError, Model, Order, Support, half_cauchy, half_normal, normal,
};
use hmcvi::family::ChainSettings;
use hmcvi_graph::random::Key;

const Y: [f64; 8] = [28.0, 8.0, -3.0, 7.0, -1.0, 1.0, 18.0, 12.0];
const SD: [f64; 8] = [15.0, 10.0, 16.0, 11.0, 9.0, 11.0, 10.0, 18.0];

fn schools() -> Bound {
    let model = Model::new(|m| {
        let (y, sd) = (m.data("y"), m.data("sigma"));
        let mu = m.sample("mu", normal(0.0, 5.0));
        let tau = m.sample("tau", half_cauchy(5.0));
        let raw = m.sample("raw", normal(0.0, 1.0).shape(8));
        let theta = m.deterministic("theta", mu + tau * raw);
        m.observe("y", normal(theta, sd), y);
    });
    model.bind(&Data::new().with("y", Y).with("sigma", SD)).expect("a model")
}

/// A straight line through five points with noise 1: intercept and slope have prior deviation 2, and much to do with each
/// other.
const X: [f64; 5] = [1.0, 2.0, 3.0, 4.0, 5.0];
const SEEN: [f64; 5] = [0.9, 2.2, 2.4, 4.1, 4.8];

fn line() -> Bound {
    let model = Model::new(|m| {
        let (x, y) = (m.data("x"), m.data("y"));
        let intercept = m.sample("intercept", normal(0.0, 2.0));
        let slope = m.sample("slope", normal(0.0, 2.0));
        m.observe("y", normal(intercept + slope * x, 1.0), y);
    });
    model.bind(&Data::new().with("x", X).with("y", SEEN)).expect("a model")
}

/// What is exactly true of the line.
struct Exact {
    log_evidence: f64,
    mean: [f64; 2],
    covariance: [[f64; 2]; 2],
}

/// Takes one point after the other, as a Kalman filter does.
fn exact() -> Exact {
    let (mut mean, mut p) = ([0.0; 2], [[4.0, 0.0], [0.0, 4.0]]);
    let mut log_evidence = 0.0;
    for (x, y) in X.into_iter().zip(SEEN) {
        let row = [1.0, x];
        let gain = [p[0][0] + p[0][1] * x, p[1][0] + p[1][1] * x];
        let variance = gain[0] + gain[1] * x + 1.0;
        let error = y - mean[0] - mean[1] * row[1];
        log_evidence -= 0.5 * ((2.0 * PI * variance).ln() + error * error / variance);
        for i in 0..2 {
            mean[i] += gain[i] * error / variance;
            for j in 0..2 {
                p[i][j] -= gain[i] * gain[j] / variance;
            }
        }
    }
    Exact { log_evidence, mean, covariance: p }
}

fn draws(bound: &Bound, settings: &Fit) -> Draws {
    bound.fit(settings).expect("a fit").draws(4000, 1).expect("draws")
}

#[test]
fn a_full_rank_gaussian_finds_a_gaussian_posterior_and_its_evidence() {
    let (fitted, exact) = (line().fit(&Fit::default().without_chain()).expect("a fit"), exact());
    let (found, error) = fitted.draws(4000, 1).expect("draws").bound();
    assert!((found - exact.log_evidence).abs() < 0.002 + 4.0 * error, "{found} and {}", exact.log_evidence);
    let gaussian = fitted.gaussian();
    let covariance = gaussian.covariance();
    for i in 0..2 {
        let sd = exact.covariance[i][i].sqrt();
        assert!((gaussian.mean[i] - exact.mean[i]).abs() < 0.02 * sd, "{:?} {:?}", gaussian.mean, exact.mean);
        for j in 0..2 {
            let scale = (exact.covariance[i][i] * exact.covariance[j][j]).sqrt();
            let off = (covariance[2 * i + j] - exact.covariance[i][j]).abs();
            assert!(off < 0.05 * scale, "{covariance:?} {:?}", exact.covariance);
        }
    }
    assert!(fitted.chain_learning().is_none());
}

#[test]
fn what_a_mean_field_gaussian_misses_is_known_and_a_chain_or_a_direction_finds_it() {
    let (bound, exact) = (line(), exact());
    let [[a, b], [_, c]] = exact.covariance;
    // The divergence of the best Gaussian without covariances: half of log Λ₁₁Λ₂₂ / |Λ|.
    let missed = 0.5 * (a * c / (a * c - b * b)).ln();
    let plain = Fit { gaussian: Covariance::MeanField, ..Fit::default() };
    let (alone, alone_error) = draws(&bound, &plain.clone().without_chain()).bound();
    let gap = exact.log_evidence - alone;
    assert!((gap - missed).abs() < 0.005 + 4.0 * alone_error, "{gap} ± {alone_error}, exactly {missed}");
    // Weights of 32 draws that are averaged first make a higher bound.
    let (together, error) = draws(&bound, &plain.clone().without_chain()).bound_of(32).expect("enough draws");
    let left = exact.log_evidence - together;
    assert!(left > -4.0 * error && left < 0.5 * gap, "{left} ± {error} of {gap}");
    let better = [
        ("a chain", plain),
        ("a direction", Fit { gaussian: Covariance::LowRank(1), ..Fit::default() }.without_chain()),
    ];
    for (what, settings) in better {
        let (found, error) = draws(&bound, &settings).bound();
        assert!(
            found < exact.log_evidence + 4.0 * error,
            "{what} gives {found} above {}",
            exact.log_evidence
        );
        let rest = exact.log_evidence - found;
        assert!(rest < 0.5 * missed, "{what} leaves {rest} of {missed}");
    }
}

/// Coefficients are tens of thousands of their standard units away from where walks begin.
#[test]
fn a_badly_scaled_regression_has_its_gaussian() {
    let example = hmcvi::bayes::examples::find("earnings").expect("an example");
    let data = example.data().expect("data").expect("data");
    let (y, x) = (&data.get("earn").expect("data").values, &data.get("height").expect("data").values);
    let n = y.len() as f64;
    let mean = |v: &[f64]| v.iter().sum::<f64>() / n;
    let (x0, y0) = (mean(x), mean(y));
    let sum = |a: &[f64], a0: f64, b: &[f64], b0: f64| -> f64 {
        a.iter().zip(b).map(|(a, b)| (a - a0) * (b - b0)).sum()
    };
    let (xx, xy, yy) = (sum(x, x0, x, x0), sum(x, x0, y, y0), sum(y, y0, y, y0));
    // Flat priors: ∫∫ N(y | Xβ, σ²) dβ dσ = (2π)^-m/2 |XᵀX|^-1/2 ½ (S/2)^-k Γ(k) with m = n - 2, k = (m - 1) / 2.
    let (rest, m) = (yy - xy * xy / xx, n - 2.0);
    let k = 0.5 * (m - 1.0);
    // Stirling's series; the next term is 1 / 360 k³.
    let log_gamma = (k - 0.5) * k.ln() - k + 0.5 * (2.0 * PI).ln() + 1.0 / (12.0 * k);
    let exact =
        -0.5 * m * (2.0 * PI).ln() - 0.5 * (n * xx).ln() - 2f64.ln() - k * (0.5 * rest).ln() + log_gamma;
    let bound = example.model().bind(&data).expect("a model");
    let found = bound.fit(&Fit::default().without_chain()).expect("a fit").draws(4000, 1).expect("draws");
    let (found, error) = found.bound();
    // Skewness of the scale costs a Gaussian less than 0.01 nats with a thousand observations.
    assert!((found - exact).abs() < 0.02 + 4.0 * error, "{found} ± {error}, exactly {exact}");
}

#[test]
fn a_chain_comes_closer_to_the_eight_schools_than_its_gaussian() {
    let bound = schools();
    let (alone, chain) = (draws(&bound, &Fit::default().without_chain()), draws(&bound, &Fit::default()));
    let ((b0, e0), (b1, e1)) = (alone.bound(), chain.bound());
    assert!(b1 - b0 > 3.0 * e0.hypot(e1), "{b1} ± {e1} with, {b0} ± {e0} without");
    let evidence = chain.weights().log_mean;
    assert!(b1 < evidence, "the bound {b1} is below the evidence {evidence}");
    // Means and deviations of 10,000 draws of a long run of NUTS (posteriordb, eight_schools_noncentered).
    let reference = [("mu", 4.4, 3.3), ("tau", 3.6, 3.2)];
    let error = |draws: &Draws| -> f64 {
        let summary = draws.summary();
        let off = |(name, mean, sd): (&str, f64, f64)| {
            let row = summary.iter().find(|row| row.name == name).expect("a row");
            (row.mean - mean).abs() / sd + (row.sd / sd - 1.0).abs()
        };
        reference.into_iter().map(off).sum()
    };
    assert!(error(&chain) < error(&alone), "{} with, {} without", error(&chain), error(&alone));
    for row in chain.summary() {
        assert!(row.q05 < row.q50 && row.q50 < row.q95 && row.mcse > 0.0, "{row:?}");
    }
    let names: Vec<&str> = chain.names().iter().map(String::as_str).collect();
    assert_eq!(names[..3], ["mu", "tau", "raw[1]"]);
    assert_eq!(names[17], "theta[8]");
}

#[test]
fn seeds_decide() {
    let bound = line();
    let fit = |seed| bound.fit(&Fit { seed, ..Fit::default().without_chain() }).expect("a fit");
    let (first, again, other) = (fit(1), fit(1), fit(2));
    let of = |fitted: &hmcvi::bayes::Fitted, seed| fitted.draws(300, seed).expect("draws").element("slope");
    assert_eq!(of(&first, 1), of(&again, 1));
    assert_ne!(of(&first, 1), of(&first, 2));
    assert_ne!(of(&first, 1), of(&other, 1));
    let (short, long) = (first.draws(10, 1).expect("draws"), first.draws(300, 1).expect("draws"));
    assert_eq!((short.len(), long.len()), (10, 300));
    assert_eq!(short.row(9), long.row(9));
}

#[test]
fn who_watches_can_stop_a_fit_and_keeps_what_there_is() {
    let mut seen = Vec::new();
    let watch = &mut |progress: Progress| {
        seen.push(progress);
        progress.stage == Stage::Start
    };
    let fitted = schools().fit_watched(&Fit::default(), watch).expect("a fit");
    assert_eq!(fitted.gaussian_learning().stopped, Stopped::Asked);
    assert_eq!(fitted.chain_learning().map(|learning| learning.stopped), Some(Stopped::Asked));
    let (bound, _) = fitted.draws(1000, 1).expect("draws").bound();
    assert!(bound.is_finite());
    assert!(seen.iter().any(|progress| progress.stage == Stage::Chain && progress.updates.0 == 50));
}

#[test]
fn places_to_begin_from_are_counted() {
    let mut seen = Vec::new();
    let watch = &mut |progress: Progress| {
        if progress.stage == Stage::Places {
            seen.push((progress.updates, progress.bound));
        }
        progress.stage == Stage::Places
    };
    line().fit_watched(&Fit { starts: 3, ..Fit::default().without_chain() }, watch).expect("a fit");
    assert_eq!(seen.iter().map(|(updates, _)| *updates).collect::<Vec<_>>(), [(1, 3), (2, 3), (3, 3)]);
    assert!(seen.windows(2).all(|pair| pair[0].1 <= pair[1].1), "the best one is kept: {seen:?}");
}

#[test]
fn densities_that_cannot_be_fitted_are_refused() {
    let of = |model: Model| model.bind(&Data::new()).expect("a model");
    let nowhere = of({
        Model::new(|m| {
            let x = m.sample("x", normal(0.0, 1.0));
            m.add_log_density("lost", (-1.0 - x * x).log());
        })
    });
    let error = nowhere.fit(&Fit::default()).expect_err("no density");
    assert!(matches!(error, FitError::NoDensity { .. }), "{error}");
    assert!(error.to_string().contains("gradient: `lost` is not finite there; check the data"), "{error}");
    let endless = of({
        Model::new(|m| {
            let x = m.sample("x", normal(0.0, 1.0));
            m.add_log_density("more", x * x);
        })
    });
    let refused = endless.fit(&Fit::default());
    assert!(refused.is_err(), "{:?}", refused.map(|fitted| fitted.gaussian()));
}

#[test]
fn data_that_are_no_numbers_are_named_where_nothing_has_a_density() {
    let model = Model::new(|m| {
        let (x, y) = (m.data("x"), m.data("y"));
        let slope = m.sample("slope", normal(0.0, 2.0));
        m.observe("y", normal(slope * x, 1.0), y);
    });
    let bound = model.bind(&Data::new().with("x", [1.0, f64::NAN]).with("y", [0.5, 1.5])).expect("a model");
    let error = bound.fit(&Fit::default()).expect_err("no density").to_string();
    assert!(
        error.contains("`y` is not finite there; `x` of the data is NaN at position 1 (from 0)"),
        "{error}"
    );
}

#[test]
fn settings_that_mean_nothing_are_refused_by_name() {
    let refused = |settings: Fit| line().fit(&settings).expect_err("refused").to_string();
    let usual = Fit::default;
    let chain = |leapfrog_steps| ChainSettings { leapfrog_steps, ..usual().chain };
    for (settings, message) in [
        (Fit { rows: 0, ..usual() }, "`rows` is 0, but must be at least 1"),
        (Fit { most_updates: 0, ..usual() }, "`most_updates` is 0, but must be at least 1"),
        (Fit { starts: 0, ..usual() }, "`starts` is 0, but must be at least 1"),
        (Fit { hidden: vec![8, 0], ..usual() }, "`hidden` is [8, 0], but must be sizes of at least 1"),
        (Fit { learning_rate: f64::NAN, ..usual() }, "`learning_rate` is NaN, but must be a number above 0"),
        (Fit { learning_rate: 1e6, ..usual() }, "`learning_rate` is 1000000, but must be a number above 0"),
        (Fit { tolerance: f64::NAN, ..usual() }, "`tolerance` is NaN, but must be a number of at least 0"),
        (Fit { gaussian: Covariance::Auto(0), ..usual() }, "`gaussian` is a low-rank covariance of rank 0"),
        (
            Fit { gaussian: Covariance::LowRank(0), ..usual() },
            "`gaussian` is a low-rank covariance of rank 0",
        ),
        (Fit { chain: chain(0), ..usual() }, "`chain.leapfrog_steps` is 0, but must be at least 1"),
    ] {
        let error = refused(settings);
        assert!(error.contains(message), "{error}");
    }
}

#[test]
fn where_any_rise_is_worth_it_all_updates_are_made() {
    let of = |tolerance| {
        let settings = Fit { tolerance, most_updates: 1200, ..Fit::default() }.without_chain();
        let fitted = line().fit(&settings).expect("a fit");
        (fitted.gaussian_learning().updates, fitted.gaussian_learning().stopped)
    };
    assert_eq!(of(0.0), (1200, Stopped::MostUpdates));
    let (updates, stopped) = of(0.002);
    assert!(updates < 1200 && stopped == Stopped::StoodStill, "{updates} updates, {stopped:?}");
}

#[test]
fn a_posterior_without_end_is_refused_by_the_name_of_the_variable() {
    let model = Model::new(|m| {
        let b = m.sample("b", normal(0.0, 1.0));
        let a = m.declare("a", Support::Real, (), Order::Rows);
        m.add_log_density("nothing", (a + b) * 0.0);
    });
    let error = model.bind(&Data::new()).expect("a model").fit(&Fit::default()).expect_err("refused");
    assert!(matches!(&error, FitError::Improper { name, .. } if name == "a"), "{error}");
}

#[test]
fn covariances_are_learnt_where_there_are_few_dimensions_and_directions_where_there_are_many() {
    let auto = Covariance::default();
    assert_eq!(auto.in_dimensions(300), Covariance::FullRank);
    assert_eq!(auto.in_dimensions(301), Covariance::LowRank(5));
    assert_eq!(Covariance::FullRank.in_dimensions(301), Covariance::FullRank);
    // A fit means what it says: in few dimensions the same bits.
    let model = Model::new(|m| {
        m.sample("x", normal(1.0, 2.0).shape(3));
    });
    let bound = model.bind(&Data::new()).expect("a model");
    let of = |gaussian| {
        let fit = Fit { gaussian, most_updates: 100, ..Fit::default() };
        bound.fit(&fit).expect("a fit").draws(50, 1).expect("draws").log_weights().to_vec()
    };
    assert_eq!(of(auto), of(Covariance::FullRank));
}

#[test]
fn groups_whose_density_rises_without_end_where_they_have_no_spread_are_fitted_where_their_mass_is() {
    // θ ~ N(μ, τ), y ~ N(θ, 1): the density has a pole at τ = 0, where there is next to no mass.
    for groups in [100, 310] {
        let mut y = vec![0.0; groups];
        hmcvi_graph::random::normal(Key { seed: 3, stream: 1, step: 0, row: 0 }, &mut y);
        y.iter_mut().for_each(|y| *y = 1.0 + 1.6 * *y);
        let model = Model::new(move |m| {
            let y = m.data("y");
            let mu = m.sample("mu", normal(0.0, 5.0));
            let tau = m.sample("tau", half_normal(2.0));
            let theta = m.sample("theta", normal(mu, tau).shape(groups));
            m.observe("y", normal(theta, 1.0), y);
        });
        let bound = model.bind(&Data::new().with("y", y.clone())).expect("a model");
        let draws = bound.fit(&Fit::default().without_chain()).expect("a fit").draws(2000, 1).expect("draws");
        let exact = evidence_of_groups(&y);
        let ((found, error), k_hat) = (draws.bound(), draws.smoothed().k_hat);
        assert!(
            found < exact + 4.0 * error && found > exact - 2.0,
            "{groups}: {found} of {exact}, k-hat {k_hat:?}"
        );
    }
}

/// `log ∫ N(μ; 0, 5) 2N(τ; 0, 2) Π N(y; μ, √(1 + τ²)) dμ dτ`, by quadrature over τ.
fn evidence_of_groups(y: &[f64]) -> f64 {
    let (n, sum, squares) = (y.len() as f64, y.iter().sum::<f64>(), y.iter().map(|y| y * y).sum::<f64>());
    let step = 0.005;
    let logs: Vec<f64> = (0..1200)
        .map(|i| (f64::from(i) + 0.5) * step)
        .map(|tau| {
            let variance = 1.0 + tau * tau;
            let (precision, pull) = (n / variance + 1.0 / 25.0, sum / variance);
            0.5 * (pull * pull / precision
                - squares / variance
                - (25.0 * precision).ln()
                - n * (TAU * variance).ln())
                - 0.5 * (TAU * 4.0).ln()
                + 2f64.ln()
                - tau * tau / 8.0
        })
        .collect();
    let most = logs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    most + (logs.iter().map(|log| (log - most).exp()).sum::<f64>() * step).ln()
}
