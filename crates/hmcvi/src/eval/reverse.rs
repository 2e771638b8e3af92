//! Ask what reverse models leave of the bound: how much better the momenta at the ends of simulations could be guessed.
//!
//! The densities of the reverse models are terms of the bound, and any density keeps it one. So models that are fitted to the
//! draws of a single image, and scored on other draws, tell what better networks would add at least.

use std::rc::Rc;

use hmcvi_graph::{Graph, Run, Shape, Store};
use serde::{Deserialize, Serialize};

use super::EvalError;
use crate::data::{Drawn, Observation, batch};
use crate::device::{Device, Prepared};
use crate::linalg;
use crate::nn::Parameters;
use crate::problem::Problem;

/// Draws that are simulated together.
const ROWS: usize = 500;
/// How many times as many of them models are fitted to, and how many they are scored on.
const FITTED: usize = 6;
const SCORED: usize = 2;
/// Variances below this share of the largest are those of rounding.
const ROUNDING: f64 = 1e-10;

/// Mean log densities of the momenta at the ends of an image's simulations, under models of four kinds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ReverseFit {
    /// The networks that were learnt.
    pub learnt: f64,
    /// A diagonal Gaussian that is the image's own, whatever the position.
    pub own: f64,
    /// One whose mean is linear in what the networks see.
    pub linear: f64,
    /// One that has correlations, too.
    pub correlated: f64,
}

impl std::ops::Add for ReverseFit {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        ReverseFit {
            learnt: self.learnt + other.learnt,
            own: self.own + other.own,
            linear: self.linear + other.linear,
            correlated: self.correlated + other.correlated,
        }
    }
}

/// Fits reverse models to single images.
pub struct ReverseFitter {
    simulate: Prepared<f32>,
    /// Outputs of each momentum: itself, what the model sees, its log density.
    outputs: Vec<[String; 3]>,
    latent: usize,
}

/// What simulations gave of one momentum, row by row.
#[derive(Clone, Default)]
struct Arrivals {
    v: Vec<f64>,
    seen: Vec<f64>,
    log_prob: Vec<f64>,
}

impl ReverseFitter {
    /// Draws of each image, all together.
    pub const DRAWS: usize = (FITTED + SCORED) * ROWS;

    /// Prepares the chain of a problem.
    ///
    /// # Errors
    /// [`EvalError::NoSteps`] if its draws have no auxiliary variables.
    pub fn new(problem: &Problem, observation: &Observation, device: &Device) -> Result<Self, EvalError> {
        let graph = Graph::new();
        let parameters = Rc::new(Parameters::new(&graph));
        let chain = problem.infer(&parameters, observation.drawn(&graph));
        if chain.arrivals.is_empty() {
            return Err(EvalError::NoSteps);
        }
        let names = |i| ["v", "seen", "log_prob"].map(|part| format!("{part} {i}"));
        let outputs: Vec<[String; 3]> = (0..chain.arrivals.len()).map(names).collect();
        let mut program = graph.program();
        for (arrival, names) in chain.arrivals.iter().zip(&outputs) {
            let log_prob = arrival.log_prob.broadcast_to(Shape::batch(1));
            for (name, value) in names.iter().zip([arrival.v, arrival.seen, log_prob]) {
                program = program.output(name, value);
            }
        }
        let simulate = device.prepare(&program.compile()?, ROWS)?;
        Ok(ReverseFitter { simulate, outputs, latent: problem.model.latent() })
    }

    /// The sum over all momenta of an image's chain. `data` was drawn beforehand.
    pub fn run(
        &mut self,
        store: &Store<f32>,
        data: &Drawn,
        image: u32,
        seed: u64,
    ) -> Result<ReverseFit, EvalError> {
        let mut found = vec![Arrivals::default(); self.outputs.len()];
        let copies = [image; ROWS];
        for part in 0..FITTED + SCORED {
            let run = Run {
                rows: ROWS,
                data: &[data.data_set()],
                indices: &[batch(&copies)],
                seed,
                step: u64::from(image),
                row_offset: (part * ROWS) as u64,
                ..Run::default()
            };
            self.simulate.evaluate(store, &run)?;
            for (found, names) in found.iter_mut().zip(&self.outputs) {
                for (found, name) in
                    [&mut found.v, &mut found.seen, &mut found.log_prob].into_iter().zip(names)
                {
                    let values = self.simulate.output(name).expect("the program has this output");
                    found.extend(values.iter().map(|v| f64::from(*v)));
                }
            }
        }
        Ok(found.iter().map(|a| fit(a, self.latent)).fold(ReverseFit::default(), |sum, one| sum + one))
    }
}

/// A row of a momentum that did not diverge.
struct Draw<'a> {
    v: &'a [f64],
    seen: &'a [f64],
    log_prob: f64,
}

