//! Variational inference with HMC: the paper's section 4.
//!
//! [`Inference`] runs the forward chain from an initial Gaussian and forms the auxiliary lower bound
//! (`eq:HMCVIAuxLowerBound`), with [`BoundTerms`] kept apart by name. [`HmcChain`] is the family: an encoder gives the
//! Gaussian, [`begin`](Family::begin) finds first masses and a first step size.

mod acceptance;
mod begin;
mod bridge;
mod chain;
mod flow;
mod learning;
mod mass;
mod repeated;
mod reverse;
mod settings;
mod step_size;
mod tempering;

pub use chain::{BoundTerms, Chain, Happened, Inference, Start, Step};
pub use settings::{
    Acceptance, AcceptanceGradient, Bridge, ChainSettings, Mass, Reverse, ReverseNetworks, StepSize, Writing,
};

use hmcvi_graph::Real;

use super::{BeginError, Draw, Entropies, Family, FirstLook, Target};
use crate::dist::Gaussian;
use crate::nn::{Activation, Network};

/// The paper's family: a diagonal Gaussian that an encoder gives, and a chain of HMC steps from there.
#[derive(Clone, Debug)]
pub struct HmcChain {
    /// The chain.
    pub settings: ChainSettings,
    /// Sizes of the hidden layers of the encoder; without one draws begin with the standard Gaussian.
    pub encoder: Option<Vec<usize>>,
    /// Sizes of the hidden layers of reverse, mass, step-size and acceptance models.
    pub hidden: Vec<usize>,
    /// Activation of all of these.
    pub activation: Activation,
}

impl HmcChain {
    /// The chain for a target. It has more to tell than a [`Draw`].
    pub fn chain_with<'g>(&self, target: &Target<'_, 'g>, entropies: Entropies) -> Chain<'g> {
        self.inference(target, entropies).run()
    }

    /// The same from a draw of another distribution than the encoder's Gaussian.
    pub fn chain_from<'g>(
        &self,
        target: &Target<'_, 'g>,
        entropies: Entropies,
        start: Start<'g>,
    ) -> Chain<'g> {
        self.inference(target, entropies).run_from(start)
    }

    /// A draw from the encoder's Gaussian, where chains can begin.
    pub fn start<'g>(&self, target: &Target<'_, 'g>, entropies: Entropies) -> Start<'g> {
        self.inference(target, entropies).start()
    }

    fn inference<'a, 'g>(&'a self, target: &'a Target<'_, 'g>, entropies: Entropies) -> Inference<'a, 'g> {
        Inference {
            parameters: target.parameters,
            settings: self.settings,
            potential: target.potential,
            initial: self.gaussian(target),
            context: target.context,
            hidden: &self.hidden,
            activation: self.activation,
            entropies,
        }
    }

    /// Finds first masses, reverse models and a first step size, which is returned.
    ///
    /// # Errors
    /// If simulations go wrong with every step size.
    pub fn find_first_values<T: Real>(&self, look: &mut FirstLook<'_, T>) -> Result<f64, BeginError> {
        begin::find(look, self.settings)?.ok_or(BeginError::NoStepSize)
    }
}

impl Family for HmcChain {
    fn gaussian<'g>(&self, target: &Target<'_, 'g>) -> Gaussian<'g> {
        let dimension = target.potential.dimension();
        let Some(hidden) = &self.encoder else {
            return Gaussian::standard(target.parameters.graph(), dimension);
        };
        let network = Network { name: "encoder", hidden, activation: self.activation };
        network.gaussian(target.parameters, target.context, dimension)
    }

    fn draw_with<'g>(&self, target: &Target<'_, 'g>, entropies: Entropies) -> Draw<'g> {
        self.chain_with(target, entropies).into()
    }

    fn draws_from_one_start<'g>(
        &self,
        target: &Target<'_, 'g>,
        entropies: Entropies,
        count: usize,
    ) -> Vec<Draw<'g>> {
        let start = self.start(target, entropies);
        (0..count).map(|_| self.chain_from(target, entropies, start.clone()).into()).collect()
    }

    fn is_gaussian(&self) -> bool {
        self.settings.hmc_steps == 0
    }

    fn steps(&self) -> (usize, usize) {
        (self.settings.hmc_steps, self.settings.leapfrog_steps)
    }

    fn begin(&self, look: &mut FirstLook<'_>) -> Result<Vec<(&'static str, f64)>, BeginError> {
        if self.is_gaussian() {
            return Ok(Vec::new());
        }
        Ok(vec![("step_size", self.find_first_values(look)?)])
    }
}
