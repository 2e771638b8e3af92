//! Describe how a given number of counts is shared among columns.

use hmcvi_graph::Expr;

use super::Poisson;
use super::special::{log_poisson_mode, positive};

/// A multinomial variable for each row.
#[derive(Clone, Copy, Debug)]
pub struct Multinomial<'g> {
    /// Logarithms of the columns' shares, up to a constant, `[N, d]` or `[1, d]`.
    pub logits: Expr<'g>,
    /// The sum of each row, `[N, 1]` or `[1, 1]`.
    pub total: Expr<'g>,
}

/// In place of the logarithm of 0: the exponential of it is 0 to all digits.
const LOG_OF_NOTHING: f64 = -80.0;

impl<'g> Multinomial<'g> {
    /// Logarithms of the columns' shares.
    pub fn log_shares(&self) -> Expr<'g> {
        self.logits - self.logits.log_sum_exp()
    }

    /// Expected counts.
    pub fn mean(&self) -> Expr<'g> {
        self.total * self.log_shares().exp()
    }

    /// Log probability of every row, with the multinomial coefficient.
    pub fn log_prob(&self, x: Expr<'g>) -> Expr<'g> {
        self.log_prob_terms(x).sum_cols()
    }

    /// Terms of the log probability, `[N, d + 1]`.
    ///
    /// Poisson variables, given their sum `n`, are multinomial ones. So these are the log probabilities of Poisson
    /// variables with the expected counts as means, none of which is large, and the negative one of the sum.
    pub fn log_prob_terms(&self, x: Expr<'g>) -> Expr<'g> {
        let n = positive(self.total);
        let (some, log_n) = (self.total.greater(0.0), n.log());
        let counts = Poisson { log_rate: self.log_shares() + some.select(log_n, LOG_OF_NOTHING) };
        let sum = some.select(log_poisson_mode(n, log_n), 0.0);
        Expr::concat_cols(&[counts.log_prob_terms(x), -sum])
    }
}
