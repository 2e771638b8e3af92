//! Hold the data behind the figures, so that they can be drawn, checked and compared without computing them again.

use serde::{Deserialize, Serialize};

use crate::LatentPoint;
use crate::number::each_or_nan;

/// A point of a plane.
pub type Point = [f64; 2];

/// A function on a regular grid of a rectangle, edges included.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Field {
    /// Lower left corner.
    pub low: Point,
    /// Upper right corner.
    pub high: Point,
    /// Grid points from left to right.
    pub columns: usize,
    /// Grid points from bottom to top.
    pub rows: usize,
    /// Values from left to right, row by row upwards; six digits of each are written.
    #[serde(serialize_with = "six_digits", deserialize_with = "each_or_nan")]
    pub values: Vec<f64>,
}

/// Fields are large, and nobody sees more of them.
fn six_digits<S: serde::Serializer>(values: &[f64], serializer: S) -> Result<S::Ok, S::Error> {
    let short = |v: &f64| -> f64 {
        if *v == 0.0 || !v.is_finite() {
            return *v;
        }
        let unit = 10f64.powi(5 - v.abs().log10().floor() as i32);
        if unit.is_finite() { (v * unit).round() / unit } else { 0.0 }
    };
    serializer.collect_seq(values.iter().map(short))
}

impl Field {
    /// The same rectangle and grid without values.
    pub fn empty(low: Point, high: Point, columns: usize, rows: usize) -> Self {
        Field { low, high, columns, rows, values: Vec::new() }
    }

    /// Distances between neighbours.
    pub fn spacing(&self) -> Point {
        let steps = [self.columns.max(2) - 1, self.rows.max(2) - 1];
        [0, 1].map(|i| (self.high[i] - self.low[i]) / steps[i] as f64)
    }

    /// All grid points in the order of the values.
    pub fn points(&self) -> impl Iterator<Item = Point> + '_ {
        let [dx, dy] = self.spacing();
        let at = move |i: usize| {
            let (column, row) = (i % self.columns, i / self.columns);
            [self.low[0] + dx * column as f64, self.low[1] + dy * row as f64]
        };
        (0..self.columns * self.rows).map(at)
    }

    /// Smallest and largest value.
    pub fn range(&self) -> (f64, f64) {
        let finite = self.values.iter().copied().filter(|v| v.is_finite());
        finite.fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), v| (l.min(v), h.max(v)))
    }

    /// Its integral over the rectangle by the trapezoidal rule.
    pub fn integral(&self) -> f64 {
        let [dx, dy] = self.spacing();
        let weight = |i: usize, n: usize| if i == 0 || i + 1 == n { 0.5 } else { 1.0 };
        let term = |(i, v): (usize, &f64)| {
            weight(i % self.columns, self.columns) * weight(i / self.columns, self.rows) * v
        };
        self.values.iter().enumerate().map(term).sum::<f64>() * dx * dy
    }
}

/// A particle at one moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Phase {
    /// Time since the beginning.
    pub time: f64,
    /// Position.
    pub z: Point,
    /// Momentum.
    pub v: Point,
    /// `U(z)`
    pub potential: f64,
    /// `K(v)`
    pub kinetic: f64,
}

/// The motion of one particle under HMC.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Motion {
    /// Leapfrog step size.
    pub step_size: f64,
    /// Potential energy of the landscape.
    pub landscape: Field,
    /// The simulation of each HMC step: first the state with the new momentum, then one state after every leapfrog step.
    pub simulations: Vec<Vec<Phase>>,
    /// Whether the end of each simulation was accepted.
    pub accepted: Vec<bool>,
}

/// Particles at one moment.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Particles {
    /// Positions.
    pub positions: Vec<Point>,
    /// Momenta with which they arrived there.
    pub momenta: Vec<Point>,
    /// Potential energies.
    pub potential: Vec<f64>,
}

/// Many particles before and after an HMC step.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Ensemble {
    /// Leapfrog step size.
    pub step_size: f64,
    /// Leapfrog steps.
    pub leapfrog_steps: usize,
    /// Share of particles whose proposal was accepted.
    pub acceptance_rate: f64,
    /// Potential energy of the landscape.
    pub landscape: Field,
    /// The initial state.
    pub before: Particles,
    /// After the step.
    pub after: Particles,
}

/// A flow chart. `s_t` and `s_{t−1}` have subscripts; texts may have several lines.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct FlowChart {
    /// States in order.
    pub states: Vec<FlowState>,
    /// What leads from each state to the next, one fewer than there are states.
    pub steps: Vec<String>,
    /// The two ends of the last step: what it depends on, and its outcome.
    pub ends: Vec<(String, String)>,
}

/// A state of a flow chart.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct FlowState {
    /// Its name with its parts.
    pub name: String,
    /// What it is.
    pub meaning: String,
}

/// A grey image.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Picture {
    /// Pixels from top to bottom.
    pub height: usize,
    /// Pixels from left to right.
    pub width: usize,
    /// Values from 0 to 1, row by row from the top.
    pub values: Vec<f32>,
}

