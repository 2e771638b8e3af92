//! Look for a part of the posterior that draws do not reach, such as a second mode.
//!
//! Weights know only where draws come, so no k-hat tells of a mode that they miss. Walks from other random places may end
//! there, with a Gaussian around it. Its bound, restricted to an ellipsoid that no draw lies in, is a lower bound on how
//! much of the evidence is inside.

use serde::{Deserialize, Serialize};

use super::evaluator::Evaluator;
use super::matching::{self, forward_substitute};
use super::normal::FullGaussian;
use super::{Draws, FitError, Fitted, path};

/// Walks from places other than those that the fit began with.
const WALKS: usize = 4;
/// The first of their places: fits begin with fewer.
const FIRST_PLACE: u64 = 1 << 20;
/// Draws of a Gaussian that its bound is the mean of.
const DRAWS: usize = 512;
/// The smallest share of what draws have found that is worth a warning.
const LEAST_SHARE: f64 = 0.01;
/// Draws that such a part would have at least, if draws reached it.
const LEAST_DRAWS: f64 = 20.0;
/// Standard errors that estimates are lowered by.
const SURE: f64 = 2.0;

/// A part of the posterior without draws.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Elsewhere {
    /// A lower bound on the logarithm of the evidence inside, in nats.
    pub log_evidence: f64,
    /// Its standard error.
    pub standard_error: f64,
    /// How much that is at least, for each 1 that draws have found.
    pub share: f64,
    /// The middle of it: every number of the model by its name.
    pub middle: Vec<(String, f64)>,
}

/// What a search has found.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Sought {
    /// Walks that ended somewhere.
    pub walks: usize,
    /// The part without draws that has most of the evidence, where there is one.
    pub found: Option<Elsewhere>,
}

impl Fitted {
    /// Walks uphill from other random places, and looks whether a part of the posterior is there that these draws of the
    /// fit miss. `watch` is told how many of how many walks are done, and returns whether to go on; nothing if it says no.
    ///
    /// # Errors
    /// If the density cannot be evaluated.
    pub fn seek_elsewhere(
        &self,
        draws: &Draws,
        watch: &mut dyn FnMut(usize, usize) -> bool,
    ) -> Result<Option<Sought>, FitError> {
        let (bound, d) = (&self.bound, self.bound.dimension());
        let (mut one, mut many) = (Evaluator::new(bound, 1)?, Evaluator::new(bound, matching::rows(d))?);
        let known = draws.smoothed().log_mean;
        let enough = LEAST_SHARE.max(LEAST_DRAWS / draws.len() as f64);
        let mut sought = Sought { walks: 0, found: None };
        for walk in 0..WALKS {
            if !watch(walk, WALKS) {
                return Ok(None);
            }
            let seed = self.seed.wrapping_add((FIRST_PLACE + walk as u64) << 32);
            // There is a density: the fit has found it. That a walk comes to nothing is no error.
            let Ok(candidate) = path::walk(&mut one, &mut many, d, seed) else { continue };
            sought.walks += 1;
            if reach(draws, &candidate.gaussian) {
                continue;
            }
            let gaussian =
                matching::settle(&mut many, candidate, seed, &mut |_, _, _| watch(walk, WALKS))?.gaussian;
            if reach(draws, &gaussian) {
                continue;
            }
            let (log_evidence, standard_error) = inside(&mut many, &gaussian, seed)?;
            let share = (log_evidence - SURE * standard_error - known).exp();
            let most = sought.found.as_ref().map_or(enough, |found| found.share);
            if share > most {
                let rows = bound.evaluate(&gaussian.mean)?.values;
                let middle = draws.names().iter().cloned().zip(rows).collect();
                sought.found = Some(Elsewhere { log_evidence, standard_error, share, middle });
            }
        }
        Ok(Some(sought))
    }
}

/// The squared distance from the mean that next to no draws of a Gaussian exceed (Laurent and Massart 2000, at `e⁻³`).
pub(super) fn radius(d: usize) -> f64 {
    let d = d as f64;
    d + 2.0 * (3.0 * d).sqrt() + 6.0
}

/// The squared distance of a place from the mean.
pub(super) fn distance(gaussian: &FullGaussian, place: &[f64]) -> f64 {
    forward_substitute(&gaussian.factor, place, &gaussian.mean).iter().map(|e| e * e).sum()
}

/// Whether one of the draws lies in the ellipsoid of a Gaussian.
fn reach(draws: &Draws, gaussian: &FullGaussian) -> bool {
    let radius = radius(gaussian.dimension());
    (0..draws.len()).any(|draw| distance(gaussian, draws.unconstrained(draw)) <= radius)
}

/// The bound of a Gaussian that ends with its ellipsoid, and its standard error.
fn inside(many: &mut Evaluator, gaussian: &FullGaussian, seed: u64) -> Result<(f64, f64), FitError> {
    let (d, radius) = (gaussian.dimension(), radius(gaussian.dimension()));
    let (points, densities) = gaussian.draws(DRAWS, seed, 0);
    let mut weights = Vec::with_capacity(DRAWS);
    for (points, densities) in points.chunks(d * matching::rows(d)).zip(densities.chunks(matching::rows(d))) {
        many.evaluate(points)?;
        let all = points.chunks(d).zip(many.log_density().iter().zip(densities));
        weights.extend(all.filter(|(point, _)| distance(gaussian, point) <= radius).map(|(_, (p, q))| p - q));
    }
    let n = weights.len() as f64;
    let mean = weights.iter().sum::<f64>() / n;
    let squares: f64 = weights.iter().map(|w| (w - mean).powi(2)).sum();
    // What a Gaussian has inside is less than 1, so that its density there is higher.
    Ok((mean + (n / DRAWS as f64).ln(), (squares / (n * (n - 1.0).max(1.0))).sqrt()))
}
