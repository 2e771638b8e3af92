//! Estimate `log p(x)` by annealed importance sampling (Neal, *Annealed importance sampling*, 2001).
//!
//! Chains begin at draws from a Gaussian `f₀` and go along densities `f_β ∝ f₀^(1-β) p(x, z)^β` to the
//! posterior, by HMC steps with the acceptance step. The weight `Σ (β_k - β_{k-1}) (log p(x, z) - log f₀(z))`
//! of a chain is unbiased for `p(x)` as `eʷ`, whatever the chain's quality; so its mean logarithm is a lower
//! bound. Run from an exact draw of the posterior back to `f₀`, it bounds `log p(x)` from above.

use std::rc::Rc;

use hmcvi_graph::random::{self, Key};
use hmcvi_graph::{Graph, Real, Run, Shape, Store};
use serde::{Deserialize, Serialize};

use super::EvalError;
use crate::device::{Device, Prepared};
use crate::dist::Gaussian;
use crate::hmc::{Kinetic, Leapfrog, State, Transition, accept};
use crate::nn::Parameters;
use crate::potential::Potential;
use crate::problem::Problem;

/// How the temperatures lie between 0 and 1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum AnnealingSchedule {
    /// Evenly.
    Linear,
    /// Closely at both ends.
    #[default]
    Sigmoidal,
}

/// Where chains begin.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum AnnealingStart {
    /// The encoder's Gaussian, which is near the posterior.
    #[default]
    Encoder,
    /// The prior, which owes nothing to the encoder.
    Prior,
}

/// Settings of annealed importance sampling.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct AnnealingOptions {
    /// Temperatures after the first.
    pub temperatures: usize,
    /// Chains for each data point.
    pub chains: usize,
    /// Leapfrog steps of each transition.
    pub leapfrog_steps: usize,
    /// How temperatures are spaced.
    pub schedule: AnnealingSchedule,
    /// Where chains begin.
    pub start: AnnealingStart,
}

impl Default for AnnealingOptions {
    fn default() -> Self {
        AnnealingOptions {
            temperatures: 1000,
            chains: 16,
            leapfrog_steps: 2,
            schedule: AnnealingSchedule::default(),
            start: AnnealingStart::default(),
        }
    }
}

impl AnnealingOptions {
    /// `β_0 = 0, …, β_K = 1`
    pub fn betas(&self) -> Vec<f64> {
        let k = self.temperatures.max(1);
        // Beyond ±4 the logistic function is flat enough.
        let logistic = |x: f64| 1.0 / (1.0 + (-4.0 * x).exp());
        let (low, high) = (logistic(-1.0), logistic(1.0));
        let beta = |i: usize| {
            let even = i as f64 / k as f64;
            match self.schedule {
                AnnealingSchedule::Linear => even,
                AnnealingSchedule::Sigmoidal => (logistic(2.0 * even - 1.0) - low) / (high - low),
            }
        };
        let mut betas: Vec<f64> = (0..=k).map(beta).collect();
        (betas[0], betas[k]) = (0.0, 1.0);
        betas
    }
}

/// Share of proposals that step sizes are tuned to: near the best for HMC on Gaussians.
const TARGET_ACCEPTANCE: f64 = 0.8;
/// Steps at the first temperature that find a step size to begin with.
const SEARCH_STEPS: u64 = 60;
/// Most rows that move together.
pub(super) const ROWS: usize = 1024;
/// Random streams.
const STREAM_START: u16 = 8;
const STREAM_MOMENTUM: u16 = 9;
const STREAM_ACCEPT: u16 = 10;
/// Inputs that are the same in all transitions of some walkers; the images among them are most of what a transition reads.
const LASTING: [&str; 4] = ["x", "start_mean", "start_log_variance", "log_variance"];

