//! Give the chain its step size, positive as the exponential of what is learnt.

use hmcvi_graph::Expr;

use super::begin::LOG_STEP_SIZE;
use super::chain::Inference;
use super::settings::StepSize;
use crate::nn::{Initial, Network};

/// Where learning begins when no search finds a better value.
const FIRST_STEP_SIZE: f64 = 0.01;

impl<'g> Inference<'_, 'g> {
    /// The step sizes of all steps.
    pub(super) fn step_sizes(&self) -> Vec<Expr<'g>> {
        let all = self.step_size();
        let changes = self.per_step("step_size_change", 1);
        let of = |t: usize| changes.map_or(all, |changes| all * changes.slice_cols(t, 1).exp());
        (0..self.settings.hmc_steps).map(of).collect()
    }

    /// `ε`: `[1, 1]`, `[1, d]` or `[N, 1]`. The parameter `log_step_size` scales all of them.
    pub(super) fn step_size(&self) -> Expr<'g> {
        let initial = Initial::Constant(FIRST_STEP_SIZE.ln());
        match self.settings.step_size {
            StepSize::Global => self.parameters.get(LOG_STEP_SIZE, 1, 1, initial).exp(),
            StepSize::PerDimension => {
                let d = self.potential.dimension();
                self.parameters.get(LOG_STEP_SIZE, 1, d, initial).exp()
            }
            StepSize::Network => {
                let scale = self.parameters.get(LOG_STEP_SIZE, 1, 1, initial);
                let hidden = &self.hidden[..self.hidden.len().min(1)];
                let network = Network { name: "step_size", hidden, activation: self.activation };
                (network.apply(self.parameters, self.context, 1) + scale).exp()
            }
        }
    }
}
