//! Judge a model on images: its bound over fixed draws, and its likelihood by importance sampling.

use std::collections::BTreeMap;
use std::ops::ControlFlow;

use hmcvi_graph::Store;
use hmcvi_record::{Estimate, ImportanceSampling};

use super::{BoundEvaluator, EvalError, ImportanceEvaluator, estimate};
use crate::config::RunSpec;
use crate::data::{Binarisation, Images, fixed_draw};

/// Seed of the fixed binarisation draws of test images, the same for all models.
pub const TEST_SEED: u64 = 0x7e57;
/// Draws from the improved posterior whose average is the proposal's mean (`app:NLLestimateImportSampling`).
const PROPOSAL_DRAWS: u64 = 5;

/// What is to be found out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JudgeOptions {
    /// Threads; 0 for one per core.
    pub threads: usize,
    /// Samples of importance sampling for each image; 0 leaves it out.
    pub samples: usize,
    /// Seed of the fixed binarisation draws.
    pub images_seed: u64,
}

/// What is being computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// The bound; counts images over all draws.
    Bound,
    /// The means of the proposals; counts images over all draws.
    Proposal,
    /// Importance sampling; counts images.
    Likelihood,
}

/// What was found out. Values of single images allow paired comparisons of models.
#[derive(Clone, Debug, PartialEq)]
pub struct Judgement {
    /// Bound on `log p(x)`.
    pub bound: Estimate,
    /// Mean of every term of the bound.
    pub terms: BTreeMap<String, f64>,
    /// Binarisation draws of every image.
    pub draws: u64,
    /// Images, over all draws, whose simulation diverged.
    pub divergences: u64,
    /// Mean bound of every image over its draws; not a number if all of them diverged.
    pub bounds: Vec<f64>,
    /// `log p(x)`, if it was asked for.
    pub importance_sampling: Option<ImportanceSampling>,
    /// `log p(x)` of the first draw of every image.
    pub log_likelihoods: Vec<f64>,
}

/// Told about progress: phase, images done, images in all. Breaking stops with [`EvalError::Stopped`].
pub type Progress<'a> = dyn FnMut(Phase, usize, usize) -> ControlFlow<()> + 'a;

/// Judges the model whose parameters are in `store`.
pub fn judge(
    spec: &RunSpec,
    store: &mut Store<f32>,
    images: &Images,
    options: &JudgeOptions,
    progress: &mut Progress<'_>,
) -> Result<Judgement, EvalError> {
    let (binarisation, scale) = (spec.data.binarisation, spec.data.pixel_scale);
    let draws = if binarisation == Binarisation::Stochastic { spec.data.evaluation_draws } else { 1 };
    let draw = |d| fixed_draw(images, binarisation, scale, options.images_seed, d);
    let mut evaluator = BoundEvaluator::new(spec, images.pixels(), options.threads)?;
    let (count, mut values) = (images.len(), Vec::new());
    let (mut terms, mut divergences) = (BTreeMap::<String, f64>::new(), 0);
    for d in 0..draws {
        let mut flow = ControlFlow::Continue(());
        let done = |n| flow = progress(Phase::Bound, d * count + n, draws * count);
        let bounds = evaluator.run(store, &draw(d), count, spec.eval.seed, d as u64, done)?;
        stop(flow)?;
        values.extend(bounds.bound);
        divergences += bounds.divergences;
        for (name, mean) in bounds.terms {
            *terms.entry(name).or_default() += mean / draws as f64;
        }
    }
    let bounds = means_of_images(&values, count);
    let mut judgement = Judgement {
        bound: finite_estimate(&bounds),
        terms,
        draws: draws as u64,
        divergences,
        bounds,
        importance_sampling: None,
        log_likelihoods: Vec::new(),
    };
    if options.samples > 0 {
        likelihood(spec, store, (&draw(0), images), options, &mut evaluator, progress, &mut judgement)?;
    }
    Ok(judgement)
}