/// Moves chains of many data points together.
pub struct Annealer<T: Real> {
    options: AnnealingOptions,
    betas: Vec<f64>,
    observed: usize,
    latent: usize,
    /// One transition.
    step: Prepared<T>,
    /// Log density and force of positions.
    look: Prepared<T>,
    /// The encoder's Gaussian.
    encode: Prepared<T>,
    /// Number of the walkers that were made last, and of those that made the last transition.
    made: u64,
    moved: u64,
}

/// Chains of some data points: row `i · chains + c` is chain `c` of data point `i`.
pub(super) struct Walkers<T> {
    /// Which ones they are, of all that an annealer has made.
    number: u64,
    pub(super) rows: usize,
    /// Number of the first row among those of all data points, which gives every chain its own draws.
    first_row: u64,
    x: Vec<T>,
    start_mean: Vec<T>,
    start_log_variance: Vec<T>,
    log_variance: Vec<T>,
    pub(super) z: Vec<T>,
    /// `log p(x, z)`, its gradient, and `log p(x, z) - log f₀(z)`.
    pub(super) log_joint: Vec<T>,
    force: Vec<T>,
    ratio: Vec<T>,
    pub(super) step_size: Vec<T>,
    /// Acceptance probability of the last transition.
    pub(super) probability: Vec<T>,
}

/// Which way a chain goes.
enum Direction<'a, T> {
    /// From the start to the posterior.
    Forward,
    /// From these posterior draws, one for each data point, to the start.
    Reverse(&'a [T]),
}

/// Told the share of the work that is done; returns whether to stop.
pub(super) type Watch<'a> = dyn FnMut(f64) -> bool + 'a;

impl<T: Real> Annealer<T> {
    /// Prepares to anneal a model's posteriors.
    pub fn new(problem: &Problem, options: AnnealingOptions, device: &Device) -> Result<Self, EvalError> {
        let (observed, latent) = (problem.model.observed(), problem.model.latent());
        let rows = options.chains.max(1) * (ROWS / options.chains.max(1)).max(1);
        Ok(Annealer {
            options,
            betas: options.betas(),
            observed,
            latent,
            step: device.prepare(&step_program(problem, options.leapfrog_steps)?, rows)?,
            look: device.prepare(&look_program(problem)?, rows)?,
            encode: device.prepare(&encode_program(problem)?, rows)?,
            made: 0,
            moved: 0,
        })
    }

    /// Data points that move together.
    pub fn points(&self) -> usize {
        (ROWS / self.options.chains.max(1)).max(1)
    }

    /// Bytes of working memory.
    pub fn bytes(&self) -> usize {
        self.step.bytes() + self.look.bytes() + self.encode.bytes()
    }

    /// Chains of data points `x` `[n, observed]` with n at most [`Annealer::points`], at draws from the start.
    pub(super) fn walkers(
        &mut self,
        store: &Store<T>,
        x: &[T],
        first: usize,
        seed: u64,
    ) -> Result<Walkers<T>, EvalError> {
        let (d, chains) = (self.latent, self.options.chains.max(1));
        let points = x.len() / self.observed;
        let run = Run { rows: points, inputs: &[("x", x)], ..Run::default() };
        self.encode.evaluate(store, &run)?;
        let repeated = |values: &[T], cols: usize| -> Vec<T> {
            values.chunks(cols).flat_map(|row| std::iter::repeat_n(row, chains)).flatten().copied().collect()
        };
        let output = |name| repeated(self.encode.output(name).expect("the program has this output"), d);
        let (mean, log_variance) = (output("mean"), output("log_variance"));
        let rows = points * chains;
        let zeros = || vec![T::default(); rows * d];
        let (start_mean, start_log_variance) = match self.options.start {
            AnnealingStart::Encoder => (mean, log_variance.clone()),
            AnnealingStart::Prior => (output("prior_mean"), output("prior_log_variance")),
        };
        let first_row = (first * chains) as u64;
        let mut z = zeros();
        for (row, z) in z.chunks_mut(d).enumerate() {
            random::normal(
                Key { seed, stream: STREAM_START, step: 0, row: first_row as u32 + row as u32 },
                z,
            );
        }
        for ((z, mean), log_variance) in z.iter_mut().zip(&start_mean).zip(&start_log_variance) {
            *z = *mean + T::from_f64((0.5 * log_variance.to_f64()).exp()) * *z;
        }
        let column = || vec![T::default(); rows];
        self.made += 1;
        let mut walkers = Walkers {
            number: self.made,
            rows,
            first_row,
            x: repeated(x, self.observed),
            start_mean,
            start_log_variance,
            log_variance,
            z,
            log_joint: column(),
            force: zeros(),
            ratio: column(),
            step_size: vec![T::from_f64(0.5); rows],
            probability: column(),
        };
        self.settle(store, &mut walkers)?;
        Ok(walkers)
    }

