//! Set the encoder's Gaussian and the chain's draws beside the exact posterior of one image.
//!
//! In a plane the posterior can be had by quadrature, and with it `log p(x)` and the divergence of every density on
//! the grid. The encoder's density is known; that of the chain's draws is a kernel estimate, which is too wide and
//! noisy. How much that matters is told by the same estimate from draws of the posterior itself, and of the encoder.

use hmcvi_graph::random::{self, Key};
use hmcvi_record::figure::{Density, Field, Point, Posteriors};

use super::kernel::{bandwidth, density};
use super::plane::{Energies, square_around};
use super::{FigureError, PlaneModel, observe};
use crate::data::Table;
use crate::dist::HALF_LOG_TWO_PI;
use crate::eval::BoundEvaluator;

/// The posterior is looked for from minus this to this in both directions.
const REACH: f64 = 5.0;
/// Grid points of a side of the search.
const SEARCH: usize = 321;
/// Grid points of a side of the quadrature.
const GRID: usize = 161;
/// Energies so far above the lowest belong to the posterior: the rest has less than a millionth of its density.
const DEPTH: f64 = 14.0;
/// Standard deviations of the encoder that have to be on the grid.
const DEVIATIONS: f64 = 5.5;
/// Random stream of draws from the exact posterior.
const STREAM_EXACT: u16 = 13;

/// The posterior of one image and two approximations of it, from so many draws.
pub fn posteriors(
    model: &PlaneModel<'_>,
    images: &Table,
    image: usize,
    draws: usize,
    seed: u64,
) -> Result<Posteriors, FigureError> {
    let observed = observe(&model.subject.observation, images, image)?;
    let mut energies = Energies::new(model, &observed.row)?;
    let observation = observed.row.observation();
    let mut evaluator = BoundEvaluator::new(&model.subject.problem, &observation, model.device)?;
    let chains = evaluator.run(model.store, &observed.row, &vec![0; draws], seed, 0, |_| false)?;
    let mean = [0, 1].map(|i| f64::from(chains.encoder_mean[i]));
    let log_variance = [0, 1].map(|i| f64::from(chains.encoder_log_variance[i]));

    let search = energies.on(model, Field::empty([-REACH; 2], [REACH; 2], SEARCH, SEARCH))?;
    let lowest = search.range().0;
    let deep = search.points().zip(&search.values).filter(|(_, e)| **e < lowest + DEPTH).map(|(z, _)| z);
    let edge = |sign: f64| [0, 1].map(|i| mean[i] + sign * DEVIATIONS * (0.5 * log_variance[i]).exp());
    let seen: Vec<Point> = deep.chain([edge(-1.0), edge(1.0)]).collect();
    let (low, high) = square_around(&seen, 0.1).ok_or(FigureError::NoPosterior(image))?;
    let energy = energies.on(model, Field::empty(low, high, GRID, GRID))?;
    if !energy.range().0.is_finite() {
        return Err(FigureError::NoPosterior(image));
    }

    let (exact, log_evidence) = normalised(&energy);
    let log_posterior: Vec<f64> = energy.values.iter().map(|e| -e - log_evidence).collect();
    let gaussian = |z: Point| -> f64 {
        let each =
            (0..2).map(|i| -0.5 * ((z[i] - mean[i]).powi(2) / log_variance[i].exp() + log_variance[i]));
        (each.sum::<f64>() - 2.0 * HALF_LOG_TWO_PI).exp()
    };
    let initial = Field { values: exact.points().map(gaussian).collect(), ..exact.clone() };
    let points = |z: &[f32]| -> Vec<Point> {
        let all = z.as_chunks::<2>().0.iter().map(|z| [z[0].into(), z[1].into()]);
        all.filter(|z: &Point| z[0].is_finite() && z[1].is_finite()).collect()
    };
    let ends = points(&chains.end);
    let width = bandwidth(&ends);
    let improved = density(&ends, width, &exact);
    let estimate = |draws: &[Point]| divergence(&density(draws, bandwidth(draws), &exact), &log_posterior);
    let bounds: Vec<f64> = chains.bound.iter().copied().filter(|b| b.is_finite()).collect();
    Ok(Posteriors {
        image,
        class: observed.class,
        observed: observed.picture,
        log_evidence,
        initial: Density { divergence: divergence(&initial, &log_posterior), density: initial },
        improved: Density { divergence: divergence(&improved, &log_posterior), density: improved },
        hmc_steps: model.subject.problem.family.steps().0 as u64,
        draws,
        bandwidth: width,
        estimate_of_exact: estimate(&draws_from(&exact, draws, seed)),
        estimate_of_initial: estimate(&points(&chains.start)),
        exact,
        bound: bounds.iter().sum::<f64>() / bounds.len().max(1) as f64,
    })
}

/// `exp(-U)` divided by its integral, and the logarithm of that integral.
fn normalised(energy: &Field) -> (Field, f64) {
    let lowest = energy.range().0;
    let mut field =
        Field { values: energy.values.iter().map(|e| (lowest - e).exp()).collect(), ..energy.clone() };
    let mass = field.integral();
    field.values.iter_mut().for_each(|v| *v /= mass);
    (field, mass.ln() - lowest)
}

/// `KL(q ‖ p)` for densities on the same grid.
fn divergence(q: &Field, log_posterior: &[f64]) -> f64 {
    let term = |(q, log_p): (&f64, &f64)| if *q > 0.0 { q * (q.ln() - log_p) } else { 0.0 };
    let values = q.values.iter().zip(log_posterior).map(term).collect();
    Field { values, ..Field::empty(q.low, q.high, q.columns, q.rows) }.integral()
}

/// Draws from a density that is constant in the cell around each grid point.
fn draws_from(density: &Field, count: usize, seed: u64) -> Vec<Point> {
    let mut sums = density.values.clone();
    let mut total = 0.0;
    for sum in &mut sums {
        total += *sum;
        *sum = total;
    }
    let (points, spacing): (Vec<Point>, Point) = (density.points().collect(), density.spacing());
    let mut uniform = vec![0f64; 3 * count];
    random::uniform(Key { seed, stream: STREAM_EXACT, step: 0, row: 0 }, &mut uniform);
    let draw = |u: &[f64; 3]| -> Point {
        let at = sums.partition_point(|sum| *sum < u[0] * total).min(points.len() - 1);
        [0, 1].map(|i| points[at][i] + (u[i + 1] - 0.5) * spacing[i])
    };
    uniform.as_chunks::<3>().0.iter().map(draw).collect()
}
