//! Find how far a fit and its Gaussian are from the posterior, both as they are, from the weights of their own draws.
//!
//! Distribution functions of draws and of the same draws by their weights have the noise of the weights between them, and
//! that of no other draws: distances of thousandths of a standard deviation can be told. What the weights say is held against
//! chains of NUTS.

use hmcvi::bayes::{Draws, Fitted};
use hmcvi::eval::{estimate, wasserstein_of_weights};
use hmcvi::hmc::diagnostics;
use hmcvi::run::FitDirectory;
use hmcvi_fit::open;
use hmcvi_record::{DrawTable, Estimate, files};
use hmcvi_report::FitData;
use serde::{Deserialize, Serialize};

use super::against::Worst;
use super::reference::Reference;
use super::row::Row;
use crate::failure::Failure;

/// 1-Wasserstein distances from the posterior in its standard deviations, means over all numbers of the model.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Apart {
    /// Draws of both.
    pub(super) draws: u64,
    /// Of the fit, as it is.
    pub(super) hmcvi: Estimate,
    /// Of its Gaussian alone, as it is.
    pub(super) gaussian: Estimate,
    /// By how much the fit is closer.
    pub(super) gain: Estimate,
    /// The mean by the weights of the fit that is furthest from that by NUTS, in standard errors of both.
    pub(super) weights: Worst,
}

/// Draws for each draw of the fit.
const TIMES: usize = 10;
/// Parts of the draws whose scatter is the error.
const PARTS: usize = 20;

/// Finds how far the fit of a row is from the posterior.
pub(super) fn apart(row: &Row, fit: &FitData, reference: &Reference) -> Result<Apart, Failure> {
    let bound = open(&row.spec)?.subject.bound;
    let folder = FitDirectory::open(&row.path)?.file(files::FITTED);
    let fitted = Fitted::load(&bound, folder).map_err(|error| Failure::Data(error.to_string()))?;
    let count = TIMES * row.spec.draws;
    let draws = fitted.draws(count, row.spec.seed)?;
    let own = distance(&draws, reference)?;
    let gaussian = distance(&fitted.gaussian_draws(count, row.spec.seed)?, reference)?;
    Ok(Apart {
        draws: count as u64,
        gain: Estimate {
            mean: gaussian.mean - own.mean,
            standard_error: gaussian.standard_error.hypot(own.standard_error),
        },
        hmcvi: own,
        gaussian,
        weights: furthest(&draws, &fit.nuts, reference)?,
    })
}

/// The mean distance over all numbers. Parts are the same draws of all numbers, which depend on each other.
fn distance(draws: &Draws, reference: &Reference) -> Result<Estimate, Failure> {
    let weights = draws.smoothed().weights();
    let mut sums = vec![0.0; PARTS];
    for p in &reference.parameters {
        let values = draws.element(&p.name).ok_or_else(|| none(&p.name))?;
        let parts = wasserstein_of_weights(&values, &weights, PARTS);
        sums.iter_mut().zip(parts).for_each(|(sum, part)| *sum += part / p.sd);
    }
    let means: Vec<f64> = sums.into_iter().map(|sum| sum / reference.parameters.len() as f64).collect();
    Ok(estimate(&means))
}

/// The weighted mean that is furthest from that of chains.
fn furthest(draws: &Draws, chains: &[DrawTable], reference: &Reference) -> Result<Worst, Failure> {
    let weighted = draws.weighted_summary();
    let mut worst = Worst::default();
    for p in &reference.parameters {
        let own = weighted.iter().find(|row| row.name == p.name).ok_or_else(|| none(&p.name))?;
        let columns: Option<Vec<Vec<f64>>> = chains.iter().map(|table| table.column(&p.name)).collect();
        let found =
            columns.and_then(|columns| diagnostics::summary(&columns)).ok_or_else(|| none(&p.name))?;
        let value = (own.mean - found.mean) / own.mcse.hypot(found.mcse_mean);
        if worst.parameter.is_empty() || value.abs() > worst.value.abs() {
            worst = Worst { parameter: p.name.clone(), value };
        }
    }
    Ok(worst)
}

fn none(name: &str) -> Failure {
    Failure::Data(format!("the fit has no draws of `{name}`"))
}