    /// Computes what belongs to the positions.
    pub(super) fn settle(&mut self, store: &Store<T>, w: &mut Walkers<T>) -> Result<(), EvalError> {
        let inputs: &[(&str, &[T])] = &[
            ("x", &w.x),
            ("z", &w.z),
            ("start_mean", &w.start_mean),
            ("start_log_variance", &w.start_log_variance),
        ];
        self.look.evaluate(store, &Run { rows: w.rows, inputs, ..Run::default() })?;
        let output = |name| self.look.output(name).expect("the program has this output");
        w.log_joint.copy_from_slice(output("log_joint"));
        w.force.copy_from_slice(output("force"));
        w.ratio.copy_from_slice(output("ratio"));
        Ok(())
    }

    /// One transition of all chains at a temperature.
    pub(super) fn step(
        &mut self,
        store: &Store<T>,
        w: &mut Walkers<T>,
        beta: f64,
        (seed, step): (u64, u64),
    ) -> Result<(), EvalError> {
        let beta = [T::from_f64(beta)];
        let inputs: &[(&str, &[T])] = &[
            ("x", &w.x),
            ("z", &w.z),
            ("log_joint", &w.log_joint),
            ("force", &w.force),
            ("start_mean", &w.start_mean),
            ("start_log_variance", &w.start_log_variance),
            ("log_variance", &w.log_variance),
            ("step_size", &w.step_size),
            ("beta", &beta),
        ];
        let row_offset = w.first_row;
        let run = Run { rows: w.rows, inputs, seed, step, row_offset, ..Run::default() };
        let kept: &[&str] = if self.moved == w.number { &LASTING } else { &[] };
        self.moved = 0;
        self.step.evaluate_keeping(store, &run, kept)?;
        self.moved = w.number;
        let output = |name| self.step.output(name).expect("the program has this output");
        w.z.copy_from_slice(output("z"));
        w.log_joint.copy_from_slice(output("log_joint"));
        w.force.copy_from_slice(output("force"));
        w.ratio.copy_from_slice(output("ratio"));
        w.probability.copy_from_slice(output("probability"));
        Ok(())
    }

    /// Finds a step size for every temperature, with a pass whose weights are not used.
    pub fn tune(
        &mut self,
        store: &Store<T>,
        x: &[T],
        seed: u64,
        watch: &mut Watch<'_>,
    ) -> Result<Vec<f64>, EvalError> {
        let mut w = self.walkers(store, x, 0, seed)?;
        let mut size: f64 = 0.5;
        let mut sizes = vec![size; self.betas.len()];
        let last = self.betas.len() - 1;
        for step in 0..SEARCH_STEPS {
            w.step_size.fill(T::from_f64(size));
            self.step(store, &mut w, self.betas[1.min(last)], (seed, step))?;
            size *= (0.5 * (w.acceptance() - TARGET_ACCEPTANCE)).exp();
        }
        for k in 1..last {
            sizes[k] = size;
            w.step_size.fill(T::from_f64(size));
            self.step(store, &mut w, self.betas[k], (seed, SEARCH_STEPS + k as u64))?;
            size *= (0.2 * (w.acceptance() - TARGET_ACCEPTANCE)).exp();
            if watch(k as f64 / last as f64) {
                return Err(EvalError::Stopped);
            }
        }
        (sizes[0], sizes[last]) = (sizes[1.min(last)], size);
        Ok(sizes)
    }

