//! Learn where momenta came from: the reverse and final momentum models.

use hmcvi_graph::Expr;

use super::chain::Inference;
use super::settings::{Reverse, ReverseNetworks};
use crate::dist::Gaussian;
use crate::hmc::{Kinetic, State};
use crate::nn::{Initial, Network};

/// Variances of momenta stay within e^±30, far beyond any that is learnt.
const LOG_VARIANCE_LIMIT: f64 = 30.0;

/// The network of reverse models.
pub(super) const REVERSE: &str = "reverse";

/// The network before HMC step `time`, counted from 1, where each has its own.
pub(super) fn network_at(time: usize) -> String {
    format!("{REVERSE}.step.{time}")
}

/// Where in the chain a momentum is guessed.
pub(super) struct Place<'g> {
    /// `t`, the number of the HMC step that follows, as networks see it.
    pub(super) time: Expr<'g>,
    /// The same, where it is known.
    pub(super) number: Option<usize>,
    /// Masses of the step that the momentum comes from, and of the one that follows.
    pub(super) arriving: Kinetic<'g>,
    pub(super) next: Kinetic<'g>,
}

impl<'g> Inference<'_, 'g> {
    /// The place before HMC step `time`, or after the last one.
    pub(super) fn place(&self, time: usize) -> Place<'g> {
        let kinetics = self.kinetics();
        let arriving = kinetics[time - 2];
        let next = kinetics.get(time - 1).copied().unwrap_or(arriving);
        Place { time: self.graph().constant(time as f64), number: Some(time), arriving, next }
    }

    /// `log r_V(v_{t-1} | z_{t-1}, u_{t-1}, t, x)` (`eq:ReverseTransitionNoAcceptance`). Without partial
    /// updates `u` is not an input, and the model at `T + 1` is that of the final momentum
    /// (`sec:SimplificationWithoutPartialMomentumUpdate`).
    pub(super) fn reverse_momentum(&self, at: State<'g>, u: Option<Expr<'g>>, place: &Place<'g>) -> Expr<'g> {
        self.log_model(REVERSE, at, u, place)
    }

    /// `log r_final(v_T | z_T, x)`, a model of its own with partial updates.
    pub(super) fn final_momentum(&self, at: State<'g>) -> Expr<'g> {
        let place = self.place(self.settings.hmc_steps + 1);
        if self.settings.partial_momentum {
            self.log_model("final", at, None, &place)
        } else {
            self.reverse_momentum(at, None, &place)
        }
    }

    /// Log density of a state's momentum.
    fn log_model(&self, name: &str, at: State<'g>, u: Option<Expr<'g>>, place: &Place<'g>) -> Expr<'g> {
        let name = &self.network_name(name, place);
        let gaussian = self.momentum_model(name, at, u, place);
        // Of a single dimension there are no halves.
        if self.settings.reverse != Reverse::Flow || at.v.cols() < 2 {
            return gaussian.log_prob(at.v);
        }
        let (v, shrinking) = self.through_flow(name, self.seen(at, u, place), at.v);
        gaussian.log_prob(v) - shrinking
    }

    /// The network of a place, where each has its own.
    fn network_name(&self, name: &str, place: &Place<'g>) -> String {
        match (self.settings.reverse_networks, place.number) {
            (ReverseNetworks::Each, Some(time)) if name == REVERSE => network_at(time),
            _ => name.to_owned(),
        }
    }

    /// What networks see of a momentum's place.
    fn seen(&self, at: State<'g>, u: Option<Expr<'g>>, place: &Place<'g>) -> Expr<'g> {
        let inputs: Vec<Expr<'g>> =
            [Some(self.context), Some(at.z), Some(place.time), u].into_iter().flatten().collect();
        Expr::concat_cols(&inputs)
    }

    fn momentum_model(
        &self,
        name: &str,
        at: State<'g>,
        u: Option<Expr<'g>>,
        place: &Place<'g>,
    ) -> Gaussian<'g> {
        if self.settings.reverse == Reverse::Balance {
            return self.in_balance(u, place);
        }
        let network = Network { name, hidden: self.hidden, activation: self.activation };
        let seen = self.seen(at, u, place);
        let mut r = network.gaussian(self.parameters, seen, self.potential.dimension());
        if let Some(time) = place.number.filter(|_| self.settings.reverse == Reverse::Score) {
            r.mean = r.mean + self.by_score(name, at, u, time);
        }
        // Far from the data a network may ask for variances that are infinite or NaN.
        Gaussian { log_variance: r.log_variance.max(-LOG_VARIANCE_LIMIT).min(LOG_VARIANCE_LIMIT), ..r }
    }

    /// The conditional distribution of a momentum in a chain in which momenta are `N(0, M)` wherever the position is:
    /// `N(αu, (1 - α²)M)`, with `u` in units of the masses of its own step.
    fn in_balance(&self, u: Option<Expr<'g>>, place: &Place<'g>) -> Gaussian<'g> {
        let momentum = place.arriving.momentum();
        let Some(u) = u else { return momentum };
        let alpha = self.alpha();
        let mean = alpha * u * (0.5 * (momentum.log_variance - place.next.log_mass)).exp();
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
