//! Keep a fit with the draws that its settings ask for.

use hmcvi::bayes::fit::Stopped;
use hmcvi::bayes::{Bound, Draws, FitError, Fitted};
use hmcvi::config::{FitSpec, Resample};
use hmcvi::eval::SmoothedWeights;
use hmcvi_record::{DrawTable, FitMethod, FitStage};

/// A fit with its draws.
#[derive(Debug)]
pub struct Found {
    /// The fit.
    pub fitted: Fitted,
    /// What it went through.
    pub stages: Vec<FitStage>,
    /// Draws of the approximation, with their weights.
    pub draws: Draws,
    /// Draws chosen from these by their weights, where the settings ask for it.
    pub chosen: Option<Draws>,
}

impl Found {
    /// A fit with as many draws as its settings say.
    ///
    /// # Errors
    /// If the fit gives no draws.
    pub fn of(fitted: Fitted, stages: Vec<FitStage>, spec: &FitSpec) -> Result<Self, FitError> {
        let (draws, chosen) = more(&fitted, spec, spec.draws, spec.seed)?;
        Ok(Found { fitted, stages, draws, chosen })
    }

    /// The draws that are shown and kept.
    pub fn shown(&self) -> &Draws {
        self.chosen.as_ref().unwrap_or(&self.draws)
    }

    /// Whether all stages came to their end.
    pub fn is_finished(&self) -> bool {
        let learnt = self.fitted.learning().map(|(_, learning)| learning);
        learnt.into_iter().flatten().all(|learning| learning.stopped != Stopped::Asked)
    }

    /// Standard error of the log mean of the weights, as far as they know it: the relative error of their mean.
    pub fn log_evidence_error(&self, weights: &SmoothedWeights) -> f64 {
        let n = self.draws.len() as f64;
        ((n / weights.effective_sample_size - 1.0).max(0.0) / (n - 1.0).max(1.0)).sqrt()
    }

    /// Other draws, chosen as the settings say.
    ///
    /// # Errors
    /// If the fit gives no draws.
    pub fn other_draws(&self, spec: &FitSpec, count: usize, seed: u64) -> Result<Draws, FitError> {
        let (draws, chosen) = more(&self.fitted, spec, count, seed)?;
        Ok(chosen.unwrap_or(draws))
    }

    /// Draws of the Gaussian that the chain begins with, where they are other than those that are shown.
    ///
    /// # Errors
    /// If the density cannot be computed.
    pub fn gaussian(&self, spec: &FitSpec) -> Result<Option<DrawTable>, FitError> {
        let apart = spec.method == FitMethod::Hmcvi || self.chosen.is_some();
        let table = || of_draws(self.fitted.model(), &self.fitted.gaussian_draws(spec.draws, spec.seed)?);
        apart.then(table).transpose()
    }
}

/// Draws of a fit, and those chosen from them.
fn more(
    fitted: &Fitted,
    spec: &FitSpec,
    count: usize,
    seed: u64,
) -> Result<(Draws, Option<Draws>), FitError> {
    let draws = fitted.draws(count, seed)?;
    let chosen = match spec.resample {
        Resample::Auto => draws.of_posterior(count, seed),
        Resample::Always => Some(draws.resampled(count, seed)),
        Resample::Never => None,
    };
    Ok((draws, chosen))
}

/// What is said of each draw.
const SAID: [&str; 2] = ["lp__", "log_weight__"];

/// Draws of an approximation, with the log density of the model.
pub(crate) fn of_draws(bound: &Bound, draws: &Draws) -> Result<DrawTable, FitError> {
    let all = 0..draws.len();
    let z: Vec<f64> = all.clone().flat_map(|i| draws.unconstrained(i)).copied().collect();
    let density = bound.evaluate(&z)?.log_density;
    let row = |i: usize| [density[i], draws.log_weights()[i]].into_iter().chain(draws.row(i).iter().copied());
    Ok(DrawTable { columns: columns(&SAID, draws.names()), values: all.flat_map(row).collect() })
}

/// Names of the columns of a table.
pub(crate) fn columns(said: &[&str], names: &[String]) -> Vec<String> {
    said.iter().map(|name| (*name).into()).chain(names.iter().cloned()).collect()
}
