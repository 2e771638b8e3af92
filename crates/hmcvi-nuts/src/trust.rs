//! Say whether chains can be the referee.

use hmcvi::hmc::diagnostics::{ESS_LIMIT, R_HAT_LIMIT, summary};
use serde::{Deserialize, Serialize};

use crate::Sampled;

/// What speaks for and against chains.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Trust {
    /// Largest rank-normalised split R-hat, over all chains, and the number that has it.
    pub r_hat: Option<(String, f64)>,
    /// Smallest effective sample size in bulk or tails, and the number that has it.
    pub effective_sample_size: Option<(String, f64)>,
    /// Trajectories that failed, and all of them.
    pub divergences: (usize, usize),
    /// Smallest fraction of missing information of a chain.
    pub e_bfmi: Option<f64>,
    /// Largest R-hat of chains that began with the fit and chains that did not, taken together, and the number that
    /// has it; nothing where all began with the fit, which is then not checked.
    pub r_hat_with_cold: Option<(String, f64)>,
    /// Why the chains are not to be trusted; none if they are.
    pub doubts: Vec<String>,
}

/// Share of trajectories that may fail: where more do, draws miss a part of the posterior.
const DIVERGENCES: f64 = 0.01;
/// Fraction of missing information below which momenta change the energy too little (Betancourt 2016).
const E_BFMI: f64 = 0.3;

impl Trust {
    /// What chains that began with a fit, and others if there are any, say about themselves.
    pub(crate) fn of(warm: &Sampled, cold: Option<&Sampled>) -> Self {
        let runs: Vec<&Sampled> = [Some(warm), cold].into_iter().flatten().collect();
        let mut trust = Trust { divergences: divergences(&runs), ..Trust::default() };
        for name in &warm.names {
            let chains = warm.element(name).unwrap_or_default();
            if constant(&chains) {
                continue;
            }
            // Chains of which nothing can be said have not converged.
            let found = summary(&chains);
            larger(&mut trust.r_hat, name, found.map_or(f64::INFINITY, |found| found.r_hat));
            smaller(&mut trust.effective_sample_size, name, found.map_or(0.0, |found| found.smallest_ess()));
            if let Some(others) = cold.and_then(|cold| cold.element(name)) {
                let r_hat = summary(&[chains, others].concat()).map_or(f64::INFINITY, |found| found.r_hat);
                larger(&mut trust.r_hat_with_cold, name, r_hat);
            }
        }
        let energies = runs.iter().flat_map(|run| &run.chains).filter_map(|chain| chain.e_bfmi());
        trust.e_bfmi = energies.reduce(f64::min);
        trust.doubts = trust.find_doubts(runs.iter().any(|run| run.stopped));
        trust
    }

    /// Whether nothing speaks against the chains.
    pub fn is_good(&self) -> bool {
        self.doubts.is_empty()
    }

    fn find_doubts(&self, stopped: bool) -> Vec<String> {
        let mut doubts = Vec::new();
        if stopped {
            doubts.push("the chains were stopped before their last draw".into());
        }
        if let Some((name, r_hat)) = self.r_hat.as_ref().filter(|(_, r_hat)| *r_hat > R_HAT_LIMIT) {
            doubts.push(format!(
                "the chains do not agree: R-hat of `{name}` is {r_hat:.3}, above {R_HAT_LIMIT}"
            ));
        }
        if let Some((name, ess)) = self.effective_sample_size.as_ref().filter(|(_, ess)| *ess < ESS_LIMIT) {
            doubts.push(format!(
                "effective draws of `{name}` are {ess:.0}, below {ESS_LIMIT}; make more draws"
            ));
        }
        let (failed, all) = self.divergences;
        if failed as f64 > DIVERGENCES * all as f64 {
            doubts.push(format!(
                "{failed} of {all} trajectories failed: the chains miss a part of the posterior; raise `target_accept`, \
                 or describe the model with other variables"
            ));
        }
        if let Some(share) = self.e_bfmi.filter(|share| *share < E_BFMI) {
            doubts.push(format!(
                "the fraction of missing information is {share:.2}, below {E_BFMI}: tails are missed"
            ));
        }
        if let Some((name, r_hat)) = self.r_hat_with_cold.as_ref().filter(|(_, r_hat)| *r_hat > R_HAT_LIMIT) {
            doubts.push(format!(
                "chains that began with the fit do not agree with those that began elsewhere: R-hat of `{name}` is \
                 {r_hat:.3}, above {R_HAT_LIMIT}"
            ));
        }
        doubts
    }
}

fn divergences(runs: &[&Sampled]) -> (usize, usize) {
    let chains = || runs.iter().flat_map(|run| &run.chains);
    (chains().map(|chain| chain.divergences()).sum(), chains().map(|chain| chain.diverging.len()).sum())
}

fn constant(chains: &[Vec<f64>]) -> bool {
    let mut all = chains.iter().flatten();
    let first = all.next();
    first.is_some() && all.all(|x| Some(x) == first)
}

fn larger(most: &mut Option<(String, f64)>, name: &str, value: f64) {
    if most.as_ref().is_none_or(|(_, most)| value > *most) {
        *most = Some((name.into(), value));
    }
}

fn smaller(least: &mut Option<(String, f64)>, name: &str, value: f64) {
    if least.as_ref().is_none_or(|(_, least)| value < *least) {
        *least = Some((name.into(), value));
    }
}
