//! Let simulations begin with hotter momenta and cool them after every leapfrog step (Caterini and others, 2018).
//!
//! A momentum `u` is scaled by `1/√β₀` and, step by step, by `√β₀` in all: the volume is what it was, so that the bound has
//! no term for it.

use hmcvi_graph::Expr;

use super::chain::Inference;
use crate::hmc::{Leapfrog, State, Trajectory};
use crate::nn::Initial;

/// `softplus` of this is `-log β₀` at first: a little heat, so that its share of every step can be learnt.
const FIRST_HEAT: f64 = -3.0;

impl<'g> Inference<'_, 'g> {
    /// Simulates in the way of the settings.
    pub(super) fn simulate(&self, leapfrog: &Leapfrog<'g>, start: State<'g>) -> Trajectory<'g> {
        if !self.settings.tempering {
            return leapfrog.integrate(start);
        }
        let heat = self.parameters.get("raw_heat", 1, 1, Initial::Constant(FIRST_HEAT)).softplus();
        let logits = self.parameters.get("cooling_logits", 1, leapfrog.steps, Initial::Constant(0.0));
        let cooling: Expr<'g> = ((logits - logits.log_sum_exp()).exp() * heat * -0.5).exp();
        let hot = start.with_momentum(start.v * (heat * 0.5).exp());
        leapfrog.integrate_with(hot, |step, state| state.with_momentum(state.v * cooling.slice_cols(step, 1)))
    }
}
