//! Let each column be a count of independent events.

use hmcvi_graph::Expr;

use super::{Columns, Likelihood, LikelihoodSettings, Observed, counts};
use crate::dist::{self, RandomSource};

pub(super) struct Poisson;

impl Likelihood for Poisson {
    fn encoder_input<'g>(&self, _: &Columns<'_, 'g>, x: Expr<'g>) -> Expr<'g> {
        counts::encoder_input(x)
    }

    fn given<'g>(
        &self,
        columns: &Columns<'_, 'g>,
        decoded: Expr<'g>,
        x: Option<Expr<'g>>,
    ) -> Box<dyn Observed<'g> + 'g> {
        Box::new(dist::Poisson { log_rate: counts::log_mean(columns, decoded, x) })
    }

    fn sample(&self, _: &LikelihoodSettings, log_rates: &[f32], source: &mut RandomSource, x: &mut [f32]) {
        for (x, &log_rate) in x.iter_mut().zip(log_rates) {
            *x = source.poisson(f64::from(log_rate).exp()) as f32;
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

impl<'g> Observed<'g> for dist::Poisson<'g> {
    fn log_prob_terms(&self, x: Expr<'g>) -> Expr<'g> {
        dist::Poisson::log_prob_terms(self, x)
    }

    fn mean(&self) -> Expr<'g> {
        dist::Poisson::mean(self)
    }

    fn parameters(&self) -> Expr<'g> {
        self.log_rate
    }
}
