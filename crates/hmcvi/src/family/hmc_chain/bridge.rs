//! Lead the chain over densities between where draws begin and the posterior: `q_0^(1-β_t) p^β_t` in step `t`.
//!
//! The bound holds whatever the steps are made for. With one leapfrog step, reverse models in balance and momenta that are
//! drawn anew this is Langevin annealing (ULA); with momenta that remain in part, differentiable annealed importance
//! sampling (DAIS, UHA); with reverse models that are learnt, Monte Carlo diffusion (MCD, LDVI).

use hmcvi_graph::Expr;

use super::chain::Inference;
use super::settings::Bridge;
use crate::nn::{Initial, Network};
use crate::potential::Potential;

impl<'g> Inference<'_, 'g> {
    /// The potential of every step; the last is the posterior's. `first` is that of the first draw's density.
    pub(super) fn potentials(&self, first: &Potential<'g>) -> Vec<Potential<'g>> {
        let steps = self.settings.hmc_steps;
        let Some(shares) = self.bridge_shares() else { return vec![self.potential.clone(); steps] };
        let between = (1..steps).map(|t| {
            let beta = shares.slice_cols(0, t).sum_cols();
            Potential::between(first, self.potential, beta)
        });
        between.chain([self.potential.clone()]).collect()
    }

    /// `β` of all steps, `[1, T]` or `[N, T]`; the last is 1.
    pub(super) fn betas(&self) -> Option<Expr<'g>> {
        let shares = self.bridge_shares()?;
        let before = shares.slice_cols(0, shares.cols() - 1).cumsum_cols();
        Some(Expr::concat_cols(&[before, self.graph().constant(1.0)]))
    }

    /// How much `β` grows in each step, `[1, T]` or `[N, T]`; at first equally much.
    fn bridge_shares(&self) -> Option<Expr<'g>> {
        let steps = self.settings.hmc_steps;
        let learnt = self.settings.bridge != Bridge::None && steps > 1;
        let logits =
            learnt.then(|| self.parameters.get("bridge_logits", 1, steps, Initial::Constant(0.0)))?;
        let logits = match self.settings.bridge {
            Bridge::Network => {
                let hidden = &self.hidden[..self.hidden.len().min(1)];
                let network = Network { name: "bridge", hidden, activation: self.activation };
                logits + network.apply(self.parameters, self.context, steps)
            }
            _ => logits,
        };
        Some((logits - logits.log_sum_exp()).exp())
    }
}
