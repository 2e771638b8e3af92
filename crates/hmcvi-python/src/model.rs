//! Fit models that have their data.

use std::path::PathBuf;

use hmcvi::bayes::fit::{Progress, Stage};
use hmcvi::bayes::{Data, Dims, Fit, FitError, LogLikelihood, ModelError};
use hmcvi::config::FitSpec;
use hmcvi::run::FitDirectory;
use hmcvi_record::files;
use hmcvi_stan::{Program, Settings};
use numpy::{PyArray1, PyArray2, PyReadonlyArray2};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};

use crate::fitted::Fitted;
use crate::watch::Watch;
use crate::{arrays, failure, trace};

/// A model with its data.
#[pyclass(frozen, module = "hmcvi")]
pub(crate) struct BoundModel {
    pub(crate) bound: hmcvi::bayes::Bound,
}

impl BoundModel {
    pub(crate) fn new(bound: hmcvi::bayes::Bound) -> Self {
        BoundModel { bound }
    }
}

/// Names of values with their shapes.
pub(crate) fn shapes<'py>(
    py: Python<'py>,
    values: &[(String, Dims)],
) -> PyResult<Vec<(String, Bound<'py, PyTuple>)>> {
    values.iter().map(|(name, dims)| Ok((name.clone(), arrays::tuple(py, *dims)?))).collect()
}

/// Name, shape and log densities of an observation.
type Likelihood<'py> = (String, Bound<'py, PyTuple>, Bound<'py, PyArray1<f64>>);

/// Values and log densities.
type Evaluated<'py> = (Bound<'py, PyArray2<f64>>, Bound<'py, PyArray1<f64>>);

fn in_words(stage: Stage) -> &'static str {
    match stage {
        Stage::Start => "start",
        Stage::Gaussian => "gaussian",
        Stage::Bend => "bend",
        Stage::Chain => "chain",
    }
}

#[pymethods]
impl BoundModel {
    /// Real numbers that all variables are made from.
    #[getter]
    fn dimension(&self) -> usize {
        self.bound.dimension()
    }

    /// Names of the variables that are inferred.
    #[getter]
    fn variables(&self) -> Vec<String> {
        self.bound.variables().iter().map(|variable| variable.name.clone()).collect()
    }

    /// Names and shapes of all values: variables, and what is computed from them.
    #[getter]
    fn values<'py>(&self, py: Python<'py>) -> PyResult<Vec<(String, Bound<'py, PyTuple>)>> {
        shapes(py, &self.bound.values())
    }

    /// SHA-256 of the data.
    #[getter]
    fn data_sha256(&self) -> String {
        self.bound.data().sha256()
    }

    /// All values of the model at some places, and the log density there.
    fn evaluate<'py>(&self, py: Python<'py>, places: PyReadonlyArray2<'py, f64>) -> PyResult<Evaluated<'py>> {
        let (d, columns) = (self.bound.dimension(), places.as_array().ncols());
        if columns != d {
            let text = format!("the places have {columns} numbers each, but the model has {d}");
            return Err(PyValueError::new_err(text));
        }
        let z: Vec<f64> = places.as_array().iter().copied().collect();
        let found = py.detach(|| self.bound.evaluate(&z)).map_err(|error| failure::of_fit(&error))?;
        let width = self.bound.element_names().len();
        Ok((arrays::matrix(py, found.values, width)?, PyArray1::from_vec(py, found.log_density)))
    }

    /// Log densities of observations at some places: name, shape at one place, and all values.
    fn log_likelihoods<'py>(
        &self,
        py: Python<'py>,
        places: PyReadonlyArray2<'py, f64>,
    ) -> PyResult<Vec<Likelihood<'py>>> {
        let z: Vec<f64> = places.as_array().iter().copied().collect();
        let found = py.detach(|| self.bound.log_likelihoods(&z)).map_err(|error| failure::of_fit(&error))?;
        let of = |one: LogLikelihood| {
            Ok((one.name, arrays::tuple(py, one.dims)?, PyArray1::from_vec(py, one.values)))
        };
        found.into_iter().map(of).collect()
    }

    /// Takes up a fit that was kept in a folder.
    fn load(&self, py: Python<'_>, folder: PathBuf) -> PyResult<Fitted> {
        let found = py.detach(|| {
            let directory = FitDirectory::open(&folder).map_err(|error| error.to_string())?;
            let spec = directory.spec().map_err(|error| error.to_string())?;
            let fitted = hmcvi::bayes::Fitted::load(&self.bound, directory.file(files::FITTED));
            Ok((fitted.map_err(|error| error.to_string())?, spec))
        });
        let (fitted, spec) = found.map_err(|error: String| failure::of_other(&error))?;
        Ok(Fitted::new(fitted, spec))
    }

    /// Fits with some settings; also gives what ended it before its time, if anything did.
    #[pyo3(signature = (assignments, watch=None))]
    fn fit(
        &self,
        py: Python<'_>,
        assignments: Vec<String>,
        watch: Option<Py<PyAny>>,
    ) -> PyResult<(Fitted, Option<PyErr>)> {
        let spec = settings(&assignments)?;
        let mut watch = Watch::new(watch);
        let fitted = py.detach(|| {
            self.bound.fit_watched(&Fit::from(&spec), &mut |progress: Progress| {
                let (done, most) = progress.updates;
                watch.goes_on(|| (in_words(progress.stage), done, most, progress.bound))
            })
        });
        let ended = watch.ended_by();
        match (fitted, ended) {
            (Ok(fitted), ended) => Ok((Fitted::new(fitted, spec), ended)),
            (Err(_), Some(ended)) => Err(ended),
            (Err(error), None) => Err(failure::of_fit(&error)),
        }
    }
}

