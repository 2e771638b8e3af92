//! Train auto-encoders and use them: rows in, latent points, densities and rows out.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use hmcvi::config::RunSpec;
use hmcvi::data::{Dataset, Kind, Table};
use hmcvi::device::Device;
use hmcvi::eval::{
    BoundEvaluator, Bounds, Decoder, EvalError, ImportanceOptions, RowScore, ScoreOptions, TEST_SEED,
    WeightSummary, prior_draws, rows, score_rows, simulate,
};
use hmcvi::run::{Begin, Builtin, Checkpoint, RunDirectory, SessionError, Which, open_data, resume, start};
use hmcvi::train::{Batch, Observer, learnt};
use hmcvi::{Problem, Subject};
use hmcvi_record::Epoch;
use numpy::{PyArray1, PyArray2, PyReadonlyArray1, PyReadonlyArray2};
use pyo3::prelude::*;

use crate::watch::Watch;
use crate::{arrays, failure};

/// Rows of data, such as images or counts of cells.
#[pyclass(frozen, module = "hmcvi")]
pub(crate) struct Rows {
    table: Table,
}

#[pymethods]
impl Rows {
    /// Rows of a matrix.
    #[staticmethod]
    fn dense(py: Python<'_>, values: PyReadonlyArray2<'_, f32>) -> PyResult<Self> {
        let columns = values.as_array().ncols();
        let values: Vec<f32> = values.as_array().iter().copied().collect();
        let table =
            py.detach(|| Table::dense(columns, values)).map_err(|error| failure::of_data(error, None))?;
        Ok(Rows { table })
    }

    /// Rows of a sparse matrix, as SciPy keeps them in `csr_matrix`.
    #[staticmethod]
    fn sparse(
        py: Python<'_>,
        columns: usize,
        starts: PyReadonlyArray1<'_, i64>,
        indices: PyReadonlyArray1<'_, i64>,
        values: PyReadonlyArray1<'_, f32>,
    ) -> PyResult<Self> {
        let starts: Vec<usize> = starts.as_array().iter().map(|at| *at as usize).collect();
        let indices: Vec<u32> = indices.as_array().iter().map(|at| *at as u32).collect();
        let values: Vec<f32> = values.as_array().iter().copied().collect();
        let table = py.detach(|| Table::sparse(columns, &starts, &indices, &values));
        Ok(Rows { table: table.map_err(|error| failure::of_data(error, None))? })
    }

    fn __len__(&self) -> usize {
        self.table.len()
    }
}

/// Tells Python of updates and epochs.
struct Training {
    watch: Watch,
    epochs: u64,
    going: bool,
}

impl Observer for Training {
    fn batch(&mut self, batch: &Batch<'_>) {
        let part = batch.images as f64 / batch.of.max(1) as f64;
        let done = (1000.0 * (batch.epoch as f64 - 1.0 + part)) as u64;
        let (of, bound) = (1000 * self.epochs, batch.mean_bound);
        self.going = self.watch.goes_on(|| ("training", done, of, bound));
    }

    fn stop(&mut self) -> bool {
        !self.going
    }
}

impl hmcvi::run::Watch for Training {
    fn epoch(&mut self, _: &Epoch, _: bool) {}
}

/// The device of that name.
fn device(name: &str, threads: usize) -> PyResult<Device> {
    match name {
        "cpu" => Ok(Device::cpu(threads)),
        #[cfg(feature = "cuda")]
        "cuda" => {
            Device::cuda(0, hmcvi::device::Precision::Tf32, None).map_err(|error| failure::of_other(&error))
        }
        #[cfg(not(feature = "cuda"))]
        "cuda" => {
            Err(failure::of_settings("`device` is \"cuda\", but this build has no CUDA; wheels have it"))
        }
        _ => Err(failure::of_settings(&format!("`device` is \"{name}\", but must be \"cpu\" or \"cuda\""))),
    }
}

