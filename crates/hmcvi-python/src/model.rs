//! Hold models that have their data, and fit them.

use std::path::PathBuf;
use std::sync::Arc;

use hmcvi::bayes::fit::Progress;
use hmcvi::bayes::{Array, Data, Fit, FitError, LogLikelihood};
use hmcvi::config::FitSpec;
use hmcvi::run::FitDirectory;
use hmcvi_fit::{Opened, Stages, Subject};
use hmcvi_record::{FitMethod, files};
use hmcvi_stan::{Program, Settings};
use numpy::{PyArray1, PyArray2, PyReadonlyArray2};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};

use crate::fitted::Fitted;
use crate::sampling::Sampled;
use crate::watch::Watch;
use crate::{arrays, failure, trace};

/// What the settings of a fit call the model.
#[derive(Clone)]
pub(crate) enum Origin {
    /// A function of Python, which has no name that settings could give.
    Function,
    /// A built-in model, with other data than its own where they are given.
    Builtin(Option<Data>),
    /// A Stan program and its data, which are kept with a fit.
    Stan(Arc<str>, Data),
}

/// A model with its data.
#[pyclass(frozen, module = "hmcvi")]
pub(crate) struct BoundModel {
    pub(crate) subject: Arc<Subject>,
    pub(crate) origin: Arc<Origin>,
}

impl BoundModel {
    pub(crate) fn new(subject: Subject, origin: Origin) -> Self {
        BoundModel { subject: Arc::new(subject), origin: Arc::new(origin) }
    }

    fn opened(opened: Opened) -> Self {
        let origin = match &opened.program {
            Some(program) => Origin::Stan(program.text().into(), opened.data),
            None => Origin::Builtin(opened.given.then_some(opened.data)),
        };
        BoundModel::new(opened.subject, origin)
    }
}

/// Name, shape and log densities of an observation.
type Likelihood<'py> = (String, Bound<'py, PyTuple>, Bound<'py, PyArray1<f64>>);

/// Values and log densities.
type Evaluated<'py> = (Bound<'py, PyArray2<f64>>, Bound<'py, PyArray1<f64>>);

#[pymethods]
impl BoundModel {
    /// What the model is called.
    #[getter]
    fn name(&self) -> &str {
        &self.subject.name
    }

    /// Real numbers that all variables are made from.
    #[getter]
    fn dimension(&self) -> usize {
        self.subject.bound.dimension()
    }

