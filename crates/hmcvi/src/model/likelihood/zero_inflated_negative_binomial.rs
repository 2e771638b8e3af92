//! Let each column be a count that varies more than independent events do, or a zero with another cause.

use hmcvi_graph::Expr;

use super::negative_binomial::{self, NegativeBinomial};
use super::{Columns, Likelihood, LikelihoodSettings, Observed, counts};
use crate::dist::{self, RandomSource};

/// Log odds of additional zeros where the decoder gives 0: one value in eight. At the odds of 1, half of what the data
/// tell about the other parameters would be lost to begin with.
const FIRST_LOGIT: f64 = -2.0;

pub(super) struct ZeroInflatedNegativeBinomial;

impl Likelihood for ZeroInflatedNegativeBinomial {
    /// Means, then log odds of additional zeros.
    fn outputs(&self, columns: usize) -> usize {
        2 * columns
    }

    fn encoder_input<'g>(&self, _: &Columns<'_, 'g>, x: Expr<'g>) -> Expr<'g> {
        counts::encoder_input(x)
    }

    fn given<'g>(
        &self,
        columns: &Columns<'_, 'g>,
        decoded: Expr<'g>,
        x: Option<Expr<'g>>,
    ) -> Box<dyn Observed<'g> + 'g> {
        let part = |i: usize| decoded.slice_cols(i * columns.count, columns.count);
        Box::new(dist::ZeroInflatedNegativeBinomial {
            counts: negative_binomial::given(columns, part(0), x),
            zero_logits: part(1) + FIRST_LOGIT,
        })
    }

    fn sample(
        &self,
        settings: &LikelihoodSettings,
        parameters: &[f32],
        source: &mut RandomSource,
        x: &mut [f32],
    ) {
        let (counts, zero_logits) = parameters.split_at(2 * x.len());
        NegativeBinomial.sample(settings, counts, source, x);
        for (x, &logit) in x.iter_mut().zip(zero_logits) {
            if source.bernoulli(1.0 / (1.0 + (-f64::from(logit)).exp())) {
                *x = 0.0;
            }
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

impl<'g> Observed<'g> for dist::ZeroInflatedNegativeBinomial<'g> {
    fn log_prob_terms(&self, x: Expr<'g>) -> Expr<'g> {
        dist::ZeroInflatedNegativeBinomial::log_prob_terms(self, x)
    }

    fn mean(&self) -> Expr<'g> {
        dist::ZeroInflatedNegativeBinomial::mean(self)
    }

    fn parameters(&self) -> Expr<'g> {
        Expr::concat_cols(&[self.counts.parameters(), self.zero_logits])
    }
}
