//! Describe a fit of a Bayesian model: how it went, and what it says about every number of the model.

use std::ops::RangeInclusive;

use serde::{Deserialize, Serialize};

use crate::{Estimate, Versioned};

/// Version of [`FitRecord`]; [`read`](crate::read) refuses other versions.
pub const FIT_SCHEMA: u32 = 1;

/// How a posterior is found out about.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum FitMethod {
    /// A chain of HMC steps inside a lower bound, from a Gaussian.
    #[default]
    Hmcvi,
    /// That Gaussian alone.
    Gaussian,
    /// Long chains of the no-U-turn sampler.
    Nuts,
}

impl FitMethod {
    /// Its name, as settings have it.
    pub fn name(self) -> &'static str {
        match self {
            FitMethod::Hmcvi => "hmcvi",
            FitMethod::Gaussian => "gaussian",
            FitMethod::Nuts => "nuts",
        }
    }
}

/// What a fit has found.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FitRecord {
    /// Version of this schema.
    pub schema: u32,
    /// Version of the program.
    pub version: String,
    /// The command that made it.
    pub command: Vec<String>,
    /// Seconds since 1970 when it began.
    pub started: u64,
    /// The model.
    pub model: String,
    /// SHA-256 of the data, by name and value.
    pub data_sha256: String,
    /// Real numbers that the variables of the model are made from.
    pub dimension: u64,
    /// How the posterior was found out about.
    pub method: FitMethod,
    /// Whether it came to its end; draws of an unfinished fit are those that it had when it was stopped.
    pub finished: bool,
    /// Mean log weight of the draws, in nats: a lower bound on the log evidence. NUTS has none.
    pub bound: Option<f64>,
    /// Its standard error.
    pub bound_standard_error: Option<f64>,
    /// The bound of several draws together, also a lower bound on the log evidence and higher.
    #[serde(default)]
    pub bound_together: Option<BoundTogether>,
    /// The log evidence: between annealing from both sides where that was asked for and agrees, else by importance sampling.
    pub log_evidence: Option<f64>,
    /// Its standard error, where it has one.
    pub log_evidence_standard_error: Option<f64>,
    /// Shape of the tail of the importance weights: above 0.7 they are not to be trusted.
    pub k_hat: Option<f64>,
    /// How many independent draws of the posterior the weighted draws are worth.
    pub effective_sample_size: Option<f64>,
    /// Seconds for fitting or sampling.
    pub seconds: f64,
    /// Simulations that failed: of the draws that were made, or of the chains after their warm-up.
    pub divergences: u64,
    /// Chains; independent draws are one.
    pub chains: u64,
    /// Draws of all of them.
    pub draws: u64,
    /// Whether draws were chosen in proportion to their importance weights; they then have the same weight, and some come
    /// more than once.
    #[serde(default)]
    pub resampled: bool,
    /// Every number of the model.
    pub parameters: Vec<FitRow>,
    /// What a fit went through.
    pub stages: Vec<FitStage>,
    /// What chains of NUTS say about themselves.
    #[serde(default)]
    pub sampler: Option<SamplerFacts>,
    /// The log evidence between annealing from both sides, where it was asked for.
    #[serde(default)]
    pub evidence: Option<FitEvidence>,
    /// How far the draws are from those of NUTS, where it was run beside the fit.
    #[serde(default)]
    pub check: Option<FitCheck>,
    /// What was found of the posterior in places that no draw comes near, where it was looked for.
    #[serde(default)]
    pub elsewhere: Option<FitElsewhere>,
    /// Generated quantities of a Stan program.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub generated: Option<FitGenerated>,
}

impl Versioned for FitRecord {
    const SCHEMAS: RangeInclusive<u32> = FIT_SCHEMA..=FIT_SCHEMA;
    const IF_OLDER: &str = "fit the model again";
}

/// A search for a part of the posterior that draws miss, such as a second mode.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FitElsewhere {
    /// Walks from other random places that ended somewhere.
    pub walks: u64,
    /// The part that has most of the evidence, where there is one.
    pub missed: Option<MissedPart>,
}

/// A part of the posterior that no draw comes near.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MissedPart {
    /// A lower bound on the logarithm of the evidence there, in nats, with its standard error.
    pub log_evidence: Estimate,
    /// How much that is at least, for each 1 that the draws have found.
    pub share: f64,
    /// The middle of it: numbers of the model by name.
    pub middle: Vec<(String, f64)>,
}

/// A bound of several draws together.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct BoundTogether {
    /// Draws whose weights are averaged before their logarithm is taken.
    pub draws: u64,
    /// Mean of the logarithms, in nats.
    pub mean: f64,
    /// Its standard error.
    pub standard_error: f64,
}

