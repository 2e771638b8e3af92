//! Evaluate a model on images by everything that was asked for, part by part: what an earlier, interrupted
//! result finished is not computed again.

mod annealed;
mod blocks;
mod chain;
mod plane;
mod posterior;
mod reverse;
mod sampled;
mod together;

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::time::Instant;

use hmcvi_graph::Store;
use hmcvi_record as record;
use hmcvi_record::{Estimate, ImageEvaluation};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use self::together::Together;
use super::EvalError;
use super::annealing::AnnealingOptions;
use super::bound::BoundEvaluator;
use super::importance::Proposal;
use super::posterior::PosteriorOptions;
use super::quadrature::QuadratureOptions;
use crate::config::RunSpec;
use crate::data::{Drawn, Observation, Table};
use crate::device::Device;
use crate::problem::{Problem, Subject};

/// Seed of the fixed binarisation draws of test images, the same for all models.
pub const TEST_SEED: u64 = 0x7e57;

/// What is to be found out.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct EvaluationOptions {
    /// Seed of the fixed binarisation draws.
    pub images_seed: u64,
    /// Binarisation draws of each image.
    pub draws: usize,
    /// Chains for each image and draw in the bound.
    pub chain_draws: usize,
    /// Importance sampling.
    pub importance: Option<ImportanceOptions>,
    /// Samples of the encoder's multi-sample bound; 0 leaves it out.
    pub encoder_samples: usize,
    /// Quadrature over the latent plane.
    pub quadrature: Option<QuadratureOptions>,
    /// Annealed importance sampling of so many images.
    pub annealing: Option<(AnnealingOptions, usize)>,
    /// Bidirectional Monte Carlo with so many simulated data points.
    pub bidirectional: Option<(AnnealingOptions, usize)>,
    /// Comparison with the posteriors of so many images.
    pub posterior: Option<(PosteriorOptions, usize)>,
    /// What better reverse models would add to the bound of so many images; 0 leaves it out.
    pub reverse: usize,
}

/// Settings of importance sampling.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct ImportanceOptions {
    /// Samples for each image and draw.
    pub samples: usize,
    /// The proposal.
    pub proposal: Proposal,
    /// Factor of the encoder's covariance.
    pub scale: f64,
    /// Draws from the improved posterior whose average is the proposal's mean.
    pub mean_draws: usize,
}

impl ImportanceOptions {
    /// So many samples in the way of the paper.
    pub fn new(samples: usize) -> Self {
        ImportanceOptions { samples, proposal: Proposal::Gaussian, scale: 1.0, mean_draws: 5 }
    }
}

impl EvaluationOptions {
    /// The bound and importance sampling on all fixed draws, as the paper has it.
    pub fn new(spec: &RunSpec) -> Self {
        let draws = if spec.data.binarisation.is_random() { spec.data.evaluation_draws } else { 1 };
        EvaluationOptions {
            images_seed: TEST_SEED,
            draws,
            chain_draws: 1,
            importance: Some(ImportanceOptions::new(spec.eval.importance_samples)),
            encoder_samples: 0,
            quadrature: None,
            annealing: None,
            bidirectional: None,
            posterior: None,
            reverse: 0,
        }
    }
}

/// What is being computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Phase {
    /// The bound.
    Bound,
    /// Draws from the improved posterior, whose means the proposals have.
    Proposals,
    /// Importance sampling.
    ImportanceSampling,
    /// The multi-sample bound of the encoder.
    EncoderBound,
    /// Quadrature over the latent plane.
    Quadrature,
    /// Step sizes of annealing.
    Tuning,
    /// Annealed importance sampling.
    Annealing,
    /// Annealing of simulated data, both ways.
    Bidirectional,
    /// Long chains on posteriors.
    Posterior,
    /// Reverse models of single images.
    Reverse,
}

impl Phase {
    /// What a person calls it.
    pub fn name(self) -> &'static str {
        match self {
            Phase::Bound => "bound",
            Phase::Proposals => "proposals",
            Phase::ImportanceSampling => "importance sampling",
            Phase::EncoderBound => "encoder's multi-sample bound",
            Phase::Quadrature => "quadrature",
            Phase::Tuning => "tuning step sizes",
            Phase::Annealing => "annealed importance sampling",
            Phase::Bidirectional => "bidirectional Monte Carlo",
            Phase::Posterior => "posterior chains",
            Phase::Reverse => "reverse models",
        }
    }
}

