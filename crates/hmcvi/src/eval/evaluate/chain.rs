//! The bound, and draws from the chain that the bound belongs to.

use std::collections::BTreeMap;

use hmcvi_record::UsedDimensions;
use serde::{Deserialize, Serialize};

use super::{Evaluator, Phase, means_of_images, stop};
use crate::data::Drawn;
use crate::eval::{Bounds, EvalError, rows};
use crate::family::Dropped;

/// Another seed than that of the bound, so that proposals do not share its noise.
const PROPOSAL_SEED: u64 = 0x5eed;

/// The bound of all images.
pub(super) struct AllBounds {
    pub(super) bounds: Vec<f64>,
    pub(super) terms: BTreeMap<String, f64>,
    pub(super) divergences: u64,
    pub(super) dropped: u64,
    pub(super) dimensions: Option<UsedDimensions>,
}

/// The bound of all images with one draw and one chain. JSON has no infinities: they are absent.
#[derive(Serialize, Deserialize)]
struct Pass {
    bounds: Vec<Option<f64>>,
    terms: BTreeMap<String, f64>,
    divergences: u64,
    dimensions: Option<UsedDimensions>,
}

/// Variance of encoded means above which a dimension is used.
const USED: f64 = 0.01;

/// Counts the dimensions whose encoded means say something about images, where there is more than one.
fn used_dimensions(means: &[f32], latent: usize) -> Option<UsedDimensions> {
    let count = means.len() / latent;
    let variance = |i: usize| {
        let of = || means.iter().skip(i).step_by(latent).map(|m| f64::from(*m));
        let mean = of().sum::<f64>() / count as f64;
        of().map(|m| (m - mean).powi(2)).sum::<f64>() / count as f64
    };
    let used = (0..latent).filter(|i| variance(*i) > USED).count() as u64;
    (count > 1).then_some(UsedDimensions { used, all: latent as u64 })
}

impl Evaluator<'_> {
    pub(super) fn bound(&mut self) -> Result<AllBounds, EvalError> {
        let (draws, chains) = (self.options.draws.max(1), self.options.chain_draws.max(1));
        let (mut values, mut divergences, mut dimensions) = (Vec::new(), 0, None);
        let mut terms = BTreeMap::<String, f64>::new();
        let passes = draws * chains;
        for pass in 0..passes {
            let found = self.part(&format!("bound {pass}"), |evaluator| {
                let images = evaluator.draw(pass / chains);
                let all = rows(images.len());
                let found = evaluator.pass((&images, &all), evaluator.seed, pass as u64, |share| {
                    (Phase::Bound, (pass as f64 + share) / passes as f64)
                })?;
                let bounds = found.bound.iter().map(|b| b.is_finite().then_some(*b)).collect();
                let dimensions = used_dimensions(&found.encoder_mean, evaluator.problem.model.latent());
                Ok(Pass { bounds, terms: found.terms, divergences: found.divergences, dimensions })
            })?;
            values.extend(found.bounds.into_iter().map(|b| b.unwrap_or(f64::NAN)));
            divergences += found.divergences;
            dimensions = dimensions.or(found.dimensions);
            for (name, mean) in found.terms {
                *terms.entry(name).or_default() += mean / passes as f64;
            }
        }
        let dropped = values.iter().filter(|b| b.is_nan()).count() as u64;
        // Images have densities everywhere; what is lost was lost in simulations.
        Dropped { rows: values.len() as u64, dropped, no_density: 0 }.check()?;
        let bounds = means_of_images(&values, self.images.len());
        Ok(AllBounds { bounds, terms, divergences, dropped, dimensions })
    }

    /// Mean and log variance of every image's proposal: the average of draws from the improved posterior, and
    /// the encoder's log variance (`app:NLLestimateImportSampling`). Without HMC steps the posterior
    /// approximation is the encoder's Gaussian, whose mean is known and need not be estimated.
    pub(super) fn proposals(
        &mut self,
        images: &Drawn,
        draw: usize,
        draws: usize,
    ) -> Result<(Vec<f32>, Vec<f32>), EvalError> {
        let draws = if self.problem.family.is_gaussian() { 0 } else { draws };
        let all = rows(images.len());
        let d = self.problem.model.latent();
        let (mut sum, mut found) = (vec![0f32; self.images.len() * d], vec![0f32; self.images.len() * d]);
        let mut encoder = (Vec::new(), Vec::new());
        for i in 0..draws.max(1) {
            let number = (draw * draws + i) as u64;
            let chain = self.pass((images, &all), self.seed ^ PROPOSAL_SEED, number, |share| {
                (Phase::Proposals, (i as f64 + share) / draws.max(1) as f64)
            })?;
            for ((sum, found), z) in sum.iter_mut().zip(&mut found).zip(&chain.end) {
                if draws > 0 && z.is_finite() {
                    (*sum, *found) = (*sum + z, *found + 1.0);
                }
            }
            encoder = (chain.encoder_mean, chain.encoder_log_variance);
        }
        // Where every simulation diverged the encoder's mean serves: any proposal is a right one.
        let average =
            |((sum, found), mean): ((&f32, &f32), &f32)| if *found > 0.0 { sum / found } else { *mean };
        Ok((sum.iter().zip(&found).zip(&encoder.0).map(average).collect(), encoder.1))
    }

    /// Runs the chain once on some rows of images.
    pub(super) fn pass(
        &mut self,
        (images, rows): (&Drawn, &[u32]),
        seed: u64,
        number: u64,
        phase: impl Fn(f64) -> (Phase, f64),
    ) -> Result<Bounds, EvalError> {
        let count = rows.len();
        let (watch, mut flow) = (&mut *self.watch, std::ops::ControlFlow::Continue(()));
        let done = |n: usize| {
            let (phase, share) = phase(n as f64 / count as f64);
            flow = watch.progress(phase, share);
            flow.is_break()
        };
        let found = self.chain.run(self.store, images, rows, seed, number, done)?;
        stop(flow)?;
        Ok(found)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dimensions_are_used_where_encoded_means_differ() {
        // One that tells images apart, one with another mean that hardly does, one that does not.
        let means = |n: u32| [[1.0, 5.0, 0.0], [-1.0, 5.1, 0.0]][n as usize % 2];
        let all: Vec<f32> = (0..10).flat_map(means).collect();
        assert_eq!(used_dimensions(&all, 3), Some(UsedDimensions { used: 1, all: 3 }));
        assert_eq!(used_dimensions(&all[..3], 3), None);
    }
}
