//! Assess the convergence of chains: rank-normalised split R-hat, bulk and tail effective sample size, and the
//! Monte Carlo standard error of the mean.
//!
//! All of them as defined by Vehtari, Gelman, Simpson, Carpenter and Bürkner, *Rank-normalization, folding, and
//! localization: an improved R-hat for assessing convergence of MCMC* (2021).

use serde::Serialize;

use super::autocovariance::autocovariance;
use crate::dist::normal_quantile;

/// What the draws of one quantity say about themselves.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Summary {
    /// Mean over all chains.
    pub mean: f64,
    /// Standard deviation over all chains.
    pub standard_deviation: f64,
    /// Rank-normalised split R-hat, the larger of bulk and folded; near 1 when chains agree in location and scale,
    /// infinite when none of them moves.
    pub r_hat: f64,
    /// Effective sample size in the bulk of the distribution.
    pub ess_bulk: f64,
    /// Effective sample size in the tails: the smaller of those of the 5% and the 95% quantile. `None` where so many
    /// draws are equal to the largest that there is no upper tail.
    pub ess_tail: Option<f64>,
    /// Effective sample size for the mean.
    pub ess_mean: f64,
    /// Monte Carlo standard error of the mean.
    pub mcse_mean: f64,
}

/// R-hat of chains that have converged is not above this (Vehtari et al. 2021, section 4).
pub const R_HAT_LIMIT: f64 = 1.01;
/// Bulk and tail effective sample sizes that it takes for the diagnostics themselves to be reliable (the same section).
pub const ESS_LIMIT: f64 = 400.0;

/// Draws that a chain needs: two in each half.
const FEWEST_DRAWS: usize = 4;

impl Summary {
    /// Smaller of the bulk and the tail effective sample size; 0 where there is no tail.
    pub fn smallest_ess(&self) -> f64 {
        self.ess_tail.map_or(0.0, |tail| tail.min(self.ess_bulk))
    }
}

/// Summary of one quantity over several chains of equal length. `None` where there is nothing to go by: chains of fewer
/// than 4 draws or of different lengths, values that are not finite, and draws that are all the same.
pub fn summary(chains: &[Vec<f64>]) -> Option<Summary> {
    let length = chains.first()?.len();
    let all: Vec<f64> = chains.concat();
    let even = chains.iter().all(|c| c.len() == length);
    if length < FEWEST_DRAWS || !even || !all.iter().all(|x| x.is_finite()) || !varied(chains) {
        return None;
    }
    let halves = split(chains);
    let (ranks, folded) = (rank_normalised(&halves), rank_normalised(&fold(&halves)));
    let ess_mean = effective_sample_size(&halves)?;
    let standard_deviation = variance(&all).sqrt();
    let sorted = sorted(&all);
    let tail = |share: f64| {
        let limit = quantile(&sorted, share);
        let below = |x: &f64| f64::from(u8::from(*x <= limit));
        effective_sample_size(&halves.iter().map(|half| half.iter().map(below).collect()).collect::<Vec<_>>())
    };
    Some(Summary {
        mean: mean(&all),
        standard_deviation,
        // Distances from the median may all be the same; they then say nothing, and `max` takes the other.
        r_hat: r_hat(&ranks).max(r_hat(&folded)),
        ess_bulk: effective_sample_size(&ranks)?,
        ess_tail: tail(0.05).zip(tail(0.95)).map(|(low, high)| low.min(high)),
        ess_mean,
        mcse_mean: standard_deviation / ess_mean.sqrt(),
    })
}

/// Whether not all draws are the same.
fn varied(chains: &[Vec<f64>]) -> bool {
    chains.iter().flatten().any(|x| *x != chains[0][0])
}

fn mean(x: &[f64]) -> f64 {
    x.iter().sum::<f64>() / x.len() as f64
}

fn variance(x: &[f64]) -> f64 {
    let m = mean(x);
    x.iter().map(|v| (v - m) * (v - m)).sum::<f64>() / (x.len() as f64 - 1.0)
}

fn sorted(x: &[f64]) -> Vec<f64> {
    let mut sorted = x.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted
}

/// The value below which this share of sorted values lies, with linear interpolation between two of them.
fn quantile(sorted: &[f64], share: f64) -> f64 {
    let place = (sorted.len() as f64 - 1.0) * share;
    let below = (place as usize).min(sorted.len() - 2);
    // In this form the quantile of equal values is their value, without rounding.
    sorted[below] + (place - below as f64) * (sorted[below + 1] - sorted[below])
}

