//! Write the functions that log probabilities of counts need, so that nothing large cancels.
//!
//! `log Γ` of a count of a million is 1.3e7, of which single precision keeps a nat. What a probability needs of it is
//! small: Stirling's formula cancels against the powers exactly, and its error is left.

use hmcvi_graph::Expr;

use super::HALF_LOG_TWO_PI;

/// `eˣ - 1 = tanh(x/2) (eˣ + 1)`, accurate for small `x` as well.
pub(super) fn exp_minus_one(x: Expr<'_>) -> Expr<'_> {
    (x * 0.5).tanh() * (x.exp() + 1.0)
}

/// From here on the series below is right to 6e-12; `log Γ` itself is small before.
const LARGE: f64 = 8.0;

/// The error of Stirling's formula, `log Γ(x) - (x - ½) log x + x - ½ log 2π`, for `x > 0`.
pub(super) fn stirling_error(x: Expr<'_>) -> Expr<'_> {
    // Each branch sees arguments of its own only: elsewhere `log Γ` is infinite in its derivatives, or large.
    let is_large = x.greater_equal(LARGE);
    let (small, large) = (is_large.select(LARGE, x), is_large.select(x, LARGE));
    let exact = small.lgamma() - (small - 0.5) * small.log() + small - HALF_LOG_TWO_PI;
    let r = large.reciprocal();
    let s = r.square();
    // B₂ₖ / (2k (2k - 1) x²ᵏ⁻¹) for k from 1 to 4.
    let series = r * (1.0 / 12.0 - s * (1.0 / 360.0 - s * (1.0 / 1260.0 - s * (1.0 / 1680.0))));
    is_large.select(series, exact)
}

/// The logarithm of the largest Poisson probability of `x > 0`, that with mean `x`: `x log x - x - log Γ(x + 1)`.
pub(super) fn log_poisson_mode<'g>(x: Expr<'g>, log_x: Expr<'g>) -> Expr<'g> {
    -(log_x * 0.5 + stirling_error(x) + HALF_LOG_TWO_PI)
}

/// The values that are above 0, and 1 for the others, which are treated apart.
pub(super) fn positive(x: Expr<'_>) -> Expr<'_> {
    x.greater(0.0).select(x, 1.0)
}

/// `log(eᵃ + eᵇ)`, without overflow, and with the derivatives of it also where both are equal.
pub(super) fn log_add_exp<'g>(a: Expr<'g>, b: Expr<'g>) -> Expr<'g> {
    a.less(b).select(b + (a - b).softplus(), a + (b - a).softplus())
}
