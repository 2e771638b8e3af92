//! Say where a model that is shipped comes from.

use serde::{Deserialize, Serialize};

/// How a model was made. Places on the machine that made it are left out.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Provenance {
    /// Version of the program.
    pub version: String,
    /// The command that trained it, with the last parts of paths only.
    pub command: Vec<String>,
    /// The device it was trained on.
    pub device: String,
    /// Name of the data.
    pub data: String,
    /// SHA-256 of the data.
    pub data_sha256: String,
    /// Seed of all random numbers.
    pub seed: u64,
    /// Epochs of training, to the checkpoint.
    pub epochs: u64,
    /// Updates, to the checkpoint.
    pub updates: u64,
    /// Seconds of training.
    pub seconds: f64,
    /// Mean bound of the validation images, in nats.
    pub validation_bound: Option<f64>,
    /// The model whose encoder and decoder it began with.
    pub began_with: Option<Box<Provenance>>,
}