/// First and second half of every chain, without the middle draw of an odd number.
fn split(chains: &[Vec<f64>]) -> Vec<Vec<f64>> {
    let half = |c: &Vec<f64>| c.len() / 2;
    chains.iter().flat_map(|c| [c[..half(c)].to_vec(), c[c.len() - half(c)..].to_vec()]).collect()
}

/// Distances from the median: chains of different scale differ in their location then.
fn fold(chains: &[Vec<f64>]) -> Vec<Vec<f64>> {
    let median = quantile(&sorted(&chains.concat()), 0.5);
    chains.iter().map(|c| c.iter().map(|x| (x - median).abs()).collect()).collect()
}

/// Normal scores of the ranks among all draws: equal draws share the mean of their ranks, and a rank `r` of `n`
/// becomes the normal quantile of `(r - 3/8) / (n + 1/4)` (Blom).
fn rank_normalised(chains: &[Vec<f64>]) -> Vec<Vec<f64>> {
    let all: Vec<f64> = chains.concat();
    let n = all.len();
    let mut order: Vec<usize> = (0..n).collect();
    order.sort_by(|a, b| all[*a].total_cmp(&all[*b]));
    let (mut scores, mut smaller) = (vec![0.0; n], 0);
    for equal in order.chunk_by(|a, b| all[*a] == all[*b]) {
        let rank = smaller as f64 + 0.5 * (equal.len() as f64 + 1.0);
        let score = normal_quantile((rank - 0.375) / (n as f64 + 0.25));
        equal.iter().for_each(|i| scores[*i] = score);
        smaller += equal.len();
    }
    scores.chunks(chains[0].len()).map(<[f64]>::to_vec).collect()
}

/// `√(var⁺ / W)` of chains as they are; NaN where all draws are the same.
fn r_hat(chains: &[Vec<f64>]) -> f64 {
    if !varied(chains) {
        return f64::NAN;
    }
    let n = chains[0].len() as f64;
    let means: Vec<f64> = chains.iter().map(|c| mean(c)).collect();
    let within = mean(&chains.iter().map(|c| variance(c)).collect::<Vec<_>>());
    let between = n * variance(&means);
    ((between / within + n - 1.0) / n).sqrt()
}

/// `S / τ` of chains as they are, with `τ = -1 + 2 Σ ρ` over Geyer's initial monotone sequence; `None` where all draws
/// are the same.
fn effective_sample_size(chains: &[Vec<f64>]) -> Option<f64> {
    if !varied(chains) {
        return None;
    }
    let (m, n) = (chains.len(), chains[0].len());
    let draws = (m * n) as f64;
    let means: Vec<f64> = chains.iter().map(|c| mean(c)).collect();
    let within = mean(&chains.iter().map(|c| variance(c)).collect::<Vec<_>>());
    let total = within * (n as f64 - 1.0) / n as f64 + variance(&means);
    let covariances: Vec<Vec<f64>> = chains.iter().map(|c| autocovariance(c)).collect();
    let covariance = |lag: usize| covariances.iter().map(|c| c[lag]).sum::<f64>() / m as f64;
    let correlation = |lag: usize| 1.0 - (within - covariance(lag)) / total;
    let time = autocorrelation_time(n, correlation);
    // No more than antithetic chains can honestly claim.
    Some(draws / time.max(1.0 / draws.log10()))
}

/// `-1 + 2 Σ ρ_t` over pairs `(ρ_0 + ρ_1), (ρ_2 + ρ_3), …` of `n` draws: in a reversible chain they are positive and
/// fall, so that noise ends the sum where one is not, and none counts more than the one before it. The even term of
/// the first pair that is left out improves the estimate for antithetic chains.
fn autocorrelation_time(n: usize, correlation: impl Fn(usize) -> f64) -> f64 {
    let mut pair = [1.0, correlation(1)];
    let (mut sum, mut smallest, mut lag) = (0.0, f64::INFINITY, 0);
    while lag + 4 < n && pair[0] + pair[1] > 0.0 {
        smallest = smallest.min(pair[0] + pair[1]);
        sum += smallest;
        lag += 2;
        pair = [correlation(lag), correlation(lag + 1)];
    }
    -1.0 + 2.0 * sum + pair[0].max(0.0)
}
