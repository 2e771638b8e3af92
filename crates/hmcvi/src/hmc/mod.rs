//! Hamiltonian Monte Carlo, cut at its mathematical joints: pure steps, no learning.
//!
//! [`Kinetic`] energy and mass, [`Leapfrog`] integration, [`momentum`] updates, [`accept`]ance, and
//! [`Transition`], which only wires them. [`Sampler`] runs chains, [`DualAveraging`] tunes their steps and [`diagnostics`]
//! assesses their convergence.

pub mod accept;
mod autocovariance;
pub mod diagnostics;
mod dual_averaging;
mod kinetic;
mod leapfrog;
pub mod momentum;
mod sampler;
mod transition;

pub use dual_averaging::DualAveraging;
pub use kinetic::Kinetic;
pub use leapfrog::{Leapfrog, Trajectory};
pub use sampler::{Sampler, SamplerError, SamplerSettings, Samples};
pub use transition::{Info, Transition};

use hmcvi_graph::Expr;

use crate::potential::Potential;

/// A particle `s = (z, v)` on its landscape. What is not used of it is never computed.
#[derive(Clone, Copy, Debug)]
pub struct State<'g> {
    /// Position, `[N, d]`.
    pub z: Expr<'g>,
    /// Momentum, `[N, d]`.
    pub v: Expr<'g>,
    /// `-U(z)`, `[N, 1]`.
    pub log_density: Expr<'g>,
    /// The terms of `-U(z)`, `[N, any]`, for differences of energies.
    pub terms: Expr<'g>,
    /// `-∇U(z)`, `[N, d]`.
    pub force: Expr<'g>,
}

impl<'g> State<'g> {
    /// A particle with a position and a momentum.
    pub fn new(potential: &Potential<'g>, z: Expr<'g>, v: Expr<'g>) -> Self {
        let (log_density, terms, force) = (potential.log_density(z), potential.terms(z), potential.force(z));
        State { z, v, log_density, terms, force }
    }

    /// The same place with another momentum.
    #[must_use]
    pub fn with_momentum(self, v: Expr<'g>) -> Self {
        State { v, ..self }
    }
}
