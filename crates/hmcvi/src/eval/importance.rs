//! Estimate `log p(x)` by importance sampling (`app:NLLestimateImportSampling`).

use hmcvi_graph::{CpuOptions, Executable, Graph, Rows, Run, Store};

use super::EvalError;
use crate::config::RunSpec;
use crate::dist::Gaussian;
use crate::model::Vae;

/// Samples that are evaluated together; memory does not depend on their number in all.
const ROWS: usize = 500;

/// Decodes samples of a Gaussian proposal and weighs them.
pub struct ImportanceEvaluator {
    executable: Executable<f32>,
    scale: f64,
    grey: bool,
}

/// The estimate for one image.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ImageLikelihood {
    /// `log p(x)`
    pub log_likelihood: f64,
    /// Effective number of samples, `(Σw)² / Σw²`.
    pub effective_sample_size: f64,
}

impl ImportanceEvaluator {
    /// Prepares the weights of a model's samples.
    pub fn new(spec: &RunSpec, pixels: usize, threads: usize) -> Result<Self, EvalError> {
        let graph = Graph::new();
        let (vae, d) = (Vae::new(&graph, &spec.model, pixels), spec.model.latent);
        let row = |name, cols| graph.input(name, Rows::Fixed(1), cols);
        let x = row("x", pixels);
        let proposal = Gaussian { mean: row("mean", d), log_variance: row("log_variance", d) };
        let z = proposal.sample(graph.normal(0, d));
        let prior = Gaussian::standard(&graph, d);
        let weight = vae.decoder(z).log_prob(x) + prior.log_prob(z) - proposal.log_prob(z);
        let program = graph.program().output("log_weight", weight).compile()?;
        let options = CpuOptions { threads, ..CpuOptions::for_rows(ROWS) };
        let grey = spec.data.binarisation == crate::data::Binarisation::None;
        let scale = if grey { spec.data.pixel_scale.probability(1) } else { 1.0 };
        Ok(ImportanceEvaluator { executable: program.on_cpu(options), scale, grey })
    }

    /// The estimate for one image, given the proposal's mean and log variance. `number` gives every
    /// image its own draws.
    pub fn run(
        &mut self,
        store: &mut Store<f32>,
        image: &[u8],
        proposal: (&[f32], &[f32]),
        samples: usize,
        seed: u64,
        number: u64,
    ) -> Result<ImageLikelihood, EvalError> {
        debug_assert!(self.grey || image.iter().all(|p| *p <= 1), "images are binarised beforehand");
        let x: Vec<f32> = image.iter().map(|&b| (f64::from(b) * self.scale) as f32).collect();
        let mut weights = LogSum::default();
        for start in (0..samples).step_by(ROWS) {
            let run = Run {
                rows: ROWS.min(samples - start),
                inputs: &[("x", &x), ("mean", proposal.0), ("log_variance", proposal.1)],
                seed,
                step: number,
                row_offset: start as u64,
                ..Run::default()
            };
            self.executable.run(store, &run)?;
            let output = self.executable.output("log_weight").expect("the program has this output");
            output.iter().for_each(|w| weights.add(f64::from(*w)));
        }
        let (first, second) = (weights.log_sum(), weights.log_square_sum());
        Ok(ImageLikelihood {
            log_likelihood: first - (samples as f64).ln(),
            effective_sample_size: (2.0 * first - second).exp(),
        })
    }
}

/// A running `log Σ eʷ` and `log Σ e²ʷ`.
#[derive(Clone, Copy, Debug)]
struct LogSum {
    most: f64,
    sum: f64,
    squares: f64,
}

impl Default for LogSum {
    fn default() -> Self {
        LogSum { most: f64::NEG_INFINITY, sum: 0.0, squares: 0.0 }
    }
}

impl LogSum {
    fn add(&mut self, log_weight: f64) {
        // A weight of zero adds nothing, and has no place as the largest.
        if log_weight == f64::NEG_INFINITY {
            return;
        }
        if log_weight > self.most {
            let shrink = (self.most - log_weight).exp();
            self.sum *= shrink;
            self.squares *= shrink * shrink;
            self.most = log_weight;
        }
        let weight = (log_weight - self.most).exp();
        self.sum += weight;
        self.squares += weight * weight;
    }

    fn log_sum(&self) -> f64 {
        self.most + self.sum.ln()
    }

    fn log_square_sum(&self) -> f64 {
        2.0 * self.most + self.squares.ln()
    }
}

/// `log (Σ eʷ / n)`
pub fn log_mean_exp(log_weights: &[f64]) -> f64 {
    let mut sum = LogSum::default();
    log_weights.iter().for_each(|w| sum.add(*w));
    sum.log_sum() - (log_weights.len() as f64).ln()
}