    /// Log weights of the chains of data points `x`, one list for each, and the mean acceptance
    /// probability. `first` is the number of the first data point.
    pub fn forward(
        &mut self,
        store: &Store<T>,
        (x, first): (&[T], usize),
        step_sizes: &[f64],
        seed: u64,
        watch: &mut Watch<'_>,
    ) -> Result<(Vec<Vec<f64>>, f64), EvalError> {
        self.anneal(store, (x, first), step_sizes, seed, Direction::Forward, watch)
    }

    /// The same from exact posterior draws `z`, one for each data point, back to the start.
    pub fn reverse(
        &mut self,
        store: &Store<T>,
        (x, z, first): (&[T], &[T], usize),
        step_sizes: &[f64],
        seed: u64,
        watch: &mut Watch<'_>,
    ) -> Result<(Vec<Vec<f64>>, f64), EvalError> {
        self.anneal(store, (x, first), step_sizes, seed, Direction::Reverse(z), watch)
    }

    fn anneal(
        &mut self,
        store: &Store<T>,
        (x, first): (&[T], usize),
        step_sizes: &[f64],
        seed: u64,
        direction: Direction<'_, T>,
        watch: &mut Watch<'_>,
    ) -> Result<(Vec<Vec<f64>>, f64), EvalError> {
        let chains = self.options.chains.max(1);
        let mut w = self.walkers(store, x, first, seed)?;
        let last = self.betas.len() - 1;
        // The chain is at z_{k-1} when the part of its weight from β_{k-1} to β_k is added.
        let order: Vec<usize> = match direction {
            Direction::Forward => (1..=last).collect(),
            Direction::Reverse(z) => {
                let repeated = z.chunks(self.latent).flat_map(|row| std::iter::repeat_n(row, chains));
                w.z = repeated.flatten().copied().collect();
                self.settle(store, &mut w)?;
                (1..=last).rev().collect()
            }
        };
        let mut weights = vec![0.0; w.rows];
        let mut acceptance = 0.0;
        for (i, &k) in order.iter().enumerate() {
            let part = self.betas[k] - self.betas[k - 1];
            weights.iter_mut().zip(&w.ratio).for_each(|(sum, ratio)| *sum += part * ratio.to_f64());
            let next = if matches!(direction, Direction::Forward) { k } else { k - 1 };
            if (1..last).contains(&next) {
                w.step_size.fill(T::from_f64(step_sizes[next]));
                self.step(store, &mut w, self.betas[next], (seed, next as u64))?;
                acceptance += w.acceptance();
            }
            if watch((i + 1) as f64 / last as f64) {
                return Err(EvalError::Stopped);
            }
        }
        let mean = acceptance / (last.max(2) - 1) as f64;
        Ok((weights.chunks(chains).map(<[f64]>::to_vec).collect(), mean))
    }
}

impl<T: Real> Walkers<T> {
    /// Moves every chain so many times as far from the start's mean.
    pub(super) fn disperse(&mut self, factor: f64) {
        for (z, mean) in self.z.iter_mut().zip(&self.start_mean) {
            *z = *mean + T::from_f64(factor) * (*z - *mean);
        }
    }

    /// Mean acceptance probability of the last transition.
    pub(super) fn acceptance(&self) -> f64 {
        self.probability.iter().map(|p| p.to_f64()).sum::<f64>() / self.rows as f64
    }
}

/// `f₀` and `p(x, z)` of chains.
fn ends<'g>(problem: &Problem, graph: &'g Graph) -> (Potential<'g>, Potential<'g>) {
    let (model, parameters) = (&problem.model, Rc::new(Parameters::new(graph)));
    let input = |name| graph.batch_input(name, model.latent());
    let start = Gaussian { mean: input("start_mean"), log_variance: input("start_log_variance") };
    (Potential::gaussian(start), model.potential(&parameters, graph.batch_input("x", model.observed())))
}

