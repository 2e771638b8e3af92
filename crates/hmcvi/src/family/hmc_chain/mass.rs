//! Give the chain its mass matrix (`sec:MassMatrixChoice`).

use hmcvi_graph::Expr;

use super::chain::Inference;
use super::settings::Mass;
use crate::hmc::Kinetic;
use crate::nn::{Initial, Network};

/// What a network changes in a step is small at first, and large enough that it learns from the beginning.
const FIRST_FACTOR: f64 = 0.01;

impl<'g> Inference<'_, 'g> {
    /// The kinetic energies of all steps.
    pub(super) fn kinetics(&self) -> Vec<Kinetic<'g>> {
        let (all, d) = (self.kinetic(), self.potential.dimension());
        let changes = self.per_step("mass_change", d);
        let of = |t: usize| match changes {
            Some(changes) => Kinetic { log_mass: all.log_mass + changes.slice_cols(t * d, d) },
            None => all,
        };
        (0..self.settings.hmc_steps).map(of).collect()
    }

    /// What is learnt for every step on top of what is the same for all, one block of columns for each: `[1, cols·T]`, or
    /// with a network of the data `[N, cols·T]`.
    pub(super) fn per_step(&self, name: &str, cols: usize) -> Option<Expr<'g>> {
        let cols = cols * self.settings.hmc_steps;
        let of_all = || self.parameters.get(name, 1, cols, Initial::Constant(0.0));
        let changes = self.settings.per_step.then(of_all)?;
        if !self.settings.per_step_network {
            return Some(changes);
        }
        let hidden = &self.hidden[..self.hidden.len().min(1)];
        let network = Network { name, hidden, activation: self.activation };
        let factor = Initial::Constant(FIRST_FACTOR);
        let factor = self.parameters.get(&format!("{name}.factor"), 1, cols, factor);
        Some(changes + network.apply(self.parameters, self.context, cols) * factor)
    }

    /// The kinetic energy: masses are the exponential of free parameters or of a network of `x`
    /// with one hidden layer.
    pub(super) fn kinetic(&self) -> Kinetic<'g> {
        let d = self.potential.dimension();
        let log_mass = match self.settings.mass {
            Mass::Identity => return Kinetic::identity(self.graph(), d),
            Mass::Global => self.parameters.get("log_mass", 1, d, Initial::PAPER),
            Mass::Network => {
                let hidden = &self.hidden[..self.hidden.len().min(1)];
                let network = Network { name: "mass", hidden, activation: self.activation };
                network.apply(self.parameters, self.context, d)
            }
        };
        Kinetic { log_mass }
    }
}
