//! Sum importance weights as they come, and say how far their mean can be trusted.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use serde::{Deserialize, Serialize};

use super::pareto::{FEWEST, Tail};

/// Most weights of the tail that are kept: memory does not grow with the number of samples.
const MOST_OF_TAIL: usize = 4096;

/// Weights `eʷ`, of which only sums and the largest are kept.
#[derive(Clone, Debug)]
pub struct Weights {
    count: u64,
    /// Largest `w`, and sums of `eʷ` and `e²ʷ` divided by its powers.
    most: f64,
    sum: f64,
    squares: f64,
    /// Mean of `w` and the sum of squared differences from it (Welford).
    mean: f64,
    scatter: f64,
    /// The largest `w`, the smallest of them on top.
    tail: BinaryHeap<Reverse<Ordered>>,
    tail_length: usize,
}

/// What the weights of one image say about themselves.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct WeightSummary {
    /// `log (Σ eʷ / n)`
    pub log_mean: f64,
    /// Variance of `w`.
    pub variance: f64,
    /// Effective number of samples, `(Σ eʷ)² / Σ e²ʷ`.
    pub effective_sample_size: f64,
    /// Shape `k̂` of the generalised Pareto distribution of the largest weights: below 0.5 the weights
    /// have a finite variance, above 0.7 their mean is not to be trusted (Vehtari et al., *Pareto smoothed
    /// importance sampling*). Equal weights have no tail, and 0; absent where there are too few weights to tell.
    pub k_hat: Option<f64>,
}

impl WeightSummary {
    /// Standard error of the log mean of so many independent weights, as far as they know it.
    pub fn error_of_log_mean(&self, count: usize) -> f64 {
        log_mean_error(self.effective_sample_size, count)
    }
}

/// The relative standard error of a mean of weights: `√((n / n_eff - 1) / (n - 1))`.
pub(crate) fn log_mean_error(effective_sample_size: f64, count: usize) -> f64 {
    let n = count as f64;
    ((n / effective_sample_size - 1.0).max(0.0) / (n - 1.0).max(1.0)).sqrt()
}

#[derive(Clone, Copy, Debug, PartialEq)]
struct Ordered(f64);

impl Eq for Ordered {}

impl PartialOrd for Ordered {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Ordered {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.0.total_cmp(&other.0)
    }
}

impl Weights {
    /// No weights yet; `samples` will come, which decides how many make up their tail.
    pub fn new(samples: usize) -> Self {
        let n = samples as f64;
        let tail_length = ((0.2 * n).min(3.0 * n.sqrt()).ceil() as usize).clamp(1, MOST_OF_TAIL);
        Weights {
            count: 0,
            most: f64::NEG_INFINITY,
            sum: 0.0,
            squares: 0.0,
            mean: 0.0,
            scatter: 0.0,
            tail: BinaryHeap::with_capacity(tail_length + 2),
            tail_length,
        }
    }

    /// Adds a weight by its logarithm `w`.
    pub fn add(&mut self, log_weight: f64) {
        self.count += 1;
        // A weight of zero adds nothing, and has no place as the largest.
        if log_weight == f64::NEG_INFINITY {
            return;
        }
        if log_weight > self.most {
            let shrink = (self.most - log_weight).exp();
            self.sum *= shrink;
            self.squares *= shrink * shrink;
            self.most = log_weight;
        }
        let weight = (log_weight - self.most).exp();
        self.sum += weight;
        self.squares += weight * weight;
        let difference = log_weight - self.mean;
        self.mean += difference / self.count as f64;
        self.scatter += difference * (log_weight - self.mean);
        // One more than the tail: its smallest value is where the tail begins.
        if self.tail.len() <= self.tail_length {
            self.tail.push(Reverse(Ordered(log_weight)));
        } else if self.tail.peek().is_some_and(|least| log_weight > least.0.0) {
            self.tail.pop();
            self.tail.push(Reverse(Ordered(log_weight)));
        }
    }

    /// `log (Σ eʷ / n)`
    pub fn log_mean(&self) -> f64 {
        self.most + self.sum.ln() - (self.count as f64).ln()
    }

    /// Whether all weights are the same, up to rounding.
    fn are_equal(&self) -> bool {
        let spread = (self.scatter / self.count.max(1) as f64).sqrt();
        self.count >= FEWEST as u64 && spread < 1e-5 * self.mean.abs().max(1.0)
    }

