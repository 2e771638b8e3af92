//! Give the chain its mass matrix (`sec:MassMatrixChoice`).

use super::chain::Inference;
use super::settings::Mass;
use crate::hmc::Kinetic;
use crate::nn::{Initial, Network};

impl<'g> Inference<'_, 'g> {
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
