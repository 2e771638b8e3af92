//! Describe a report on runs: all that its page says, as plain values.
//!
//! As in evaluations, values are `log p(x)` in nats, larger is better; pages and tables show them negated.

use std::ops::RangeInclusive;

use serde::{Deserialize, Serialize};

use crate::{Curve, Difference, Epoch, Estimate, Evaluation, Finding, RunInfo, Summary, Versioned};

/// Version of [`Report`] and of [`Comparison`]; [`read`](crate::read) refuses other versions.
pub const REPORT_SCHEMA: u32 = 1;

/// A report on one run, or a comparison of several with the first of them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Report {
    /// Version of this schema.
    pub schema: u32,
    /// Version of the program.
    pub version: String,
    /// The command that made it.
    pub command: Vec<String>,
    /// Seconds since 1970 when it was made.
    pub made: u64,
    /// What it is about, in a few words.
    pub title: String,
    /// The outcome in one sentence.
    pub verdict: String,
    /// The runs, in the order in which they were named.
    pub runs: Vec<RunReport>,
    /// Their bounds and likelihoods side by side.
    pub comparison: Comparison,
    /// What is drawn.
    pub figures: Vec<Figure>,
}

impl Versioned for Report {
    const SCHEMAS: RangeInclusive<u32> = REPORT_SCHEMA..=REPORT_SCHEMA;
    const IF_OLDER: &str = "make the report again";
}

/// What is told of one run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunReport {
    /// What was read of it.
    #[serde(flatten)]
    pub facts: RunFacts,
    /// The last finished epoch.
    pub last: Option<Epoch>,
    /// The plain model to compare with.
    pub basic: Option<Basic>,
    /// What was found out about it, and what to do next.
    pub findings: Vec<Finding>,
    /// What the report would show if it had been computed.
    pub missing: Vec<Missing>,
}

/// What is known of a run at once, and told as it is.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunFacts {
    /// Last part of the run directory's path.
    pub name: String,
    /// The run directory.
    pub place: String,
    /// Row of the paper's table that its settings began with.
    pub preset: Option<String>,
    /// The settings that matter for a comparison.
    pub settings: RunSettings,
    /// Whether it is being trained, or was, or is to go on.
    pub state: RunState,
    /// Who made it, with what.
    pub info: Option<RunInfo>,
    /// Outcome of training.
    pub summary: Option<Summary>,
    /// Epochs that it is to have.
    pub planned: u64,
    /// The latest evaluation.
    pub evaluation: Option<Evaluation>,
    /// Whether that is of the checkpoint as it is now, if that is known.
    #[serde(default)]
    pub evaluation_is_current: Option<bool>,
    /// The paper's row, if the settings are still those of one.
    pub published: Option<Published>,
    /// Commands that make the run and its evaluation again.
    pub reproduce: Vec<String>,
    /// Why they do not give exactly the same numbers, where they do not.
    #[serde(default)]
    pub reproduce_caveats: Vec<String>,
    /// The complete settings, as TOML.
    pub config: String,
}

/// How far a training has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RunState {
    /// All epochs are done.
    Finished,
    /// A process is at it now.
    Running,
    /// It stopped before its end.
    Stopped,
}

/// Settings of a run that matter for a comparison.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RunSettings {
    /// Seed.
    pub seed: u64,
    /// Latent dimensions.
    pub latent: u64,
    /// Sizes of hidden layers.
    pub hidden: Vec<u64>,
    /// HMC steps; 0 for plain variational inference.
    pub hmc_steps: u64,
    /// Leapfrog steps in each.
    pub leapfrog_steps: u64,
    /// Whether momenta are partially updated.
    pub partial_momentum: bool,
    /// `identity`, `global` or `network`.
    pub mass: String,
    /// `none`, `simple` or `network`.
    pub acceptance: String,
    /// `global`, `per-dimension` or `network`.
    pub step_size: String,
    /// What the posterior approximation is beside its chain, in a few words each.
    #[serde(default)]
    pub family: Vec<String>,
    /// How pixels become binary.
    pub binarisation: String,
    /// Share of the epochs so far over which parameters are averaged; 0 for none.
    #[serde(default)]
    pub average: f64,
    /// Norm to which longer gradients are scaled down; 0 for no limit. Earlier versions called it `longest_gradient`.
    #[serde(default, alias = "longest_gradient")]
    pub max_grad_norm: f64,
}

