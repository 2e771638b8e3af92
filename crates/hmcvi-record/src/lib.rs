//! Describe what a run directory holds, as plain values: who made it, how training went, how it was
//! judged. No tensors, no files: readers and writers share these types.
#![forbid(unsafe_code)]

pub mod figure;
mod provenance;
mod report;

use std::collections::BTreeMap;

pub use provenance::Provenance;
pub use report::{
    Basic, ComparedRun, Comparison, Figure, FigureKind, Mark, MarkAxis, Missing, Published, REPORT_SCHEMA,
    Report, RunFacts, RunReport, RunSettings, RunState, Section,
};
use serde::{Deserialize, Deserializer, Serialize};

/// Version of all schemas in this crate; a reader refuses other versions.
pub const SCHEMA: u32 = 1;

/// Names of the files in a run directory.
pub mod files {
    /// The complete, resolved settings.
    pub const CONFIG: &str = "config.toml";
    /// Who made the run, with what: a [`RunInfo`](super::RunInfo).
    pub const INFO: &str = "run.json";
    /// One [`Epoch`](super::Epoch) a line.
    pub const METRICS: &str = "metrics.jsonl";
    /// Held by the process that writes to the directory.
    pub const LOCK: &str = "run.lock";
    /// The state of the last finished epoch.
    pub const LAST: &str = "last.safetensors";
    /// The state with the best validation bound.
    pub const BEST: &str = "best.safetensors";
    /// The outcome: a [`Summary`](super::Summary).
    pub const SUMMARY: &str = "summary.json";
    /// The latest evaluation: an [`Evaluation`](super::Evaluation).
    pub const EVALUATION: &str = "evaluation.json";
    /// What it found out about every image: one [`ImageEvaluation`](super::ImageEvaluation) a line.
    pub const EVALUATION_IMAGES: &str = "evaluation-images.jsonl";
    /// Finished parts of an evaluation that was interrupted.
    pub const EVALUATION_PARTS: &str = "evaluation-parts.jsonl";
    /// The report on the run, as a page.
    pub const REPORT: &str = "report.html";
    /// What it says: a [`Report`](super::Report).
    pub const REPORT_DATA: &str = "report.json";
    /// How the names of files for TensorBoard begin.
    pub const EVENTS: &str = "events.out.tfevents.";
    /// What the directory is, for a person.
    pub const README: &str = "README.txt";
}

/// Who made a run, with what.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunInfo {
    /// Version of this schema.
    pub schema: u32,
    /// Version of the program.
    pub version: String,
    /// The command that began the run.
    pub command: Vec<String>,
    /// Seconds since 1970 when it began.
    pub started: u64,
    /// The device it ran on.
    pub device: String,
    /// Where the data came from.
    pub data: String,
    /// SHA-256 of the data.
    pub data_sha256: String,
    /// Number of trained values.
    pub parameters: u64,
    /// Bytes of working memory.
    pub bytes: u64,
    /// Step size found before training, where there is a chain.
    pub first_step_size: Option<f64>,
}

/// One epoch of training.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Epoch {
    /// Number of the epoch, from 1.
    pub epoch: u64,
    /// Updates so far.
    pub step: u64,
    /// Seconds of training so far, over all sittings.
    pub seconds: f64,
    /// Learning rate at its end.
    pub learning_rate: f64,
    /// Means over the epoch's images: `bound`, its terms, `acceptance_rate`, `step_size`, `alpha`,
    /// `gradient_norm`. What is no number is written as null, and not there when it is read.
    #[serde(deserialize_with = "numbers")]
    pub train: BTreeMap<String, f64>,
    /// Means over the validation images, in epochs that look at them: the same, and `energy_error`, `mass`,
    /// `acceptance_rate_1` and so on for every HMC step.
    #[serde(deserialize_with = "some_numbers")]
    pub validation: Option<BTreeMap<String, f64>>,
    /// Images seen.
    #[serde(default)]
    pub images: u64,
    /// Images whose simulation diverged.
    pub divergences: u64,
    /// Updates that were left out because the gradient was not finite.
    pub skipped: u64,
    /// Images per second.
    pub images_per_second: f64,
}

type MaybeNumbers = BTreeMap<String, Option<f64>>;

fn numbers<'de, D: Deserializer<'de>>(from: D) -> Result<BTreeMap<String, f64>, D::Error> {
    MaybeNumbers::deserialize(from).map(present)
}

fn some_numbers<'de, D: Deserializer<'de>>(from: D) -> Result<Option<BTreeMap<String, f64>>, D::Error> {
    Option::<MaybeNumbers>::deserialize(from).map(|all| all.map(present))
}

fn present(all: MaybeNumbers) -> BTreeMap<String, f64> {
    all.into_iter().filter_map(|(name, value)| Some((name, value?))).collect()
}

/// Outcome of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    /// Version of this schema.
    pub schema: u32,
    /// Epochs done.
    pub epochs: u64,
    /// Epoch with the best validation bound; 0 before the first look.
    pub best_epoch: u64,
    /// Mean validation bound then, in nats.
    pub best_validation_bound: Option<f64>,
    /// Seconds of training.
    pub seconds: f64,
    /// Images whose simulation diverged, over all epochs.
    pub divergences: u64,
    /// Updates left out.
    pub skipped: u64,
    /// Whether all epochs were done.
    pub finished: bool,
}

