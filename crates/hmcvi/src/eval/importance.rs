//! Estimate `log p(x)` by importance sampling (`app:NLLestimateImportSampling`).

use std::rc::Rc;

use hmcvi_graph::{Graph, Real, Rows, Run, Store};
use serde::{Deserialize, Serialize};

use super::EvalError;
use super::weights::{WeightSummary, Weights};
use crate::device::{Device, Prepared};
use crate::dist::{Gaussian, StudentT};
use crate::nn::Parameters;
use crate::problem::Problem;

/// Most samples that are evaluated together on a processor, and on a GPU, where every run costs the same time
/// again; memory does not depend on their number in all.
const ROWS: usize = 2560;
#[cfg(feature = "cuda")]
const ROWS_ON_CARD: usize = 8192;
/// Random streams.
const STREAM_NOISE: u16 = 8;
const STREAM_TAIL: u16 = 9;

/// The distribution that samples come from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Proposal {
    /// A diagonal Gaussian, as in the paper.
    #[default]
    Gaussian,
    /// A Student t distribution with four degrees of freedom, whose tails are heavier.
    StudentT,
    /// Half of the draws from the Gaussian and half from the prior: weights have a limit, so no part of a posterior is missed in
    /// the long run. For latent spaces of few dimensions, where the prior's draws come near to every posterior.
    Defensive,
}

/// Draws samples from a proposal and weighs them.
pub struct ImportanceSampler<T: Real> {
    executable: Prepared<T>,
    flop_per_sample: u64,
}

impl<T: Real> ImportanceSampler<T> {
    /// Prepares a model's weights; at most `samples` samples are drawn for each data point.
    pub fn new(
        problem: &Problem,
        proposal: Proposal,
        samples: usize,
        device: &Device,
    ) -> Result<Self, EvalError> {
        let graph = Graph::new();
        let model = &problem.model;
        let parameters = Rc::new(Parameters::new(&graph));
        let d = model.latent();
        let row = |name, cols| graph.input(name, Rows::Fixed(1), cols);
        let gaussian = Gaussian { mean: row("mean", d), log_variance: row("log_variance", d) };
        let noise = graph.normal(STREAM_NOISE, d);
        let (z, density) = match proposal {
            Proposal::Gaussian => {
                let z = gaussian.sample(noise);
                (z, gaussian.log_prob(z))
            }
            Proposal::StudentT => {
                let student = StudentT { scale: gaussian };
                let z = student.sample(noise, graph.uniform(STREAM_TAIL, 2));
                (z, student.log_prob(z))
            }
            Proposal::Defensive => {
                let prior = model.prior(&graph);
                let is_prior = graph.uniform(STREAM_TAIL, 1).less(0.5);
                let z = is_prior.select(prior.sample(noise), gaussian.sample(noise));
                let (a, b) = (gaussian.log_prob(z), prior.log_prob(z));
                // The logarithm of (eᵃ + eᵇ) / 2, of which one may be far too small for a number.
                (z, a.max(b) + (a.min(b) - a.max(b)).softplus() - std::f64::consts::LN_2)
            }
        };
        let potential = model.potential(&parameters, row("x", model.observed()));
        let program = graph.program().output("log_weight", potential.log_density(z) - density).compile()?;
        let flop_per_sample = program.cost().product_flop_per_row;
        let rows = match device {
            Device::Cpu { .. } => ROWS,
            #[cfg(feature = "cuda")]
            Device::Cuda(_) => ROWS_ON_CARD,
        };
        Ok(ImportanceSampler {
            executable: device.prepare(&program, samples.clamp(1, rows))?,
            flop_per_sample,
        })
    }

    /// Floating-point operations of matrix products for each sample.
    pub fn flop_per_sample(&self) -> u64 {
        self.flop_per_sample
    }

    /// Bytes of working memory.
    pub fn bytes(&self) -> usize {
        self.executable.bytes()
    }

    /// The weights of one data point, given the proposal's mean and log variance. `number` gives every
    /// data point its own draws.
    pub fn run(
        &mut self,
        store: &Store<T>,
        x: &[T],
        (mean, log_variance): (&[T], &[T]),
        samples: usize,
        (seed, number): (u64, u64),
    ) -> Result<WeightSummary, EvalError> {
        let mut weights = Weights::new(samples);
        let rows = self.executable.rows();
        for start in (0..samples).step_by(rows) {
            let run = Run {
                rows: rows.min(samples - start),
                inputs: &[("x", x), ("mean", mean), ("log_variance", log_variance)],
                seed,
                step: number,
                row_offset: start as u64,
                ..Run::default()
            };
            self.executable.evaluate(store, &run)?;
            let output = self.executable.output("log_weight").expect("the program has this output");
            output.iter().for_each(|w| weights.add(w.to_f64()));
        }
        Ok(weights.summary())
    }
}
