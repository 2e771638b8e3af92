//! Describe independent counts some of whose zeros have another cause.

use hmcvi_graph::Expr;

use super::NegativeBinomial;
use super::special::log_add_exp;

/// Independent variables that are 0 with a probability `π`, and negative binomial otherwise.
#[derive(Clone, Copy, Debug)]
pub struct ZeroInflatedNegativeBinomial<'g> {
    /// The counts without the additional zeros.
    pub counts: NegativeBinomial<'g>,
    /// Log odds of `π`, `[N, d]` or `[1, d]`.
    pub zero_logits: Expr<'g>,
}

impl<'g> ZeroInflatedNegativeBinomial<'g> {
    /// Expected counts, `(1 - π) m`.
    pub fn mean(&self) -> Expr<'g> {
        self.counts.mean() * (-self.zero_logits).sigmoid()
    }

    /// Log probability of every row.
    pub fn log_prob(&self, x: Expr<'g>) -> Expr<'g> {
        self.log_prob_terms(x).sum_cols()
    }

    /// Log probability of every count: `log(1 - π)` and that of the negative binomial variable, or for 0
    /// `log(π + (1 - π) p(0))`. Divided by `1 - π`, both need the log odds only.
    pub fn log_prob_terms(&self, x: Expr<'g>) -> Expr<'g> {
        let zero = log_add_exp(self.zero_logits, self.counts.log_prob_of_zero());
        x.greater(0.0).select(self.counts.log_prob_terms(x), zero) - self.zero_logits.softplus()
    }
}
