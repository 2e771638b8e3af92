//! Describe a report on fits of a Bayesian model: all that its page shows.

use std::ops::RangeInclusive;

use serde::{Deserialize, Serialize};

use crate::figure::Point;
use crate::{Figure, Finding, FitDifference, FitRecord, Versioned};

/// Version of [`FitReport`]; [`read`](crate::read) refuses other versions.
pub const FIT_REPORT_SCHEMA: u32 = 1;

/// A report on a fit, or on several of one model.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FitReport {
    /// Version of this schema.
    pub schema: u32,
    /// Version of the program.
    pub version: String,
    /// The command that made it.
    pub command: Vec<String>,
    /// Seconds since 1970.
    pub made: u64,
    /// What it is about.
    pub title: String,
    /// The outcome in one sentence.
    pub verdict: String,
    /// The fits.
    pub runs: Vec<FitRunReport>,
    /// How far they are from each other.
    pub comparisons: Vec<FitComparison>,
    /// Traces of the bound, and distributions of single numbers.
    pub figures: Vec<Figure>,
    /// How these numbers were chosen.
    pub shown: String,
    /// Two numbers that depend on each other.
    pub pair: Option<PairPlot>,
}

impl Versioned for FitReport {
    const SCHEMAS: RangeInclusive<u32> = FIT_REPORT_SCHEMA..=FIT_REPORT_SCHEMA;
    const IF_OLDER: &str = "write the report again";
}

/// A fit in a report.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FitRunReport {
    /// Last part of its folder's path.
    pub name: String,
    /// Its folder.
    pub place: String,
    /// What was found.
    pub record: FitRecord,
    /// What a diagnosis says.
    pub findings: Vec<Finding>,
    /// Commands that make it again.
    pub reproduce: Vec<String>,
    /// The complete settings, as TOML.
    pub config: String,
}

/// How far the draws of one fit are from others.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FitComparison {
    /// Whose draws.
    pub name: String,
    /// From which others.
    pub reference: String,
    /// The differences, the largest 1-Wasserstein distance first.
    pub parameters: Vec<FitDifference>,
}

/// Draws of two numbers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PairPlot {
    /// The number to the right.
    pub x: String,
    /// The number upwards.
    pub y: String,
    /// How they were chosen.
    pub rule: String,
    /// Their rank correlation.
    pub rank_correlation: f64,
    /// Draws, by whose they are.
    pub panels: Vec<PairPanel>,
}

/// Draws of two numbers by one method.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PairPanel {
    /// Whose draws.
    pub name: String,
    /// Number of the line that has them in other figures.
    pub line: u64,
    /// The draws.
    pub points: Vec<Point>,
}