/// What draws say about one number of a model.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FitRow {
    /// Its name, as Stan writes it.
    pub name: String,
    /// Mean.
    #[serde(deserialize_with = "crate::number::or_nan")]
    pub mean: f64,
    /// Standard deviation.
    #[serde(deserialize_with = "crate::number::or_nan")]
    pub sd: f64,
    /// 5% quantile.
    #[serde(deserialize_with = "crate::number::or_nan")]
    pub q05: f64,
    /// Median.
    #[serde(deserialize_with = "crate::number::or_nan")]
    pub q50: f64,
    /// 95% quantile.
    #[serde(deserialize_with = "crate::number::or_nan")]
    pub q95: f64,
    /// Monte Carlo standard error of the mean.
    pub mcse: Option<f64>,
    /// Rank-normalised split R-hat; only chains have one.
    pub rhat: Option<f64>,
    /// Effective sample size in the bulk; only chains have one.
    pub ess_bulk: Option<f64>,
    /// Effective sample size in the tails; only chains have one.
    pub ess_tail: Option<f64>,
}

/// What draws say about the generated quantities of a Stan program.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct FitGenerated {
    /// Every number of those quantities that have not too many.
    pub rows: Vec<FitRow>,
    /// Quantities that have too many numbers for rows; their draws are in the files.
    pub large: Vec<LargeQuantity>,
    /// Draws for which something went wrong; what could not be computed is not a number there.
    pub failed: Option<FailedQuantities>,
    /// Seconds that it took.
    pub seconds: f64,
}

/// A generated quantity with many numbers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LargeQuantity {
    /// Its name.
    pub name: String,
    /// How many numbers it has.
    pub numbers: u64,
}

/// Draws whose quantities could not be computed, or are outside of their declared bounds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FailedQuantities {
    /// How many draws these are.
    pub draws: u64,
    /// The first of them, counted from 1 through all chains.
    pub first: u64,
    /// What went wrong there, with the line of the program.
    pub message: String,
}

/// A part of a fit.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FitStage {
    /// `start`, `gaussian`, `bend` or `chain`.
    pub name: String,
    /// Why it ended: `stood-still`, `most-updates`, `asked` or `given-up`, where it did not pay; absent for the start.
    pub stopped: Option<String>,
    /// Updates, and the bound there, in nats.
    pub trace: Vec<(u64, Option<f64>)>,
}

/// What chains say about themselves.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SamplerFacts {
    /// Draws of each chain that were not kept.
    pub warm_up: u64,
    /// Failed trajectories of each chain.
    pub divergences: Vec<u64>,
    /// Step size of each chain.
    pub step_sizes: Vec<Option<f64>>,
    /// Estimated Bayesian fraction of missing information of each chain.
    pub e_bfmi: Vec<Option<f64>>,
    /// Trajectories that were as long as they may be.
    pub deepest: u64,
}

/// The log evidence between two sides.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FitEvidence {
    /// By annealing from the fitted Gaussian: a lower bound in expectation.
    pub lower: Estimate,
    /// By annealing from draws of the posterior: an upper bound in expectation, as far as these are exact.
    pub upper: Estimate,
    /// By importance sampling with the draws of the fit: what it is without annealing.
    #[serde(default)]
    pub importance: Option<Estimate>,
    /// What both agree on.
    pub between: Option<Estimate>,
    /// Whose draws of the posterior these are: `nuts` or `long-chain`.
    pub posterior: String,
    /// Whether nothing speaks against a bracket.
    pub is_bracket: bool,
    /// Seconds that it took.
    pub seconds: f64,
}

/// How far the draws of a fit are from those of NUTS.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FitCheck {
    /// Seconds that NUTS took.
    pub seconds: f64,
    /// What the chains say about themselves.
    pub sampler: SamplerFacts,
    /// Largest R-hat of a number of the model.
    pub rhat: Option<f64>,
    /// Smallest effective sample size.
    pub ess: Option<f64>,
    /// What speaks against the chains, as long as anything does: then there is no verdict.
    pub doubts: Vec<String>,
    /// `agrees`, `differs` or `too-few-draws`; absent where the chains are not to be trusted.
    pub verdict: Option<String>,
    /// The differences, in the order of the record's parameters.
    pub parameters: Vec<FitDifference>,
}

/// How far the draws of one number are from those of NUTS.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FitDifference {
    /// Name of the number.
    pub name: String,
    /// Difference of the means, in standard deviations of NUTS.
    pub mean: Option<f64>,
    /// Standard deviation of the fit divided by that of NUTS.
    pub sd_ratio: Option<f64>,
    /// 1-Wasserstein distance, in standard deviations of NUTS.
    pub wasserstein: Option<f64>,
}
