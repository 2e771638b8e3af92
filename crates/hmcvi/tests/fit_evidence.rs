//! Log evidences are those that are known, and weighted draws are those of the posterior.

use std::f64::consts::PI;

use hmcvi::bayes::fit::{EvidenceSettings, EvidenceStage, Row};
use hmcvi::bayes::{Bound, Covariance, Data, Draws, Fit, FitError, Model, examples, normal};
use hmcvi::eval::{PosteriorOptions, Reliability};

const X: [f64; 5] = [1.0, 2.0, 3.0, 4.0, 5.0];
const Y: [f64; 5] = [0.9, 2.2, 2.4, 4.1, 4.8];

/// A straight line through five points with noise 1; intercept and slope have prior deviation 2.
fn line() -> Bound {
    let model = Model::new(|m| {
        let (x, y) = (m.data("x"), m.data("y"));
        let intercept = m.sample("intercept", normal(0.0, 2.0));
        let slope = m.sample("slope", normal(0.0, 2.0));
        m.observe("y", normal(intercept + slope * x, 1.0), y);
    });
    model.bind(&Data::new().with("x", X).with("y", Y)).expect("a model")
}

/// Log evidence, mean and covariance of the line, one point after the other as a Kalman filter takes them.
fn exact() -> (f64, [f64; 2], [[f64; 2]; 2]) {
    let (mut mean, mut p) = ([0.0; 2], [[4.0, 0.0], [0.0, 4.0]]);
    let mut log_evidence = 0.0;
    for (x, y) in X.into_iter().zip(Y) {
        let gain = [p[0][0] + p[0][1] * x, p[1][0] + p[1][1] * x];
        let variance = gain[0] + gain[1] * x + 1.0;
        let error = y - mean[0] - mean[1] * x;
        log_evidence -= 0.5 * ((2.0 * PI * variance).ln() + error * error / variance);
        for i in 0..2 {
            mean[i] += gain[i] * error / variance;
            for j in 0..2 {
                p[i][j] -= gain[i] * gain[j] / variance;
            }
        }
    }
    (log_evidence, mean, p)
}

/// Exact draws of the line's posterior, from standard normal numbers.
fn exact_draws(count: u32) -> Vec<Vec<f64>> {
    let (_, mean, [[a, b], [_, c]]) = exact();
    let lower = [a.sqrt(), b / a.sqrt(), (c - b * b / a).sqrt()];
    let draw = |row| {
        let mut e = [0.0; 2];
        hmcvi_graph::random::normal(hmcvi_graph::random::Key { seed: 8, stream: 0, step: 0, row }, &mut e);
        vec![mean[0] + lower[0] * e[0], mean[1] + lower[1] * e[0] + lower[2] * e[1]]
    };
    (0..count).map(draw).collect()
}

/// Too narrow by far, since intercept and slope have much to do with each other.
fn narrow() -> Fit {
    Fit { gaussian: Covariance::MeanField, ..Fit::default() }.without_chain()
}

fn settings() -> EvidenceSettings {
    let long_chain = PosteriorOptions { chains: 4, warm_up: 300, draws: 600, leapfrog_steps: 4 };
    EvidenceSettings { chains: 200, temperatures: 60, long_chain, ..EvidenceSettings::default() }
}

#[test]
fn both_sides_enclose_the_exact_evidence_of_a_line() {
    let (bound, (log_evidence, ..)) = (line(), exact());
    for (fit, given) in [(narrow(), true), (narrow(), false), (Fit::default().without_chain(), true)] {
        let fitted = bound.fit(&fit).expect("a fit");
        let draws = given.then(|| exact_draws(400));
        let found =
            fitted.evidence_watched(&settings(), draws.as_deref(), &mut |_, _| true).expect("evidence");
        // Weights of a Gaussian that is too narrow have no variance; those of annealing have.
        let weighted = if fit == narrow() { &found.lower } else { &found.importance };
        for side in [weighted, &found.lower, &found.upper] {
            let off = (side.log_evidence - log_evidence).abs();
            assert!(off < 0.002 + 4.0 * side.standard_error, "{side:?}, exactly {log_evidence}");
            assert!(side.standard_error < 0.1, "{side:?}");
        }
        let between = found.between.expect("an estimate");
        assert!((between.mean - log_evidence).abs() < 0.002 + 4.0 * between.standard_error, "{between:?}");
        assert!(found.is_bracket() && found.width().mean < 0.3, "{found:?}");
        assert_eq!(found.long_chain.is_some(), !given);
        assert!(found.long_chain.is_none_or(|chain| chain.converged()), "{found:?}");
        let rates = [found.lower.acceptance_rate, found.upper.acceptance_rate];
        assert!(rates.iter().all(|rate| rate.is_some_and(|rate| (0.4..=1.0).contains(&rate))), "{rates:?}");
    }
}