/// Trains in a run directory, from the beginning or from where it was left; gives what ended it before its time.
///
/// Data are three tables (training, validation, test), or what `data.source` names.
#[pyfunction]
#[pyo3(signature = (folder, assignments, data=None, kind=None, preset=None, force=false, device="cpu", threads=0, watch=None))]
#[expect(clippy::too_many_arguments, reason = "they are the keywords of a function of Python")]
pub(crate) fn train(
    py: Python<'_>,
    folder: PathBuf,
    assignments: Vec<String>,
    data: Option<[PyRef<'_, Rows>; 3]>,
    kind: Option<&str>,
    preset: Option<&str>,
    force: bool,
    device: &str,
    threads: usize,
    watch: Option<Py<PyAny>>,
) -> PyResult<Option<PyErr>> {
    let unknown = || failure::of_other(&format!("there is no preset \"{}\"", preset.unwrap_or_default()));
    let usual = match preset {
        Some(name) => hmcvi::config::preset(name).ok_or_else(unknown)?,
        None => RunSpec::default(),
    };
    let spec = usual.with_assignments(&assignments).map_err(|error| failure::of_setting(&error))?;
    let device = self::device(device, threads)?;
    let given = data.map(|parts| parts.map(|part| part.table.clone()));
    let kind = kind.map(kind_of).transpose()?;
    let mut training = Training { watch: Watch::new(watch), epochs: spec.train.epochs as u64, going: true };
    let data = py.detach(|| match given {
        Some([train, validation, test]) => {
            let data = Dataset::new("python", "python", train, validation, test);
            data.and_then(|data| if kind.is_some() { data.taken_as(kind) } else { Ok(data) })
                .and_then(Dataset::one_hot)
        }
        None => open_data(&spec.data),
    });
    let data = data.map_err(|error| failure::of_data(error, None))?;
    let started = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_secs());
    let (version, command) = (env!("CARGO_PKG_VERSION").into(), vec!["python".into()]);
    let begin = Begin { spec, data: Arc::new(data), device, version, command, started };
    let outcome = py.detach(|| match RunDirectory::open(&folder) {
        Ok(directory) if !force => {
            // What a run has settled stays as it was.
            let before = directory.spec()?;
            let spec = RunSpec { train: begin.spec.train.clone(), ..before };
            resume(&directory, &Begin { spec, ..begin }, &mut training)
        }
        _ => start(&folder, force, &begin, &mut training),
    });
    let ended = training.watch.ended_by();
    match (outcome, ended) {
        (Ok(_), ended) => Ok(ended),
        (Err(_), Some(ended)) => Err(ended),
        (Err(error), None) => Err(of_session(&error)),
    }
}

fn of_session(error: &SessionError) -> PyErr {
    match error {
        SessionError::Train(hmcvi::train::TrainError::Config(error)) => failure::of_setting(error),
        SessionError::Train(hmcvi::train::TrainError::Data(error)) => failure::of_data(error, None),
        other => failure::of_other(other),
    }
}

fn kind_of(name: &str) -> PyResult<Kind> {
    let names: Vec<&str> = Kind::ALL.iter().map(|kind| kind.name()).collect();
    Kind::ALL.into_iter().find(|kind| kind.name() == name).ok_or_else(|| {
        failure::of_settings(&format!("`kind` is \"{name}\", but must be one of {}", names.join(", ")))
    })
}

/// A trained auto-encoder.
#[pyclass(frozen, module = "hmcvi")]
pub(crate) struct Network {
    spec: RunSpec,
    checkpoint: Checkpoint,
    columns: usize,
    device: Device,
    directory: Option<RunDirectory>,
}

/// Latent points of rows: before and after the HMC steps, mean and log variance of the encoder, and the bounds.
type Encoded<'py> = (
    Bound<'py, PyArray2<f64>>,
    Bound<'py, PyArray2<f64>>,
    Bound<'py, PyArray2<f64>>,
    Bound<'py, PyArray2<f64>>,
    Bound<'py, PyArray1<f64>>,
);

