//! Describe independent binary variables by their logits.

use hmcvi_graph::Expr;

/// Independent Bernoulli variables, one for each column.
#[derive(Clone, Copy, Debug)]
pub struct Bernoulli<'g> {
    /// Log odds, `[N, d]`.
    pub logits: Expr<'g>,
}

impl<'g> Bernoulli<'g> {
    /// Probabilities of 1.
    pub fn mean(&self) -> Expr<'g> {
        self.logits.sigmoid()
    }

    /// 1 with the variable's probability, given uniform draws in `[0, 1)`.
    pub fn sample(&self, uniform: Expr<'g>) -> Expr<'g> {
        uniform.less(self.mean())
    }

    /// Log probability of every row, `Σ x·l - log(1 + eˡ)`. Values between 0 and 1 are allowed.
    pub fn log_prob(&self, x: Expr<'g>) -> Expr<'g> {
        self.log_prob_terms(x).sum_cols()
    }

    /// Log probability of every variable.
    pub fn log_prob_terms(&self, x: Expr<'g>) -> Expr<'g> {
        x * self.logits - self.logits.softplus()
    }

    /// Entropy of every row, `Σ log(1 + eˡ) - l·σ(l)`.
    pub fn entropy(&self) -> Expr<'g> {
        (self.logits.softplus() - self.logits * self.mean()).sum_cols()
    }
}
