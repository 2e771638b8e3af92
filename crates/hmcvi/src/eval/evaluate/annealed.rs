//! Annealed importance sampling of images, and of simulated data from both sides.

use hmcvi_record as record;
use serde::{Deserialize, Serialize};

use super::blocks::Blocks;
use super::{EvaluationResult, Evaluator, Phase, finite_estimate};
use crate::eval::annealing::{Annealer, AnnealingOptions, AnnealingSchedule, AnnealingStart};
use crate::eval::bidirectional::{Sandwich, sandwich, simulate};
use crate::eval::{EvalError, WeightSummary, Weights};

/// Seeds apart from each other: step sizes are tuned with other draws than they are used with.
const TUNING_SEED: u64 = 0x7a11;
const ANNEALING_SEED: u64 = 0xa1e5;
const SIMULATION_SEED: u64 = 0x51b0;
const SANDWICH_SEED: u64 = 0xb0c0;

/// What annealing a block of images gives.
#[derive(Serialize, Deserialize)]
struct Block {
    weights: Vec<WeightSummary>,
    acceptance: f64,
}

impl Evaluator<'_> {
    /// Anneals the first draws of some images, and compares with what importance sampling found for them.
    pub(super) fn annealing(
        &mut self,
        options: AnnealingOptions,
        images: usize,
        sampled: Option<&[f64]>,
        result: &mut EvaluationResult,
    ) -> Result<(), EvalError> {
        let x = self.draw(0).values(0..images);
        let mut annealers = self.workers(|device| Annealer::<f32>::new(&self.problem, options, device))?;
        let sizes = self.step_sizes("annealing step sizes", &mut annealers[0].0, &x)?;
        let (pixels, seed, size) =
            (self.images.columns(), self.seed ^ ANNEALING_SEED, annealers[0].0.points());
        let blocks = Blocks { name: "annealing", phase: Phase::Annealing, points: images, size };
        let found = blocks.work(self.watch, &mut annealers, |(annealer, store), block, look| {
            let data = (&x[block.start * pixels..block.end * pixels], block.start);
            let (weights, acceptance) = annealer.forward(store, data, &sizes, seed, look)?;
            let summary = |chains: Vec<f64>| {
                let mut weights = Weights::new(chains.len());
                chains.into_iter().for_each(|w| weights.add(w));
                weights.summary()
            };
            Ok(Block { weights: weights.into_iter().map(summary).collect(), acceptance })
        })?;
        let of_block = |b: &Block| b.acceptance * b.weights.len() as f64 / images as f64;
        let acceptance = found.iter().map(of_block).sum();
        let all: Vec<WeightSummary> = found.into_iter().flat_map(|b| b.weights).collect();
        let likelihoods: Vec<f64> = all.iter().map(|w| w.log_mean).collect();
        for (image, likelihood) in result.images.iter_mut().zip(&likelihoods) {
            image.annealed = Some(*likelihood).filter(|l| l.is_finite());
        }
        let above = sampled.map(|sampled| {
            finite_estimate(&likelihoods.iter().zip(sampled).map(|(a, s)| a - s).collect::<Vec<_>>())
        });
        result.annealing = Some(record::Annealing {
            settings: settings(&options),
            images: images as u64,
            log_likelihood: finite_estimate(&likelihoods),
            acceptance_rate: acceptance,
            log_weight_variance: finite_estimate(&all.iter().map(|w| w.variance).collect::<Vec<_>>()).mean,
            above_importance_sampling: above,
        });
        Ok(())
    }

    pub(super) fn bidirectional(
        &mut self,
        options: AnnealingOptions,
        points: usize,
    ) -> Result<record::Bidirectional, EvalError> {
        let seed = self.seed;
        let simulated =
            simulate::<f32>(&self.problem, self.store, points, seed ^ SIMULATION_SEED, self.device)?;
        let mut annealers = self.workers(|device| Annealer::<f32>::new(&self.problem, options, device))?;
        let (pixels, d, size) = (self.images.columns(), self.problem.model.latent(), annealers[0].0.points());
        let sizes = self.step_sizes("bidirectional step sizes", &mut annealers[0].0, &simulated.x)?;
        let blocks = Blocks { name: "bidirectional", phase: Phase::Bidirectional, points, size };
        let found: Vec<Vec<Sandwich>> =
            blocks.work(self.watch, &mut annealers, |(annealer, store), block, look| {
                let (x, z) = (&simulated.x[block.start * pixels..], &simulated.z[block.start * d..]);
                let data = (&x[..block.len() * pixels], &z[..block.len() * d], block.start);
                sandwich(annealer, store, data, &sizes, seed ^ SANDWICH_SEED, look)
            })?;
        let all: Vec<Sandwich> = found.into_iter().flatten().collect();
        let of = |f: fn(&Sandwich) -> f64| finite_estimate(&all.iter().map(f).collect::<Vec<_>>());
        Ok(record::Bidirectional {
            settings: settings(&options),
            points: points as u64,
            lower: of(|s| s.lower),
            upper: of(|s| s.upper),
            gap: of(|s| s.upper - s.lower),
        })
    }

    /// Step sizes tuned on the first block of data points, and then frozen.
    fn step_sizes(
        &mut self,
        part: &str,
        annealer: &mut Annealer<f32>,
        x: &[f32],
    ) -> Result<Vec<f64>, EvalError> {
        let first = &x[..x.len().min(annealer.points() * self.images.columns())];
        self.part(part, |evaluator| {
            let watch = &mut *evaluator.watch;
            let mut look = |share| watch.progress(Phase::Tuning, share).is_break();
            annealer.tune(evaluator.store, first, evaluator.seed ^ TUNING_SEED, &mut look)
        })
    }
}

fn settings(options: &AnnealingOptions) -> record::AnnealingSettings {
    record::AnnealingSettings {
        temperatures: options.temperatures as u64,
        chains: options.chains as u64,
        leapfrog_steps: options.leapfrog_steps as u64,
        schedule: match options.schedule {
            AnnealingSchedule::Linear => "linear".into(),
            AnnealingSchedule::Sigmoidal => "sigmoidal".into(),
        },
        start: match options.start {
            AnnealingStart::Encoder => "encoder".into(),
            AnnealingStart::Prior => "prior".into(),
        },
    }
}
