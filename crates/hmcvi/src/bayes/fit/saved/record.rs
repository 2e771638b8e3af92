//! Lay out `fit.json`: what was fitted, how, and where its numbers are.

use std::collections::BTreeMap;
use std::fs;
use std::ops::RangeInclusive;
use std::path::Path;

use hmcvi_record::Versioned;
use serde::{Deserialize, Serialize};

use super::SavedFitError;
use crate::bayes::fit::{Covariance, Learning};
use crate::family::ChainSettings;
use crate::nn::Activation;
use crate::run::DirectoryError;

/// The file.
pub(super) const FILE: &str = "fit.json";
/// Version of its schema.
pub(super) const SCHEMA: u32 = 1;
pub(super) const ABOUT: &str = "A posterior approximation of hmcvi: a map of standard normal coordinates and an HMC \
    chain in them. It belongs to a model with these variables, data and log densities. All its numbers are in the file \
    under `parameters`.";
pub(super) const ABOUT_NUMBERS: &str = "Numbers of a fit of hmcvi, which fit.json describes. Real numbers of the variables \
    are z = first.mean + first.factor · y with y = map.mean + exp(map.log_scale) · e, and the strict lower triangle of \
    map.lower times e added where there is one. Where coordinates are bent, e is first multiplied by exp(strict lower triangle \
    of map.before · e), then by exp(strict upper triangle of map.behind · e), then becomes \
    sinh(exp(map.tail) · arsinh(e) + map.lean). gaussian.mean and gaussian.factor are the Gaussian alone. Where there are directions, e is first stretched along each of them by \
    exp(map.log_stretch). e is the end of a chain that begins with standard normal draws; all other parameters belong to \
    the chain. Places at which log densities were noted are in check.places.";

/// What `fit.json` says.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Record {
    pub(super) schema: u32,
    pub(super) about: String,
    /// Version that wrote it.
    pub(super) hmcvi: String,
    pub(super) variables: Vec<SavedVariable>,
    /// The data, by name.
    pub(super) data: BTreeMap<String, SavedArray>,
    /// Log densities at the places beside the parameters.
    pub(super) log_density: Vec<Part>,
    pub(super) gaussian: Covariance,
    /// Whether coordinates are bent.
    pub(super) bent: bool,
    pub(super) chain: Chain,
    pub(super) seed: u64,
    /// Seconds that the fit took.
    pub(super) seconds: f64,
    pub(super) learning: Learnt,
    pub(super) parameters: Parameters,
}

/// A variable of the model.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct SavedVariable {
    pub(super) name: String,
    pub(super) dims: Vec<usize>,
    /// Real numbers that it is made from.
    pub(super) unconstrained: usize,
}

/// An array of the data.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct SavedArray {
    pub(super) dims: Vec<usize>,
    /// SHA-256 of its values in double precision, the lowest byte first.
    pub(super) sha256: String,
}

/// A part of the log density at some places; null where it is not finite.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Part {
    /// The data whose likelihood it is; none for all priors together.
    pub(super) of: Option<String>,
    pub(super) values: Vec<Option<f64>>,
}

/// The chain and the networks of its reverse models.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Chain {
    pub(super) settings: ChainSettings,
    pub(super) hidden: Vec<usize>,
    pub(super) activation: Activation,
}

/// How Gaussian and chain were learnt.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Learnt {
    pub(super) gaussian: Learning,
    pub(super) bend: Option<Learning>,
    pub(super) chain: Option<Learning>,
}

/// The file of all numbers.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Parameters {
    pub(super) file: String,
    pub(super) sha256: String,
}

impl Versioned for Record {
    const SCHEMAS: RangeInclusive<u32> = 1..=SCHEMA;
}

/// The record of a folder.
pub(super) fn read(folder: &Path) -> Result<Record, SavedFitError> {
    let path = folder.join(FILE);
    if !path.is_file() {
        return Err(SavedFitError::NoFit(folder.into()));
    }
    let failed = |source| DirectoryError::Io { file: path.clone(), action: "read", source };
    let text = fs::read_to_string(&path).map_err(failed)?;
    let record: Record = hmcvi_record::read(&path, &text)?;
    // A name with folders in it could lead anywhere.
    let file = Path::new(&record.parameters.file);
    if file.file_name() != Some(file.as_os_str()) {
        return Err(DirectoryError::Content {
            file: path,
            found: format!("parameters in `{}`", record.parameters.file),
            expected: "a file in the same folder".into(),
        }
        .into());
    }
    Ok(record)
}
