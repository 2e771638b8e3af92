//! Describe independent counts with Poisson distributions.

use hmcvi_graph::Expr;

use super::special::{exp_minus_one, log_poisson_mode, positive};

/// Independent Poisson variables, one for each column.
#[derive(Clone, Copy, Debug)]
pub struct Poisson<'g> {
    /// Logarithm of the mean, `[N, d]` or `[1, d]`.
    pub log_rate: Expr<'g>,
}

impl<'g> Poisson<'g> {
    /// Expected counts.
    pub fn mean(&self) -> Expr<'g> {
        self.log_rate.exp()
    }

    /// Log probability of every row.
    pub fn log_prob(&self, x: Expr<'g>) -> Expr<'g> {
        self.log_prob_terms(x).sum_cols()
    }

    /// Log probability of every count, `x log m - m - log Γ(x + 1)` for the mean `m`.
    ///
    /// Written with `u = log m/x`: the log probability is that of the mean `x`, less `x (eᵘ - 1 - u)`. For a count of
    /// a million the first form would be the small difference of numbers of 1e7, in single precision wrong by a nat.
    pub fn log_prob_terms(&self, x: Expr<'g>) -> Expr<'g> {
        let y = positive(x);
        let log_y = y.log();
        let u = self.log_rate - log_y;
        let seen = log_poisson_mode(y, log_y) - y * (exp_minus_one(u) - u);
        x.greater(0.0).select(seen, -self.mean())
    }
}