    /// Names and shapes of everything that a draw has: variables, what is computed from them, what is generated.
    #[getter]
    fn values<'py>(&self, py: Python<'py>) -> PyResult<Vec<(String, Bound<'py, PyTuple>)>> {
        let all = self.subject.variables();
        all.into_iter().map(|variable| Ok((variable.name, PyTuple::new(py, variable.sizes)?))).collect()
    }

    /// Names of generated quantities.
    #[getter]
    fn generated(&self) -> Vec<String> {
        let all = self.subject.variables().into_iter();
        all.filter(|variable| variable.generated).map(|variable| variable.name).collect()
    }

    /// Names of what the model observes; those of Stan programs are not known.
    fn observations(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        if self.subject.stan.is_some() {
            return Ok(Vec::new());
        }
        let found =
            detached(py, || self.subject.bound.log_likelihoods(&vec![0.0; self.subject.bound.dimension()]))?;
        Ok(found.into_iter().map(|one| one.name).collect())
    }

    /// SHA-256 of the data.
    #[getter]
    fn data_sha256(&self) -> &str {
        &self.subject.data_sha256
    }

    /// All values of the model at some places, and the log density there.
    fn evaluate<'py>(&self, py: Python<'py>, places: PyReadonlyArray2<'py, f64>) -> PyResult<Evaluated<'py>> {
        let bound = &self.subject.bound;
        let (d, columns) = (bound.dimension(), places.as_array().ncols());
        if columns != d {
            let text = format!("the places have {columns} numbers each, but the model has {d}");
            return Err(PyValueError::new_err(text));
        }
        let z: Vec<f64> = places.as_array().iter().copied().collect();
        let found = detached(py, || bound.evaluate(&z))?;
        let width = bound.element_names().len();
        Ok((arrays::matrix(py, found.values, width)?, PyArray1::from_vec(py, found.log_density)))
    }

    /// Takes up a fit that was kept in a folder.
    fn load(&self, py: Python<'_>, folder: PathBuf) -> PyResult<Fitted> {
        py.detach(|| Fitted::load(&self.subject, &self.origin, &folder))
            .map_err(|error: String| failure::of_other(&error))
    }

    /// Takes up chains of NUTS that were kept in a folder.
    fn load_chains(&self, py: Python<'_>, folder: PathBuf) -> PyResult<Sampled> {
        py.detach(|| Sampled::load(&self.subject, &self.origin, &folder))
            .map_err(|error: String| failure::of_other(&error))
    }

    /// Fits with some settings; also gives what ended it before its time, if anything did.
    #[pyo3(signature = (assignments, watch=None))]
    fn fit(
        &self,
        py: Python<'_>,
        assignments: Vec<String>,
        watch: Option<Py<PyAny>>,
    ) -> PyResult<(Fitted, Option<PyErr>)> {
        let spec = self.settings(&assignments)?;
        let elsewhere = [
            (
                spec.method == FitMethod::Nuts,
                "`method` is \"nuts\", which is no fit; `nuts()` of the model samples it",
            ),
            (spec.check, "`check` is true; in Python, `check()` of a fit does it"),
            (spec.evidence, "`evidence` is true; in Python, `evidence()` of a fit does it"),
        ];
        if let Some((_, said)) = elsewhere.iter().find(|(found, _)| *found) {
            return Err(failure::of_settings(said));
        }
        let (mut watch, mut stages) = (Watch::new(watch), Stages::default());
        let fitted = py.detach(|| {
            let fitted = self.subject.bound.fit_watched(&Fit::from(&spec), &mut |progress: Progress| {
                stages.add(&progress);
                let (done, most) = progress.updates;
                watch.goes_on(|| (hmcvi_fit::name(progress.stage), done, most, progress.bound))
            })?;
            let stages = stages.of(&fitted);
            let fitted = Fitted::new(&self.subject, &self.origin, spec, fitted, stages)?;
            fitted.seek_elsewhere(&mut |done, of| watch.goes_on(|| ("modes", done, of, f64::NAN)))?;
            Ok(fitted)
        });
        match (fitted, watch.ended_by()) {
            (Ok(fitted), ended) => Ok((fitted, ended)),
            (Err(_), Some(ended)) => Err(ended),
            (Err(error), None) => Err(failure::of_fit(&error)),
        }
    }
}

impl BoundModel {
    /// The settings of a fit, as the program takes them.
    pub(crate) fn settings(&self, assignments: &[String]) -> PyResult<FitSpec> {
        let model = match &*self.origin {
            Origin::Function => hmcvi_fit::PYTHON.to_owned(),
            Origin::Builtin(_) => self.subject.name.clone(),
            Origin::Stan(..) => files::MODEL.to_owned(),
        };
        let usual = FitSpec { model, ..FitSpec::default() };
        let spec = usual.with_assignments(assignments).map_err(|error| failure::of_setting(&error))?;
        match spec.model == usual.model && spec.data.is_none() {
            true => Ok(spec),
            false => {
                Err(failure::of_settings("`model` and `data` are what the fit is of; they are no settings"))
            }
        }
    }
}

/// Log densities of observations at some places: name, shape at one place, and all values.
pub(crate) fn log_likelihoods<'py>(
    py: Python<'py>,
    subject: &Subject,
    z: &[f64],
) -> PyResult<Vec<Likelihood<'py>>> {
    let found = detached(py, || subject.bound.log_likelihoods(z))?;
    let of = |one: LogLikelihood| {
        let shape = arrays::tuple(py, one.dims)?;
        Ok((one.name, shape, PyArray1::from_vec(py, one.values)))
    };
    found.into_iter().map(of).collect()
}

/// A Stan program.
#[pyclass(frozen, module = "hmcvi")]
pub(crate) struct StanProgram {
    program: Program,
    file: Option<String>,
}

