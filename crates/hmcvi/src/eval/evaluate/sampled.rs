//! Importance sampling of all images, and the multi-sample bound of the encoder.

use std::time::Instant;

use hmcvi_graph::Store;
use hmcvi_record as record;

use super::{EvaluationResult, Evaluator, ImportanceOptions, Phase, finite_estimate, means_of_images};
use crate::data::Drawn;
use crate::device::Device;
use crate::eval::importance::{ImportanceSampler, Proposal};
use crate::eval::{EvalError, WeightSummary, rows};

/// Images of a part: a few seconds of work.
const PART: usize = 200;
/// Seed of the encoder's samples, apart from those of the proposal.
const ENCODER_SEED: u64 = 0xe9c0;

/// Values above this say that an image's estimate is not to be trusted.
const HIGH_K_HAT: f64 = 0.7;

/// Samplers that work side by side, each with the parameters.
struct Samplers(Vec<(ImportanceSampler<f32>, Store<f32>)>);

impl Samplers {
    fn new(evaluator: &Evaluator<'_>, proposal: Proposal, samples: usize) -> Result<Self, EvalError> {
        let sampler = |device: &Device| ImportanceSampler::new(&evaluator.problem, proposal, samples, device);
        evaluator.workers(sampler).map(Samplers)
    }

    /// Bytes of working memory.
    fn bytes(&self) -> usize {
        self.0.iter().map(|(sampler, _)| sampler.bytes()).sum()
    }

    fn flop_per_sample(&self) -> u64 {
        self.0[0].0.flop_per_sample()
    }
}

