//! Judge trained models: the bound, and the likelihood by importance sampling.

mod bound;
mod decode;
mod importance;
mod judge;
mod statistics;

pub use bound::{BoundEvaluator, Bounds};
pub use decode::{Decoder, prior_draws};
pub use importance::{ImageLikelihood, ImportanceEvaluator, log_mean_exp};
pub use judge::{JudgeOptions, Judgement, Phase, Progress, TEST_SEED, finite_estimate, judge};
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
    /// The watcher asked to stop.
    #[error("stopped before the end")]
    Stopped,
}
