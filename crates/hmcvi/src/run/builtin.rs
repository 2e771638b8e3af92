//! Carry a trained model in the library, so that everything can be tried without training.
//!
//! `assets/model/README.md` says how the files were made; [`export_model`] makes them from any run with a
//! two-dimensional latent space.

use std::collections::BTreeMap;
use std::fs;
use std::io::{Read, Write};
use std::path::Path;

use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use hmcvi_graph::{RunError, Store};
use hmcvi_record::{CHECKPOINT_SCHEMA, CheckpointInfo, Provenance, read};

use super::checkpoint::{Checkpoint, KEY, Which};
use super::directory::RunDirectory;
use super::error::DirectoryError;
use crate::config::RunSpec;
use crate::train::learnt;

/// Names of the files.
const CONFIG: &str = "config.toml";
const PROVENANCE: &str = "provenance.json";
const PARAMETERS: &str = "parameters.safetensors.gz";

/// What they hold.
const CONFIG_TEXT: &str = include_str!("../../assets/model/config.toml");
const PROVENANCE_TEXT: &str = include_str!("../../assets/model/provenance.json");
const PARAMETERS_BYTES: &[u8] = include_bytes!("../../assets/model/parameters.safetensors.gz");

/// Runs that a model began with are followed so far.
const ANCESTORS: usize = 4;

/// The model inside the library.
#[derive(Clone, Debug)]
pub struct Builtin {
    /// Its settings; the data is the embedded subset of MNIST.
    pub spec: RunSpec,
    /// Its parameters, without the optimiser's state.
    pub checkpoint: Checkpoint,
    /// How it was made.
    pub provenance: Provenance,
}

impl Builtin {
    /// The name by which commands know it.
    pub const NAME: &str = "builtin";

    /// Opens the model.
    ///
    /// # Errors
    /// None in practice: the files are part of the library, and its tests read them.
    pub fn open() -> Result<Self, DirectoryError> {
        let place = Path::new(Self::NAME);
        let config = |source| DirectoryError::Config { file: place.join(CONFIG), source };
        let spec = RunSpec::from_toml(CONFIG_TEXT).map_err(config)?;
        // It has no version of its own: it is part of this program, and of no run.
        let foreign = |e| DirectoryError::content(&place.join(PROVENANCE), e, "where the model comes from");
        let provenance = serde_json::from_str(PROVENANCE_TEXT).map_err(foreign)?;
        let file = place.join(PARAMETERS);
        let mut bytes = Vec::new();
        let unpacked = GzDecoder::new(PARAMETERS_BYTES).read_to_end(&mut bytes);
        unpacked.map_err(|e| DirectoryError::io(&file, "unpack", e))?;
        let tensors = |source| DirectoryError::Tensors { file: file.clone(), source };
        let (store, metadata) = Store::from_safetensors(&bytes).map_err(tensors)?;
        let info: CheckpointInfo = read(&file, metadata.get(KEY).map_or("", String::as_str))?;
        Ok(Builtin { spec, checkpoint: Checkpoint { store, info }, provenance })
    }
}

/// Writes the files of [`Builtin`] from the best checkpoint of a run, in half precision and without the
/// optimiser's state, to a folder that is there. Returns the bytes of the parameters as they are packed.
pub fn export_model(run: &RunDirectory, folder: &Path) -> Result<usize, DirectoryError> {
    let checkpoint = run.checkpoint(Which::Best)?;
    let mut spec = run.spec()?;
    if spec.model.latent != 2 {
        let found = format!("`model.latent` is {}", spec.model.latent);
        return Err(DirectoryError::content(&run.file(CONFIG), found, "2: the figures are of a plane"));
    }
    let provenance = provenance(run, &checkpoint, &spec, ANCESTORS)?;
    // Places on this machine mean nothing on others.
    spec.data.source = "embedded".into();
    spec.train.init_from = None;

    let tensors = |source: RunError| DirectoryError::Tensors { file: folder.join(PARAMETERS), source };
    let info = CheckpointInfo { schema: CHECKPOINT_SCHEMA, ..checkpoint.info.clone() };
    let text = serde_json::to_string(&info).expect("numbers become JSON");
    let bytes = learnt(&checkpoint.store)
        .to_half_safetensors(&BTreeMap::from([(KEY.to_string(), text)]))
        .map_err(tensors)?;
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    let packed = encoder.write_all(&bytes).and_then(|()| encoder.finish());
    let packed = packed.map_err(|e| DirectoryError::io(&folder.join(PARAMETERS), "pack", e))?;

    let text = serde_json::to_string_pretty(&provenance).expect("plain values become JSON") + "\n";
    let settings = spec.to_toml();
    let files: [(&str, &[u8]); 3] =
        [(CONFIG, settings.as_bytes()), (PROVENANCE, text.as_bytes()), (PARAMETERS, &packed)];
    for (name, bytes) in files {
        let file = folder.join(name);
        fs::write(&file, bytes).map_err(|e| DirectoryError::io(&file, "write", e))?;
    }
    Ok(packed.len())
}

fn provenance(
    run: &RunDirectory,
    checkpoint: &Checkpoint,
    spec: &RunSpec,
    ancestors: usize,
) -> Result<Provenance, DirectoryError> {
    let info = run.info()?;
    // A run that is gone, or a checkpoint without a run, has nothing to say.
    let from = spec.train.init_from.as_deref().filter(|_| ancestors > 0);
    let before = from.and_then(|path| {
        let run = RunDirectory::open(path).ok()?;
        let (checkpoint, spec) = (run.checkpoint(Which::Best).ok()?, run.spec().ok()?);
        provenance(&run, &checkpoint, &spec, ancestors - 1).ok().map(Box::new)
    });
    Ok(Provenance {
        version: info.version,
        command: info.command.iter().map(|word| without_place(word)).collect(),
        device: info.device,
        data: without_place(&info.data),
        data_sha256: info.data_sha256,
        seed: spec.seed,
        epochs: checkpoint.info.epoch,
        updates: checkpoint.info.step,
        seconds: run.summary().map_or(0.0, |s| s.seconds),
        validation_bound: checkpoint.info.best_validation_bound,
        began_with: before,
    })
}

/// The last part of a path; other words as they are.
fn without_place(word: &str) -> String {
    let path = Path::new(word);
    let name = path.file_name().filter(|_| path.is_absolute());
    name.map_or_else(|| word.into(), |name| name.to_string_lossy().into_owned())
}