/// Watches a result, may stop it, and may keep its finished parts.
pub trait Watch {
    /// The share of a phase that is done. Breaking stops with [`EvalError::Stopped`].
    fn progress(&mut self, _phase: Phase, _share: f64) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }
    /// The value of a part that was finished earlier.
    fn recall(&mut self, _part: &str) -> Option<serde_json::Value> {
        None
    }
    /// Keeps the value of a finished part.
    fn keep(&mut self, _part: &str, _value: &serde_json::Value) -> Result<(), EvalError> {
        Ok(())
    }
}

/// Watches nothing.
impl Watch for () {}

/// What was found out.
#[derive(Clone, Debug, PartialEq)]
pub struct EvaluationResult {
    /// Bound on `log p(x)`.
    pub bound: Estimate,
    /// Mean of every term of the bound.
    pub terms: BTreeMap<String, f64>,
    /// Simulations, over all draws, that diverged.
    pub divergences: u64,
    /// Rows, over all draws, that the bound leaves out: 1% at most.
    pub dropped: u64,
    /// Latent dimensions that are used; not with a single image.
    pub dimensions: Option<record::UsedDimensions>,
    /// Mean bound of every image over its draws; not a number if all of them diverged.
    pub bounds: Vec<f64>,
    /// `log p(x)` by importance sampling.
    pub importance_sampling: Option<record::ImportanceSampling>,
    /// `log p(x)` of every image, mean over its draws.
    pub log_likelihoods: Vec<f64>,
    /// The multi-sample bound of the encoder alone.
    pub encoder_bound: Option<record::EncoderBound>,
    /// `log p(x)` by quadrature.
    pub quadrature: Option<record::Quadrature>,
    /// `log p(x)` by annealed importance sampling.
    pub annealing: Option<record::Annealing>,
    /// Bounds from both sides on simulated data.
    pub bidirectional: Option<record::Bidirectional>,
    /// Distance from posteriors.
    pub posterior: Option<record::PosteriorQuality>,
    /// What better reverse models would add to the bound.
    pub reverse: Option<record::ReverseQuality>,
    /// What was found out about every image.
    pub images: Vec<ImageEvaluation>,
    /// Seconds by phase.
    pub seconds: BTreeMap<String, f64>,
}

/// Evaluates the model of a run whose parameters are in `store`.
pub fn evaluate(
    spec: &RunSpec,
    store: &Store<f32>,
    images: &Table,
    options: &EvaluationOptions,
    device: &Device,
    watch: &mut dyn Watch,
) -> Result<EvaluationResult, EvalError> {
    evaluate_problem(&Subject::of_run(spec, images), store, images, options, device, watch)
}

/// Evaluates any model with any family, as [`evaluate`] does those of a run.
pub fn evaluate_problem(
    subject: &Subject,
    store: &Store<f32>,
    images: &Table,
    options: &EvaluationOptions,
    device: &Device,
    watch: &mut dyn Watch,
) -> Result<EvaluationResult, EvalError> {
    let Subject { problem, observation, seed } = subject.clone();
    let chain = BoundEvaluator::new(&problem, &observation, device)?;
    let seconds = BTreeMap::new();
    let run = |watch: &mut dyn Watch| {
        Evaluator { store, images, options, device, watch, problem, observation, seed, chain, seconds }.run()
    };
    match device.ranks() {
        Some(ranks) => run(&mut Together { ranks: &**ranks, own: watch }),
        None => run(watch),
    }
}

/// A result on its way.
struct Evaluator<'a> {
    store: &'a Store<f32>,
    images: &'a Table,
    options: &'a EvaluationOptions,
    device: &'a Device,
    watch: &'a mut dyn Watch,
    problem: Problem,
    observation: Observation,
    seed: u64,
    chain: BoundEvaluator,
    seconds: BTreeMap<String, f64>,
}