/// Fits to the first draws, and scores on the others.
fn fit(arrivals: &Arrivals, latent: usize) -> ReverseFit {
    let inputs = arrivals.seen.len() / arrivals.log_prob.len().max(1);
    let draws: Vec<Draw<'_>> = (arrivals.v.chunks(latent).zip(arrivals.seen.chunks(inputs)))
        .zip(&arrivals.log_prob)
        .map(|((v, seen), log_prob)| Draw { v, seen, log_prob: *log_prob })
        .filter(|d| d.v.iter().chain(d.seen).chain([&d.log_prob]).all(|x| x.is_finite()))
        .collect();
    let (fitted, scored) = draws.split_at(draws.len() * FITTED / (FITTED + SCORED));
    let n = fitted.len() as f64;
    let mean = |of: fn(&Draw<'_>, usize) -> f64, size: usize| -> Vec<f64> {
        (0..size).map(|i| fitted.iter().map(|d| of(d, i)).sum::<f64>() / n).collect()
    };
    let (middle, seen) = (mean(|d, i| d.v[i], latent), mean(|d, i| d.seen[i], inputs));
    let off =
        |values: &[f64], mean: &[f64]| -> Vec<f64> { values.iter().zip(mean).map(|(v, m)| v - m).collect() };
    let (mut squares, mut products) = (vec![0.0; inputs * inputs], vec![0.0; inputs * latent]);
    for draw in fitted {
        let (s, v) = (off(draw.seen, &seen), off(draw.v, &middle));
        add_products(&mut squares, &s, &s);
        add_products(&mut products, &s, &v);
    }
    // What does not vary tells nothing, and must not spoil the rest.
    let largest = (0..inputs).map(|i| squares[i * inputs + i]).fold(0.0, f64::max);
    (0..inputs).for_each(|i| squares[i * inputs + i] += ROUNDING * largest);
    let factor = linalg::cholesky(&squares, inputs);
    let slopes: Vec<Vec<f64>> = (0..latent)
        .map(|j| {
            linalg::solve(&factor, inputs, &(0..inputs).map(|i| products[i * latent + j]).collect::<Vec<_>>())
        })
        .collect();
    let plain = |draw: &Draw<'_>| off(draw.v, &middle);
    let linear = |draw: &Draw<'_>| -> Vec<f64> {
        let s = off(draw.seen, &seen);
        let guess = |slope: &Vec<f64>| slope.iter().zip(&s).map(|(a, b)| a * b).sum::<f64>();
        plain(draw).iter().zip(&slopes).map(|(v, slope)| v - guess(slope)).collect()
    };
    let covariance = |error: &dyn Fn(&Draw<'_>) -> Vec<f64>, parameters: f64| -> Vec<f64> {
        let mut sum = vec![0.0; latent * latent];
        fitted.iter().for_each(|d| add_products(&mut sum, &error(d), &error(d)));
        sum.iter().map(|s| s / (n - parameters)).collect()
    };
    let score = |error: &dyn Fn(&Draw<'_>) -> Vec<f64>, covariance: &[f64]| {
        let factor = linalg::cholesky(covariance, latent);
        let log_roots: f64 = (0..latent).map(|i| factor[i * latent + i].ln()).sum();
        let constant = -0.5 * latent as f64 * std::f64::consts::TAU.ln() - log_roots;
        let log_prob = |d: &Draw<'_>| {
            let e = error(d);
            let solved = linalg::solve(&factor, latent, &e);
            constant - 0.5 * e.iter().zip(solved).map(|(a, b)| a * b).sum::<f64>()
        };
        scored.iter().map(log_prob).sum::<f64>() / scored.len() as f64
    };
    let diagonal = |c: &[f64]| -> Vec<f64> {
        c.iter().enumerate().map(|(i, c)| if i % (latent + 1) == 0 { *c } else { 0.0 }).collect()
    };
    let left = covariance(&linear, 1.0 + inputs as f64);
    ReverseFit {
        learnt: scored.iter().map(|d| d.log_prob).sum::<f64>() / scored.len() as f64,
        own: score(&plain, &diagonal(&covariance(&plain, 1.0))),
        linear: score(&linear, &diagonal(&left)),
        correlated: score(&linear, &left),
    }
}

/// Adds `abᵀ`.
fn add_products(sum: &mut [f64], a: &[f64], b: &[f64]) {
    for (row, a) in sum.chunks_exact_mut(b.len()).zip(a) {
        row.iter_mut().zip(b).for_each(|(sum, b)| *sum += a * b);
    }
}

#[cfg(test)]
mod tests {
    use hmcvi_graph::random::{Key, normal};

    use super::*;

    /// Momenta that are correlated with each other and with one of two positions.
    fn arrivals(count: usize) -> Arrivals {
        let mut found = Arrivals::default();
        for row in 0..count as u32 {
            let mut noise = [0f64; 4];
            normal(Key { seed: 5, stream: 1, step: 0, row }, &mut noise);
            let [z, _, a, b] = noise;
            found.v.extend([3.0 + 2.0 * z + a, -1.0 + 0.6 * a + 0.8 * b]);
            found.seen.extend([10.0 + z, 0.25]);
            found.log_prob.push(-4.0);
        }
        found
    }

    #[test]
    fn scores_are_those_of_the_distribution_that_was_drawn_from() {
        let count = 40_000;
        let found = fit(&arrivals(count), 2);
        // Entropies of Gaussians: both variances, both conditional variances, and the determinant 0.8².
        let entropy = |variances: f64| std::f64::consts::TAU.ln() + 1.0 + 0.5 * variances.ln();
        // The variance of a log density is one half for each dimension.
        let error = (1.0 / (count as f64 * SCORED as f64 / (FITTED + SCORED) as f64)).sqrt();
        for (name, found, expected) in [
            ("own", found.own, -entropy(5.0)),
            ("linear", found.linear, -entropy(1.0)),
            ("correlated", found.correlated, -entropy(0.64)),
        ] {
            assert!((found - expected).abs() < 4.0 * error, "{name}: {found}, not {expected} +- {error}");
        }
        assert_eq!(found.learnt, -4.0);
    }

    #[test]
    fn draws_that_are_no_numbers_do_not_count() {
        let mut all = arrivals(4000);
        all.v[100] = f64::NAN;
        all.log_prob[3999] = f64::INFINITY;
        let found = fit(&all, 2);
        assert!(
            [found.learnt, found.own, found.linear, found.correlated].iter().all(|f| f.is_finite()),
            "{found:?}"
        );
    }
}
