//! The distance of encoder and improved draws from long posterior chains.

use std::ops::Range;

use hmcvi_record as record;
use hmcvi_record::{EnergyHistogram, Estimate};
use serde::{Deserialize, Serialize};

use super::{Evaluator, Phase, finite_estimate};
use crate::data::Drawn;
use crate::eval::EvalError;
use crate::eval::posterior::{Distance, PosteriorOptions, PosteriorSampler, Reference};

/// Draws of each approximation for each image.
const DRAWS: usize = 2000;
/// Seeds of the reference and of the approximations.
const REFERENCE_SEED: u64 = 0x12ef;
const APPROXIMATION_SEED: u64 = 0x0a99;
/// Bins of energies, in nats around the mean of the posterior's.
const BINS: usize = 60;
const LOWEST: f64 = -15.0;
const BIN: f64 = 1.0;

/// What is found out about one image.
#[derive(Serialize, Deserialize)]
struct Compared {
    initial: Distance,
    improved: Distance,
    /// `None` where a chain never moved.
    r_hat: Option<f64>,
    ess_bulk: f64,
    ess_tail: f64,
    /// Counts by energy of reference, initial and improved draws.
    counts: [Vec<u64>; 3],
}

impl Evaluator<'_> {
    pub(super) fn posterior(
        &mut self,
        options: PosteriorOptions,
        images: usize,
    ) -> Result<record::PosteriorQuality, EvalError> {
        let mut sampler = PosteriorSampler::<f32>::new(&self.problem, options, self.device)?;
        let (drawn, together) = (self.draw(0), sampler.points());
        let mut all: Vec<Compared> = Vec::new();
        for first in (0..images).step_by(together) {
            let some = first..images.min(first + together);
            all.extend(self.part(&format!("posterior {first}"), |evaluator| {
                evaluator.compared(&mut sampler, &drawn, some, images)
            })?);
        }
        let distance = |of: fn(&Compared) -> Distance| {
            let each = |f: fn(&Distance) -> f64| -> Estimate {
                finite_estimate(&all.iter().map(|c| f(&of(c))).collect::<Vec<_>>())
            };
            record::PosteriorDistance {
                gaussian_kl: each(|d| d.gaussian_kl),
                wasserstein: each(|d| d.wasserstein),
                energy_excess: each(|d| d.energy_excess),
            }
        };
        let shares = |which: usize| -> Vec<f64> {
            let count = |bin: usize| all.iter().map(|c| c.counts[which][bin]).sum::<u64>() as f64;
            let total: f64 = (0..BINS).map(count).sum();
            (0..BINS).map(|bin| count(bin) / total).collect()
        };
        let worst = |f: fn(&Compared) -> f64, start: f64, pick: fn(f64, f64) -> f64| {
            all.iter().map(f).fold(start, pick)
        };
        Ok(record::PosteriorQuality {
            images: images as u64,
            chains: options.chains as u64,
            draws: options.draws as u64,
            r_hat: worst(|c| c.r_hat.unwrap_or(f64::MAX), 1.0, f64::max),
            ess_bulk: worst(|c| c.ess_bulk, f64::MAX, f64::min),
            ess_tail: Some(worst(|c| c.ess_tail, f64::MAX, f64::min)),
            approximation_draws: DRAWS as u64,
            initial: distance(|c| c.initial),
            improved: distance(|c| c.improved),
            gain: distance(|c| c.initial.less(&c.improved)),
            energies: EnergyHistogram {
                edges: (0..=BINS).map(|i| LOWEST + BIN * i as f64).collect(),
                reference: shares(0),
                initial: shares(1),
                improved: shares(2),
            },
        })
    }

    /// Compares some of the images.
    fn compared(
        &mut self,
        sampler: &mut PosteriorSampler<f32>,
        drawn: &Drawn,
        some: Range<usize>,
        images: usize,
    ) -> Result<Vec<Compared>, EvalError> {
        let (pixels, d, seed) = (self.images.columns(), self.problem.model.latent(), self.seed);
        let (x, first) = (drawn.values(some.clone()), some.start);
        let part = some.len() as f64 / images as f64;
        let done = first as f64 / images as f64;
        let watch = &mut *self.watch;
        let mut look = |share| watch.progress(Phase::Posterior, done + 0.9 * part * share).is_break();
        let references = sampler.reference(self.store, (&x, first), seed ^ REFERENCE_SEED, &mut look)?;
        let mut found = Vec::new();
        for (i, reference) in references.iter().enumerate() {
            let copies = vec![(first + i) as u32; DRAWS];
            let number = (first + i) as u64;
            let share = done + part * (0.9 + 0.1 * i as f64 / references.len() as f64);
            let chain = self
                .pass((drawn, &copies), seed ^ APPROXIMATION_SEED, number, |_| (Phase::Posterior, share))?;
            let x = &x[i * pixels..(i + 1) * pixels];
            let mut distance = |z: &[f32]| -> Result<(Distance, Vec<u64>), EvalError> {
                // Draws of diverged simulations are none.
                let z: Vec<f32> =
                    z.chunks(d).filter(|z| z.iter().all(|z| z.is_finite())).flatten().copied().collect();
                let energies = sampler.energies(self.store, x, &z)?;
                let wide: Vec<f64> = z.iter().map(|z| f64::from(*z)).collect();
                Ok((reference.distance(&wide, &energies, d), counts(reference, &energies)))
            };
            let ((initial, before), (improved, after)) = (distance(&chain.start)?, distance(&chain.end)?);
            found.push(Compared {
                initial,
                improved,
                r_hat: Some(reference.r_hat).filter(|r| r.is_finite()),
                ess_bulk: reference.ess_bulk,
                ess_tail: reference.ess_tail,
                counts: [counts(reference, &reference.energies), before, after],
            });
        }
        Ok(found)
    }
}

/// Energies around the mean of the reference's, counted by bins.
fn counts(reference: &Reference, energies: &[f64]) -> Vec<u64> {
    let mean = reference.energies.iter().sum::<f64>() / reference.energies.len() as f64;
    let mut counts = vec![0; BINS];
    for energy in energies {
        let bin = ((energy - mean - LOWEST) / BIN).clamp(0.0, (BINS - 1) as f64);
        counts[bin as usize] += 1;
    }
    counts
}