impl Evaluator<'_> {
    fn run(mut self) -> Result<EvaluationResult, EvalError> {
        let (options, count) = (self.options, self.images.len());
        let bounds = self.timed(Phase::Bound, Self::bound)?;
        let mut result = EvaluationResult {
            bound: finite_estimate(&bounds.bounds),
            terms: bounds.terms,
            divergences: bounds.divergences,
            dropped: bounds.dropped,
            dimensions: bounds.dimensions,
            images: (0..count).map(|i| ImageEvaluation { image: i as u64, ..Default::default() }).collect(),
            bounds: bounds.bounds,
            importance_sampling: None,
            log_likelihoods: Vec::new(),
            encoder_bound: None,
            quadrature: None,
            annealing: None,
            bidirectional: None,
            posterior: None,
            reverse: None,
            seconds: BTreeMap::new(),
        };
        for (image, bound) in result.images.iter_mut().zip(&result.bounds) {
            image.bound = bound.is_finite().then_some(*bound);
        }
        let sampled = match options.importance {
            Some(importance) => Some(self.timed(Phase::ImportanceSampling, |evaluator| {
                evaluator.importance(importance, &mut result)
            })?),
            None => None,
        };
        if options.encoder_samples > 0 {
            result.encoder_bound = Some(self.timed(Phase::EncoderBound, Self::encoder_bound)?);
        }
        if let Some(quadrature) = options.quadrature {
            self.timed(Phase::Quadrature, |evaluator| evaluator.quadrature(quadrature, &mut result))?;
        }
        if let Some((annealing, images)) = options.annealing {
            self.timed(Phase::Annealing, |evaluator| {
                evaluator.annealing(annealing, images.min(count), sampled.as_deref(), &mut result)
            })?;
        }
        if let Some((annealing, points)) = options.bidirectional {
            let found =
                self.timed(Phase::Bidirectional, |evaluator| evaluator.bidirectional(annealing, points))?;
            result.bidirectional = Some(found);
        }
        if let Some((posterior, images)) = options.posterior {
            let found =
                self.timed(Phase::Posterior, |evaluator| evaluator.posterior(posterior, images.min(count)))?;
            result.posterior = Some(found);
        }
        if options.reverse > 0 {
            let found =
                self.timed(Phase::Reverse, |evaluator| evaluator.reverse(options.reverse.min(count)))?;
            result.reverse = Some(found);
        }
        result.seconds = self.seconds;
        Ok(result)
    }

    fn timed<R>(
        &mut self,
        phase: Phase,
        work: impl FnOnce(&mut Self) -> Result<R, EvalError>,
    ) -> Result<R, EvalError> {
        let start = Instant::now();
        let result = work(self)?;
        self.seconds.insert(phase.name().into(), start.elapsed().as_secs_f64());
        Ok(result)
    }

    /// A part of the work: recalled, or computed and kept.
    fn part<R: Serialize + DeserializeOwned>(
        &mut self,
        name: &str,
        compute: impl FnOnce(&mut Self) -> Result<R, EvalError>,
    ) -> Result<R, EvalError> {
        if let Some(value) = blocks::recall(self.watch, name) {
            return Ok(value);
        }
        let value = compute(self)?;
        blocks::keep(self.watch, name, &value)?;
        Ok(value)
    }

    /// Workers side by side, each with the parameters. One uses all cores of a processor; a GPU works for some
    /// while the results of others are looked at here.
    fn workers<W>(
        &self,
        make: impl Fn(&Device) -> Result<W, EvalError>,
    ) -> Result<Vec<(W, Store<f32>)>, EvalError> {
        let queues = self.device.queues();
        let worker = |_| {
            let device = if queues > 1 { &self.device.beside(queues)? } else { self.device };
            Ok((make(device)?, self.store.clone()))
        };
        (0..queues).map(worker).collect()
    }

    fn progress(&mut self, phase: Phase, share: f64) -> Result<(), EvalError> {
        stop(self.watch.progress(phase, share))
    }

    /// The images of a draw.
    fn draw(&self, draw: usize) -> Drawn {
        self.observation.draw(self.images, self.options.images_seed, draw)
    }
}

fn stop(flow: ControlFlow<()>) -> Result<(), EvalError> {
    if flow.is_break() { Err(EvalError::Stopped) } else { Ok(()) }
}

/// Mean of every image over its draws that are finite; `values` holds all images of the first draw, then of
/// the second, and so on.
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
    let nothing = Estimate { mean: f64::NAN, standard_error: f64::NAN };
    Estimate::of_finite(values.iter().copied()).unwrap_or(nothing)
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
