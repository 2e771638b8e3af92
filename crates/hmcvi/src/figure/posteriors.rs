//! Set the encoder's Gaussian and the chain's draws beside the exact posterior of one image.
//!
//! In a plane the posterior can be had by quadrature, and with it `log p(x)` and the divergence of every density on
//! the grid. The encoder's density is known; that of the chain's draws is a kernel estimate, which is too wide and
//! noisy. How much that matters is told by the same estimate from draws of the posterior itself, and of the encoder.

use hmcvi_record::figure::{Density, Field, Point, Posteriors};

use super::exact::{Exact, points};
use super::kernel::{bandwidth, density};
use super::{FigureError, PlaneModel, observe};
use crate::data::Table;
use crate::dist::HALF_LOG_TWO_PI;
use crate::eval::BoundEvaluator;

/// The posterior of one image and two approximations of it, from so many draws.
pub fn posteriors(
    model: &PlaneModel<'_>,
    images: &Table,
    image: usize,
    draws: usize,
    seed: u64,
) -> Result<Posteriors, FigureError> {
    let observed = observe(&model.subject.observation, images, image)?;
    let observation = observed.row.observation();
    let mut evaluator = BoundEvaluator::new(&model.subject.problem, &observation, model.device)?;
    let chains = evaluator.run(model.store, &observed.row, &vec![0; draws], seed, 0, |_| false)?;
    let mean = [0, 1].map(|i| f64::from(chains.encoder_mean[i]));
    let log_variance = [0, 1].map(|i| f64::from(chains.encoder_log_variance[i]));
    let exact = Exact::of(model, (&observed.row, image), (mean, log_variance))?;

    let gaussian = |z: Point| -> f64 {
        let each =
            (0..2).map(|i| -0.5 * ((z[i] - mean[i]).powi(2) / log_variance[i].exp() + log_variance[i]));
        (each.sum::<f64>() - 2.0 * HALF_LOG_TWO_PI).exp()
    };
    let initial = Field { values: exact.density.points().map(gaussian).collect(), ..exact.density.clone() };
    let ends = points(&chains.end);
    let width = bandwidth(&ends);
    let improved = density(&ends, width, &exact.density);
    let estimate = |draws: &[Point]| exact.divergence(&density(draws, bandwidth(draws), &exact.density));
    let bounds: Vec<f64> = chains.bound.iter().copied().filter(|b| b.is_finite()).collect();
    Ok(Posteriors {
        image,
        class: observed.class,
        observed: observed.picture,
        log_evidence: exact.log_evidence,
        initial: Density { divergence: exact.divergence(&initial), density: initial },
        improved: Density { divergence: exact.divergence(&improved), density: improved },
        hmc_steps: model.subject.problem.family.steps().0 as u64,
        draws,
        bandwidth: width,
        estimate_of_exact: estimate(&exact.draws(draws, seed)),
        estimate_of_initial: estimate(&points(&chains.start)),
        exact: exact.density,
        bound: bounds.iter().sum::<f64>() / bounds.len().max(1) as f64,
    })
}
