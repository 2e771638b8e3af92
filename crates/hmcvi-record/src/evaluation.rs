//! What was found out about a trained model.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;

use serde::{Deserialize, Serialize};

use super::number::{named, or_nan};
use super::{Estimate, Versioned};

/// Version of [`Evaluation`]; [`read`](super::read) refuses other versions.
pub const EVALUATION_SCHEMA: u32 = 2;

/// An evaluation of a trained model.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Evaluation {
    /// Version of this schema.
    pub schema: u32,
    /// Version of the program.
    pub version: String,
    /// The command that made it.
    pub command: Vec<String>,
    /// Earlier commands that some of its parts are kept from, the oldest first.
    #[serde(default)]
    pub kept_from: Vec<Vec<String>>,
    /// `validation`, `test` or `train`.
    pub split: String,
    /// Images.
    pub images: u64,
    /// `best` or `last`.
    pub checkpoint: String,
    /// SHA-256 of the checkpoint's content. Unknown in records of early versions, and of models that are not in a file.
    #[serde(default)]
    pub checkpoint_sha256: Option<String>,
    /// Epochs of training that the checkpoint has behind it.
    pub epoch: u64,
    /// Fixed binarisation draws.
    pub draws: u64,
    /// Chains for each image and draw in the bound.
    pub chain_draws: u64,
    /// Pixel scale, 256 or 255.
    pub pixel_scale: u32,
    /// Seed of the evaluation.
    pub seed: u64,
    /// SHA-256 of the data.
    pub data_sha256: String,
    /// Bound on `log p(x)`.
    pub bound: Estimate,
    /// Terms of the bound by name.
    #[serde(deserialize_with = "named")]
    pub terms: BTreeMap<String, f64>,
    /// Images, over all draws, whose simulation diverged.
    pub divergences: u64,
    /// Images, over all draws, that the bound leaves out, 1% at most; earlier records do not say.
    #[serde(default)]
    pub dropped: u64,
    /// Latent dimensions that are used, where there are images enough to tell.
    #[serde(default)]
    pub dimensions: Option<UsedDimensions>,
    /// `log p(x)` by importance sampling.
    pub importance_sampling: Option<ImportanceSampling>,
    /// The multi-sample bound of the encoder alone.
    pub encoder_bound: Option<EncoderBound>,
    /// `log p(x)` by quadrature, where the latent space is a plane.
    pub quadrature: Option<Quadrature>,
    /// `log p(x)` by annealed importance sampling.
    pub annealing: Option<Annealing>,
    /// Bounds from both sides on simulated data.
    pub bidirectional: Option<Bidirectional>,
    /// Distance of the posterior approximation from the posterior.
    pub posterior: Option<PosteriorQuality>,
    /// What better reverse models would add to the bound.
    #[serde(default)]
    pub reverse: Option<ReverseQuality>,
    /// Seconds by part.
    pub seconds: BTreeMap<String, f64>,
}

/// Version 1 says neither how the proposal of importance sampling was made nor how far its weights can be trusted.
impl Versioned for Evaluation {
    const SCHEMAS: RangeInclusive<u32> = EVALUATION_SCHEMA..=EVALUATION_SCHEMA;
    const IF_OLDER: &str = "evaluate the run again";
}

/// Latent dimensions whose encoded means have a variance of more than 0.01 over images, as Burda, Grosse and Salakhutdinov (2016)
/// count them: posteriors of the others are the prior, and the decoder learns nothing from them. With few images a used
/// dimension may go unnoticed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct UsedDimensions {
    /// Those that are used.
    pub used: u64,
    /// All.
    pub all: u64,
}

/// `log p(x)` by importance sampling.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ImportanceSampling {
    /// Samples for each image and draw.
    pub samples: u64,
    /// `gaussian` or `student-t`.
    pub proposal: String,
    /// Factor of the encoder's covariance.
    pub proposal_scale: f64,
    /// Draws from the improved posterior whose average is the proposal's mean; 0 where it is the encoder's own.
    /// Early files do not name it: it was 5.
    #[serde(default = "five")]
    pub mean_draws: u64,
    /// Mean of `log p(x)`.
    pub log_likelihood: Estimate,
    /// Mean effective sample size.
    #[serde(deserialize_with = "or_nan")]
    pub effective_sample_size: f64,
    /// Mean variance of an image's log weights.
    #[serde(deserialize_with = "or_nan")]
    pub log_weight_variance: f64,
    /// Median of the images' Pareto k-hat, where it could be computed.
    pub k_hat_median: Option<f64>,
    /// Share of images whose k-hat is above 0.7: their estimates are not to be trusted.
    #[serde(deserialize_with = "or_nan")]
    pub k_hat_high: f64,
    /// Billions of floating-point operations of matrix products in a second; absent where parts of it
    /// were done before.
    pub gflops: Option<f64>,
    /// Bytes of working memory.
    pub bytes: u64,
}

fn five() -> u64 {
    5
}

/// The multi-sample bound of the encoder alone (the importance-weighted auto-encoder's).
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct EncoderBound {
    /// Samples for each image.
    pub samples: u64,
    /// Mean of the bound on `log p(x)`.
    pub bound: Estimate,
}

