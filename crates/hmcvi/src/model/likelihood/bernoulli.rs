//! Let each column be 1 with a probability of its own.

use hmcvi_graph::Expr;

use super::{Columns, Likelihood, LikelihoodSettings, Observed};
use crate::dist::{self, RandomSource};

pub(super) struct Bernoulli;

impl Likelihood for Bernoulli {
    fn given<'g>(
        &self,
        _: &Columns<'_, 'g>,
        decoded: Expr<'g>,
        _: Option<Expr<'g>>,
    ) -> Box<dyn Observed<'g> + 'g> {
        Box::new(dist::Bernoulli { logits: decoded })
    }

    fn linear<'g>(&self, logits: Expr<'g>) -> Option<(Expr<'g>, Expr<'g>)> {
        Some((logits, -logits.softplus().sum_cols()))
    }

    fn sample(&self, _: &LikelihoodSettings, logits: &[f32], source: &mut RandomSource, x: &mut [f32]) {
        for (x, &logit) in x.iter_mut().zip(logits) {
            let probability = 1.0 / (1.0 + (-f64::from(logit)).exp());
            *x = f32::from(u8::from(source.bernoulli(probability)));
        }
    }

    /// Values in between count as probabilities of 1.
    fn allows(&self, value: f32) -> bool {
        (0.0..=1.0).contains(&value)
    }

    fn allowed(&self) -> &'static str {
        "a number from 0 to 1"
    }
}

impl<'g> Observed<'g> for dist::Bernoulli<'g> {
    fn log_prob_terms(&self, x: Expr<'g>) -> Expr<'g> {
        dist::Bernoulli::log_prob_terms(self, x)
    }

    fn mean(&self) -> Expr<'g> {
        dist::Bernoulli::mean(self)
    }

    fn parameters(&self) -> Expr<'g> {
        self.logits
    }
}
