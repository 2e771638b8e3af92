//! Give what a fit has found: draws, their weights, and what they say.

use std::path::PathBuf;

use hmcvi::bayes;
use hmcvi::bayes::fit::{Row, Stopped};
use hmcvi::config::{FitSpec, Resample};
use hmcvi::run::FitDirectory;
use hmcvi_record::files;
use numpy::{PyArray1, PyArray2};
use pyo3::prelude::*;

use crate::model::detached;
use crate::{arrays, failure};

/// An approximation to a posterior.
#[pyclass(frozen, module = "hmcvi")]
pub(crate) struct Fitted {
    pub(crate) fitted: bayes::Fitted,
    pub(crate) spec: FitSpec,
}

impl Fitted {
    pub(crate) fn new(fitted: bayes::Fitted, spec: FitSpec) -> Self {
        Fitted { fitted, spec }
    }
}

/// The name of a stage, its mean bounds, its updates, and why it ended.
type Learnt = (&'static str, Vec<f64>, usize, &'static str);

#[pymethods]
impl Fitted {
    /// Seconds that the fit took.
    #[getter]
    fn seconds(&self) -> f64 {
        self.fitted.seconds()
    }

    /// All settings, as the program writes them.
    #[getter]
    fn settings(&self) -> String {
        self.spec.to_toml()
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

    /// Keeps the fit in a folder.
    fn save(&self, py: Python<'_>, folder: PathBuf, force: bool) -> PyResult<()> {
        py.detach(|| {
            let (directory, _lock) = FitDirectory::create(&folder, &self.spec, force).map_err(|error| {
                let advice = if force { "" } else { "; `force=True` replaces a fit" };
                format!("{error}{advice}")
            })?;
            self.fitted.save_over(directory.file(files::FITTED)).map_err(|error| error.to_string())
        })
        .map_err(|error| failure::of_other(&error))
    }

    /// The stages of learning.
    #[getter]
    fn stages(&self) -> Vec<Learnt> {
        let stages =
            self.fitted.learning().into_iter().filter_map(|(name, learning)| Some((name, learning?)));
        let learnt = stages.map(|(name, learning)| {
            let why = match learning.stopped {
                Stopped::StoodStill => "stood-still",
                Stopped::MostUpdates => "most-updates",
                Stopped::Asked => "asked",
                Stopped::GivenUp => "given-up",
            };
            (name, learning.bounds.clone(), learning.updates, why)
        });
        learnt.collect()
    }

    /// Independent draws with their weights.
    fn draws(&self, py: Python<'_>, count: usize, seed: u64) -> PyResult<Draws> {
        let draws = detached(py, || self.fitted.draws(count, seed))?;
        Ok(Draws { draws })
    }

    /// Draws chosen from these by their weights, where the settings ask for it; else nothing.
    fn chosen(&self, py: Python<'_>, from: &Draws, seed: u64) -> Option<Draws> {
        let (draws, count) = (&from.draws, from.draws.len());
        let chosen = py.detach(|| match self.spec.resample {
            Resample::Auto => draws.of_posterior(count, seed),
            Resample::Always => Some(draws.resampled(count, seed)),
            Resample::Never => None,
        });
        chosen.map(|draws| Draws { draws })
    }
}

/// Draws of an approximation, with log weights.
#[pyclass(frozen, module = "hmcvi")]
pub(crate) struct Draws {
    draws: bayes::Draws,
}

/// Name, mean, standard deviation, three quantiles and the standard error of the mean.
type Summary = (String, f64, f64, f64, f64, f64, f64);

fn summary(rows: Vec<Row>) -> Vec<Summary> {
    let row = |row: Row| (row.name, row.mean, row.sd, row.q05, row.q50, row.q95, row.mcse);
    rows.into_iter().map(row).collect()
}

#[pymethods]
impl Draws {
    fn __len__(&self) -> usize {
        self.draws.len()
    }

    /// Draws of all elements, one row each.
    fn values<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let rows: Vec<f64> = (0..self.draws.len()).flat_map(|draw| self.draws.row(draw)).copied().collect();
        arrays::matrix(py, rows, self.draws.names().len())
    }

    /// The same as real numbers.
    fn unconstrained<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let all = 0..self.draws.len();
        let rows: Vec<f64> = all.flat_map(|draw| self.draws.unconstrained(draw)).copied().collect();
        let columns = rows.len() / self.draws.len().max(1);
        arrays::matrix(py, rows, columns)
    }

    /// Logarithms of the importance weights.
    fn log_weights<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        PyArray1::from_slice(py, self.draws.log_weights())
    }

    /// Draws that were left out because their simulation failed.
    #[getter]
    fn dropped(&self) -> u64 {
        self.draws.dropped
    }

    /// The bound with its standard error.
    #[getter]
    fn bound(&self) -> (f64, f64) {
        self.draws.bound()
    }

    /// Log evidence by importance sampling, effective sample size, and k-hat where there are enough draws to tell.
    #[getter]
    fn weights(&self) -> (f64, f64, Option<f64>) {
        let smoothed = self.draws.smoothed();
        (smoothed.log_mean, smoothed.effective_sample_size, smoothed.k_hat)
    }

    /// What the draws say about each number of the model.
    fn summary(&self) -> Vec<Summary> {
        summary(self.draws.summary())
    }

    /// Draws chosen in proportion to their weights.
    fn resampled(&self, count: usize, seed: u64) -> Self {
        Draws { draws: self.draws.resampled(count, seed) }
    }
}
