//! Give what a fit has found: draws, their weights, and what they say.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use hmcvi::bayes::{self, FitError};
use hmcvi::config::FitSpec;
use hmcvi::run::FitDirectory;
use hmcvi_fit::{Checked, Found, Outcome, Source, Subject, of_chains};
use hmcvi_record::{DrawTable, FitCheck, FitElsewhere, FitEvidence, FitRow, FitStage, files};
use numpy::PyArray1;
use pyo3::prelude::*;

use crate::drawn::{self, Drawn, Lazy, rows};
use crate::failure;
use crate::keep::{Kept, keep};
use crate::model::{Origin, log_likelihoods};

/// An approximation to a posterior.
#[pyclass(frozen, module = "hmcvi")]
pub(crate) struct Fitted {
    pub(crate) subject: Arc<Subject>,
    pub(crate) origin: Arc<Origin>,
    pub(crate) spec: FitSpec,
    pub(crate) found: Arc<Found>,
    drawn: Lazy,
    beside: Mutex<Beside>,
}

/// What was found out about a fit after it was made.
#[derive(Clone, Default)]
struct Beside {
    check: Option<FitCheck>,
    nuts: Vec<DrawTable>,
    evidence: Option<FitEvidence>,
    elsewhere: Option<FitElsewhere>,
}

impl Fitted {
    pub(crate) fn new(
        subject: &Arc<Subject>,
        origin: &Arc<Origin>,
        spec: FitSpec,
        fitted: bayes::Fitted,
        stages: Vec<FitStage>,
    ) -> Result<Self, FitError> {
        let found = Arc::new(Found::of(fitted, stages, &spec)?);
        let raw = hmcvi_fit::Drawn::of_fit(subject, found.shown())?;
        let drawn = Lazy::new(raw, spec.method, spec.seed);
        let (subject, origin) = (subject.clone(), origin.clone());
        Ok(Fitted { subject, origin, spec, found, drawn, beside: Mutex::default() })
    }

    /// A fit of this model that was kept in a folder.
    pub(crate) fn load(subject: &Arc<Subject>, origin: &Arc<Origin>, folder: &Path) -> Result<Self, String> {
        let said = |error: &dyn std::fmt::Display| error.to_string();
        let directory = FitDirectory::open(folder).map_err(|error| said(&error))?;
        let spec = directory.spec().map_err(|error| said(&error))?;
        let fitted = bayes::Fitted::load(&subject.bound, directory.file(files::FITTED));
        let fitted = fitted.map_err(|error| said(&error))?;
        let record = directory.record().map_err(|error| said(&error))?;
        let nuts = directory.chains(files::NUTS_OF_CHAIN, &|_| true).map_err(|error| said(&error))?;
        let (stages, check, evidence, elsewhere) = record
            .map(|record| (record.stages, record.check, record.evidence, record.elsewhere))
            .unwrap_or_default();
        let loaded = Self::new(subject, origin, spec, fitted, stages).map_err(|error| said(&error))?;
        *loaded.beside() = Beside { check, nuts, evidence, elsewhere };
        Ok(loaded)
    }

    /// Looks for a part of the posterior that the draws miss, unless the fit was stopped.
    pub(crate) fn seek_elsewhere(
        &self,
        goes_on: &mut dyn FnMut(usize, usize) -> bool,
    ) -> Result<(), FitError> {
        if self.found.is_finished() {
            self.beside().elsewhere = hmcvi_fit::elsewhere(&self.found, goes_on)?;
        }
        Ok(())
    }

    fn beside(&self) -> std::sync::MutexGuard<'_, Beside> {
        // Nothing is left half done.
        self.beside.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The settings that the program would find as much with.
    fn settled(&self) -> FitSpec {
        let beside = self.beside();
        FitSpec { check: beside.check.is_some(), evidence: beside.evidence.is_some(), ..self.spec.clone() }
    }

    /// Keeps a check with the fit.
    pub(crate) fn add_check(&self, checked: &Checked) -> Result<(), FitError> {
        let nuts = of_chains(&self.subject.bound, &checked.check.warm)?;
        let mut beside = self.beside();
        (beside.check, beside.nuts) = (Some(checked.record.clone()), nuts);
        Ok(())
    }

    /// Keeps a bracketed log evidence with the fit.
    pub(crate) fn add_evidence(&self, evidence: FitEvidence) {
        self.beside().evidence = Some(evidence);
    }
}

/// The name of a stage with its updates and bounds.
type Trace = (String, Vec<(f64, f64)>);

#[pymethods]
impl Fitted {
    /// Seconds that the fit took.
    #[getter]
    fn seconds(&self) -> f64 {
        self.found.fitted.seconds()
    }