/// Bounds, log-likelihoods, their standard errors, effective sample sizes and k-hats of rows.
type Scores<'py> = (
    Bound<'py, PyArray1<f64>>,
    Bound<'py, PyArray1<f64>>,
    Bound<'py, PyArray1<f64>>,
    Bound<'py, PyArray1<f64>>,
    Bound<'py, PyArray1<f64>>,
);

fn wide(values: &[f32]) -> Vec<f64> {
    values.iter().map(|value| f64::from(*value)).collect()
}

impl Network {
    fn problem(&self) -> Problem {
        Problem::of_run(&self.spec, self.columns)
    }

    /// Rows as the model takes them.
    fn table(&self, rows: &Rows) -> PyResult<Table> {
        let table = rows.table.clone();
        let columns = table.columns();
        let taken = match self.spec.data.kind {
            Some(kind) => {
                let data = Dataset::new("python", "python", table.clone(), table.clone(), table);
                data.and_then(|data| data.taken_as(Some(kind)))
                    .and_then(Dataset::one_hot)
                    .map(|d| d.train().clone())
            }
            None => Ok(table),
        };
        let taken = taken.map_err(|error| failure::of_data(error, None))?;
        if taken.columns() != self.columns {
            return Err(failure::of_data(
                format!("the rows have {columns} columns, but those of the training had {}", self.columns),
                None,
            ));
        }
        self.spec.check_rows(&taken, "").map_err(|error| failure::of_data(error, None))?;
        Ok(taken)
    }

    fn chains(&self, table: &Table, seed: u64, draw: u64) -> Result<Bounds, EvalError> {
        let drawn = self.spec.data.observation(table).draw(table, TEST_SEED, 0);
        let mut evaluator = BoundEvaluator::new(&self.problem(), &drawn.observation(), &self.device)?;
        evaluator.run(&self.checkpoint.store, &drawn, &rows(table.len()), seed, draw, |_| false)
    }
}

#[pymethods]
impl Network {
    /// The network of a run directory, or the one inside the library.
    #[new]
    #[pyo3(signature = (folder=None, checkpoint="best", device="cpu", threads=0))]
    fn new(folder: Option<PathBuf>, checkpoint: &str, device: &str, threads: usize) -> PyResult<Self> {
        let device = self::device(device, threads)?;
        let (spec, mut checkpoint, directory) = match folder {
            None => {
                let Builtin { spec, checkpoint, .. } =
                    Builtin::open().map_err(|error| failure::of_other(&error))?;
                (spec, checkpoint, None)
            }
            Some(folder) => {
                let which = Which::named(checkpoint).ok_or_else(|| {
                    failure::of_settings(&format!(
                        "`checkpoint` is \"{checkpoint}\", but must be \"best\" or \"last\""
                    ))
                })?;
                let open = || {
                    let directory = RunDirectory::open(&folder)?;
                    Ok((directory.spec()?, directory.checkpoint(which)?, Some(directory)))
                };
                open().map_err(|error: hmcvi::run::DirectoryError| failure::of_other(&error))?
            }
        };
        checkpoint.store = learnt(&checkpoint.store);
        let columns = spec.model.columns(&checkpoint.store);
        let columns = columns.ok_or_else(|| {
            failure::of_other(
                &"the checkpoint has no decoder with the layers of config.toml: was one of them changed?",
            )
        })?;
        Ok(Network { spec, checkpoint, columns, device, directory })
    }

    /// Columns of a row.
    #[getter]
    fn columns(&self) -> usize {
        self.columns
    }

    /// Latent dimensions.
    #[getter]
    fn latent(&self) -> usize {
        self.spec.model.latent
    }

    /// All settings, as the program writes them.
    #[getter]
    fn settings(&self) -> String {
        self.spec.to_toml()
    }

    /// The likelihood of the model.
    #[getter]
    fn likelihood(&self) -> String {
        self.spec.model.likelihood().name()
    }

