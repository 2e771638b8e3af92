//! Integrate over a latent plane: `log p(x)` itself, where there are two dimensions.
//!
//! `log p(x, z)` of a binary image is linear in the image: `Σ x·l(z)` and something that depends on `z` alone. So every point
//! of the plane is decoded once, and all images meet it in one matrix product: that takes half as long as importance sampling
//! with 5,000 samples.

use std::ops::RangeInclusive;
use std::rc::Rc;

use hmcvi_graph::{Graph, Rows, Run, Store};
use hmcvi_record as record;
use serde::{Deserialize, Serialize};

use super::EvalError;
use crate::device::{Device, Prepared};
use crate::nn::Parameters;
use crate::problem::Problem;

/// Points that are decoded together.
const POINTS: usize = 1024;
/// Images that meet them in one run.
const IMAGES: usize = 1000;
/// Prior mass beyond this distance is 4e-6. Few posteriors reach that far, those of models that have hardly learnt.
const RADIUS: f64 = 5.0;
/// Where the rim of the disc begins, as a share of its radius: what lies there tells of what is beyond.
const RIM: f64 = 0.9;
/// The share of an integral in the rim from which on the disc is widened, twofold in area.
const WIDE: f64 = 1e-4;
/// The widest disc, as a multiple of the first.
const WIDEST: f64 = 4.0;
/// Halves that are further apart, in nats, ask for a finer grid: the error of all points is a few thousandths then.
const NARROW: f64 = 0.1;
/// The finest spacing, as a share of the first.
const FINEST: f64 = 0.25;
/// How often grids are replaced by better ones: as often as it takes to come to the widest.
const PASSES: u32 = 4;
/// Points that fit into memory.
const MOST_POINTS: f64 = 6e7;
/// Share of the time that the first grid takes, about.
const FIRST_SHARE: f64 = 0.8;
/// What a point that only fills up a block has instead of a log density.
const NOTHING: f32 = -1e30;

/// How the plane is divided.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct QuadratureOptions {
    /// Distance between neighbouring points at first.
    pub spacing: f64,
}

impl Default for QuadratureOptions {
    fn default() -> Self {
        QuadratureOptions { spacing: 0.02 }
    }
}

/// The integral for one data point.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Integral {
    /// `log p(x)`
    pub log_likelihood: f64,
    /// How far the integrals over either half of the points, those of a chessboard's black and white squares, are apart.
    /// The error of both together is of the order of its square.
    pub halves_apart: f64,
    /// The share that lies in the rim of the disc.
    pub rim: f64,
    /// Distance between neighbouring points.
    pub spacing: f64,
    /// Distance from the origin up to which there are points.
    pub radius: f64,
}

/// Points of the plane.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Grid {
    spacing: f64,
    radius: f64,
}

impl Integral {
    /// A finer and wider grid, where this one was not good enough; only a wider one, which has fewer points, where there are
    /// too many for both.
    fn better_grid(&self, first: Grid) -> Option<Grid> {
        let Integral { spacing, radius, .. } = *self;
        let narrow = self.halves_apart > NARROW && spacing > 1.5 * FINEST * first.spacing;
        let wide = self.rim > WIDE && radius < 0.9 * WIDEST * first.radius;
        let finer = if narrow { 0.5 * spacing } else { spacing };
        let wider = if wide { std::f64::consts::SQRT_2 * radius } else { radius };
        let grids = [(finer, wider), (spacing, wider)];
        let better = |grid: &Grid| {
            let points = std::f64::consts::PI * (grid.radius / grid.spacing).powi(2);
            (grid.spacing < spacing || grid.radius > radius) && points < MOST_POINTS
        };
        grids.map(|(spacing, radius)| Grid { spacing, radius }).into_iter().find(better)
    }
}

/// Sums up a model's joint density over a grid.
pub struct Quadrature {
    decode: Prepared<f32>,
    meet: Prepared<f32>,
    spacing: f64,
    pixels: usize,
}

impl Quadrature {
    /// Spacings that can be asked for.
    pub const SPACINGS: RangeInclusive<f64> = record::Quadrature::SPACINGS;

