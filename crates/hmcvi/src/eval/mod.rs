//! Judge trained models: the bound, and the likelihood by importance sampling.

mod bound;
mod importance;
mod statistics;

pub use bound::{BoundEvaluator, Bounds};
pub use importance::{ImportanceEvaluator, ImageLikelihood, log_mean_exp};
pub use statistics::estimate;

use hmcvi_graph::{CompileError, RunError};

/// An evaluation that cannot be made.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EvalError {
    /// The model is not a well-formed program.
    #[error(transparent)]
    Compile(#[from] CompileError),
    /// A program could not run.
    #[error(transparent)]
    Run(#[from] RunError),
}
