//! Smooth importance weights, and say how far what they average can be trusted (Vehtari, Simpson, Gelman, Yao and Gabry,
//! *Pareto smoothed importance sampling*, 2024).

use serde::{Deserialize, Serialize};

use super::pareto::{FEWEST, Tail};

/// Weights whose largest ones were replaced by quantiles of the Pareto distribution that fits them.
#[derive(Clone, Debug, PartialEq)]
pub struct SmoothedWeights {
    /// Logarithms of the weights, which add up to 1, in the order of those that were given.
    pub log_weights: Vec<f64>,
    /// Shape of the distribution of the largest weights; absent where there are too few to tell.
    pub k_hat: Option<f64>,
    /// `log (Σ eʷ / n)` of the smoothed weights: the log evidence.
    pub log_mean: f64,
    /// Effective number of draws, `1 / Σ p²` for weights `p` that add up to 1.
    pub effective_sample_size: f64,
}

/// What a k-hat means for a number of draws.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Reliability {
    /// Weighted averages and their errors can be trusted.
    Good,
    /// They could be with more draws.
    TooFewDraws,
    /// They are biased, and more draws change that too slowly: a better approximation is needed.
    Biased,
    /// They mean nothing: the weights have no mean.
    None,
    /// There are too few draws to tell.
    NotChecked,
}

/// The k-hat up to which weights of so many draws are good, `min(1 - 1 / log₁₀ n, 0.7)`.
pub fn k_hat_limit(draws: usize) -> f64 {
    (1.0 - 1.0 / (draws.max(1) as f64).log10()).min(K_HAT_LIMIT)
}

/// From here on the bias does not vanish for practical numbers of draws.
const K_HAT_LIMIT: f64 = 0.7;

impl Reliability {
    /// What a k-hat of weights of so many draws means.
    pub fn of(k_hat: Option<f64>, draws: usize) -> Self {
        match k_hat {
            None => Reliability::NotChecked,
            Some(k) if k <= k_hat_limit(draws) => Reliability::Good,
            Some(k) if k <= K_HAT_LIMIT => Reliability::TooFewDraws,
            Some(k) if k < 1.0 => Reliability::Biased,
            Some(_) => Reliability::None,
        }
    }
}

impl SmoothedWeights {
    /// Smooths weights that are given by their logarithms.
    pub fn new(log_weights: &[f64]) -> Self {
        let n = log_weights.len();
        let most = log_weights.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let mut log_weights: Vec<f64> = log_weights.iter().map(|w| w - most).collect();
        let mut order: Vec<usize> = (0..n).collect();
        order.sort_by(|a, b| log_weights[*a].total_cmp(&log_weights[*b]));
        let k_hat = smooth(&mut log_weights, &order).or_else(|| are_equal(&log_weights).then_some(0.0));
        let sum: f64 = log_weights.iter().map(|w| w.exp()).sum();
        log_weights.iter_mut().for_each(|w| *w -= sum.ln());
        let squares: f64 = log_weights.iter().map(|w| (2.0 * w).exp()).sum();
        let log_mean = most + sum.ln() - (n as f64).ln();
        SmoothedWeights { log_weights, k_hat, log_mean, effective_sample_size: 1.0 / squares }
    }

    /// How far averages with these weights can be trusted.
    pub fn reliability(&self) -> Reliability {
        Reliability::of(self.k_hat, self.log_weights.len())
    }

    /// The weights, which add up to 1.
    pub fn weights(&self) -> Vec<f64> {
        self.log_weights.iter().map(|w| w.exp()).collect()
    }
}

/// Replaces the largest weights by the means of their ranks in the Pareto distribution that fits them, and returns its
/// shape. `order` has the weights from the smallest to the largest, whose logarithm is 0.
fn smooth(log_weights: &mut [f64], order: &[usize]) -> Option<f64> {
    let n = order.len() as f64;
    let length = (0.2 * n).min(3.0 * n.sqrt()).ceil() as usize;
    let first = *order.get(order.len().checked_sub(length + 1)?)?;
    let threshold = log_weights[first].max(f64::MIN_POSITIVE.ln());
    let above = order.partition_point(|i| log_weights[*i] <= threshold);
    let excess: Vec<f64> = order[above..].iter().map(|i| log_weights[*i].exp() - threshold.exp()).collect();
    let tail = Tail::of(&excess)?;
    for (rank, i) in order[above..].iter().enumerate() {
        let share = (rank as f64 + 0.5) / excess.len() as f64;
        // No weight is larger than the largest one that was seen.
        log_weights[*i] = (tail.quantile(share) + threshold.exp()).ln().min(0.0);
    }
    Some(tail.shape)
}

/// Whether weights differ by rounding alone.
fn are_equal(log_weights: &[f64]) -> bool {
    log_weights.len() >= FEWEST && log_weights.iter().all(|w| *w > -1e-5)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_those_of_the_paper() {
        // 1 - 1/log₁₀ 100 = ½, 1 - 1/log₁₀ 1000 = ⅔, and 0.7 from 2,200 draws on.
        assert!((k_hat_limit(100) - 0.5).abs() < 1e-12 && (k_hat_limit(1000) - 2.0 / 3.0).abs() < 1e-12);
        assert_eq!(k_hat_limit(10_000), 0.7);
        let of = |k, n| Reliability::of(Some(k), n);
        assert_eq!(
            [of(0.4, 100), of(0.6, 100), of(0.6, 10_000)],
            [Reliability::Good, Reliability::TooFewDraws, Reliability::Good]
        );
        assert_eq!([of(0.8, 100), of(1.2, 10_000)], [Reliability::Biased, Reliability::None]);
        assert_eq!(Reliability::of(None, 10), Reliability::NotChecked);
    }

    #[test]
    fn equal_weights_stay_what_they_are_and_few_are_not_judged() {
        let smoothed = SmoothedWeights::new(&[-700.0; 50]);
        assert!(smoothed.log_weights.iter().all(|w| (w + 50f64.ln()).abs() < 1e-12));
        assert_eq!((smoothed.k_hat, smoothed.log_mean), (Some(0.0), -700.0));
        assert!((smoothed.effective_sample_size - 50.0).abs() < 1e-9);
        let few = SmoothedWeights::new(&[0.0, 1.0, f64::NEG_INFINITY]);
        assert_eq!(few.reliability(), Reliability::NotChecked);
        assert!((few.weights().iter().sum::<f64>() - 1.0).abs() < 1e-12);
    }
}