    /// Prepares the integral for a model with two latent dimensions.
    pub fn new(problem: &Problem, options: QuadratureOptions, device: &Device) -> Result<Self, EvalError> {
        let model = &problem.model;
        if model.latent() != 2 {
            return Err(EvalError::NotAPlane(model.latent()));
        }
        if !Self::SPACINGS.contains(&options.spacing) {
            return Err(EvalError::Spacing(options.spacing));
        }
        // Rounded operands would cost some hundredths of a nat.
        let device = device.exact();
        let pixels = model.observed();
        let graph = Graph::new();
        let z = graph.batch_input("z", 2);
        let parameters = Rc::new(Parameters::new(&graph));
        let simulator = model.simulator().ok_or(EvalError::NoSimulator)?;
        let (logits, rest) = simulator.linear(&parameters, z).ok_or(EvalError::NotLinear)?;
        let alone = model.prior(&graph).log_prob(z) + rest;
        let decode = graph.program().output("logits", logits).output("alone", alone).compile()?;
        let graph = Graph::new();
        let logits = graph.input("logits", Rows::Fixed(POINTS), pixels);
        let alone = graph.input("alone", Rows::Fixed(1), POINTS);
        let joint = graph.batch_input("x", pixels).matmul_transposed(logits) + alone;
        let meet = graph.program().output("sum", joint.log_sum_exp()).compile()?;
        Ok(Quadrature {
            decode: device.prepare(&decode, POINTS)?,
            meet: device.prepare(&meet, IMAGES)?,
            spacing: options.spacing,
            pixels,
        })
    }

    /// Integrals for all rows of `x`. Where a posterior is too narrow for the grid, or reaches the rim of the disc, the integral
    /// is repeated with a finer or a wider one. `look` hears the share that is done, and may stop.
    pub fn run(
        &mut self,
        store: &Store<f32>,
        x: &[f32],
        look: &mut dyn FnMut(f64) -> bool,
    ) -> Result<Vec<Integral>, EvalError> {
        let first = Grid { spacing: self.spacing, radius: RADIUS };
        let mut found = self.sum(store, x, first, &mut |own| look(FIRST_SHARE * own))?;
        for pass in 0..PASSES {
            let mut wanted: Vec<(Grid, Vec<usize>)> = Vec::new();
            for (i, integral) in found.iter().enumerate() {
                let Some(grid) = integral.better_grid(first) else { continue };
                match wanted.iter_mut().find(|(other, _)| *other == grid) {
                    Some((_, images)) => images.push(i),
                    None => wanted.push((grid, vec![i])),
                }
            }
            let count = wanted.len();
            for (k, (grid, images)) in wanted.into_iter().enumerate() {
                let rows: Vec<f32> =
                    images.iter().flat_map(|i| &x[i * self.pixels..][..self.pixels]).copied().collect();
                let passes =
                    |own: f64| (f64::from(pass) + (k as f64 + own) / count as f64) / f64::from(PASSES);
                let share = |own: f64| FIRST_SHARE + (1.0 - FIRST_SHARE) * passes(own);
                let better = self.sum(store, &rows, grid, &mut |own| look(share(own)))?;
                images.into_iter().zip(better).for_each(|(i, integral)| found[i] = integral);
            }
        }
        if look(1.0) { Err(EvalError::Stopped) } else { Ok(found) }
    }

    fn sum(
        &mut self,
        store: &Store<f32>,
        x: &[f32],
        grid: Grid,
        look: &mut dyn FnMut(f64) -> bool,
    ) -> Result<Vec<Integral>, EvalError> {
        let Grid { spacing, radius } = grid;
        let parts = chessboard(grid);
        let images = x.len() / self.pixels;
        let all = parts.iter().map(|z| z.len().div_ceil(2 * POINTS)).sum::<usize>();
        let mut sums: [Vec<f64>; 4] = std::array::from_fn(|_| vec![f64::NEG_INFINITY; images]);
        let mut done = 0;
        for (part, sums) in parts.iter().zip(&mut sums) {
            for z in part.chunks(2 * POINTS) {
                let rows = z.len() / 2;
                self.decode.evaluate(store, &Run { rows, inputs: &[("z", z)], ..Run::default() })?;
                let output = |name| self.decode.output(name).expect("the program has this output");
                let (mut logits, mut alone) = (output("logits").to_vec(), output("alone").to_vec());
                logits.resize(POINTS * self.pixels, 0.0);
                alone.resize(POINTS, NOTHING);
                for (i, x) in x.chunks(IMAGES * self.pixels).enumerate() {
                    let inputs: &[(&str, &[f32])] = &[("x", x), ("logits", &logits), ("alone", &alone)];
                    let run = Run { rows: x.len() / self.pixels, inputs, ..Run::default() };
                    self.meet.evaluate(store, &run)?;
                    let found = self.meet.output("sum").expect("the program has this output");
                    for (sum, more) in sums[i * IMAGES..].iter_mut().zip(found) {
                        *sum = log_add(*sum, f64::from(*more));
                    }
                }
                done += 1;
                if look(done as f64 / all as f64) {
                    return Err(EvalError::Stopped);
                }
            }
        }
        let integral = |image: usize| {
            let [black, white, rim_black, rim_white] = sums.each_ref().map(|sums| sums[image]);
            let rim = log_add(rim_black, rim_white);
            let (black, white) = (log_add(black, rim_black), log_add(white, rim_white));
            let whole = log_add(black, white);
            Integral {
                log_likelihood: whole + 2.0 * spacing.ln(),
                halves_apart: (black - white).abs(),
                rim: (rim - whole).exp(),
                spacing,
                radius,
            }
        };
        Ok((0..images).map(integral).collect())
    }
}