/// A row of the paper's table.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Published {
    /// The paper's name.
    pub name: String,
    /// Published bound on `log p(x)`.
    pub bound: f64,
    /// Published estimate of `log p(x)`.
    pub log_likelihood: f64,
    /// Whether the run's data is the paper's, if that is known.
    pub same_data: Option<bool>,
}

/// The plain model that a run is compared with.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Basic {
    /// Its name.
    pub name: String,
    /// Its run directory; absent if it is the paper's row.
    pub place: Option<String>,
    /// Bound on `log p(x)`.
    pub bound: Option<Estimate>,
    /// `log p(x)` by importance sampling.
    pub log_likelihood: Option<Estimate>,
    /// What the run gains on its bound.
    pub bound_gain: Option<Difference>,
    /// What the run gains on its likelihood.
    pub log_likelihood_gain: Option<Difference>,
}

/// Something that a report cannot show yet.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Missing {
    /// What it is.
    pub what: String,
    /// The command that makes it.
    pub command: String,
}

/// Runs side by side.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Comparison {
    /// Version of this schema.
    pub schema: u32,
    /// The runs; differences are to the first.
    pub runs: Vec<ComparedRun>,
}

impl Versioned for Comparison {
    const SCHEMAS: RangeInclusive<u32> = REPORT_SCHEMA..=REPORT_SCHEMA;
    const IF_OLDER: &str = "compare the runs again";
}

/// One run of a comparison.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ComparedRun {
    /// Last part of the run directory's path.
    pub name: String,
    /// The run directory.
    pub place: String,
    /// Bound on `log p(x)`.
    pub bound: Option<Estimate>,
    /// `log p(x)` by importance sampling.
    pub log_likelihood: Option<Estimate>,
    /// Its bound less that of the first run.
    pub bound_difference: Option<Difference>,
    /// Its likelihood less that of the first run.
    pub log_likelihood_difference: Option<Difference>,
    /// Why there is no difference from the first run, where both were evaluated.
    #[serde(default)]
    pub not_comparable: Option<String>,
    /// Split of the evaluation.
    pub split: Option<String>,
    /// Images of the evaluation.
    pub images: Option<u64>,
    /// Binarisation draws of each image.
    pub draws: Option<u64>,
    /// Best validation bound.
    pub validation_bound: Option<f64>,
    /// Epochs of training.
    pub epochs: u64,
    /// Seconds of training.
    pub seconds: f64,
    /// Images whose simulation diverged in training.
    pub divergences: u64,
}

/// A drawing with axes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Figure {
    /// Name without spaces, unique in a report.
    pub id: String,
    /// The part of the page that it belongs to.
    pub section: Section,
    /// How curves are drawn.
    pub kind: FigureKind,
    /// What it shows.
    pub title: String,
    /// How to read it.
    pub caption: String,
    /// Name of the horizontal axis.
    pub x: String,
    /// Name of the vertical axis, with its unit.
    pub y: String,
    /// What is drawn.
    pub curves: Vec<Curve>,
    /// Values to compare with.
    pub marks: Vec<Mark>,
}

/// Parts of a page that have figures.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Section {
    /// How the bound grew.
    Learning,
    /// How the simulations went.
    Chain,
    /// How far results can be trusted.
    Trust,
    /// What a fit says of single numbers.
    Posterior,
}

/// How curves are drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum FigureKind {
    /// Lines through the points.
    Lines,
    /// Histograms: points are left edges of bins and their heights; the last one closes the last bin.
    Steps,
}

/// A value to compare with.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Mark {
    /// What it is.
    pub name: String,
    /// Where it is.
    pub value: f64,
    /// The axis it is a value of.
    pub axis: MarkAxis,
}

/// The axis of a mark.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum MarkAxis {
    /// The horizontal axis: the mark is a vertical line.
    X,
    /// The vertical axis: the mark is a horizontal line.
    Y,
}
