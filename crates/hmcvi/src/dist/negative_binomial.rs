//! Describe independent counts that vary more than Poisson variables.

use hmcvi_graph::Expr;

use super::special::{exp_minus_one, log_poisson_mode, positive, stirling_error};

/// Independent negative binomial variables, one for each column: Poisson variables whose means are gamma variables.
/// With mean `m` and dispersion `r` the variance is `m + m²/r`.
#[derive(Clone, Copy, Debug)]
pub struct NegativeBinomial<'g> {
    /// Logarithm of the mean `m`, `[N, d]` or `[1, d]`.
    pub log_mean: Expr<'g>,
    /// Logarithm of the dispersion `r`, `[N, d]` or `[1, d]`.
    pub log_dispersion: Expr<'g>,
}

impl<'g> NegativeBinomial<'g> {
    /// Expected counts.
    pub fn mean(&self) -> Expr<'g> {
        self.log_mean.exp()
    }

    /// Log probability of every row.
    pub fn log_prob(&self, x: Expr<'g>) -> Expr<'g> {
        self.log_prob_terms(x).sum_cols()
    }

    /// Log probability of every count,
    /// `log Γ(x + r) - log Γ(r) - log Γ(x + 1) + r log r/(r + m) + x log m/(r + m)`.
    pub fn log_prob_terms(&self, x: Expr<'g>) -> Expr<'g> {
        x.greater(0.0).select(self.log_prob_of_positive(positive(x)), self.log_prob_of_zero())
    }

    /// `r log r/(r + m)`
    pub(super) fn log_prob_of_zero(&self) -> Expr<'g> {
        -(self.log_dispersion.exp() * (self.log_mean - self.log_dispersion).softplus())
    }

    /// The textbook's form is useless in single precision for large dispersions: for `r = e¹⁵` and `x = 5`,
    /// `log Γ(x + r)` and `log Γ(r)` are 4.6e7, where neighbouring numbers are 4 apart, and differ by 75. So Stirling's
    /// formula takes their place, with its small errors `s`. With `q = x/(x + r)` and `w = log m/x`
    ///
    /// `x w - (x + r) log(1 + q (eʷ - 1)) - ½ log(1 + x/r) - ½ log 2πx + s(x + r) - s(r) - s(x)`.
    ///
    /// The first two terms are a negative divergence, 0 where `m = x`. They keep their digits where `x < r`; otherwise
    /// the same holds with `1 - q`, `-w` and `r` in the place of `q`, `w` and the factor `x`. So there is no limit on
    /// the dispersion but that of the numbers: in single precision all is finite for log dispersions and log means
    /// within ±30.
    fn log_prob_of_positive(&self, x: Expr<'g>) -> Expr<'g> {
        let (r, log_x) = (self.log_dispersion.exp(), x.log());
        let log_odds = log_x - self.log_dispersion;
        let w = self.log_mean - log_x;
        let fewer = x.less(r);
        let q = fewer.select(log_odds, -log_odds).sigmoid();
        let w = fewer.select(w, -w);
        let divergence = (x + r) * (q * exp_minus_one(w)).log1p() - fewer.select(x, r) * w;
        let errors = stirling_error(x + r) - stirling_error(r);
        log_poisson_mode(x, log_x) + errors - log_odds.softplus() * 0.5 - divergence
    }
}
