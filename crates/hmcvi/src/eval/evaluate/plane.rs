//! The likelihood of all images by quadrature over the latent plane.

use hmcvi_record as record;

use super::{EvaluationResult, Evaluator, Phase, finite_estimate, means_of_images};
use crate::eval::EvalError;
use crate::eval::quadrature::{Integral, Quadrature, QuadratureOptions};

/// Images, over all draws, that meet the decoded plane together: of few of them, all draws do.
const TOGETHER: usize = 20_000;

impl Evaluator<'_> {
    pub(super) fn quadrature(
        &mut self,
        options: QuadratureOptions,
        result: &mut EvaluationResult,
    ) -> Result<(), EvalError> {
        let (draws, count) = (self.options.draws.max(1), self.images.len());
        let mut quadrature = Quadrature::new(&self.problem, options, self.device)?;
        let mut all: Vec<Integral> = Vec::new();
        let together = (TOGETHER / count.max(1)).clamp(1, draws);
        for first in (0..draws).step_by(together) {
            all.extend(self.part(&format!("quadrature {first}"), |evaluator| {
                let some = first..draws.min(first + together);
                let x: Vec<f32> =
                    some.clone().flat_map(|draw| evaluator.draw(draw).values(0..count)).collect();
                let watch = &mut *evaluator.watch;
                let share = |own: f64| (first as f64 + own * some.len() as f64) / draws as f64;
                let mut look = |own| watch.progress(Phase::Quadrature, share(own)).is_break();
                quadrature.run(evaluator.store, &x, &mut look)
            })?);
        }
        let likelihoods: Vec<f64> = all.iter().map(|i| i.log_likelihood).collect();
        let likelihoods = means_of_images(&likelihoods, count);
        for (image, exact) in result.images.iter_mut().zip(&likelihoods) {
            image.exact = Some(*exact).filter(|l| l.is_finite());
        }
        let above =
            |sampled: &[f64]| -> Vec<f64> { likelihoods.iter().zip(sampled).map(|(e, s)| e - s).collect() };
        result.quadrature = Some(record::Quadrature {
            spacing: options.spacing,
            refined: all.iter().filter(|i| i.spacing < options.spacing).count() as f64 / all.len() as f64,
            log_likelihood: finite_estimate(&likelihoods),
            halves_apart: all.iter().map(|i| i.halves_apart).fold(0.0, f64::max),
            rim: Some(all.iter().map(|i| i.rim).fold(0.0, f64::max)),
            radius: Some(all.iter().map(|i| i.radius).fold(0.0, f64::max)),
            above_importance_sampling: (!result.log_likelihoods.is_empty())
                .then(|| finite_estimate(&above(&result.log_likelihoods))),
        });
        Ok(())
    }
}
