//! Write and read the state of a training: all tensors, and how far it is.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};

use hmcvi_graph::Store;
use hmcvi_record::{CHECKPOINT_SCHEMA, CheckpointInfo, Versioned, files, read};
use serde::{Deserialize, Serialize};

use super::atomic;
use super::error::DirectoryError;
use crate::data::Hasher;
use crate::train::learnt;

/// Key of the checkpoint's description in the metadata.
pub(super) const KEY: &str = "hmcvi";

/// Which of the two checkpoints of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Which {
    /// The one with the best validation bound.
    #[default]
    Best,
    /// The latest one.
    Last,
}

impl Which {
    /// The name in commands and records.
    pub fn name(self) -> &'static str {
        match self {
            Which::Best => "best",
            Which::Last => "last",
        }
    }

    /// The one of this name.
    pub fn named(name: &str) -> Option<Self> {
        [Which::Best, Which::Last].into_iter().find(|which| which.name() == name)
    }

    /// Name of the file.
    pub fn file(self) -> &'static str {
        match self {
            Which::Best => files::BEST,
            Which::Last => files::LAST,
        }
    }
}

/// The state of a training.
#[derive(Clone, Debug, PartialEq)]
pub struct Checkpoint {
    /// Parameters and the optimiser's state.
    pub store: Store<f32>,
    /// How far it is.
    pub info: CheckpointInfo,
}

/// The description of a checkpoint with the hash of its content.
#[derive(Serialize, Deserialize)]
struct Described {
    #[serde(flatten)]
    info: CheckpointInfo,
    sha256: String,
}

impl Versioned for Described {
    const SCHEMAS: RangeInclusive<u32> = CheckpointInfo::SCHEMAS;
}

/// SHA-256 of all names, shapes and values, and of how far the training is.
fn hash(store: &Store<f32>, info: &CheckpointInfo) -> String {
    let mut hasher = Hasher::default();
    hasher.update(&serde_json::to_vec(info).expect("numbers become JSON"));
    for (name, tensor) in store.iter() {
        hasher.update(format!("{name}\0{}\0{}\0", tensor.rows, tensor.cols).as_bytes());
        let bytes: Vec<u8> = tensor.values.iter().flat_map(|v| v.to_le_bytes()).collect();
        hasher.update(&bytes);
    }
    hasher.finish()
}

impl Checkpoint {
    /// Writes the file in one piece.
    pub fn write(&self, path: &Path) -> Result<(), DirectoryError> {
        let info = CheckpointInfo { schema: CHECKPOINT_SCHEMA, ..self.info.clone() };
        let sha256 = hash(&self.store, &info);
        let described = Described { info, sha256 };
        let text = serde_json::to_string(&described).expect("numbers become JSON");
        let metadata = BTreeMap::from([(KEY.to_string(), text)]);
        let tensors = |source| DirectoryError::Tensors { file: path.into(), source };
        atomic::write(path, &self.store.to_safetensors(&metadata).map_err(tensors)?)
    }

    /// Reads a file and checks its version and its content.
    pub fn read(path: &Path) -> Result<Self, DirectoryError> {
        if !path.is_file() {
            return Err(DirectoryError::NoCheckpoint(path.into()));
        }
        let (store, metadata) = read_tensors(path)?;
        Self::verify(path, store, &metadata)
    }

    /// Checks the version and the hash of what was read.
    fn verify(
        path: &Path,
        store: Store<f32>,
        metadata: &BTreeMap<String, String>,
    ) -> Result<Self, DirectoryError> {
        let Some(text) = metadata.get(KEY) else {
            let found = format!("no metadata `{KEY}`");
            return Err(DirectoryError::content(path, found, "a checkpoint of hmcvi"));
        };
        let Described { info, sha256 } = read(path, text)?;
        let found = hash(&store, &info);
        if found != sha256 {
            let found = format!("values with the SHA-256 {found}");
            let expected =
                format!("{sha256}: the file was changed or damaged; use the other checkpoint or a copy");
            return Err(DirectoryError::content(path, found, expected));
        }
        Ok(Checkpoint { store, info })
    }
}

/// The hash that a checkpoint carries; `None` if it cannot be read.
pub(super) fn sha256(path: &Path) -> Option<String> {
    let (_, metadata) = read_tensors(path).ok()?;
    let described: Described = read(path, metadata.get(KEY)?).ok()?;
    Some(described.sha256)
}

fn read_tensors(path: &Path) -> Result<(Store<f32>, BTreeMap<String, String>), DirectoryError> {
    let bytes = std::fs::read(path).map_err(|source| DirectoryError::io(path, "read", source))?;
    Store::from_safetensors(&bytes).map_err(|source| DirectoryError::Tensors { file: path.into(), source })
}

/// Tensors to begin with, from a run directory (its best checkpoint, else its last) or from any
/// safetensors file. Where parameters were averaged, they are the averages. What only training needs is left out. A file
/// that says it is a checkpoint is checked like one.
pub fn load_initial(from: &Path) -> Result<Store<f32>, DirectoryError> {
    let path = initial_file(from);
    if !path.is_file() {
        return Err(DirectoryError::NoCheckpoint(path));
    }
    let (store, metadata) = read_tensors(&path)?;
    match metadata.contains_key(KEY) {
        true => Ok(learnt(&Checkpoint::verify(&path, store, &metadata)?.store)),
        false => Ok(learnt(&store)),
    }
}

/// The file that [`load_initial`] reads.
fn initial_file(from: &Path) -> PathBuf {
    match from.is_dir() {
        true if from.join(files::BEST).is_file() => from.join(files::BEST),
        true => from.join(files::LAST),
        false => from.into(),
    }
}

/// SHA-256 of the file that [`load_initial`] reads; `None` if it cannot be read.
pub fn initial_sha256(from: &Path) -> Option<String> {
    let mut hasher = Hasher::default();
    hasher.read(std::fs::File::open(initial_file(from)).ok()?).ok()?;
    Some(hasher.finish())
}
