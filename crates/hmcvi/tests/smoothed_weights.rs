//! Smoothed importance weights are those of ArviZ.

use hmcvi::eval::{Reliability, SmoothedWeights, Weights};
use serde::Deserialize;

#[derive(Deserialize)]
struct Reference {
    cases: Vec<Case>,
}

#[derive(Deserialize)]
struct Case {
    name: String,
    kind: String,
    scale: f64,
    location: f64,
    draws: usize,
    seed: u64,
    k_hat: Option<f64>,
    effective_sample_size: f64,
    places: Vec<usize>,
    log_weights: Vec<f64>,
}

/// The log weights of `tests/reference/psis.py`.
fn log_weights(case: &Case) -> Vec<f64> {
    let mut state = case.seed;
    let mut uniform = || {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (state >> 11) as f64 / 9007199254740992.0
    };
    (0..case.draws)
        .map(|_| {
            let x = match case.kind.as_str() {
                "tail" => -(1.0 - uniform()).ln(),
                _ => (0..12).fold(-6.0, |sum, _| sum + uniform()),
            };
            case.location + case.scale * x
        })
        .collect()
}

#[test]
fn smoothed_weights_are_those_of_arviz() {
    let reference: Reference =
        serde_json::from_str(include_str!("reference/psis.json")).expect("the reference is JSON");
    assert!(reference.cases.len() >= 8);
    for case in reference.cases {
        let given = log_weights(&case);
        let found = SmoothedWeights::new(&given);
        let near = |a: f64, b: f64| (a - b).abs() < 1e-8 * (1.0 + b.abs());
        match (found.k_hat, case.k_hat) {
            (Some(found), Some(expected)) => {
                assert!(near(found, expected), "{}: {found} {expected}", case.name)
            }
            (found, expected) => assert_eq!(found, expected, "{}", case.name),
        }
        let (ess, expected) = (found.effective_sample_size, case.effective_sample_size);
        assert!(near(ess, expected), "{}: {ess} {expected}", case.name);
        for (place, expected) in case.places.iter().zip(&case.log_weights) {
            let log_weight = found.log_weights[*place];
            assert!(near(log_weight, *expected), "{} at {place}: {log_weight} {expected}", case.name);
        }
        // The estimator that sees weights one by one finds the same shape.
        let mut weights = Weights::new(given.len());
        given.iter().for_each(|w| weights.add(*w));
        match (weights.summary().k_hat, found.k_hat) {
            (Some(one), Some(other)) => assert!(near(one, other), "{}: {one} {other}", case.name),
            (one, other) => assert_eq!(one, other, "{}", case.name),
        }
        let expected = match case.k_hat {
            None => Reliability::NotChecked,
            Some(k) if k > 1.0 => Reliability::None,
            Some(k) if k > 0.7 => Reliability::Biased,
            Some(k) if k > 1.0 - 1.0 / (case.draws as f64).log10() => Reliability::TooFewDraws,
            Some(_) => Reliability::Good,
        };
        assert_eq!(found.reliability(), expected, "{}", case.name);
    }
}