    /// What the weights say about themselves.
    pub fn summary(&self) -> WeightSummary {
        let mut tail: Vec<f64> = self.tail.iter().map(|w| (w.0.0 - self.most).exp()).collect();
        tail.sort_by(f64::total_cmp);
        let excess: Vec<f64> = match tail.split_first() {
            Some((threshold, rest)) => rest.iter().map(|w| w - threshold).collect(),
            None => Vec::new(),
        };
        WeightSummary {
            log_mean: self.log_mean(),
            variance: self.scatter / (self.count.max(2) - 1) as f64,
            effective_sample_size: self.sum * self.sum / self.squares,
            k_hat: Tail::of(&excess).map(|tail| tail.shape).or_else(|| self.are_equal().then_some(0.0)),
        }
    }
}

/// `log (Σ eʷ / n)` of some values.
pub fn log_mean_exp(log_weights: impl IntoIterator<Item = f64>) -> f64 {
    let mut weights = Weights::new(1);
    log_weights.into_iter().for_each(|w| weights.add(w));
    weights.log_mean()
}

#[cfg(test)]
mod tests {
    use hmcvi_graph::random::{Key, normal, uniform};

    use super::*;

    #[test]
    fn sums_do_not_overflow_and_agree_with_plain_ones() {
        let mut w = vec![0.0; 1000];
        normal(Key { seed: 1, stream: 0, step: 0, row: 0 }, &mut w);
        let mut weights = Weights::new(w.len());
        w.iter().for_each(|w| weights.add(w - 2000.0));
        weights.add(f64::NEG_INFINITY);
        let (sum, squares): (f64, f64) =
            w.iter().fold((0.0, 0.0), |(s, q), w| (s + w.exp(), q + (2.0 * w).exp()));
        let s = weights.summary();
        assert!((s.log_mean - ((sum / 1001.0).ln() - 2000.0)).abs() < 1e-9, "{s:?}");
        assert!((s.effective_sample_size / (sum * sum / squares) - 1.0).abs() < 1e-12, "{s:?}");
        // log(Σ eʷ / n) of a standard normal w is about ½, its variance about 1.
        assert!((s.variance - 1.0).abs() < 4.0 * (2.0f64 / 1000.0).sqrt(), "{s:?}");
        assert!((log_mean_exp([0.0, 3f64.ln()]) - 2f64.ln()).abs() < 1e-15);
    }

    #[test]
    fn the_tail_of_pareto_weights_has_their_shape() {
        // Weights u^(-k) have a Pareto tail of shape k. Over 40 sets of 5,000 weights the mean estimate has to be
        // near the regularised k: (212 k + 5) / 222.
        for k in [0.2, 0.5, 0.7, 1.0] {
            let estimates: Vec<f64> = (0..40)
                .map(|row| {
                    let mut u = vec![0.0; 5000];
                    uniform(Key { seed: 7, stream: 0, step: 0, row }, &mut u);
                    let mut weights = Weights::new(u.len());
                    u.iter().for_each(|u: &f64| weights.add(-k * (1.0 - u).ln()));
                    weights.summary().k_hat.expect("a tail")
                })
                .collect();
            let mean = estimates.iter().sum::<f64>() / 40.0;
            let square: f64 = estimates.iter().map(|e| (e - mean) * (e - mean)).sum();
            let error = (square / 39.0 / 40.0).sqrt();
            let expected = (213.0 * k + 5.0) / 223.0;
            assert!(
                (mean - expected).abs() < 4.0 * error + 0.01,
                "k = {k}: {mean} +- {error}, expected {expected}"
            );
        }
    }

    #[test]
    fn equal_weights_have_no_tail() {
        let mut weights = Weights::new(100);
        (0..100).for_each(|_| weights.add(-3.0));
        let s = weights.summary();
        assert_eq!((s.k_hat, s.variance, s.effective_sample_size), (Some(0.0), 0.0, 100.0));
    }

    #[test]
    fn a_tail_of_too_few_weights_has_no_shape() {
        let mut weights = Weights::new(10);
        (0..10).for_each(|i| weights.add(f64::from(i)));
        assert_eq!(weights.summary().k_hat, None);
    }
}