/// `log(eᵃ + eᵇ)`
fn log_add(a: f64, b: f64) -> f64 {
    let (low, high) = if a < b { (a, b) } else { (b, a) };
    if low == f64::NEG_INFINITY { high } else { high + (low - high).exp().ln_1p() }
}

/// The middles of the squares of a chessboard: the black and the white ones within the rim, and those of the rim.
fn chessboard(Grid { spacing, radius }: Grid) -> [Vec<f32>; 4] {
    let count = (radius / spacing).ceil() as i64;
    let middle = |i: i64| (i as f64 + 0.5) * spacing;
    let mut parts = [const { Vec::new() }; 4];
    for (i, j) in (-count..count).flat_map(|i| (-count..count).map(move |j| (i, j))) {
        let (x, y) = (middle(i), middle(j));
        let distance = x.hypot(y);
        if distance <= radius {
            let colour = (i + j).rem_euclid(2) as usize;
            parts[if distance < RIM * radius { colour } else { 2 + colour }].extend([x as f32, y as f32]);
        }
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn logarithms_of_sums() {
        let nothing = f64::NEG_INFINITY;
        assert!((log_add(2f64.ln(), 3f64.ln()) - 5f64.ln()).abs() < 1e-15);
        assert!((log_add(-1000.0, -1001.0) + 1000.0 - (-1f64).exp().ln_1p()).abs() < 1e-12);
        assert_eq!((log_add(nothing, -3.0), log_add(-3.0, nothing)), (-3.0, -3.0));
        assert_eq!(log_add(nothing, nothing), nothing);
        assert!(log_add(f64::NAN, 1.0).is_nan() && log_add(1.0, f64::NAN).is_nan());
    }

    #[test]
    fn grids_become_better_until_they_are_good_or_too_large() {
        let first = Grid { spacing: 0.02, radius: RADIUS };
        let mut integral =
            Integral { log_likelihood: 0.0, halves_apart: 0.5, rim: 0.5, spacing: 0.02, radius: RADIUS };
        let mut seen = Vec::new();
        while let Some(Grid { spacing, radius }) = integral.better_grid(first) {
            (integral.spacing, integral.radius) = (spacing, radius);
            seen.push((spacing, radius.round()));
        }
        assert_eq!(seen, [(0.01, 7.0), (0.005, 10.0), (0.005, 14.0), (0.005, 20.0)]);
        assert_eq!(seen.len(), PASSES as usize);
        let good = Integral { halves_apart: 0.01, rim: 1e-6, ..integral };
        assert_eq!(good.better_grid(first), None);
        let first = Grid { spacing: 0.005, radius: RADIUS };
        let wider = Grid { spacing: 0.0025, radius: RADIUS * std::f64::consts::SQRT_2 };
        let fine = Integral { spacing: 0.0025, radius: RADIUS, ..integral };
        assert_eq!(fine.better_grid(first), Some(wider), "too many points for a finer one");
        let finest = Integral { spacing: 0.001, radius: 2.0 * RADIUS, ..integral };
        assert_eq!(finest.better_grid(first), None, "too many points");
    }

    #[test]
    fn the_points_cover_the_disc_once() {
        let parts = chessboard(Grid { spacing: 0.1, radius: RADIUS });
        let points = parts.iter().map(|z| z.len() / 2).sum::<usize>();
        let disc = std::f64::consts::PI * RADIUS * RADIUS;
        assert!((points as f64 * 0.01 / disc - 1.0).abs() < 0.005, "{points} points");
        assert!(parts[0].len().abs_diff(parts[1].len()) <= 16);
        assert!(parts[2].len().abs_diff(parts[3].len()) <= 16);
        assert!(parts[2].chunks(2).all(|z| z[0].hypot(z[1]) >= (RIM * RADIUS) as f32));
        // The prior's mass.
        let density = |z: &[f32]| (-f64::from(z[0].powi(2) + z[1].powi(2)) / 2.0).exp();
        let mass: f64 = parts.iter().flat_map(|z| z.chunks(2)).map(density).sum::<f64>() * 0.01;
        assert!((mass / std::f64::consts::TAU - 1.0).abs() < 1e-5, "{mass}");
    }
}
