//! Families of posterior approximations: a draw, the named terms of its log weight, and how learning begins.
//!
//! A family sees a potential and a context, and nothing else of data or model. Its random streams and parameters are its
//! own. Training and evaluation know it by the [`Draw`] that it gives.

mod begin;
mod draw;
mod dropped;
mod entropies;
pub mod hmc_chain;
mod settings;
pub mod several;
pub mod start;

use std::rc::Rc;

use hmcvi_graph::Expr;

pub use begin::{BeginError, FirstLook};
pub use draw::{Arrival, Draw, Measure, Reported};
pub use dropped::{Dropped, NotABound};
pub use entropies::{Entropies, Variable};
pub use hmc_chain::{
    Acceptance, AcceptanceGradient, BoundTerms, Bridge, Chain, ChainSettings, Happened, HmcChain, Inference,
    Mass, Reverse, ReverseNetworks, Start, Step, StepSize, Writing,
};
pub use settings::FamilySettings;
pub use several::{Combine, Several, WeightGradient};
pub use start::{StartKind, Started};

use crate::dist::Gaussian;
use crate::nn::Parameters;
use crate::potential::Potential;

/// What is to be approximated.
#[derive(Clone, Copy)]
pub struct Target<'a, 'g> {
    /// Where learnt models keep their parameters.
    pub parameters: &'a Rc<Parameters<'g>>,
    /// `U(z) = -log p(x, z)`
    pub potential: &'a Potential<'g>,
    /// What may be looked at to guess `z`, `[N, any]`.
    pub context: Expr<'g>,
}

/// A family of posterior approximations.
pub trait Family: Send + Sync {
    /// A Gaussian near the posterior: what draws begin with, and what importance sampling and annealing begin with.
    fn gaussian<'g>(&self, target: &Target<'_, 'g>) -> Gaussian<'g>;

    /// A draw for every row, with its bound.
    fn draw<'g>(&self, target: &Target<'_, 'g>) -> Draw<'g> {
        self.draw_with(target, Entropies::ClosedForm)
    }

    /// The same with entropies in the form that is asked for. Draws of the Gaussian unless the family knows better.
    fn draw_with<'g>(&self, target: &Target<'_, 'g>, entropies: Entropies) -> Draw<'g> {
        Draw::of_gaussian(self.gaussian(target), target, entropies)
    }

    /// So many draws for every row that all begin at the same place, which is drawn once. Draws with a start of their own
    /// unless the family knows better.
    fn draws_from_one_start<'g>(
        &self,
        target: &Target<'_, 'g>,
        entropies: Entropies,
        count: usize,
    ) -> Vec<Draw<'g>> {
        (0..count).map(|_| self.draw_with(target, entropies)).collect()
    }

    /// Whether draws are those of the Gaussian.
    fn is_gaussian(&self) -> bool {
        true
    }

    /// HMC steps of a draw, and leapfrog steps of each, for pictures.
    fn steps(&self) -> (usize, usize) {
        (0, 0)
    }

    /// Finds first values of its parameters by looking at some data, and returns what is worth recording of them by name.
    ///
    /// # Errors
    /// If there are none to begin with.
    fn begin(&self, _look: &mut FirstLook<'_>) -> Result<Vec<(&'static str, f64)>, BeginError> {
        Ok(Vec::new())
    }
}
