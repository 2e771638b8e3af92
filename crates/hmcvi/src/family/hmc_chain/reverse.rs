//! Learn where momenta came from: the reverse and final momentum models.

use hmcvi_graph::Expr;

use super::chain::Inference;
use crate::dist::Gaussian;
use crate::nn::Network;

/// Variances of momenta stay within e^±30, far beyond any that is learnt.
const LOG_VARIANCE_LIMIT: f64 = 30.0;

impl<'g> Inference<'_, 'g> {
    /// `r_V(v_{t-1} | z_{t-1}, u_{t-1}, t, x)` (`eq:ReverseTransitionNoAcceptance`). Without partial
    /// updates `u` is not an input, and the model at `T + 1` is that of the final momentum
    /// (`sec:SimplificationWithoutPartialMomentumUpdate`).
    pub(super) fn reverse_momentum(&self, z: Expr<'g>, u: Option<Expr<'g>>, time: usize) -> Gaussian<'g> {
        self.momentum_model("reverse", z, u, time)
    }

    /// `r_final(v_T | z_T, x)`, a model of its own with partial updates.
    pub(super) fn final_momentum(&self, z: Expr<'g>) -> Gaussian<'g> {
        let time = self.settings.hmc_steps + 1;
        if self.settings.partial_momentum {
            self.momentum_model("final", z, None, time)
        } else {
            self.reverse_momentum(z, None, time)
        }
    }

    fn momentum_model(&self, name: &str, z: Expr<'g>, u: Option<Expr<'g>>, time: usize) -> Gaussian<'g> {
        let time = self.graph().constant(time as f64);
        let inputs: Vec<Expr<'g>> =
            [Some(self.context), Some(z), Some(time), u].into_iter().flatten().collect();
        let network = Network { name, hidden: self.hidden, activation: self.activation };
        let r = network.gaussian(self.parameters, Expr::concat_cols(&inputs), self.potential.dimension());
        // Far from the data a network may ask for variances that are no numbers.
        Gaussian { log_variance: r.log_variance.max(-LOG_VARIANCE_LIMIT).min(LOG_VARIANCE_LIMIT), ..r }
    }
}
