//! Compare draws of a fit with those of chains, number by number, with the errors of both.

use hmcvi::bayes::Draws;
use hmcvi::eval::{wasserstein, wasserstein_by_chance};
use hmcvi::hmc::diagnostics;
use serde::{Deserialize, Serialize};

use crate::Sampled;

/// How far a fit may be from the chains, in standard deviations of the chains.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Limits {
    /// Difference of means.
    pub mean: f64,
    /// Difference of the ratio of standard deviations from 1.
    pub sd: f64,
    /// 1-Wasserstein distance.
    pub wasserstein: f64,
}

impl Default for Limits {
    fn default() -> Self {
        // A Gaussian that is off by both others has a distance of 0.13.
        Limits { mean: 0.1, sd: 0.1, wasserstein: 0.15 }
    }
}

/// What a comparison says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// The fit is within the limits.
    Agrees,
    /// It is outside by more than two standard errors.
    Differs,
    /// There are not enough draws to tell.
    TooFewDraws,
}

/// A difference with its Monte Carlo standard error.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Offset {
    /// The difference, in standard deviations of the chains.
    pub value: f64,
    /// Its standard error.
    pub error: f64,
}

/// One number of the model in a fit and in chains.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Element {
    /// Its name, as Stan writes it.
    pub name: String,
    /// Mean and standard deviation in the fit.
    pub fit: (f64, f64),
    /// Mean and standard deviation of the chains.
    pub chains: (f64, f64),
    /// Mean of the fit less that of the chains, in standard deviations of the chains.
    pub mean: Offset,
    /// Standard deviation of the fit over that of the chains, less 1.
    pub sd: Offset,
    /// 1-Wasserstein distance, in standard deviations of the chains; its error is what equal distributions have on
    /// average at these numbers of draws, which it has on top.
    pub wasserstein: Offset,
    /// What all three say.
    pub verdict: Verdict,
}

/// Standard errors that a difference has to be away from a limit.
const ERRORS: f64 = 2.0;

/// Compares every number of a model. Nothing where chains have too few draws, or a number is not finite.
pub fn compare(fit: &Draws, sampled: &Sampled, limits: &Limits) -> Vec<Element> {
    let element = |name: &String| {
        let (x, chains) = (fit.element(name)?, sampled.element(name)?);
        of_element(name, x, &chains, limits)
    };
    sampled.names.iter().filter_map(element).collect()
}

fn of_element(name: &str, x: Vec<f64>, chains: &[Vec<f64>], limits: &Limits) -> Option<Element> {
    let all = chains.concat();
    let (a, b) = (moments(&x)?, moments(&all)?);
    if a.sd == 0.0 && b.sd == 0.0 {
        return Some(constant(name, a.mean, b.mean));
    }
    let found = diagnostics::summary(chains)?;
    let squares = |chain: &Vec<f64>| chain.iter().map(|x| (x - b.mean).powi(2)).collect();
    // The standard deviation has half of the relative error of the variance.
    let squares = diagnostics::summary(&chains.iter().map(squares).collect::<Vec<_>>())?;
    let (n, scale) = (x.len() as f64, 1.0 / b.sd);
    let ratio = a.sd * scale;
    let mean =
        Offset { value: (a.mean - b.mean) * scale, error: (a.sd / n.sqrt()).hypot(found.mcse_mean) * scale };
    let own = 0.5 * ((a.kurtosis - 1.0).max(0.0) / n).sqrt();
    let theirs = 0.5 * squares.mcse_mean * scale * scale;
    let sd = Offset { value: ratio - 1.0, error: ratio * own.hypot(theirs) };
    let draws = (1.0 / n + 1.0 / found.ess_mean.min(all.len() as f64)).sqrt();
    let noise = wasserstein_by_chance(&all) * draws * scale;
    let wasserstein = Offset { value: wasserstein(x, all) * scale, error: noise };
    let verdicts = [
        verdict(mean.value.abs(), mean.error, limits.mean),
        verdict(sd.value.abs(), sd.error, limits.sd),
        verdict_of_distance(wasserstein, limits.wasserstein),
    ];
    let verdict = worst(verdicts);
    Some(Element {
        name: name.into(),
        fit: (a.mean, a.sd),
        chains: (b.mean, b.sd),
        mean,
        sd,
        wasserstein,
        verdict,
    })
}

