//! Keep a fit in a folder, and take it up again where model and data are the same.
//!
//! A folder holds `fit.json`, which says what was fitted and how, and the numbers beside it in a safetensors file that
//! `fit.json` names with its hash. The numbers are written first: whatever happens on the way, a folder holds the old fit
//! or the new one.

mod error;
mod record;
mod same;

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use hmcvi_graph::Store;

pub use error::SavedFitError;

use self::record::{Chain, FILE, Learnt, Parameters, Record, SCHEMA};
use super::Fitted;
use super::map::Map;
use super::normal::FullGaussian;
use crate::bayes::Bound;
use crate::data::Hasher;
use crate::family::HmcChain;
use crate::run::{DirectoryError, write_new, write_whole};

/// Tensors beside the parameters: the Gaussian whose coordinates the map has, and places that tell models apart.
const MEAN: &str = "first.mean";
const FACTOR: &str = "first.factor";
const ALONE_MEAN: &str = "gaussian.mean";
const ALONE_FACTOR: &str = "gaussian.factor";
const PLACES: &str = "check.places";

impl Fitted {
    /// Keeps the fit in a folder, which is made if it is missing. What else is in it stays.
    ///
    /// # Errors
    /// If there is a fit in it already, or nothing can be written.
    pub fn save(&self, folder: impl AsRef<Path>) -> Result<(), SavedFitError> {
        let folder = folder.as_ref();
        if folder.join(FILE).exists() {
            return Err(SavedFitError::Exists(folder.into()));
        }
        self.write(folder, write_new)
    }

    /// The same, in place of the fit that is there, if there is one.
    ///
    /// # Errors
    /// If what is there is no fit, or nothing can be written.
    pub fn save_over(&self, folder: impl AsRef<Path>) -> Result<(), SavedFitError> {
        let folder = folder.as_ref();
        let before = match folder.join(FILE).exists() {
            // A file of that name that is no fit belongs to somebody else.
            true => Some(record::read(folder)?.parameters.file),
            false => None,
        };
        self.write(folder, write_whole)?;
        if let Some(file) = before.filter(|file| *file != self.parameters().0.file) {
            // The new fit is complete; an old file that stays does no harm.
            drop(fs::remove_file(folder.join(file)));
        }
        Ok(())
    }

    fn write(
        &self,
        folder: &Path,
        write_record: fn(&Path, &[u8]) -> Result<(), DirectoryError>,
    ) -> Result<(), SavedFitError> {
        let failed = |source| DirectoryError::Io { file: folder.into(), action: "create", source };
        fs::create_dir_all(folder).map_err(failed)?;
        let (parameters, bytes) = self.parameters();
        let record = Record {
            schema: SCHEMA,
            about: record::ABOUT.into(),
            hmcvi: env!("CARGO_PKG_VERSION").into(),
            variables: same::variables(&self.bound),
            data: same::data(&self.bound),
            log_density: same::log_density(&self.bound, &self.places())?,
            gaussian: self.map.covariance,
            bent: self.map.bent,
            chain: Chain {
                settings: self.family.settings,
                hidden: self.family.hidden.clone(),
                activation: self.family.activation,
            },
            seed: self.seed,
            seconds: self.seconds,
            learning: Learnt {
                gaussian: self.gaussian.clone(),
                bend: self.bent.clone(),
                chain: self.chain.clone(),
            },
            parameters,
        };
        write_whole(&folder.join(&record.parameters.file), &bytes)?;
        let mut text = serde_json::to_string_pretty(&record).expect("text and numbers become JSON");
        text.push('\n');
        Ok(write_record(&folder.join(FILE), text.as_bytes())?)
    }

