//! Annealed importance sampling of images, and of simulated data from both sides.

use hmcvi_record as record;
use serde::{Deserialize, Serialize};

use super::{Judge, Judgement, Phase, finite_estimate};
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

impl Judge<'_> {
    pub(super) fn annealing(
        &mut self,
        options: AnnealingOptions,
        images: usize,
        judgement: &mut Judgement,
    ) -> Result<(), EvalError> {
        let mut annealer = Annealer::<f32>::new(&self.model, options, self.device)?;
        let x = self.values(&self.draw(0)[..images * self.images.pixels()]);
        let (pixels, points) = (self.images.pixels(), annealer.points());
        let sizes = self.step_sizes("annealing step sizes", &mut annealer, &x)?;
        let (mut all, mut acceptance): (Vec<WeightSummary>, f64) = (Vec::new(), 0.0);
        for (block, x) in x.chunks(points * pixels).enumerate() {
            let first = block * points;
            let found: Block = self.part(&format!("annealing {first}"), |judge| {
                let seed = judge.spec.eval.seed ^ ANNEALING_SEED;
                let (watch, done) = (&mut *judge.watch, first as f64 / images as f64);
                let part = (x.len() / pixels) as f64 / images as f64;
                let mut look = |share| watch.progress(Phase::Annealing, done + part * share).is_break();
                let (weights, acceptance) =
                    annealer.forward(judge.store, (x, first), &sizes, seed, &mut look)?;
                let summary = |chains: Vec<f64>| {
                    let mut weights = Weights::new(chains.len());
                    chains.into_iter().for_each(|w| weights.add(w));
                    weights.summary()
                };
                Ok(Block { weights: weights.into_iter().map(summary).collect(), acceptance })
            })?;
            acceptance += found.acceptance * found.weights.len() as f64 / images as f64;
            all.extend(found.weights);
        }
        let likelihoods: Vec<f64> = all.iter().map(|w| w.log_mean).collect();
        for (image, likelihood) in judgement.images.iter_mut().zip(&likelihoods) {
            image.annealed = Some(*likelihood).filter(|l| l.is_finite());
        }
        // Importance sampling averages over draws, annealing has the first only: equal draws are compared.
        let same = self.options.importance.filter(|_| self.options.draws <= 1);
        let above = same.map(|_| {
            let pairs = likelihoods.iter().zip(&judgement.log_likelihoods);
            finite_estimate(&pairs.map(|(a, i)| a - i).collect::<Vec<_>>())
        });
        judgement.annealing = Some(record::Annealing {
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
        let seed = self.spec.eval.seed;
        let simulated =
            simulate::<f32>(&self.model, self.store, points, seed ^ SIMULATION_SEED, self.device)?;
        let mut annealer = Annealer::<f32>::new(&self.model, options, self.device)?;
        let (pixels, d, together) = (self.images.pixels(), self.spec.model.latent, annealer.points());
        let sizes = self.step_sizes("bidirectional step sizes", &mut annealer, &simulated.x)?;
        let mut all: Vec<Sandwich> = Vec::new();
        let blocks = simulated.x.chunks(together * pixels).zip(simulated.z.chunks(together * d));
        for (block, (x, z)) in blocks.enumerate() {
            let first = block * together;
            all.extend(self.part(&format!("bidirectional {first}"), |judge| {
                let (watch, done) = (&mut *judge.watch, first as f64 / points as f64);
                let part = (z.len() / d) as f64 / points as f64;
                let mut look = |share| watch.progress(Phase::Bidirectional, done + part * share).is_break();
                let data = (x, z, first);
                sandwich(&mut annealer, judge.store, data, &sizes, seed ^ SANDWICH_SEED, &mut look)
            })?);
        }
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
        let first = &x[..x.len().min(annealer.points() * self.images.pixels())];
        self.part(part, |judge| {
            let watch = &mut *judge.watch;
            let mut look = |share| watch.progress(Phase::Tuning, share).is_break();
            annealer.tune(judge.store, first, judge.spec.eval.seed ^ TUNING_SEED, &mut look)
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