fn likelihood(
    spec: &RunSpec,
    store: &mut Store<f32>,
    (binary, images): (&[u8], &Images),
    options: &JudgeOptions,
    evaluator: &mut BoundEvaluator,
    progress: &mut Progress<'_>,
    judgement: &mut Judgement,
) -> Result<(), EvalError> {
    let (count, d) = (images.len(), spec.model.latent);
    let (mean, log_variance) = proposals(spec, store, binary, count, evaluator, progress)?;
    let mut importance = ImportanceEvaluator::new(spec, images.pixels(), options.threads)?;
    let mut sizes = Vec::with_capacity(count);
    for (i, image) in binary.chunks(images.pixels()).enumerate() {
        let of = |values: &'_ [f32]| values[i * d..(i + 1) * d].to_vec();
        let (mean, log_variance) = (of(&mean), of(&log_variance));
        let found = importance.run(
            store,
            image,
            (&mean, &log_variance),
            options.samples,
            spec.eval.seed,
            i as u64,
        )?;
        judgement.log_likelihoods.push(found.log_likelihood);
        sizes.push(found.effective_sample_size);
        stop(progress(Phase::Likelihood, i + 1, count))?;
    }
    judgement.importance_sampling = Some(ImportanceSampling {
        samples: options.samples as u64,
        log_likelihood: finite_estimate(&judgement.log_likelihoods),
        effective_sample_size: finite_estimate(&sizes).mean,
    });
    Ok(())
}

/// Mean and log variance of every image's proposal: the average of draws from the improved posterior,
/// and the encoder's.
fn proposals(
    spec: &RunSpec,
    store: &mut Store<f32>,
    binary: &[u8],
    count: usize,
    evaluator: &mut BoundEvaluator,
    progress: &mut Progress<'_>,
) -> Result<(Vec<f32>, Vec<f32>), EvalError> {
    let mut sum = vec![0f32; count * spec.model.latent];
    let mut found = vec![0f32; count * spec.model.latent];
    let mut encoder = (Vec::new(), Vec::new());
    for draw in 0..PROPOSAL_DRAWS {
        let mut flow = ControlFlow::Continue(());
        let before = draw as usize * count;
        let done = |n| flow = progress(Phase::Proposal, before + n, PROPOSAL_DRAWS as usize * count);
        // Another seed than that of the bound, so that its noise is not shared.
        let chain = evaluator.run(store, binary, count, spec.eval.seed ^ 0x5eed, draw, done)?;
        stop(flow)?;
        for ((sum, found), z) in sum.iter_mut().zip(&mut found).zip(&chain.end) {
            if z.is_finite() {
                (*sum, *found) = (*sum + z, *found + 1.0);
            }
        }
        encoder = (chain.encoder_mean, chain.encoder_log_variance);
    }
    // Where every simulation diverged the encoder's mean serves: any proposal is a right one.
    let average = |((sum, found), mean): ((&f32, &f32), &f32)| if *found > 0.0 { sum / found } else { *mean };
    Ok((sum.iter().zip(&found).zip(&encoder.0).map(average).collect(), encoder.1))
}

fn stop(flow: ControlFlow<()>) -> Result<(), EvalError> {
    if flow.is_break() { Err(EvalError::Stopped) } else { Ok(()) }
}

/// Mean of every image over its draws that are finite.
fn means_of_images(values: &[f64], images: usize) -> Vec<f64> {
    let of_image = |i: usize| {
        let draws = values.iter().skip(i).step_by(images).filter(|v| v.is_finite());
        let (sum, n) = draws.fold((0.0, 0), |(sum, n), v| (sum + v, n + 1));
        sum / f64::from(n)
    };
    (0..images).map(of_image).collect()
}

/// Mean and standard error over the finite values.
pub fn finite_estimate(values: &[f64]) -> Estimate {
    let finite: Vec<f64> = values.iter().copied().filter(|v| v.is_finite()).collect();
    estimate(&finite, finite.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_diverged_draw_does_not_count() {
        // Two images, two draws: image 0 has 1 and a divergence, image 1 has 3 and 5.
        let means = means_of_images(&[1.0, 3.0, f64::NAN, 5.0], 2);
        assert_eq!(means, [1.0, 4.0]);
        let e = finite_estimate(&[1.0, 4.0, f64::NEG_INFINITY]);
        assert!((e.mean - 2.5).abs() < 1e-12, "{e:?}");
    }
}