    /// All settings, as the program writes them.
    #[getter]
    fn settings(&self) -> String {
        self.settled().to_toml()
    }

    /// Draws that the settings ask for.
    #[getter]
    fn count(&self) -> usize {
        self.spec.draws
    }

    /// The seed that they were made with.
    #[getter]
    fn seed(&self) -> u64 {
        self.spec.seed
    }

    /// Whether all stages came to their end.
    #[getter]
    fn finished(&self) -> bool {
        self.found.is_finished()
    }

    /// Whether draws were chosen by their weights.
    #[getter]
    fn resampled(&self) -> bool {
        self.found.chosen.is_some()
    }

    /// The bound over the updates, stage by stage.
    #[getter]
    fn trace(&self) -> Vec<Trace> {
        let curves = hmcvi_report::trace(&self.found.stages);
        curves.into_iter().map(|curve| (curve.name, curve.points)).collect()
    }

    /// Logarithms of the importance weights, before draws were chosen by them.
    fn log_weights<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        PyArray1::from_slice(py, self.found.draws.log_weights())
    }

    /// What was found in places that no draw comes near, as JSON.
    #[getter]
    fn elsewhere(&self) -> PyResult<Option<String>> {
        self.beside().elsewhere.as_ref().map(failure::json).transpose()
    }

    /// Draws that were left out because their simulation failed.
    #[getter]
    fn dropped(&self) -> u64 {
        self.found.draws.dropped
    }

    /// The bound with its standard error.
    #[getter]
    fn bound(&self) -> (f64, f64) {
        self.found.draws.bound()
    }

    /// Log evidence by importance sampling with its standard error, effective sample size, and k-hat where there are enough
    /// draws to tell.
    #[getter]
    fn weights(&self) -> (f64, f64, f64, Option<f64>) {
        let smoothed = self.found.draws.smoothed();
        let error = self.found.log_evidence_error(&smoothed);
        (smoothed.log_mean, error, smoothed.effective_sample_size, smoothed.k_hat)
    }

    /// The draws that were made with the fit.
    #[pyo3(signature = (watch=None))]
    fn drawn(&self, py: Python<'_>, watch: Option<Py<PyAny>>) -> PyResult<Drawn> {
        Ok(Drawn { drawn: self.drawn.get(py, &self.subject, watch)? })
    }

    /// Other draws.
    #[pyo3(signature = (count, seed, watch=None))]
    fn draw(&self, py: Python<'_>, count: usize, seed: u64, watch: Option<Py<PyAny>>) -> PyResult<Drawn> {
        py.detach(|| {
            let made = self.found.other_draws(&self.spec, count, seed);
            let made = made.and_then(|draws| hmcvi_fit::Drawn::of_fit(&self.subject, &draws));
            let mut made = made.map_err(|error| failure::of_fit(&error))?;
            drawn::generate(&self.subject, &mut made, self.spec.method, seed, watch)?;
            Ok(Drawn { drawn: Arc::new(made) })
        })
    }

    /// What the draws say about each number of the model, as JSON.
    #[pyo3(signature = (watch=None))]
    fn summary(&self, py: Python<'_>, watch: Option<Py<PyAny>>) -> PyResult<String> {
        let drawn = self.drawn.get(py, &self.subject, watch)?;
        let own: Vec<FitRow> = py.detach(|| Source::Fit(self.found.clone()).rows());
        failure::json(&rows(&own, &drawn))
    }

    /// Log densities of the observations at the draws.
    fn log_likelihoods<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let draws = self.found.shown();
        let z: Vec<f64> = (0..draws.len()).flat_map(|draw| draws.unconstrained(draw)).copied().collect();
        log_likelihoods(py, &self.subject, &z)?.into_pyobject(py)
    }

    /// Keeps the fit in a folder, with its draws and all that was found out about it.
    fn save(&self, py: Python<'_>, folder: PathBuf, force: bool, command: Vec<String>) -> PyResult<()> {
        let drawn = self.drawn.get(py, &self.subject, None)?;
        let kept = py.detach(|| {
            let Beside { check, nuts, evidence, elsewhere } = self.beside().clone();
            let outcome = Outcome {
                finished: self.found.is_finished(),
                seconds: self.found.fitted.seconds(),
                stages: self.found.stages.clone(),
                drawn: (*drawn).clone(),
                gaussian: self.found.gaussian(&self.spec).map_err(|error| error.to_string())?,
                nuts,
                check,
                elsewhere,
                evidence,
                source: Source::Fit(self.found.clone()),
            };
            let kept = Kept { spec: &self.settled(), subject: &self.subject, origin: &self.origin };
            keep(&kept, &outcome, &folder, force, command)
        });
        kept.map_err(|error| failure::of_other(&error))
    }
}
