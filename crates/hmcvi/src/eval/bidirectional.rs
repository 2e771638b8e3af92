//! Bound the error of annealed importance sampling from both sides (Grosse, Ghahramani and Adams,
//! *Sandwiching the marginal likelihood using bidirectional Monte Carlo*, 2015).
//!
//! Data that the model itself simulated come with an exact draw from their posterior. Annealing towards the
//! posterior bounds their log-likelihood from below, annealing away from the exact draw from above; the gap
//! between the two bounds both errors.

use std::rc::Rc;

use hmcvi_graph::random::Key;
use hmcvi_graph::{Graph, Real, Run, Store};
use serde::{Deserialize, Serialize};

use super::EvalError;
use super::annealing::{Annealer, Watch};
use super::weights::log_mean_exp;
use crate::device::Device;
use crate::dist::RandomSource;
use crate::nn::Parameters;
use crate::problem::Problem;

/// Bounds on the log-likelihood of one simulated data point.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Sandwich {
    /// From annealing to the posterior.
    pub lower: f64,
    /// From annealing from the exact posterior draw.
    pub upper: f64,
}

/// Data points that a model simulated.
#[derive(Clone, Debug)]
pub struct Simulated<T> {
    /// `z ~ p(z)`, an exact draw from `p(z | x)`.
    pub z: Vec<T>,
    /// `x ~ p(x | z)`
    pub x: Vec<T>,
}

/// Random streams of latent rows and of data.
const STREAM_LATENT: u16 = 8;
const STREAM_DATA: u16 = 0;

/// Simulates data points from the model.
///
/// # Errors
/// [`EvalError::NoSimulator`] if the model does not say how.
pub fn simulate<T: Real>(
    problem: &Problem,
    store: &Store<T>,
    points: usize,
    seed: u64,
    device: &Device,
) -> Result<Simulated<T>, EvalError> {
    let model = &problem.model;
    let simulator = model.simulator().ok_or(EvalError::NoSimulator)?;
    let graph = Graph::new();
    let parameters = Rc::new(Parameters::new(&graph));
    let z = model.prior(&graph).sample(graph.normal(STREAM_LATENT, model.latent()));
    let decoded = simulator.decoded(&parameters, z);
    let program = graph.program().output("z", z).output("decoded", decoded).compile()?;
    let mut executable = device.prepare::<T>(&program, points)?;
    executable.evaluate(store, &Run { rows: points, seed, ..Run::default() })?;
    let output = |name| executable.output(name).expect("the program has this output");
    let narrow: Vec<f32> = output("decoded").iter().map(|v| v.to_f64() as f32).collect();
    let mut row = vec![0f32; model.observed()];
    let mut x = Vec::with_capacity(points * row.len());
    for (i, decoded) in narrow.chunks(decoded.cols()).enumerate() {
        simulator.draw(
            decoded,
            &mut RandomSource::new(Key { seed, stream: STREAM_DATA, step: 0, row: i as u32 }),
            &mut row,
        );
        x.extend(row.iter().map(|v| T::from_f64(f64::from(*v))));
    }
    Ok(Simulated { z: output("z").to_vec(), x })
}

/// Bounds of simulated data points, at most [`Annealer::points`] of them; `first` is the number of the first.
pub fn sandwich<T: Real>(
    annealer: &mut Annealer<T>,
    store: &Store<T>,
    (x, z, first): (&[T], &[T], usize),
    step_sizes: &[f64],
    seed: u64,
    watch: &mut Watch<'_>,
) -> Result<Vec<Sandwich>, EvalError> {
    let (forward, _) = annealer.forward(store, (x, first), step_sizes, seed, &mut |s| watch(0.5 * s))?;
    let (reverse, _) =
        annealer.reverse(store, (x, z, first), step_sizes, seed ^ 1, &mut |s| watch(0.5 + 0.5 * s))?;
    let bounds = |(forward, reverse): (Vec<f64>, Vec<f64>)| Sandwich {
        lower: log_mean_exp(forward),
        // 1/eʷ is unbiased for 1/p(x).
        upper: -log_mean_exp(reverse.into_iter().map(|w| -w)),
    };
    Ok(forward.into_iter().zip(reverse).map(bounds).collect())
}
