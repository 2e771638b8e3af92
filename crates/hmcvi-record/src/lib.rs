//! Describe what a run directory holds, as plain values: who made it, how training went, how it was
//! evaluated. No tensors, no files: readers and writers share these types, and [`read`] is the one way from the text of
//! a file to a record.
#![forbid(unsafe_code)]

mod draws;
mod evaluation;
pub mod figure;
mod fit;
mod fit_report;
mod likelihoods;
mod merge;
mod number;
mod provenance;
mod report;
mod schema;

use std::collections::BTreeMap;
use std::ops::RangeInclusive;

pub use draws::{DrawError, DrawTable};
pub use evaluation::{
    Annealing, AnnealingSettings, Bidirectional, EVALUATION_SCHEMA, EncoderBound, EnergyHistogram,
    Evaluation, ImageEvaluation, ImportanceSampling, PosteriorDistance, PosteriorQuality, Quadrature,
    ReverseQuality, UsedDimensions,
};
pub use fit::{
    BoundTogether, FIT_SCHEMA, FailedQuantities, FitCheck, FitDifference, FitElsewhere, FitEvidence,
    FitGenerated, FitMethod, FitRecord, FitRow, FitStage, LargeQuantity, MissedPart, SamplerFacts,
};
pub use fit_report::{FIT_REPORT_SCHEMA, FitComparison, FitReport, FitRunReport, PairPanel, PairPlot};
pub use likelihoods::{Estimator, LIKELIHOODS_SCHEMA, Likelihoods, Reached, ReachedAt};
pub use merge::{Evaluated, keep_parts};
pub use provenance::Provenance;
pub use report::{
    Basic, ComparedRun, Comparison, Figure, FigureKind, Mark, MarkAxis, Missing, Published, REPORT_SCHEMA,
    Report, RunFacts, RunReport, RunSettings, RunState, Section,
};
pub use schema::{ReadError, Schemas, Versioned, read, refuse_newer};
use serde::{Deserialize, Serialize};

/// Version of [`RunInfo`] and of [`Summary`]; [`read`] refuses other versions.
pub const SCHEMA: u32 = 1;

/// Names of the files in a run directory.
pub mod files {
    /// The complete, resolved settings.
    pub const CONFIG: &str = "config.toml";
    /// Who made the run, with what: a [`RunInfo`](super::RunInfo).
    pub const INFO: &str = "run.json";
    /// One [`Epoch`](super::Epoch) a line.
    pub const METRICS: &str = "metrics.jsonl";
    /// Why the last of several attempts at the run failed.
    pub const FAILURE: &str = "failure.json";
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
    /// The evaluation that the latest one replaced, and its images.
    pub const PREVIOUS_EVALUATION: &str = "evaluation.previous.json";
    /// See [`EVALUATION_IMAGES`].
    pub const PREVIOUS_EVALUATION_IMAGES: &str = "evaluation-images.previous.jsonl";
    /// Finished parts of an evaluation that was interrupted.
    pub const EVALUATION_PARTS: &str = "evaluation-parts.jsonl";
    /// The report on the run, as a page.
    pub const REPORT: &str = "report.html";
    /// What it says: a [`Report`](super::Report).
    pub const REPORT_DATA: &str = "report.json";
    /// How the names of files for TensorBoard begin.
    pub const EVENTS: &str = "events.out.tfevents.";
    /// The complete settings of a fit.
    pub const FIT_CONFIG: &str = "fit.toml";
    /// The Stan program of a fit from Python.
    pub const MODEL: &str = "model.stan";
    /// The data of a fit from Python, where the model does not come with them.
    pub const DATA: &str = "data.json";
    /// What the fit has found: a [`FitRecord`](super::FitRecord).
    pub const FIT: &str = "fit.json";
    /// Folder with the fit itself, for the library to take it up again.
    pub const FITTED: &str = "fitted";
    /// Draws of all chains, as arrays of NumPy.
    pub const DRAWS: &str = "draws.npz";
    /// Draws of the Gaussian that a chain begins with: a [`DrawTable`](super::DrawTable).
    pub const GAUSSIAN: &str = "gaussian.csv";
    /// How the names of files of draws begin: a [`DrawTable`](super::DrawTable) for each chain.
    pub const DRAWS_OF_CHAIN: &str = "draws-";
    /// The same of NUTS, where it was run beside a fit.
    pub const NUTS_OF_CHAIN: &str = "nuts-";
    /// What the directory is, for a person.
    pub const README: &str = "README.txt";
}

/// Who made a run, with what.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
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
    /// SHA-256 of the file of parameters that it began with, if there was one. Unknown in records of early versions.
    #[serde(default)]
    pub initial_sha256: Option<String>,
    /// Changes of settings on the way, the first one first.
    #[serde(default)]
    pub changes: Vec<SettingsChange>,
    /// Number of trained values.
    pub parameters: u64,
    /// Bytes of working memory.
    pub bytes: u64,
    /// Step size found before training, where there is a chain.
    pub first_step_size: Option<f64>,
    /// Height and width, where rows of the data are images. Early files do not have it.
    #[serde(default)]
    pub image_shape: Option<[u64; 2]>,
    /// Columns of the data. Early files do not have it: their data is of images.
    #[serde(default)]
    pub columns: Option<u64>,
}

impl Versioned for RunInfo {
    const SCHEMAS: RangeInclusive<u32> = SCHEMA..=SCHEMA;
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
    /// `gradient_norm`. What is not finite is written as null, and absent when it is read.
    #[serde(deserialize_with = "number::named")]
    pub train: BTreeMap<String, f64>,
    /// Means over the validation images, in epochs that look at them: the same, and `energy_error`, `mass`,
    /// `acceptance_rate_1` and so on for every HMC step.
    #[serde(deserialize_with = "number::maybe_named")]
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

/// A change of settings when a run was resumed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SettingsChange {
    /// The command that resumed the run.
    pub command: Vec<String>,
    /// Epochs that were done before.
    pub epoch: u64,
    /// Updates that were done before.
    pub step: u64,
    /// Whether these were all the epochs that the run was to have until then.
    pub finished: bool,
    /// What was changed: keys with their values before and after.
    pub settings: Vec<ChangedSetting>,
}

/// A setting with its values before and after a change, as TOML.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChangedSetting {
    /// The key, such as `train.epochs`.
    pub key: String,
    /// Its value before; absent if it had none.
    pub from: Option<String>,
    /// Its value after; absent if it has none.
    pub to: Option<String>,
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

impl Versioned for Summary {
    const SCHEMAS: RangeInclusive<u32> = SCHEMA..=SCHEMA;
}

/// Version of checkpoints, see [`CheckpointInfo`].
pub const CHECKPOINT_SCHEMA: u32 = 3;

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

/// Version 1 has no hash of the content, version 2 no epochs that are under way.
impl Versioned for CheckpointInfo {
    const SCHEMAS: RangeInclusive<u32> = 2..=CHECKPOINT_SCHEMA;
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
    #[serde(deserialize_with = "number::or_nan")]
    pub mean: f64,
    /// Standard error of the mean.
    #[serde(deserialize_with = "number::or_nan")]
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
    /// Could not be examined, or was not asked for: neither good nor bad.
    Unchecked,
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
    /// Class of the image, which gives the colour; absent where the data has no labels.
    #[serde(default)]
    pub class: Option<u8>,
}