#[test]
fn few_temperatures_bound_from_their_own_side() {
    // Two temperatures and one chain each way, over and over: means of log weights are strict bounds.
    let (fitted, (log_evidence, ..)) = (line().fit(&narrow()).expect("a fit"), exact());
    let coarse = EvidenceSettings { temperatures: 2, leapfrog_steps: 1, chains: 1000, ..settings() };
    let found =
        fitted.evidence_watched(&coarse, Some(&exact_draws(1000)), &mut |_, _| true).expect("evidence");
    let between = found.between.expect("an estimate");
    assert!((between.mean - log_evidence).abs() < 4.0 * between.standard_error, "{between:?} {log_evidence}");
    // Both ends are right in the mean; a single chain is not.
    let one = EvidenceSettings { chains: 2, ..coarse };
    let (mut below, mut above) = (0.0, 0.0);
    for seed in 0..20 {
        let one = EvidenceSettings { seed, ..one.clone() };
        let draws = &exact_draws(1000)[10 * seed as usize..];
        let found = fitted.evidence_watched(&one, Some(draws), &mut |_, _| true).expect("evidence");
        below += found.lower.log_evidence / 20.0;
        above += found.upper.log_evidence / 20.0;
    }
    assert!(below < log_evidence && log_evidence < above, "{below} {log_evidence} {above}");
}

#[test]
fn draws_of_another_model_are_refused_and_who_watches_can_stop() {
    let fitted = line().fit(&narrow()).expect("a fit");
    let refused = |draws: &[Vec<f64>]| {
        let found = fitted.evidence_watched(&settings(), Some(draws), &mut |_, _| true);
        found.expect_err("not of this model").to_string()
    };
    assert_eq!(refused(&[]), "posterior draws: there are none");
    assert!(
        refused(&[vec![1.0; 3]])
            .contains("one has 3 numbers, but the variables of the model are made from 2")
    );
    let none = EvidenceSettings { chains: 1, ..settings() };
    let error = fitted.evidence(&none).expect_err("one chain has no standard error").to_string();
    assert_eq!(error, "`chains` is 1, but must be at least 2");
    let mut seen = Vec::new();
    let stopped = fitted.evidence_watched(&settings(), None, &mut |stage, _| {
        seen.push(stage);
        stage != EvidenceStage::Upper
    });
    assert!(matches!(stopped, Err(FitError::Evidence(_))));
    seen.dedup();
    let all =
        [EvidenceStage::Importance, EvidenceStage::LongChain, EvidenceStage::Tuning, EvidenceStage::Lower];
    assert_eq!(seen, [&all[..], &[EvidenceStage::Upper]].concat());
}

fn by_name<'r>(rows: &'r [Row], name: &str) -> &'r Row {
    rows.iter().find(|row| row.name == name).expect("a row")
}

#[test]
fn weights_turn_a_narrow_fit_into_the_posterior() {
    let (_, mean, covariance) = exact();
    let wide = Fit { gaussian: Covariance::MeanField, ..Fit::default() };
    let draws: Draws = line().fit(&wide).expect("a fit").draws(8000, 1).expect("draws");
    assert_eq!(draws.smoothed().reliability(), Reliability::Good, "{:?}", draws.smoothed().k_hat);
    let (plain, weighted) = (draws.summary(), draws.weighted_summary());
    let resampled = draws.resampled(4000, 3);
    assert_eq!((resampled.len(), resampled.names()), (4000, draws.names()));
    let chosen = resampled.summary();
    for (i, name) in ["intercept", "slope"].into_iter().enumerate() {
        let sd = covariance[i][i].sqrt();
        for rows in [&weighted, &chosen] {
            let row = by_name(rows, name);
            assert!((row.mean - mean[i]).abs() < 4.0 * row.mcse, "{row:?}, exactly {}", mean[i]);
            assert!((row.sd / sd - 1.0).abs() < 0.1, "{row:?}, exactly {sd}");
            // The 95% quantile of a Gaussian is 1.645 deviations from its mean.
            assert!((row.q95 - mean[i] - 1.645 * sd).abs() < 0.15 * sd, "{row:?}");
        }
        let (plain, weighted, chosen) =
            (by_name(&plain, name), by_name(&weighted, name), by_name(&chosen, name));
        assert!(
            plain.mcse < weighted.mcse && weighted.mcse < chosen.mcse,
            "{plain:?} {weighted:?} {chosen:?}"
        );
    }
    assert!((resampled.bound().0 - draws.smoothed().log_mean).abs() < 1e-9);
    assert_eq!(draws.resampled(50, 3).row(7), draws.resampled(50, 3).row(7));
    // Every draw that was chosen is one of those that were there.
    assert!((0..50).all(|i| (0..8000).any(|j| draws.row(j) == resampled.row(i))));
}

#[test]
fn the_evidence_of_eight_schools_is_bracketed() {
    let example = examples::find("eight-schools").expect("an example");
    let data = example.data().expect("readable").expect("embedded");
    let fitted =
        example.model().bind(&data).expect("a model").fit(&Fit::default().without_chain()).expect("a fit");
    let mut settings = EvidenceSettings { temperatures: 300, ..settings() };
    // Its draws of tau are slow: there have to be enough of them to go by.
    settings.long_chain.draws *= 2;
    let found = fitted.evidence(&settings).expect("evidence");
    assert!(found.is_bracket() && found.width().mean.abs() < 0.3, "{found:?}");
    let (between, lower, upper) = (found.between.expect("an estimate"), found.lower, found.upper);
    assert!(between.mean > lower.log_evidence - 4.0 * lower.standard_error, "{found:?}");
    assert!(between.mean < upper.log_evidence + 4.0 * upper.standard_error, "{found:?}");
    let off = (found.importance.log_evidence - between.mean).abs();
    assert!(off < 0.05 + 4.0 * found.importance.standard_error.hypot(between.standard_error), "{found:?}");
}
