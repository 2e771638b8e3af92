//! Say how far a fit can be trusted, from the shape of its importance weights or from its chains.

use hmcvi_record::{FitMethod, FitRecord, SamplerFacts};

/// R-hat of chains that have converged is not above this, and their effective sample sizes not below that (Vehtari et
/// al. 2021).
pub(super) const R_HAT_LIMIT: f64 = 1.01;
pub(super) const ESS_LIMIT: f64 = 400.0;
/// Importance weights below this have a finite variance; above that one their mean is not to be trusted (Vehtari et al.,
/// *Pareto smoothed importance sampling*).
pub(super) const GOOD_K_HAT: f64 = 0.5;
pub(super) const HIGH_K_HAT: f64 = 0.7;

/// Share of failed trajectories above which draws are not to be trusted.
pub(super) const MOST_DIVERGENCES: f64 = 0.005;

/// How far to trust what draws say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trust {
    /// Nothing speaks against them.
    Good,
    /// They are near the posterior, not more.
    Fair,
    /// They are not to be trusted.
    Bad,
    /// There is nothing to tell by.
    Unknown,
}

/// The verdict on the draws of a fit, and what it means in words.
pub fn trust(record: &FitRecord) -> (Trust, &'static str) {
    if record.draws == 0 {
        return (Trust::Unknown, "there are no draws");
    }
    if record.elsewhere.as_ref().is_some_and(|elsewhere| elsewhere.missed.is_some()) {
        return (
            Trust::Bad,
            "there is a part of the posterior that no draw comes near; weights cannot see it",
        );
    }
    match record.method {
        FitMethod::Nuts => of_chains(record),
        FitMethod::Hmcvi | FitMethod::Gaussian => of_weights(record),
    }
}

/// What the importance weights say, which know only where draws come.
pub(super) fn of_weights(record: &FitRecord) -> (Trust, &'static str) {
    // Fewer draws have to be better ones.
    let limit = (1.0 - 1.0 / (record.draws.max(2) as f64).log10()).min(HIGH_K_HAT);
    match record.k_hat {
        None => (Trust::Unknown, "there are too few draws to tell"),
        Some(k) if k < GOOD_K_HAT && k <= limit && record.resampled => (
            Trust::Good,
            "importance weights have a finite variance: draws, which were chosen by them, and the log evidence hold",
        ),
        Some(k) if k < GOOD_K_HAT && k <= limit => (
            Trust::Good,
            "importance weights have a finite variance: draws are close to the posterior, and the log evidence holds",
        ),
        Some(k) if k <= HIGH_K_HAT && k > limit => {
            (Trust::Fair, "importance weights need more draws than these for averages that can be trusted")
        }
        Some(k) if k <= HIGH_K_HAT && record.resampled => (
            Trust::Fair,
            "importance weights may have no finite variance: draws, which were chosen by them, miss little of the posterior, \
             but the log evidence by them may be too low by a few tenths of a nat",
        ),
        Some(k) if k <= HIGH_K_HAT => (
            Trust::Fair,
            "importance weights may have no finite variance: draws miss a part of the posterior, and the log evidence may be \
             too low by a few tenths of a nat",
        ),
        Some(_) => (
            Trust::Bad,
            "importance weights have too heavy a tail: draws miss a part of the posterior, and the log evidence is too low",
        ),
    }
}

fn of_chains(record: &FitRecord) -> (Trust, &'static str) {
    let (rhat, ess) = (largest_rhat(record), smallest_ess(record));
    let divergences = record.sampler.as_ref().map_or(0, |s: &SamplerFacts| s.divergences.iter().sum());
    match (rhat, ess) {
        (None, _) | (_, None) => (Trust::Unknown, "there are too few draws or chains to tell"),
        _ if divergences as f64 > MOST_DIVERGENCES * record.draws as f64 => {
            (Trust::Bad, "too many trajectories diverged: draws miss a part of the posterior")
        }
        (Some((_, rhat)), _) if rhat > R_HAT_LIMIT => {
            (Trust::Bad, "chains do not agree: they have not converged to the posterior")
        }
        _ if divergences > 0 => (
            Trust::Fair,
            "chains agree, but some trajectories diverged: draws may miss a corner of the posterior",
        ),
        (_, Some((_, ess))) if ess < ESS_LIMIT => {
            (Trust::Fair, "chains agree, but have too few effective draws for quantiles")
        }
        _ => (Trust::Good, "chains agree, and have enough effective draws"),
    }
}

/// The number of the model whose chains agree least, with its R-hat.
pub(super) fn largest_rhat(record: &FitRecord) -> Option<(&str, f64)> {
    let all = record.parameters.iter().filter_map(|row| Some((row.name.as_str(), row.rhat?)));
    all.max_by(|a, b| a.1.total_cmp(&b.1))
}

/// The number with the smallest effective sample size of bulk and tails.
pub(super) fn smallest_ess(record: &FitRecord) -> Option<(&str, f64)> {
    let smaller = |bulk: Option<f64>, tail: Option<f64>| Some(bulk?.min(tail?));
    let all = record.parameters.iter();
    let all = all.filter_map(|row| Some((row.name.as_str(), smaller(row.ess_bulk, row.ess_tail)?)));
    all.min_by(|a, b| a.1.total_cmp(&b.1))
}