/// The settings of a fit, as the program takes them.
pub(crate) fn settings(assignments: &[String]) -> PyResult<FitSpec> {
    // What is described in Python has no name that the program knows.
    let usual = FitSpec { model: "python".into(), ..FitSpec::default() };
    usual.with_assignments(assignments).map_err(|error| failure::of_setting(&error))
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
    fn bind(&self, py: Python<'_>, data: &Bound<'_, PyDict>, seed: u64) -> PyResult<BoundModel> {
        let data = trace::data_of(data)?;
        let settings = Settings { constants: true, seed };
        let model = py.detach(|| self.program.model_with(&data, &settings));
        let model = model.and_then(|model| model.check_proper().map(|()| model));
        let model = model.map_err(|error| failure::of_stan(&error, self.file.as_deref()))?;
        Ok(BoundModel::new(model.bound().clone()))
    }
}

/// A built-in model with its own data, or others.
#[pyfunction]
#[pyo3(signature = (name, data=None))]
pub(crate) fn builtin(name: &str, data: Option<&Bound<'_, PyDict>>) -> PyResult<BoundModel> {
    let Some(example) = hmcvi::bayes::examples::find(name) else {
        let all: Vec<&str> = hmcvi::bayes::examples::all().iter().map(|example| example.name).collect();
        let text = format!("there is no built-in model `{name}`; there are {}", all.join(", "));
        return Err(failure::of_model(text, None));
    };
    let data: Option<Data> = data.map(trace::data_of).transpose()?;
    let own = example.data().map_err(|error| failure::of_binding(&error))?;
    let Some(data) = data.or(own) else {
        let text = format!("the model `{name}` comes without data; give them by name");
        return Err(failure::of_data(text, None));
    };
    let bound = example.model().bind(&data);
    bound.map(BoundModel::new).map_err(|error: ModelError| failure::of_binding(&error))
}

/// The model of a kept fit, and the file with its data, as its settings name them.
#[pyfunction]
pub(crate) fn fit_source(folder: PathBuf) -> PyResult<(String, Option<String>)> {
    let spec = FitDirectory::open(&folder).and_then(|directory| directory.spec());
    let spec = spec.map_err(|error| failure::of_other(&error))?;
    Ok((spec.model, spec.data))
}

/// Runs something of a fit without the interpreter.
pub(crate) fn detached<T: Send>(
    py: Python<'_>,
    work: impl FnOnce() -> Result<T, FitError> + Send,
) -> PyResult<T> {
    py.detach(work).map_err(|error| failure::of_fit(&error))
}
