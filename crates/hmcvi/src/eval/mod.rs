//! Evaluate trained models, and say how far the results can be trusted.
//!
//! [`evaluate()`] does everything for a run, [`evaluate_problem()`] for any [`Problem`](crate::Problem). Its parts: importance
//! sampling ([`ImportanceSampler`]), annealed importance sampling ([`Annealer`]), bounds from both sides on
//! simulated data ([`sandwich`]), and reference draws from posteriors ([`PosteriorSampler`]). For models with two
//! latent dimensions there is the likelihood itself ([`Quadrature`]), and for chains what better reverse models would add to
//! the bound ([`ReverseFitter`]).

mod annealing;
mod bidirectional;
mod bound;
mod bridge;
mod decode;
mod evaluate;
mod importance;
mod pareto;
mod posterior;
mod quadrature;
mod reverse;
mod scores;
mod smoothing;
mod statistics;
mod wasserstein;
mod weights;

pub use annealing::{Annealer, AnnealingOptions, AnnealingSchedule, AnnealingStart};
pub use bidirectional::{Sandwich, Simulated, sandwich, simulate};
pub use bound::{BoundEvaluator, Bounds, rows};
pub use bridge::bridge;
pub use decode::{Decoder, image_shape, prior_draws};
pub use evaluate::{
    EvaluationOptions, EvaluationResult, ImportanceOptions, Phase, TEST_SEED, Watch, evaluate,
    evaluate_problem, finite_estimate,
};
pub use importance::{ImportanceSampler, Proposal};
pub use posterior::{Distance, PosteriorOptions, PosteriorSampler, Reference};
pub use quadrature::{Integral, Quadrature, QuadratureOptions};
pub use reverse::{ReverseFit, ReverseFitter};
pub use scores::{RowScore, ScoreOptions, score_rows};
pub use smoothing::{Reliability, SmoothedWeights, k_hat_limit};
pub use statistics::estimate;
pub use wasserstein::{wasserstein, wasserstein_by_chance, wasserstein_of_weights};
pub(crate) use weights::log_mean_error;
pub use weights::{WeightSummary, Weights, log_mean_exp};

use hmcvi_graph::{CompileError, RunError};

use crate::device::DeviceError;
use crate::family::NotABound;

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
    /// The device cannot be used.
    #[error(transparent)]
    Device(#[from] DeviceError),
    /// Only planes are integrated over.
    #[error("quadrature needs two latent dimensions, but the model has {0}; annealing works for any number")]
    NotAPlane(usize),
    /// Only models that make data can simulate it.
    #[error("the model does not say how it makes data, so nothing can be simulated from it")]
    NoSimulator,
    /// Quadrature needs a likelihood that is linear in the data.
    #[error("quadrature needs a Bernoulli likelihood; annealing works for any")]
    NotLinear,
    /// Reverse models belong to HMC steps.
    #[error("only chains with HMC steps have reverse models, but the model has no steps")]
    NoSteps,
    /// Spacings of quadrature have limits.
    #[error(
        "the spacing of quadrature is {0}, but must be from {low} to {high}",
        low = Quadrature::SPACINGS.start(),
        high = Quadrature::SPACINGS.end()
    )]
    Spacing(f64),
    /// So many images have no bound that the mean of the others is none.
    #[error(transparent)]
    NotABound(#[from] NotABound),
    /// The watcher asked to stop.
    #[error("stopped before the end")]
    Stopped,
    /// A finished part could not be kept.
    #[error("cannot keep a finished part of the evaluation: {0}")]
    Keep(String),
}
