//! Let each column be a count that varies more than independent events do.

use hmcvi_graph::Expr;

use super::{Columns, Likelihood, LikelihoodSettings, Observed, counts};
use crate::dist::{self, RandomSource};

pub(super) struct NegativeBinomial;

/// The counts that a decoder's outputs stand for.
pub(super) fn given<'g>(
    columns: &Columns<'_, 'g>,
    decoded: Expr<'g>,
    x: Option<Expr<'g>>,
) -> dist::NegativeBinomial<'g> {
    dist::NegativeBinomial {
        log_mean: counts::log_mean(columns, decoded, x),
        log_dispersion: counts::log_dispersion(columns),
    }
}

impl Likelihood for NegativeBinomial {
    fn encoder_input<'g>(&self, _: &Columns<'_, 'g>, x: Expr<'g>) -> Expr<'g> {
        counts::encoder_input(x)
    }

    fn given<'g>(
        &self,
        columns: &Columns<'_, 'g>,
        decoded: Expr<'g>,
        x: Option<Expr<'g>>,
    ) -> Box<dyn Observed<'g> + 'g> {
        Box::new(given(columns, decoded, x))
    }

    fn sample(&self, _: &LikelihoodSettings, parameters: &[f32], source: &mut RandomSource, x: &mut [f32]) {
        let (log_means, log_dispersions) = parameters.split_at(x.len());
        for ((x, &log_mean), &log_dispersion) in x.iter_mut().zip(log_means).zip(log_dispersions) {
            let [mean, dispersion] = [log_mean, log_dispersion].map(|log| f64::from(log).exp());
            *x = source.negative_binomial(mean, dispersion) as f32;
        }
    }

    fn has_size_factor(&self) -> bool {
        true
    }

    fn allows(&self, value: f32) -> bool {
        counts::allows(value)
    }

    fn allowed(&self) -> &'static str {
        counts::ALLOWED
    }
}

impl<'g> Observed<'g> for dist::NegativeBinomial<'g> {
    fn log_prob_terms(&self, x: Expr<'g>) -> Expr<'g> {
        dist::NegativeBinomial::log_prob_terms(self, x)
    }

    fn mean(&self) -> Expr<'g> {
        dist::NegativeBinomial::mean(self)
    }

    fn parameters(&self) -> Expr<'g> {
        Expr::concat_cols(&[self.log_mean, self.log_dispersion])
    }
}
