//! Describe heavy-tailed distributions that proposals of importance sampling can be made of.

use hmcvi_graph::Expr;

use super::Gaussian;

/// Degrees of freedom. Even, so that a draw needs logarithms of uniform draws only; four have a finite
/// variance and tails that no posterior with a Gaussian prior exceeds.
const FREEDOM: f64 = 4.0;

/// A multivariate Student t distribution with four degrees of freedom and a diagonal scale matrix.
#[derive(Clone, Copy, Debug)]
pub struct StudentT<'g> {
    /// Mean and the scale matrix, in the place of a Gaussian's covariance.
    pub scale: Gaussian<'g>,
}

impl<'g> StudentT<'g> {
    /// The draw that belongs to standard normal noise `[N, d]` and two uniform draws `[N, 2]`.
    pub fn sample(&self, noise: Expr<'g>, uniform: Expr<'g>) -> Expr<'g> {
        // χ² with four degrees of freedom is twice the sum of two exponential draws. The bound keeps the
        // two draws in 2⁴⁸ finite for which it would be zero.
        let square = ((1.0 - uniform).log().sum_cols() * -2.0).max(1e-12);
        self.scale.sample(noise * (square * (1.0 / FREEDOM)).sqrt().reciprocal())
    }

    /// Log density of every row.
    pub fn log_prob(&self, x: Expr<'g>) -> Expr<'g> {
        let Gaussian { mean, log_variance } = self.scale;
        let d = self.scale.dimension() as f64;
        let square = ((x - mean).square() * (-log_variance).exp()).sum_cols();
        let constant = log_gamma_of_halves(FREEDOM + d)
            - log_gamma_of_halves(FREEDOM)
            - 0.5 * d * (FREEDOM * std::f64::consts::PI).ln();
        (square * (1.0 / FREEDOM)).log1p() * (-0.5 * (FREEDOM + d)) - log_variance.sum_cols() * 0.5 + constant
    }
}

/// `log Γ(n/2)` for a whole number `n`, by `Γ(x + 1) = x Γ(x)` from `Γ(1) = 1` or `Γ(½) = √π`.
fn log_gamma_of_halves(n: f64) -> f64 {
    let odd = n % 2.0 == 1.0;
    let (mut x, mut sum) = if odd { (0.5, 0.5 * std::f64::consts::PI.ln()) } else { (1.0, 0.0) };
    while x < n / 2.0 {
        sum += f64::ln(x);
        x += 1.0;
    }
    sum
}