/// `log p(x)` by quadrature over the latent plane.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Quadrature {
    /// Distance between neighbouring points at first.
    pub spacing: f64,
    /// Share of images, over all draws, for which a finer grid was taken.
    #[serde(deserialize_with = "or_nan")]
    pub refined: f64,
    /// Mean of `log p(x)`.
    pub log_likelihood: Estimate,
    /// Largest distance, over images, between the integrals over either half of the points; the error of all of them is
    /// of the order of its square.
    #[serde(deserialize_with = "or_nan")]
    pub halves_apart: f64,
    /// Largest share, over images, of the integral that lies in the outermost tenth of the disc's radius: where it is not
    /// small, some of the posterior is beyond the disc. Unknown in records of early versions.
    #[serde(default)]
    pub rim: Option<f64>,
    /// Largest radius of a disc. Unknown in records of early versions.
    #[serde(default)]
    pub radius: Option<f64>,
    /// Its value less that of importance sampling, of the same images and draws.
    pub above_importance_sampling: Option<Estimate>,
}

impl Quadrature {
    /// Spacings that can be asked for. A finer grid has more points than fit into memory.
    pub const SPACINGS: std::ops::RangeInclusive<f64> = 0.005..=0.5;
}

/// Settings of annealing.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AnnealingSettings {
    /// Temperatures after the first.
    pub temperatures: u64,
    /// Chains for each data point.
    pub chains: u64,
    /// Leapfrog steps of each transition.
    pub leapfrog_steps: u64,
    /// `linear` or `sigmoidal`.
    pub schedule: String,
    /// `encoder` or `prior`.
    pub start: String,
}

/// `log p(x)` by annealed importance sampling.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Annealing {
    /// Settings.
    pub settings: AnnealingSettings,
    /// Images, each with its first binarisation draw.
    pub images: u64,
    /// Mean of `log p(x)`.
    pub log_likelihood: Estimate,
    /// Mean acceptance probability.
    #[serde(deserialize_with = "or_nan")]
    pub acceptance_rate: f64,
    /// Mean variance of an image's log weights over its chains.
    #[serde(deserialize_with = "or_nan")]
    pub log_weight_variance: f64,
    /// Its estimate less that of importance sampling, of the same images and draw.
    pub above_importance_sampling: Option<Estimate>,
}

/// Bounds from both sides on the likelihood of data that the model simulated.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Bidirectional {
    /// Settings.
    pub settings: AnnealingSettings,
    /// Simulated data points.
    pub points: u64,
    /// Mean lower bound.
    pub lower: Estimate,
    /// Mean upper bound.
    pub upper: Estimate,
    /// Mean gap between them.
    pub gap: Estimate,
}

/// How far an approximation's draws are from the posterior's, averaged over images.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct PosteriorDistance {
    /// Kullback-Leibler divergence of Gaussians with the same moments.
    pub gaussian_kl: Estimate,
    /// 1-Wasserstein distance of each dimension, in standard deviations of the posterior.
    pub wasserstein: Estimate,
    /// Mean energy above that of the posterior.
    pub energy_excess: Estimate,
}

/// How much nearer the HMC steps bring the encoder to the posterior.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PosteriorQuality {
    /// Images.
    pub images: u64,
    /// Chains of the reference for each image.
    pub chains: u64,
    /// Draws of each chain.
    pub draws: u64,
    /// Largest rank-normalised split R-hat of the reference.
    #[serde(deserialize_with = "or_nan")]
    pub r_hat: f64,
    /// Smallest bulk effective sample size of the reference; called `effective_sample_size` in earlier records, where it
    /// was an estimate for the mean.
    #[serde(alias = "effective_sample_size", deserialize_with = "or_nan")]
    pub ess_bulk: f64,
    /// Smallest tail effective sample size of the reference; earlier records have none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ess_tail: Option<f64>,
    /// Draws of each approximation for each image.
    pub approximation_draws: u64,
    /// The encoder's Gaussian.
    pub initial: PosteriorDistance,
    /// After the HMC steps.
    pub improved: PosteriorDistance,
    /// What the HMC steps take off the distances, image by image.
    pub gain: PosteriorDistance,
    /// Energies above the mean of each image's posterior, as shares.
    pub energies: EnergyHistogram,
}

/// What better reverse models would add to the bound: Gaussians that were fitted to the momenta of single images, and
/// scored on other draws than those.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct ReverseQuality {
    /// Images.
    pub images: u64,
    /// Draws of each image.
    pub draws: u64,
    /// Mean log density of an image's momenta under the models that were learnt.
    pub learnt: Estimate,
    /// Gain with a diagonal Gaussian that is the image's own, whatever the position.
    pub own: Estimate,
    /// Gain with one whose mean is linear in what the learnt models see.
    pub linear: Estimate,
    /// Gain with one that has correlations, too.
    pub correlated: Estimate,
}

/// Shares of draws by their energy.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct EnergyHistogram {
    /// Edges of the bins, one more than there are bins; the last bin also holds what is above it.
    pub edges: Vec<f64>,
    /// The posterior.
    pub reference: Vec<f64>,
    /// The encoder.
    pub initial: Vec<f64>,
    /// After the HMC steps.
    pub improved: Vec<f64>,
}

/// What was found out about one image.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ImageEvaluation {
    /// Number of the image in its split.
    pub image: u64,
    /// Mean bound over draws; absent if all simulations diverged.
    pub bound: Option<f64>,
    /// `log p(x)` by importance sampling, mean over draws.
    pub log_likelihood: Option<f64>,
    /// Smallest effective sample size of its draws.
    pub effective_sample_size: Option<f64>,
    /// Largest variance of its draws' log weights.
    pub log_weight_variance: Option<f64>,
    /// Largest k-hat of its draws.
    pub k_hat: Option<f64>,
    /// `log p(x)` by quadrature, mean over draws.
    pub exact: Option<f64>,
    /// `log p(x)` of the first draw by annealed importance sampling.
    pub annealed: Option<f64>,
}