/// Version of checkpoints. Those from [`OLDEST_CHECKPOINT_SCHEMA`] on are read, others refused.
pub const CHECKPOINT_SCHEMA: u32 = 3;

/// The first version of checkpoints that is still read: it knew no epochs that are under way.
pub const OLDEST_CHECKPOINT_SCHEMA: u32 = 2;

/// What a checkpoint says about itself, as JSON under the key `hmcvi` of its metadata. It holds nothing
/// that depends on the machine or the time, so that equal training gives equal bytes.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct CheckpointInfo {
    /// Version of this schema.
    pub schema: u32,
    /// Epochs done.
    pub epoch: u64,
    /// Updates done.
    pub step: u64,
    /// Epoch with the best validation bound so far; 0 before the first look.
    pub best_epoch: u64,
    /// That bound, in nats.
    pub best_validation_bound: Option<f64>,
    /// The epoch that was under way, if it was not finished.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub under_way: Option<PartialEpoch>,
}

/// What is known about an epoch that is not finished.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PartialEpoch {
    /// Images done.
    pub images: u64,
    /// Updates done.
    pub updates: u64,
    /// Updates left out.
    pub skipped: u64,
    /// Seconds of training.
    pub seconds: f64,
    /// Sums of what the updates reported, by name; null for what is not a number.
    pub sums: BTreeMap<String, Option<f64>>,
}

/// A mean with its standard error.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Estimate {
    /// Mean, in nats.
    pub mean: f64,
    /// Standard error of the mean.
    pub standard_error: f64,
}

impl Estimate {
    /// Mean of the values that are finite, and its standard error; absent if there is none.
    pub fn of_finite(values: impl IntoIterator<Item = f64>) -> Option<Self> {
        let values: Vec<f64> = values.into_iter().filter(|v| v.is_finite()).collect();
        let n = values.len() as f64;
        let mean = values.iter().sum::<f64>() / n;
        let square: f64 = values.iter().map(|v| (v - mean) * (v - mean)).sum();
        let standard_error = (square / (n - 1.0).max(1.0) / n).sqrt();
        (!values.is_empty()).then_some(Estimate { mean, standard_error })
    }
}

/// A difference of means with its standard error.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Difference {
    /// The difference.
    pub estimate: Estimate,
    /// Whether its error is over pairs of values of the same image, or that of two independent means.
    pub paired: bool,
}

/// How serious a finding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Level {
    /// As it should be.
    Good,
    /// Worth knowing.
    Remark,
    /// Results are not satisfactory, or not to be trusted, before something is done.
    Problem,
}

/// Something that was found out about a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Finding {
    /// How serious it is.
    pub level: Level,
    /// What was looked at, in one word.
    pub about: String,
    /// What was found, with its numbers.
    pub finding: String,
    /// What that means.
    pub meaning: String,
    /// What to do next; empty if nothing.
    pub action: String,
}

/// A named line of a figure.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Curve {
    /// What the legend calls it.
    pub name: String,
    /// Points from left to right.
    pub points: Vec<(f64, f64)>,
}

/// A point of a latent map.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct LatentPoint {
    /// First coordinate.
    pub x: f64,
    /// Second coordinate.
    pub y: f64,
    /// Class of the image, which gives the colour.
    pub class: u8,
}

/// Version of [`Evaluation`]; a reader refuses other versions.
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
    /// `validation`, `test` or `train`.
    pub split: String,
    /// Images.
    pub images: u64,
    /// `best` or `last`.
    pub checkpoint: String,
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
    pub terms: BTreeMap<String, f64>,
    /// Images, over all draws, whose simulation diverged.
    pub divergences: u64,
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
    pub mean_draws: u64,
    /// Mean of `log p(x)`.
    pub log_likelihood: Estimate,
    /// Mean effective sample size.
    pub effective_sample_size: f64,
    /// Mean variance of an image's log weights.
    pub log_weight_variance: f64,
    /// Median of the images' Pareto k-hat.
    pub k_hat_median: f64,
    /// Share of images whose k-hat is above 0.7: their estimates are not to be trusted.
    pub k_hat_high: f64,
    /// Billions of floating-point operations of matrix products in a second; absent where parts of it
    /// were done before.
    pub gflops: Option<f64>,
    /// Bytes of working memory.
    pub bytes: u64,
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
    pub refined: f64,
    /// Mean of `log p(x)`.
    pub log_likelihood: Estimate,
    /// Largest distance, over images, between the integrals over either half of the points; the error of all of them is
    /// of the order of its square.
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
    /// Spacings that can be asked for. A finer grid has more points than memory bears.
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
    pub acceptance_rate: f64,
    /// Mean variance of an image's log weights over its chains.
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
    /// Largest split R-hat of the reference.
    pub r_hat: f64,
    /// Smallest effective sample size of the reference.
    pub effective_sample_size: f64,
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