    /// What happened in each epoch, as a list in JSON.
    fn epochs(&self) -> PyResult<String> {
        let epochs = self.directory.as_ref().map(|directory| directory.epochs()).transpose();
        let epochs = epochs.map_err(|error| failure::of_other(&error))?.unwrap_or_default();
        serde_json::to_string(&epochs).map_err(|error| failure::of_other(&error))
    }

    /// Draws from the posteriors of rows before and after the HMC steps.
    fn encode<'py>(&self, py: Python<'py>, rows: &Rows, seed: u64, draw: u64) -> PyResult<Encoded<'py>> {
        let table = self.table(rows)?;
        let found =
            py.detach(|| self.chains(&table, seed, draw)).map_err(|error| failure::of_other(&error))?;
        let latent = self.spec.model.latent;
        let matrix = |values: &[f32]| arrays::matrix(py, wide(values), latent);
        Ok((
            matrix(&found.start)?,
            matrix(&found.end)?,
            matrix(&found.encoder_mean)?,
            matrix(&found.encoder_log_variance)?,
            PyArray1::from_vec(py, found.bound),
        ))
    }

    /// Means of rows at latent points.
    fn decode<'py>(
        &self,
        py: Python<'py>,
        places: PyReadonlyArray2<'py, f32>,
    ) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let (columns, latent) = (places.as_array().ncols(), self.spec.model.latent);
        if columns != latent {
            let text = format!("the latent points have {columns} numbers each, but the model has {latent}");
            return Err(failure::of_data(text, None));
        }
        let z: Vec<f32> = places.as_array().iter().copied().collect();
        let means =
            py.detach(|| Decoder::new(&self.problem(), &self.device)?.means(&self.checkpoint.store, &z));
        arrays::matrix(py, wide(&means.map_err(|error| failure::of_other(&error))?), self.columns)
    }

    /// Means of rows at draws of the prior, or draws of rows.
    fn sample<'py>(
        &self,
        py: Python<'py>,
        count: usize,
        seed: u64,
        mean: bool,
    ) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let (problem, store) = (self.problem(), &self.checkpoint.store);
        let made = py.detach(|| match mean {
            true => {
                let z = prior_draws(self.spec.model.latent, count, seed);
                Decoder::new(&problem, &self.device)?.means(store, &z)
            }
            false => Ok(simulate(&problem, store, count, seed, &self.device)?.x),
        });
        arrays::matrix(py, wide(&made.map_err(|error| failure::of_other(&error))?), self.columns)
    }

    /// The bound of each row and, with so many importance samples, its log-likelihood with its standard error, effective
    /// number of samples and k-hat. They depend on the content of a row and the seed alone.
    fn score<'py>(&self, py: Python<'py>, rows: &Rows, samples: usize, seed: u64) -> PyResult<Scores<'py>> {
        let table = self.table(rows)?;
        let subject = Subject { seed, ..Subject::of_run(&self.spec, &table) };
        let how = ImportanceOptions::new(samples.max(1));
        let options = ScoreOptions { chains: how.mean_draws, importance: (samples > 0).then_some(how) };
        let (mut watch, of) = (Watch::new(None), table.len());
        let found = py.detach(|| {
            let mut done = |done| watch.goes_on(|| ("scores", done, of, f64::NAN));
            score_rows(&subject, &self.checkpoint.store, &table, &options, &self.device, &mut done)
        });
        if let Some(ended) = watch.ended_by() {
            return Err(ended);
        }
        let found = found.map_err(|error| failure::of_other(&error))?;
        let of = |value: &dyn Fn(&WeightSummary) -> f64| -> Bound<'py, PyArray1<f64>> {
            let value = |score: &RowScore| score.weights.as_ref().map_or(f64::NAN, value);
            PyArray1::from_vec(py, found.iter().map(value).collect())
        };
        Ok((
            PyArray1::from_vec(py, found.iter().map(|score| score.bound).collect()),
            of(&|weights| weights.log_mean),
            of(&|weights| weights.error_of_log_mean(samples)),
            of(&|weights| weights.effective_sample_size),
            of(&|weights| weights.k_hat.unwrap_or(f64::NAN)),
        ))
    }
}
