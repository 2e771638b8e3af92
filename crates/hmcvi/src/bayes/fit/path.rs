//! Walk uphill and stop where a Gaussian fits best (after Zhang, Carpenter, Gelman and Vehtari, *Pathfinder*, 2022).
//!
//! BFGS climbs the log density from a random place and learns its curvature on the way. Every place with its curvature is
//! a Gaussian; the one with the best bound is taken. That need not be the summit, which in hierarchical models lies at the
//! end of a funnel where nearly no mass is.

use super::FitError;
use super::evaluator::Evaluator;
use super::normal::FullGaussian;
use hmcvi_graph::random::{self, Key};

/// Most steps of the walk.
const STEPS: usize = 400;
/// Draws that compare Gaussians.
const DRAWS: usize = 16;
/// Random places that are tried, until one has a density.
const TRIALS: u64 = 100;
/// Scales of random places, one after the other: Stan's, then closer to 0.
const RADII: [f64; 3] = [2.0, 0.5, 0.05];

/// A Gaussian with the estimate of its bound.
pub(super) struct Candidate {
    pub(super) gaussian: FullGaussian,
    pub(super) bound: f64,
}

impl Candidate {
    /// The standard Gaussian, before anything is known of its bound.
    pub(super) fn wide(d: usize) -> Self {
        Candidate {
            gaussian: FullGaussian { mean: vec![0.0; d], factor: unit(d, 1.0) },
            bound: f64::NEG_INFINITY,
        }
    }
}

/// A place with density and gradient.
#[derive(Clone)]
struct Place {
    z: Vec<f64>,
    log_density: f64,
    gradient: Vec<f64>,
}

impl Place {
    fn at(evaluator: &mut Evaluator, z: Vec<f64>) -> Result<Option<Self>, FitError> {
        evaluator.evaluate(&z)?;
        let (log_density, gradient) = (evaluator.log_density()[0], evaluator.gradient().to_vec());
        let fine = log_density.is_finite() && gradient.iter().all(|g| g.is_finite());
        Ok(fine.then_some(Place { z, log_density, gradient }))
    }
}

/// The best Gaussian on a walk from a random place.
pub(super) fn walk(
    one: &mut Evaluator,
    many: &mut Evaluator,
    dimension: usize,
    seed: u64,
) -> Result<Candidate, FitError> {
    let mut place = begin(one, dimension, seed)?;
    let d = dimension;
    let mut inverse = unit(d, 1.0 / norm(&place.gradient).max(1.0));
    let mut best: Option<Candidate> = None;
    let mut learnt = false;
    for step in 0..STEPS {
        let direction = times(&inverse, &place.gradient);
        let slope = dot(&direction, &place.gradient);
        let Some(next) = line_search(one, &place, &direction, slope)? else { break };
        let moved: Vec<f64> = next.z.iter().zip(&place.z).map(|(a, b)| a - b).collect();
        let turned: Vec<f64> = place.gradient.iter().zip(&next.gradient).map(|(a, b)| a - b).collect();
        let curvature = dot(&moved, &turned);
        if curvature > 1e-12 * norm(&moved) * norm(&turned) && curvature.is_finite() {
            if !learnt {
                inverse = unit(d, curvature / dot(&turned, &turned));
                learnt = true;
            }
            update(&mut inverse, &moved, &turned, curvature);
        }
        let gain = next.log_density - place.log_density;
        place = next;
        let last = gain.abs() < 1e-8 * place.log_density.abs().max(1.0) || norm(&place.gradient) < 1e-6;
        // Early places are far away, and every look costs draws.
        if (last || step % 3 == 2 || d < 20)
            && let Some(found) = look(many, &place, &inverse, seed, step as u64)?
            && best.as_ref().is_none_or(|best| found.bound > best.bound)
        {
            best = Some(found);
        }
        if last {
            break;
        }
    }
    best.ok_or(FitError::NoStart)
}

/// A random place with a density.
fn begin(one: &mut Evaluator, d: usize, seed: u64) -> Result<Place, FitError> {
    for trial in 0..TRIALS {
        let radius = RADII[(trial as usize * RADII.len() / TRIALS as usize).min(RADII.len() - 1)];
        let mut z = vec![0.0; d];
        random::uniform(Key { seed, stream: u16::MAX - 2, step: trial, row: 0 }, &mut z);
        z.iter_mut().for_each(|z| *z = radius * (2.0 * *z - 1.0));
        if let Some(place) = Place::at(one, z)? {
            return Ok(place);
        }
    }
    Err(FitError::NoDensity { why: String::new() })
}

/// A step that climbs enough, halved until it does.
fn line_search(
    one: &mut Evaluator,
    place: &Place,
    direction: &[f64],
    slope: f64,
) -> Result<Option<Place>, FitError> {
    if !slope.is_finite() || slope <= 0.0 {
        return Ok(None);
    }
    let mut length = 1.0;
    for _ in 0..40 {
        let z = place.z.iter().zip(direction).map(|(z, p)| z + length * p).collect();
        if let Some(next) =
            Place::at(one, z)?.filter(|n| n.log_density >= place.log_density + 1e-4 * length * slope)
        {
            return Ok(Some(next));
        }
        length *= 0.5;
    }
    Ok(None)
}

/// The Gaussian at a place: a Newton step ahead of it, as wide as the curvature says.
fn look(
    many: &mut Evaluator,
    place: &Place,
    inverse: &[f64],
    seed: u64,
    step: u64,
) -> Result<Option<Candidate>, FitError> {
    let ahead = times(inverse, &place.gradient);
    let mean = place.z.iter().zip(&ahead).map(|(z, a)| z + a).collect();
    let Some(gaussian) = FullGaussian::new(mean, inverse) else { return Ok(None) };
    let bound = bound_of(many, &gaussian, seed, step)?;
    Ok(bound.is_finite().then_some(Candidate { gaussian, bound }))
}

/// An estimate of the bound of a Gaussian.
pub(super) fn bound_of(
    many: &mut Evaluator,
    gaussian: &FullGaussian,
    seed: u64,
    step: u64,
) -> Result<f64, FitError> {
    let (points, densities) = gaussian.draws(DRAWS, seed, step);
    many.evaluate(&points)?;
    let each = many.log_density().iter().zip(&densities).map(|(p, q)| p - q);
    Ok(each.sum::<f64>() / DRAWS as f64)
}

/// The BFGS update of an inverse curvature.
fn update(inverse: &mut [f64], moved: &[f64], turned: &[f64], curvature: f64) {
    let d = moved.len();
    let turned_back = times(inverse, turned);
    let scale = (1.0 + dot(turned, &turned_back) / curvature) / curvature;
    for i in 0..d {
        for j in 0..d {
            inverse[i * d + j] += scale * moved[i] * moved[j]
                - (turned_back[i] * moved[j] + moved[i] * turned_back[j]) / curvature;
        }
    }
}

fn unit(d: usize, scale: f64) -> Vec<f64> {
    (0..d * d).map(|k| if k / d == k % d { scale } else { 0.0 }).collect()
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

fn norm(a: &[f64]) -> f64 {
    dot(a, a).sqrt()
}

fn times(matrix: &[f64], x: &[f64]) -> Vec<f64> {
    matrix.chunks(x.len()).map(|row| dot(row, x)).collect()
}
