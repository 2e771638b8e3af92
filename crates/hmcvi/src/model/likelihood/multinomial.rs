//! Let the columns share the sum of their row.

use hmcvi_graph::Expr;

use super::{Columns, Likelihood, LikelihoodSettings, Observed, counts};
use crate::dist::{self, RandomSource};

pub(super) struct Multinomial;

impl Likelihood for Multinomial {
    fn encoder_input<'g>(&self, _: &Columns<'_, 'g>, x: Expr<'g>) -> Expr<'g> {
        counts::encoder_input(x)
    }

    fn given<'g>(
        &self,
        columns: &Columns<'_, 'g>,
        decoded: Expr<'g>,
        x: Option<Expr<'g>>,
    ) -> Box<dyn Observed<'g> + 'g> {
        let logits = counts::logits(columns, decoded);
        Box::new(dist::Multinomial { logits, total: columns.row_total(x) })
    }

    fn sample(&self, _: &LikelihoodSettings, parameters: &[f32], source: &mut RandomSource, x: &mut [f32]) {
        let (log_shares, total) = parameters.split_at(x.len());
        let shares: Vec<f64> = log_shares.iter().map(|&log| f64::from(log).exp()).collect();
        source.multinomial(f64::from(total[0]).round(), &shares, x);
    }

    fn allows(&self, value: f32) -> bool {
        counts::allows(value)
    }

    fn allowed(&self) -> &'static str {
        counts::ALLOWED
    }
}

impl<'g> Observed<'g> for dist::Multinomial<'g> {
    fn log_prob_terms(&self, x: Expr<'g>) -> Expr<'g> {
        dist::Multinomial::log_prob_terms(self, x)
    }

    fn mean(&self) -> Expr<'g> {
        dist::Multinomial::mean(self)
    }

    fn parameters(&self) -> Expr<'g> {
        Expr::concat_cols(&[self.log_shares(), self.total])
    }
}
