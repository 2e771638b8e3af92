//! Give the chain its mass matrix (`sec:MassMatrixChoice`).

use hmcvi_graph::Expr;

use super::chain::Inference;
use super::settings::Mass;
use crate::hmc::Kinetic;
use crate::nn::{Initial, Network};

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

    /// What is learnt for every step on top of what is the same for all, one block of columns for each.
    pub(super) fn per_step(&self, name: &str, cols: usize) -> Option<Expr<'g>> {
        let cols = cols * self.settings.hmc_steps;
        self.settings.per_step.then(|| self.parameters.get(name, 1, cols, Initial::Constant(0.0)))
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
