//! Variational inference with HMC: the paper's section 4.
//!
//! [`Inference`] runs the forward chain from an initial Gaussian and forms the auxiliary lower bound
//! (`eq:HMCVIAuxLowerBound`), with [`BoundTerms`] kept apart by name.

mod acceptance;
mod bound;
mod dropped;
mod mass;
mod reverse;
mod settings;
mod step_size;

pub use bound::{Arrival, BoundTerms, Chain, Entropies, Inference, Step};
pub use dropped::{Dropped, NotABound};
pub use settings::{Acceptance, ChainSettings, Mass, StepSize};
