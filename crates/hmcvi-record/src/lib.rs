//! Describe what a run directory holds, as plain values: who made it, how training went, how it was
//! judged. No tensors, no files: readers and writers share these types.
#![forbid(unsafe_code)]

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

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
    /// The state of the last finished epoch.
    pub const LAST: &str = "last.safetensors";
    /// The state with the best validation bound.
    pub const BEST: &str = "best.safetensors";
    /// The outcome: a [`Summary`](super::Summary).
    pub const SUMMARY: &str = "summary.json";
    /// The latest evaluation: an [`Evaluation`](super::Evaluation).
    pub const EVALUATION: &str = "evaluation.json";
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
    /// `gradient_norm`.
    pub train: BTreeMap<String, f64>,
    /// Means over the validation images, in epochs that look at them.
    pub validation: Option<BTreeMap<String, f64>>,
    /// Images whose simulation diverged.
    pub divergences: u64,
    /// Updates that were left out because the gradient was not finite.
    pub skipped: u64,
    /// Images per second.
    pub images_per_second: f64,
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

/// What a checkpoint says about itself, as JSON under the key `hmcvi` of its metadata. It holds nothing
/// that depends on the machine or the time, so that equal training gives equal bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
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
}

/// A mean with its standard error.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Estimate {
    /// Mean, in nats.
    pub mean: f64,
    /// Standard error of the mean.
    pub standard_error: f64,
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

/// An evaluation of a trained model.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Evaluation {
    /// Version of this schema.
    pub schema: u32,
    /// `validation` or `test`.
    pub split: String,
    /// Images.
    pub images: u64,
    /// `best` or `last`.
    pub checkpoint: String,
    /// Epochs of training that the checkpoint has behind it.
    pub epoch: u64,
    /// Fixed binarisation draws.
    pub draws: u64,
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
}

/// `log p(x)` by importance sampling.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct ImportanceSampling {
    /// Samples for each image.
    pub samples: u64,
    /// Mean of `log p(x)`.
    pub log_likelihood: Estimate,
    /// Mean effective sample size.
    pub effective_sample_size: f64,
}