    /// All numbers, and the file that they belong in. Its name is that of its content, so that it is never written over.
    fn parameters(&self) -> (Parameters, Vec<u8>) {
        let mut store = self.store.clone();
        let (d, first) = (self.map.first.dimension(), &self.map.first);
        let places = self.places();
        let tensors = [
            (MEAN, 1, first.mean.clone()),
            (FACTOR, d, first.factor.clone()),
            (ALONE_MEAN, 1, self.alone.mean.clone()),
            (ALONE_FACTOR, d, self.alone.factor.clone()),
            (PLACES, places.len() / d, places),
        ];
        for (name, rows, values) in tensors {
            store.insert(name, rows, d, values).expect("the sizes are those of the Gaussian");
        }
        let about = BTreeMap::from([("about".to_owned(), record::ABOUT_NUMBERS.to_owned())]);
        let bytes = store.to_safetensors(&about).expect("no parameter has a reserved name");
        let mut hasher = Hasher::default();
        hasher.update(&bytes);
        let sha256 = hasher.finish();
        (Parameters { file: format!("parameters-{}.safetensors", &sha256[..8]), sha256 }, bytes)
    }

    /// Places at which models with another density are found out: the mean, and some draws.
    fn places(&self) -> Vec<f64> {
        let gaussian = self.gaussian();
        let (draws, _) = gaussian.draws(3, 0, 0);
        [gaussian.mean, draws].concat()
    }

    /// Takes up a fit from a folder. Its draws are the same as before.
    ///
    /// # Errors
    /// If there is no fit, a newer version wrote it, it is damaged, or it was made with another model or other data; the
    /// message names the variable or the data.
    pub fn load(bound: &Bound, folder: impl AsRef<Path>) -> Result<Self, SavedFitError> {
        let folder = folder.as_ref();
        let record = record::read(folder)?;
        same::check_variables(&record.variables, bound)?;
        same::check_data(&record.data, bound)?;
        let mut store = read_parameters(folder, &record.parameters)?;
        let places = take(folder, &mut store, PLACES, bound.dimension(), None)?;
        same::check_log_density(&record.log_density, bound, &places)?;
        let d = bound.dimension();
        let mut gaussian = |mean: &str, factor: &str| {
            let mean = take(folder, &mut store, mean, d, Some(1))?;
            Ok::<_, SavedFitError>(FullGaussian {
                mean,
                factor: take(folder, &mut store, factor, d, Some(d))?,
            })
        };
        let (first, alone) = (gaussian(MEAN, FACTOR)?, gaussian(ALONE_MEAN, ALONE_FACTOR)?);
        let Chain { settings, hidden, activation } = record.chain;
        Ok(Fitted {
            bound: bound.clone(),
            map: Map { covariance: record.gaussian, first, bent: record.bent },
            alone,
            family: HmcChain { settings, encoder: None, hidden, activation },
            store,
            gaussian: record.learning.gaussian,
            bent: record.learning.bend,
            chain: record.learning.chain,
            seconds: record.seconds,
            seed: record.seed,
        })
    }
}

fn read_parameters(folder: &Path, parameters: &Parameters) -> Result<Store<f64>, SavedFitError> {
    let path = folder.join(&parameters.file);
    let failed = |source| DirectoryError::Io { file: path.clone(), action: "read", source };
    let bytes = fs::read(&path).map_err(failed)?;
    let mut hasher = Hasher::default();
    hasher.update(&bytes);
    let found = hasher.finish();
    if found != parameters.sha256 {
        return Err(DirectoryError::Content {
            file: path,
            found: format!("content with the SHA-256 {found}"),
            expected: format!(
                "{}: the file was changed or damaged; use a copy, or fit again",
                parameters.sha256
            ),
        }
        .into());
    }
    let tensors = |source| DirectoryError::Tensors { file: path, source };
    let (store, _) = Store::from_safetensors(&bytes).map_err(tensors)?;
    Ok(store)
}

/// Takes a tensor that is no parameter out of a store.
fn take(
    folder: &Path,
    store: &mut Store<f64>,
    name: &str,
    columns: usize,
    rows: Option<usize>,
) -> Result<Vec<f64>, SavedFitError> {
    let fits = |t: &&hmcvi_graph::Tensor<f64>| t.cols == columns && rows.is_none_or(|rows| t.rows == rows);
    let Some(tensor) = store.get(name).filter(fits) else {
        return Err(DirectoryError::Content {
            file: folder.into(),
            found: format!("no tensor `{name}` with {columns} columns"),
            expected: "one: the files do not belong together; use a copy, or fit again".into(),
        }
        .into());
    };
    let values = tensor.values.clone();
    store.retain(|kept| kept != name);
    Ok(values)
}
