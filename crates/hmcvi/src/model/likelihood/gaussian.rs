//! Let each column be a number around a mean of its own.
//!
//! Networks see numbers around 0 of the size of 1; densities are those of the data as they are.

use hmcvi_graph::Expr;

use super::columns::bounded;
use super::{Columns, Likelihood, LikelihoodSettings, Observed, Scale};
use crate::dist::{self, RandomSource};

/// Logarithms of learnt standard deviations stay within ±7 of that of their column. A column that the decoder gets
/// exactly, such as one that never changes, would else have an infinite density.
const LARGEST_LOG_SCALE: f64 = 7.0;

pub(super) struct Gaussian;

/// Logarithm of the standard deviations, as shares of the columns' own.
fn log_share<'g>(columns: &Columns<'_, 'g>) -> Expr<'g> {
    let learnt = |cols| bounded(columns.trained("likelihood.log_scale", cols), LARGEST_LOG_SCALE);
    match columns.settings.scale {
        Scale::PerColumn => learnt(columns.count),
        Scale::Shared => learnt(1),
        Scale::Fixed => columns.parameters.graph().constant(columns.settings.fixed_scale.ln()),
    }
}

impl Likelihood for Gaussian {
    fn encoder_input<'g>(&self, columns: &Columns<'_, 'g>, x: Expr<'g>) -> Expr<'g> {
        (x - columns.mean()) / columns.scale()
    }

    fn given<'g>(
        &self,
        columns: &Columns<'_, 'g>,
        decoded: Expr<'g>,
        _: Option<Expr<'g>>,
    ) -> Box<dyn Observed<'g> + 'g> {
        let scale = columns.scale();
        let mean = columns.mean() + scale * decoded;
        Box::new(dist::Gaussian { mean, log_variance: (scale.log() + log_share(columns)) * 2.0 })
    }

    fn sample(&self, _: &LikelihoodSettings, parameters: &[f32], source: &mut RandomSource, x: &mut [f32]) {
        let (mean, log_variance) = parameters.split_at(x.len());
        for ((x, &mean), &log_variance) in x.iter_mut().zip(mean).zip(log_variance) {
            let deviation = (0.5 * f64::from(log_variance)).exp();
            *x = (f64::from(mean) + deviation * source.normal()) as f32;
        }
    }

    fn allows(&self, value: f32) -> bool {
        value.is_finite()
    }

    fn allowed(&self) -> &'static str {
        "a number"
    }
}

impl<'g> Observed<'g> for dist::Gaussian<'g> {
    fn log_prob_terms(&self, x: Expr<'g>) -> Expr<'g> {
        dist::Gaussian::log_prob_terms(self, x)
    }

    fn mean(&self) -> Expr<'g> {
        self.mean
    }

    fn parameters(&self) -> Expr<'g> {
        Expr::concat_cols(&[self.mean, self.log_variance])
    }
}
