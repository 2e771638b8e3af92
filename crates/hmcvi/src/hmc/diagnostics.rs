//! Judge chains: split R-hat, effective sample size, Monte Carlo standard error.
//!
//! As in Gelman et al., *Bayesian Data Analysis* (3rd edition, 11.4 and 11.5): chains are split in
//! halves, and autocorrelations are summed until pairs of them turn negative (Geyer).

/// What the draws of one quantity say about themselves.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Summary {
    /// Mean over all chains.
    pub mean: f64,
    /// Standard deviation over all chains.
    pub standard_deviation: f64,
    /// Split R-hat; near 1 when the chains agree.
    pub r_hat: f64,
    /// Effective number of independent draws.
    pub effective_sample_size: f64,
    /// Monte Carlo standard error of the mean.
    pub standard_error: f64,
}

fn mean(x: &[f64]) -> f64 {
    x.iter().sum::<f64>() / x.len() as f64
}

fn variance(x: &[f64]) -> f64 {
    let m = mean(x);
    x.iter().map(|v| (v - m) * (v - m)).sum::<f64>() / (x.len() as f64 - 1.0)
}

/// Summary of one quantity over several chains of equal length. `None` for fewer than 8 draws a
/// chain, for chains of different lengths and for values that are not finite.
pub fn summary(chains: &[Vec<f64>]) -> Option<Summary> {
    let length = chains.first()?.len();
    let finite = chains.iter().flatten().all(|x| x.is_finite());
    if length < 8 || !finite || chains.iter().any(|c| c.len() != length) {
        return None;
    }
    let half = length / 2;
    let halves: Vec<&[f64]> = chains.iter().flat_map(|c| [&c[..half], &c[length - half..]]).collect();
    let (m, n) = (halves.len() as f64, half as f64);
    let means: Vec<f64> = halves.iter().map(|h| mean(h)).collect();
    let within = mean(&halves.iter().map(|h| variance(h)).collect::<Vec<_>>());
    let between = n * variance(&means);
    let total = (n - 1.0) / n * within + between / n;
    let all: Vec<f64> = chains.concat();
    if total <= 0.0 {
        return None;
    }
    let size = effective_sample_size(&halves, &means, total).min(m * n * (m * n).log10());
    Some(Summary {
        mean: mean(&all),
        standard_deviation: variance(&all).sqrt(),
        r_hat: (total / within).sqrt(),
        effective_sample_size: size,
        standard_error: (total / size).sqrt(),
    })
}

fn effective_sample_size(halves: &[&[f64]], means: &[f64], total: f64) -> f64 {
    let (m, n) = (halves.len(), halves[0].len());
    // Variogram: ρ_t = 1 - V_t / (2 var⁺) with V_t the mean squared difference at lag t.
    let correlation = |lag: usize| {
        let covariance: f64 = halves
            .iter()
            .zip(means)
            .map(|(h, mu)| (0..n - lag).map(|i| (h[i] - mu) * (h[i + lag] - mu)).sum::<f64>() / n as f64)
            .sum::<f64>()
            / m as f64;
        let within: f64 = halves.iter().map(|h| variance(h)).sum::<f64>() / m as f64;
        1.0 - (within - covariance) / total
    };
    let (mut sum, mut lag, mut last) = (0.0, 1, f64::INFINITY);
    while lag + 1 < n {
        // Sums of neighbours are positive and fall in a reversible chain; noise ends the sum.
        let pair = (correlation(lag) + correlation(lag + 1)).min(last);
        if pair < 0.0 {
            break;
        }
        sum += pair;
        last = pair;
        lag += 2;
    }
    (m * n) as f64 / (1.0 + 2.0 * sum).max(1e-12)
}

#[cfg(test)]
mod tests {
    use hmcvi_graph::random::{Key, normal};

    use super::*;

    fn noise(row: u32, n: usize) -> Vec<f64> {
        let mut x = vec![0.0; n];
        normal(Key { seed: 5, stream: 0, step: 0, row }, &mut x);
        x
    }

    #[test]
    fn independent_draws_count_in_full() {
        let chains: Vec<_> = (0..4).map(|c| noise(c, 2000)).collect();
        let s = summary(&chains).expect("finite chains");
        assert!((s.r_hat - 1.0).abs() < 0.01, "{s:?}");
        // 8,000 draws; the estimate of the size itself scatters by some percent.
        assert!((s.effective_sample_size / 8000.0 - 1.0).abs() < 0.15, "{s:?}");
    }

    #[test]
    fn an_autoregressive_chain_counts_by_its_known_time() {
        // x_t = ρ x_{t-1} + √(1-ρ²) ε: effective size n (1-ρ)/(1+ρ).
        let rho: f64 = 0.8;
        let chain = |c| {
            let mut x = 0.0;
            let step = |e: &f64| {
                x = rho * x + (1.0 - rho * rho).sqrt() * e;
                x
            };
            noise(c, 20_000).iter().map(step).collect::<Vec<_>>()
        };
        let s = summary(&(0..4).map(chain).collect::<Vec<_>>()).expect("finite chains");
        let expected = 80_000.0 * (1.0 - rho) / (1.0 + rho);
        assert!((s.effective_sample_size / expected - 1.0).abs() < 0.1, "{s:?} {expected}");
    }

    #[test]
    fn chains_that_disagree_are_found() {
        let shifted = noise(1, 500).iter().map(|x| x + 3.0).collect();
        assert!(summary(&[noise(0, 500), shifted]).expect("finite chains").r_hat > 1.5);
    }
}
