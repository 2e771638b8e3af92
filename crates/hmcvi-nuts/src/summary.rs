//! Summarise the draws of one number over chains.

use hmcvi::hmc::diagnostics;
use serde::{Deserialize, Serialize};

/// What draws say about one number of the model.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Row {
    /// Its name, as Stan writes it.
    pub name: String,
    /// Mean.
    pub mean: f64,
    /// Standard deviation.
    pub sd: f64,
    /// 5% quantile.
    pub q05: f64,
    /// Median.
    pub q50: f64,
    /// 95% quantile.
    pub q95: f64,
    /// Monte Carlo standard error of the mean. Nothing, as in what follows, where there is nothing to go by: draws that
    /// are all the same, not finite, or fewer than 4 in each chain.
    pub mcse: Option<f64>,
    /// Rank-normalised split R-hat.
    pub r_hat: Option<f64>,
    /// Effective sample size in the bulk of the distribution.
    pub ess_bulk: Option<f64>,
    /// Effective sample size in its tails.
    pub ess_tail: Option<f64>,
}

impl Row {
    /// The summary of a number with these draws in each chain. Chains are cut to the length of the shortest.
    pub fn of(name: &str, chains: &[Vec<f64>]) -> Self {
        let length = chains.iter().map(Vec::len).min().unwrap_or(0);
        if length == 0 {
            let none = f64::NAN;
            return Row {
                name: name.into(),
                mean: none,
                sd: none,
                q05: none,
                q50: none,
                q95: none,
                mcse: None,
                r_hat: None,
                ess_bulk: None,
                ess_tail: None,
            };
        }
        row(name, &chains.iter().map(|chain| chain[..length].to_vec()).collect::<Vec<_>>())
    }
}

/// The summary of draws in chains of equal length, of which there is at least one.
pub(crate) fn row(name: &str, chains: &[Vec<f64>]) -> Row {
    let mut x = chains.concat();
    x.sort_by(f64::total_cmp);
    let n = x.len() as f64;
    let mean = x.iter().sum::<f64>() / n;
    let sd = (x.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / (n - 1.0).max(1.0)).sqrt();
    let [q05, q50, q95] = [0.05, 0.5, 0.95].map(|share| quantile(&x, share));
    let found = diagnostics::summary(chains);
    Row {
        name: name.into(),
        mean,
        sd,
        q05,
        q50,
        q95,
        mcse: found.map(|found| found.mcse_mean),
        r_hat: found.map(|found| found.r_hat),
        ess_bulk: found.map(|found| found.ess_bulk),
        ess_tail: found.and_then(|found| found.ess_tail),
    }
}

/// A quantile of sorted values, between neighbours where it falls between them.
fn quantile(sorted: &[f64], share: f64) -> f64 {
    let place = share * (sorted.len() - 1) as f64;
    let (low, high) = (sorted[place.floor() as usize], sorted[place.ceil() as usize]);
    low + place.fract() * (high - low)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn constants_have_a_mean_but_no_diagnostics() {
        let found = row("L[1,1]", &[vec![1.0; 8], vec![1.0; 8]]);
        assert_eq!((found.mean, found.sd, found.q95), (1.0, 0.0, 1.0));
        assert_eq!((found.mcse, found.r_hat, found.ess_tail), (None, None, None));
        let one = row("mu", &[vec![2.5]]);
        assert_eq!((one.mean, one.sd, one.q05, one.mcse), (2.5, 0.0, 2.5, None));
    }

    #[test]
    fn quantiles_lie_between_neighbours() {
        assert_eq!(
            [0.0, 0.25, 0.5, 1.0].map(|share| quantile(&[1.0, 2.0, 4.0], share)),
            [1.0, 1.5, 2.0, 4.0]
        );
    }
}
