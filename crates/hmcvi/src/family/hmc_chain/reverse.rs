//! Learn where momenta came from: the reverse and final momentum models.

use hmcvi_graph::Expr;

use super::chain::Inference;
use super::settings::Reverse;
use crate::dist::Gaussian;
use crate::hmc::State;
use crate::nn::{Initial, Network};

/// Variances of momenta stay within e^±30, far beyond any that is learnt.
const LOG_VARIANCE_LIMIT: f64 = 30.0;

impl<'g> Inference<'_, 'g> {
    /// `r_V(v_{t-1} | z_{t-1}, u_{t-1}, t, x)` (`eq:ReverseTransitionNoAcceptance`). Without partial
    /// updates `u` is not an input, and the model at `T + 1` is that of the final momentum
    /// (`sec:SimplificationWithoutPartialMomentumUpdate`).
    pub(super) fn reverse_momentum(&self, at: State<'g>, u: Option<Expr<'g>>, time: usize) -> Gaussian<'g> {
        self.momentum_model("reverse", at, u, time)
    }

    /// `r_final(v_T | z_T, x)`, a model of its own with partial updates.
    pub(super) fn final_momentum(&self, at: State<'g>) -> Gaussian<'g> {
        let time = self.settings.hmc_steps + 1;
        if self.settings.partial_momentum {
            self.momentum_model("final", at, None, time)
        } else {
            self.reverse_momentum(at, None, time)
        }
    }

    fn momentum_model(&self, name: &str, at: State<'g>, u: Option<Expr<'g>>, time: usize) -> Gaussian<'g> {
        if self.settings.reverse == Reverse::Balance {
            return self.in_balance(u, time);
        }
        let t = self.graph().constant(time as f64);
        let inputs: Vec<Expr<'g>> =
            [Some(self.context), Some(at.z), Some(t), u].into_iter().flatten().collect();
        let network = Network { name, hidden: self.hidden, activation: self.activation };
        let mut r = network.gaussian(self.parameters, Expr::concat_cols(&inputs), self.potential.dimension());
        if self.settings.reverse == Reverse::Score {
            r.mean = r.mean + self.by_score(name, at, u, time);
        }
        // Far from the data a network may ask for variances that are infinite or NaN.
        Gaussian { log_variance: r.log_variance.max(-LOG_VARIANCE_LIMIT).min(LOG_VARIANCE_LIMIT), ..r }
    }

    /// The conditional distribution of a momentum in a chain in which momenta are `N(0, M)` wherever the position is:
    /// `N(αu, (1 - α²)M)`, with `u` in units of the masses of its own step.
    fn in_balance(&self, u: Option<Expr<'g>>, time: usize) -> Gaussian<'g> {
        let kinetics = self.kinetics();
        let momentum = kinetics[time - 2].momentum();
        let Some(u) = u else { return momentum };
        let alpha = self.alpha();
        let mean = alpha * u * (0.5 * (momentum.log_variance - kinetics[time - 1].log_mass)).exp();
        Gaussian { mean, log_variance: momentum.log_variance + (-alpha.square()).log1p() }
    }

    /// What force, position and next momentum say about a momentum, each dimension for itself. In coordinates in which the
    /// posterior is nearly the standard Gaussian, force and position nearly cancel; what remains is the way in which it is
    /// not Gaussian, and to first order that is where momenta came from. A network would have to learn it from draws.
    fn by_score(&self, name: &str, at: State<'g>, u: Option<Expr<'g>>, time: usize) -> Expr<'g> {
        let d = self.potential.dimension();
        let known = [("force", Some(at.force)), ("position", Some(at.z)), ("momentum", u)];
        let parts = known.into_iter().filter_map(|(what, value)| {
            let weight =
                || self.parameters.get(&format!("{name}.{what}.{time}"), 1, d, Initial::Constant(0.0));
            value.map(|value| value * weight())
        });
        parts.reduce(|a, b| a + b).unwrap_or(at.z)
    }
}