impl Evaluator<'_> {
    /// Samples `log p(x)` of all images, and gives that of their first draws.
    pub(super) fn importance(
        &mut self,
        options: ImportanceOptions,
        result: &mut EvaluationResult,
    ) -> Result<Vec<f64>, EvalError> {
        let (draws, count) = (self.options.draws.max(1), self.images.len());
        let mut samplers = Samplers::new(self, options.proposal, options.samples)?;
        let (bytes, flop) = (samplers.bytes(), samplers.flop_per_sample());
        let mut all = Vec::new();
        let (mut images, mut seconds) = (0, 0.0);
        for draw in 0..draws {
            let drawn = self.draw(draw);
            let mut proposals = None;
            for first in (0..count).step_by(PART) {
                let part = format!("importance {draw} {first}");
                let found = self.part(&part, |evaluator| {
                    if proposals.is_none() {
                        let (mean, mut log_variance) =
                            evaluator.proposals(&drawn, draw, options.mean_draws)?;
                        log_variance.iter_mut().for_each(|v| *v += options.scale.ln() as f32);
                        proposals = Some((mean, log_variance));
                    }
                    let (mean, log_variance) = proposals.as_ref().expect("made above");
                    let start = Instant::now();
                    let last = count.min(first + PART);
                    let seed = evaluator.seed;
                    let run = (options.samples, seed, draw * count, Phase::ImportanceSampling);
                    let of = ((draw * count) as f64, (draws * count) as f64);
                    let found =
                        evaluator.weigh(&mut samplers, &drawn, (mean, log_variance), first..last, run, of)?;
                    (images, seconds) = (images + found.len(), seconds + start.elapsed().as_secs_f64());
                    Ok(found)
                })?;
                all.extend(found);
            }
        }
        let column = |f: fn(&WeightSummary) -> f64| -> Vec<f64> { all.iter().map(f).collect() };
        let likelihoods = means_of_images(&column(|w| w.log_mean), count);
        let mut k_hats: Vec<f64> = all.iter().filter_map(|w| w.k_hat).collect();
        let high = k_hats.iter().filter(|k| **k > HIGH_K_HAT).count() as f64 / all.len() as f64;
        for (i, image) in result.images.iter_mut().enumerate() {
            let of_image = || all.iter().skip(i).step_by(count);
            let most = |f: fn(&WeightSummary) -> f64| of_image().map(f).fold(f64::NEG_INFINITY, f64::max);
            image.log_likelihood = Some(likelihoods[i]).filter(|l| l.is_finite());
            image.effective_sample_size = Some(-most(|w| -w.effective_sample_size));
            image.log_weight_variance = Some(most(|w| w.variance));
            image.k_hat = of_image().filter_map(|w| w.k_hat).reduce(f64::max);
        }
        k_hats.sort_by(f64::total_cmp);
        result.importance_sampling = Some(record::ImportanceSampling {
            samples: options.samples as u64,
            proposal: match options.proposal {
                Proposal::Gaussian => "gaussian".into(),
                Proposal::StudentT => "student-t".into(),
                Proposal::Defensive => "defensive".into(),
            },
            proposal_scale: options.scale,
            mean_draws: if self.problem.family.is_gaussian() { 0 } else { options.mean_draws as u64 },
            log_likelihood: finite_estimate(&likelihoods),
            effective_sample_size: finite_estimate(&column(|w| w.effective_sample_size)).mean,
            log_weight_variance: finite_estimate(&column(|w| w.variance)).mean,
            k_hat_median: k_hats.get(k_hats.len() / 2).copied(),
            k_hat_high: high,
            gflops: (images == draws * count)
                .then(|| (images * options.samples) as f64 * flop as f64 / seconds / 1e9),
            bytes: bytes as u64,
        });
        result.log_likelihoods = likelihoods;
        Ok(all[..count].iter().map(|w| w.log_mean).collect())
    }

    pub(super) fn encoder_bound(&mut self) -> Result<record::EncoderBound, EvalError> {
        let (samples, count) = (self.options.encoder_samples, self.images.len());
        let mut samplers = Samplers::new(self, Proposal::Gaussian, samples)?;
        let drawn = self.draw(0);
        let mut encoder = None;
        let mut all = Vec::new();
        for first in (0..count).step_by(PART) {
            all.extend(self.part(&format!("encoder {first}"), |evaluator| {
                if encoder.is_none() {
                    let chain =
                        evaluator.pass((&drawn, &rows(count)), 0, 0, |_| (Phase::EncoderBound, 0.0))?;
                    encoder = Some((chain.encoder_mean, chain.encoder_log_variance));
                }
                let (mean, log_variance) = encoder.as_ref().expect("made above");
                let run = (samples, evaluator.seed ^ ENCODER_SEED, 0, Phase::EncoderBound);
                let images = first..count.min(first + PART);
                evaluator.weigh(&mut samplers, &drawn, (mean, log_variance), images, run, (0.0, count as f64))
            })?);
        }
        let bounds: Vec<f64> = all.iter().map(|w: &WeightSummary| w.log_mean).collect();
        Ok(record::EncoderBound { samples: samples as u64, bound: finite_estimate(&bounds) })
    }

    /// Weights of some images, and progress as images done before and images in all.
    fn weigh(
        &mut self,
        samplers: &mut Samplers,
        drawn: &Drawn,
        (mean, log_variance): (&[f32], &[f32]),
        images: std::ops::Range<usize>,
        (samples, seed, number, phase): (usize, u64, usize, Phase),
        (before, of): (f64, f64),
    ) -> Result<Vec<WeightSummary>, EvalError> {
        let (d, pixels, first) = (self.problem.model.latent(), self.images.columns(), images.start);
        let x = &drawn.values(images.clone());
        let weigh = move |(sampler, store): &mut (ImportanceSampler<f32>, Store<f32>), i: usize| {
            let x = &x[(i - first) * pixels..][..pixels];
            let proposal = (&mean[i * d..(i + 1) * d], &log_variance[i * d..(i + 1) * d]);
            sampler.run(store, x, proposal, samples, (seed, (number + i) as u64))
        };
        let all: Vec<usize> = images.collect();
        let mut shares = all.chunks(all.len().div_ceil(samplers.0.len()).max(1)).zip(&mut samplers.0);
        let Some((own, sampler)) = shares.next() else { return Ok(Vec::new()) };
        std::thread::scope(|scope| {
            let others: Vec<_> = shares
                .map(|(share, sampler)| {
                    scope.spawn(move || share.iter().map(|i| weigh(sampler, *i)).collect())
                })
                .collect();
            let mut found = Vec::with_capacity(all.len());
            for i in own {
                found.push(weigh(sampler, *i)?);
                self.progress(phase, (before + (i + 1) as f64) / of)?;
            }
            for other in others {
                let weights: Result<Vec<_>, EvalError> = other.join().expect("samplers do not panic");
                found.extend(weights?);
            }
            Ok(found)
        })
    }
}
