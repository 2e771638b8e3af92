//! Weigh draws by importance: smoothed weights, weighted summaries, draws that are chosen in proportion.

use hmcvi_graph::random::{self, Key};

use super::draws::{Draws, Row};
use crate::eval::{Reliability, SmoothedWeights};

/// Stream of choices, apart from those of programs.
const STREAM: u16 = u16::MAX - 4;

impl Draws {
    /// Pareto-smoothed weights of the draws, with the k-hat that says how far they are to be trusted.
    pub fn smoothed(&self) -> SmoothedWeights {
        SmoothedWeights::new(self.log_weights())
    }

    /// Mean, standard deviation and quantiles of every element with smoothed weights: those of the posterior, where
    /// [`smoothed`](Self::smoothed) says that the weights are good. Standard errors are those of weighted means, which
    /// have the effective sample size in them.
    pub fn weighted_summary(&self) -> Vec<Row> {
        self.summary_with(&self.smoothed().weights())
    }

    /// Draws that are chosen from these in proportion to their smoothed weights: draws of the posterior, where
    /// [`smoothed`](Self::smoothed) says that the weights are good. Some are chosen more than once, which the standard
    /// errors of their summary know. All have the same weight, whose logarithm is the log evidence.
    #[must_use]
    pub fn resampled(&self, count: usize, seed: u64) -> Self {
        let smoothed = self.smoothed();
        let mut chosen = self.choose(&choose(&smoothed.weights(), count, seed));
        chosen.log_weights.fill(smoothed.log_mean);
        chosen.errors_of_weights = Some(self.weighted_summary().iter().map(|row| row.mcse).collect());
        chosen
    }

    /// The same as [`resampled`](Self::resampled), where k-hat says that the weights are good; else nothing.
    pub fn of_posterior(&self, count: usize, seed: u64) -> Option<Self> {
        (self.smoothed().reliability() == Reliability::Good).then(|| self.resampled(count, seed))
    }
}

/// One place in each of `count` equal parts of the weights, which add up to 1.
fn choose(weights: &[f64], count: usize, seed: u64) -> Vec<usize> {
    let mut uniform = vec![0.0; count];
    random::uniform(Key { seed, stream: STREAM, step: 0, row: 0 }, &mut uniform);
    let (mut place, mut sum) = (0, weights.first().copied().unwrap_or(0.0));
    let choice = |(part, uniform): (usize, f64)| {
        let at = (part as f64 + uniform) / count as f64;
        while sum < at && place + 1 < weights.len() {
            place += 1;
            sum += weights[place];
        }
        place
    };
    let parts = if weights.is_empty() { 0 } else { count };
    uniform.into_iter().enumerate().take(parts).map(choice).collect()
}

/// The summary of values with weights that add up to 1.
pub(super) fn row(name: &str, values: &[f64], weights: &[f64]) -> Row {
    let mean: f64 = values.iter().zip(weights).map(|(x, w)| w * x).sum();
    let (mut variance, mut error, mut squares) = (0.0, 0.0, 0.0);
    for (x, w) in values.iter().zip(weights) {
        let square = (x - mean).powi(2);
        (variance, error, squares) = (variance + w * square, error + w * w * square, squares + w * w);
    }
    // For equal weights 1 - Σw² is (n - 1) / n.
    let rest = if squares < 1.0 { 1.0 - squares } else { 1.0 };
    let [q05, q50, q95] = quantiles(values, weights, [0.05, 0.5, 0.95]);
    Row { name: name.into(), mean, sd: (variance / rest).sqrt(), q05, q50, q95, mcse: (error / rest).sqrt() }
}

/// Quantiles, between neighbours where they fall between them. A value lies where half of its weight is below; the
/// smallest one at 0, the largest one at 1.
fn quantiles<const N: usize>(values: &[f64], weights: &[f64], shares: [f64; N]) -> [f64; N] {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by(|a, b| values[*a].total_cmp(&values[*b]));
    let mut sum = 0.0;
    let mut places: Vec<f64> = Vec::with_capacity(order.len());
    for i in &order {
        places.push(sum + 0.5 * weights[*i]);
        sum += weights[*i];
    }
    let (Some(first), Some(last)) = (places.first().copied(), places.last().copied()) else {
        return [f64::NAN; N];
    };
    shares.map(|share| {
        let at = first + share * (last - first);
        let high = places.partition_point(|place| *place < at).min(places.len() - 1);
        let low = high.saturating_sub(1);
        let (a, b) = (values[order[low]], values[order[high]]);
        let part = (at - places[low]) / (places[high] - places[low]);
        if part.is_finite() { a + part * (b - a) } else { b }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_weights_make_the_plain_summary() {
        let found = row("x", &[4.0, 1.0, 3.0, 2.0, 10.0], &[0.2; 5]);
        // Mean 4; squares 0, 9, 1, 4, 36 of which a fourth is 12.5. Quantiles as of R and NumPy: 1.2, 3, 8.8.
        assert!((found.mean - 4.0).abs() < 1e-12 && (found.sd - 12.5f64.sqrt()).abs() < 1e-12, "{found:?}");
        assert!((found.mcse - (12.5f64 / 5.0).sqrt()).abs() < 1e-12, "{found:?}");
        assert!((found.q05 - 1.2).abs() < 1e-12 && (found.q95 - 8.8).abs() < 1e-12, "{found:?}");
        assert!((found.q50 - 3.0).abs() < 1e-12);
        let one = row("x", &[2.5], &[1.0]);
        assert_eq!((one.mean, one.sd, one.q05, one.q95), (2.5, 0.0, 2.5, 2.5));
    }

    #[test]
    fn weights_count_as_repetitions_do() {
        // 1 once and 5 three times.
        let found = row("x", &[1.0, 5.0], &[0.25, 0.75]);
        assert_eq!((found.mean, found.q50 > 1.0, found.q50 < 5.0), (4.0, true, true));
        let chosen = choose(&[0.25, 0.0, 0.75], 400, 1);
        let count = |place| chosen.iter().filter(|chosen| **chosen == place).count();
        assert_eq!([count(0), count(1), count(2)], [100, 0, 300]);
        assert_ne!(choose(&[0.01; 100], 30, 1), choose(&[0.01; 100], 30, 2));
        assert!(choose(&[], 5, 1).is_empty());
    }
}