fn step_program(problem: &Problem, steps: usize) -> Result<hmcvi_graph::Program, EvalError> {
    let (graph, d) = (Graph::new(), problem.model.latent());
    let (start, posterior) = ends(problem, &graph);
    let (z, beta) = (graph.batch_input("z", d), graph.scalar_input("beta"));
    let (log_joint, force) = (graph.batch_input("log_joint", 1), graph.batch_input("force", d));
    // The precision of a Gaussian between the two ends: it makes all directions equally wide.
    let precision = |name| (-graph.batch_input(name, d)).exp();
    let mass = (1.0 - beta) * precision("start_log_variance") + beta * precision("log_variance");
    let transition = Transition {
        leapfrog: Leapfrog {
            potential: Potential::between(&start, &posterior, beta),
            kinetic: Kinetic { log_mass: mass.log() },
            step_size: graph.batch_input("step_size", 1),
            steps: steps.max(1),
        },
        alpha: None,
        accept: true,
    };
    let noise = graph.normal(STREAM_MOMENTUM, d);
    let state = State {
        z,
        v: noise,
        log_density: (1.0 - beta) * start.log_density(z) + beta * log_joint,
        terms: (1.0 - beta) * start.log_density(z) + beta * log_joint,
        force: (1.0 - beta) * start.force(z) + beta * force,
    };
    let (next, info) = transition.step(state, noise, graph.uniform(STREAM_ACCEPT, 1));
    // What is known of the end of the simulation is kept for the next temperature.
    let last = info.trajectory.last().z;
    let log_joint = info.accepted.select(posterior.log_density(last), log_joint);
    let program = graph
        .program()
        .output("z", next.z)
        .output("log_joint", log_joint)
        .output("force", info.accepted.select(posterior.force(last), force))
        .output("ratio", log_joint - start.log_density(next.z))
        .output("probability", accept::log_probability(info.energy_error).exp());
    Ok(program.compile()?)
}

fn look_program(problem: &Problem) -> Result<hmcvi_graph::Program, EvalError> {
    let graph = Graph::new();
    let (start, posterior) = ends(problem, &graph);
    let z = graph.batch_input("z", problem.model.latent());
    let log_joint = posterior.log_density(z);
    let program = graph
        .program()
        .output("log_joint", log_joint)
        .output("force", posterior.force(z))
        .output("ratio", log_joint - start.log_density(z));
    Ok(program.compile()?)
}

fn encode_program(problem: &Problem) -> Result<hmcvi_graph::Program, EvalError> {
    let model = &problem.model;
    let (graph, rows) = (Graph::new(), Shape::batch(model.latent()));
    let parameters = Rc::new(Parameters::new(&graph));
    let encoder = problem.gaussian(&parameters, graph.batch_input("x", model.observed()));
    let prior = model.prior(&graph);
    let program = graph
        .program()
        .output("mean", encoder.mean.broadcast_to(rows))
        .output("log_variance", encoder.log_variance.broadcast_to(rows))
        .output("prior_mean", prior.mean.broadcast_to(rows))
        .output("prior_log_variance", prior.log_variance.broadcast_to(rows));
    Ok(program.compile()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn temperatures_rise_from_zero_to_one() {
        for schedule in [AnnealingSchedule::Linear, AnnealingSchedule::Sigmoidal] {
            let betas = AnnealingOptions { temperatures: 50, schedule, ..Default::default() }.betas();
            assert_eq!((betas.len(), betas[0], betas[50]), (51, 0.0, 1.0));
            assert!(betas.windows(2).all(|b| b[0] < b[1]), "{betas:?}");
            assert!((betas[25] - 0.5).abs() < 1e-12);
        }
    }
}