/// One image under the strategies that make binary pixels of grey ones.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Binarised {
    /// Number of the test image.
    pub image: usize,
    /// Its class.
    pub class: Option<u8>,
    /// Probabilities of the pixels.
    pub original: Picture,
    /// One where the probability is at least one half.
    pub threshold: Picture,
    /// One with the probability.
    pub stochastic: Picture,
    /// The average of many such draws.
    pub average: Picture,
    /// Number of draws in the average.
    pub draws: usize,
}

/// Decoded means on a grid of the plane, as one picture.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Mosaic {
    /// Images from left to right.
    pub columns: usize,
    /// Images from top to bottom.
    pub rows: usize,
    /// All images, each in its place.
    pub picture: Picture,
}

/// The way of one draw through the chain.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ChainPath {
    /// Positions after every leapfrog step, the draw of the encoder first.
    pub points: Vec<Point>,
    /// Where the chain ends; another place than the last point if the last proposal was rejected.
    pub end: Point,
}

/// The potential energy that one image gives to the latent plane.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct EnergySurface {
    /// Number of the test image.
    pub image: usize,
    /// Its class.
    pub class: Option<u8>,
    /// The observed image.
    pub observed: Picture,
    /// `U(z) = -log p(x, z)` over the plane.
    pub energy: Field,
    /// Decoded means in the middles of equal squares of the plane.
    pub decoded: Mosaic,
    /// `U(z)` near the posterior.
    pub near: Field,
    /// Chains.
    pub paths: Vec<ChainPath>,
    /// Leapfrog steps in each HMC step.
    pub leapfrog_steps: usize,
}

/// Encoded images in the unit square, through the Gaussian distribution function.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LatentSquare {
    /// Images that are shown are the first of the training set.
    pub images: usize,
    /// Decoded means in the middles of equal squares; empty where rows of the data are no images.
    pub decoded: Mosaic,
    /// Draws at the end of the chain.
    pub points: Vec<LatentPoint>,
    /// HMC steps between the encoder's draws and the points; 0 for plain variational inference.
    #[serde(default)]
    pub hmc_steps: u64,
}

/// A density on a grid and how far it is from the posterior.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Density {
    /// The density.
    pub density: Field,
    /// Its Kullback-Leibler divergence from the posterior, in nats.
    pub divergence: f64,
}

/// A family that was fitted to one image, beside its posterior.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Fitted {
    /// What it is.
    pub name: String,
    /// A kernel estimate from its draws, and how far that is from the posterior.
    pub density: Density,
    /// Share of the draws in each mode of the posterior.
    pub shares: Vec<f64>,
    /// Share of the draws that are not on the grid.
    pub outside: f64,
    /// Mean bound of the draws, `L_aux`; `log p(x)` less this is at least the divergence.
    pub bound: f64,
    /// Gaussians that its draws begin with.
    pub parts: usize,
    /// Whether its chain leads over densities between where draws begin and the posterior.
    pub is_annealed: bool,
}

/// Approximations of a posterior that has several modes.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Modes {
    /// Number of the test image.
    pub image: usize,
    /// Its class.
    pub class: Option<u8>,
    /// The observed image.
    pub observed: Picture,
    /// `log p(x)` by quadrature.
    pub log_evidence: f64,
    /// The posterior, normalised by it.
    pub exact: Field,
    /// Its mass in each of its modes, the largest first.
    pub shares: Vec<f64>,
    /// The model's own family as it was trained, and families that were fitted to this image.
    pub fits: Vec<Fitted>,
    /// Updates of each fit.
    pub updates: u64,
    /// Draws behind each estimate.
    pub draws: usize,
    /// What the same estimate gives for draws from the posterior itself, where the truth is 0.
    pub estimate_of_exact: f64,
}

/// Posterior approximations of one image beside the posterior itself.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Posteriors {
    /// Number of the test image.
    pub image: usize,
    /// Its class.
    pub class: Option<u8>,
    /// The observed image.
    pub observed: Picture,
    /// `log p(x)` by quadrature.
    pub log_evidence: f64,
    /// The posterior, normalised by it.
    pub exact: Field,
    /// The encoder's Gaussian; its divergence is an integral over the grid.
    pub initial: Density,
    /// After the HMC steps: a kernel estimate from draws.
    pub improved: Density,
    /// HMC steps of the model; without any, `improved` is an estimate of `initial`.
    #[serde(default)]
    pub hmc_steps: u64,
    /// Draws behind each estimate.
    pub draws: usize,
    /// Standard deviations of the kernel.
    pub bandwidth: Point,
    /// What the same estimate gives for draws from the posterior itself, where the truth is 0.
    pub estimate_of_exact: f64,
    /// What the same estimate gives for draws from the encoder, where the truth is known.
    pub estimate_of_initial: f64,
    /// Mean bound of the draws, `L_aux`.
    pub bound: f64,
}