#[pymethods]
impl StanProgram {
    /// Reads a program from its text, or from a file with the files that it includes; the file is named in errors.
    #[new]
    #[pyo3(signature = (text="", file=None))]
    fn new(py: Python<'_>, text: &str, file: Option<String>) -> PyResult<Self> {
        let program = py.detach(|| file.as_deref().map_or_else(|| Program::parse(text), Program::open));
        let program = program.map_err(|error| match (&file, error.line()) {
            // The file cannot be read, as the error says.
            (Some(_), None) => failure::of_data(error, None),
            _ => failure::of_stan(&error, file.as_deref()),
        })?;
        Ok(StanProgram { program, file })
    }

    /// The text of the program.
    #[getter]
    fn code(&self) -> &str {
        self.program.text()
    }

    /// The program with its data. `~` keeps what Stan drops: a log evidence needs it, and draws do not depend on it.
    fn bind(
        &self,
        py: Python<'_>,
        name: String,
        data: &Bound<'_, PyDict>,
        seed: u64,
    ) -> PyResult<BoundModel> {
        let data = trace::data_of(data)?;
        let settings = Settings { constants: true, seed, bounds_of_uniform: true };
        let model = py.detach(|| self.program.model_with(&data, &settings));
        let model = model.and_then(|model| model.check_proper().map(|()| model));
        let model = model.map_err(|error| failure::of_stan(&error, self.file.as_deref()))?;
        let subject = Subject::of_stan(name, model, &data);
        Ok(BoundModel::new(subject, Origin::Stan(self.program.text().into(), data)))
    }
}

/// A model, and its data.
type WithData<'py> = (BoundModel, Bound<'py, PyDict>);

fn with_data(py: Python<'_>, opened: Opened) -> PyResult<WithData<'_>> {
    let given = PyDict::new(py);
    for name in opened.data.names() {
        if let Some(Array { dims, values }) = opened.data.get(name) {
            let array = PyArray1::from_slice(py, values);
            given.set_item(name, array.call_method1("reshape", (arrays::tuple(py, *dims)?,))?)?;
        }
    }
    Ok((BoundModel::opened(opened), given))
}

/// A built-in model with its own data, or others.
#[pyfunction]
#[pyo3(signature = (name, data=None))]
pub(crate) fn builtin<'py>(
    py: Python<'py>,
    name: &str,
    data: Option<&Bound<'py, PyDict>>,
) -> PyResult<WithData<'py>> {
    let data: Option<Data> = data.map(trace::data_of).transpose()?;
    let opened = py.detach(|| hmcvi_fit::builtin(name, data));
    with_data(py, opened.map_err(|error| failure::of_opening(&error))?)
}

/// The model of a kept fit, and its data.
#[pyfunction]
pub(crate) fn model_of(py: Python<'_>, folder: PathBuf) -> PyResult<WithData<'_>> {
    let opened = py.detach(|| {
        let directory = FitDirectory::open(&folder).map_err(|error| failure::of_other(&error))?;
        let spec = hmcvi_fit::settings_of(&directory).map_err(|error| failure::of_other(&error))?;
        let mut opened = hmcvi_fit::open(&spec).map_err(|error| failure::of_opening(&error))?;
        // A program that was kept has another file name than it had.
        if let Ok(Some(record)) = directory.record() {
            opened.subject.name = record.model;
        }
        Ok::<_, PyErr>(opened)
    });
    with_data(py, opened?)
}

/// How a kept fit was made.
#[pyfunction]
pub(crate) fn method_of(folder: PathBuf) -> PyResult<&'static str> {
    let spec = FitDirectory::open(&folder).and_then(|directory| directory.spec());
    Ok(spec.map_err(|error| failure::of_other(&error))?.method.name())
}

/// Runs something of a model without the interpreter.
fn detached<T: Send>(py: Python<'_>, work: impl FnOnce() -> Result<T, FitError> + Send) -> PyResult<T> {
    py.detach(work).map_err(|error| failure::of_fit(&error))
}