/// A number that never changes, such as the diagonal of a correlation.
fn constant(name: &str, fit: f64, chains: f64) -> Element {
    let verdict =
        if (fit - chains).abs() <= 1e-9 * chains.abs().max(1.0) { Verdict::Agrees } else { Verdict::Differs };
    let none = Offset { value: 0.0, error: 0.0 };
    Element {
        name: name.into(),
        fit: (fit, 0.0),
        chains: (chains, 0.0),
        mean: none,
        sd: none,
        wasserstein: none,
        verdict,
    }
}

fn verdict(value: f64, error: f64, limit: f64) -> Verdict {
    match () {
        () if value + ERRORS * error <= limit => Verdict::Agrees,
        () if value - ERRORS * error > limit => Verdict::Differs,
        () => Verdict::TooFewDraws,
    }
}

/// Noise makes a distance larger, never smaller.
fn verdict_of_distance(distance: Offset, limit: f64) -> Verdict {
    match () {
        () if distance.value <= limit => Verdict::Agrees,
        () if distance.value - ERRORS * distance.error > limit => Verdict::Differs,
        () => Verdict::TooFewDraws,
    }
}

fn worst(all: [Verdict; 3]) -> Verdict {
    let any = |verdict| all.contains(&verdict);
    match (any(Verdict::Differs), any(Verdict::TooFewDraws)) {
        (true, _) => Verdict::Differs,
        (_, true) => Verdict::TooFewDraws,
        _ => Verdict::Agrees,
    }
}

struct Moments {
    mean: f64,
    sd: f64,
    kurtosis: f64,
}

/// Moments of draws, where there are two or more and they are finite.
fn moments(x: &[f64]) -> Option<Moments> {
    let n = x.len() as f64;
    let mean = x.iter().sum::<f64>() / n;
    let central = |power: i32| x.iter().map(|x| (x - mean).powi(power)).sum::<f64>();
    let (second, fourth) = (central(2), central(4));
    let sd = (second / (n - 1.0)).sqrt();
    let kurtosis = if second > 0.0 { fourth * n / (second * second) } else { 0.0 };
    (x.len() > 1 && sd.is_finite()).then_some(Moments { mean, sd, kurtosis })
}

#[cfg(test)]
mod tests {
    use hmcvi_graph::random::{Key, normal};

    use super::*;

    fn gaussian(row: u32, n: usize, mean: f64, sd: f64) -> Vec<f64> {
        let mut x = vec![0.0; n];
        normal(Key { seed: 5, stream: 0, step: 0, row }, &mut x);
        x.iter().map(|x| mean + sd * x).collect()
    }

    fn compared(mean: f64, sd: f64, n: usize) -> Element {
        let chains: Vec<Vec<f64>> = (0..4).map(|chain| gaussian(chain, n, 3.0, 2.0)).collect();
        of_element("x", gaussian(9, 4 * n, mean, sd), &chains, &Limits::default()).expect("a comparison")
    }

    #[test]
    fn what_is_off_is_found_and_what_is_not_agrees() {
        let same = compared(3.0, 2.0, 2000);
        assert_eq!(same.verdict, Verdict::Agrees, "{same:?}");
        assert!(same.mean.value.abs() < 4.0 * same.mean.error && same.sd.value.abs() < 4.0 * same.sd.error);
        // Standard errors of 8,000 draws each: √(2 / 8000) of a mean, 1 / √8000 of a ratio.
        assert!((same.mean.error / 0.0158 - 1.0).abs() < 0.2 && (same.sd.error / 0.0112 - 1.0).abs() < 0.2);
        assert!(same.wasserstein.value < 3.0 * same.wasserstein.error, "{same:?}");
        assert_eq!(compared(3.6, 2.0, 2000).verdict, Verdict::Differs);
        let wide = compared(3.0, 2.6, 2000);
        assert!(wide.verdict == Verdict::Differs && (wide.sd.value - 0.3).abs() < 0.06, "{wide:?}");
        assert_eq!(compared(3.0, 2.0, 20).verdict, Verdict::TooFewDraws);
    }

    #[test]
    fn numbers_that_never_change_agree_where_they_are_equal() {
        let of = |value| {
            let chains = vec![vec![1.0; 10]; 2];
            of_element("L[1,1]", vec![value; 10], &chains, &Limits::default()).expect("a comparison").verdict
        };
        assert_eq!((of(1.0), of(1.5)), (Verdict::Agrees, Verdict::Differs));
    }
}
