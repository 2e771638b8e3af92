//! Distributions of positive numbers.

use std::f64::consts::LN_2;

use super::real::LOG_PI;
use super::univariate::univariate;
use crate::bayes::{Support, Var};
use crate::dist::HALF_LOG_TWO_PI;

univariate! {
    /// The positive half of a Gaussian around 0, with the standard deviation of the whole.
    half_normal(sd: POSITIVE) on Support::POSITIVE => |x| {
        (x / sd).square() * -0.5 - sd.log() + (LN_2 - HALF_LOG_TWO_PI)
    };
    /// The positive half of a Cauchy distribution around 0.
    half_cauchy(scale: POSITIVE) on Support::POSITIVE => |x| {
        -(x / scale).square().log1p() - scale.log() + (LN_2 - LOG_PI)
    };
    /// Numbers whose logarithms are Gaussian, with the mean and the standard deviation of these.
    lognormal(mean: REAL, sd: POSITIVE) on Support::POSITIVE => |x| {
        let log_x = x.log();
        ((log_x - mean) / sd).square() * -0.5 - sd.log() - log_x - HALF_LOG_TWO_PI
    };
    /// Exponential with a rate, the inverse of its mean.
    exponential(rate: POSITIVE) on Support::POSITIVE => |x| rate.log() - rate * x;
    /// Gamma with a shape and a rate.
    gamma(shape: POSITIVE, rate: POSITIVE) on Support::POSITIVE => |x| {
        (shape - 1.0).times_log(x) - rate * x + log_gamma_constant(shape, rate)
    };
    /// Numbers whose inverses have a gamma distribution with a shape and a rate, here a scale.
    inv_gamma(shape: POSITIVE, scale: POSITIVE) on Support::POSITIVE => |x| {
        log_gamma_constant(shape, scale) - (shape + 1.0) * x.log() - scale / x
    };
    /// Weibull with a shape and a scale.
    weibull(shape: POSITIVE, scale: POSITIVE) on Support::POSITIVE => |x| {
        let log_z = (x / scale).log();
        shape.log() - scale.log() + (shape - 1.0) * log_z - (shape * log_z).exp()
    };
    /// Sum of the squares of so many standard normal variables.
    chi_square(freedom: POSITIVE) on Support::POSITIVE => |x| {
        let half = freedom * 0.5;
        (half - 1.0).times_log(x) - x * 0.5 - half * LN_2 - half.lgamma()
    };
    /// Numbers whose inverses have a [`chi_square`] distribution.
    inv_chi_square(freedom: POSITIVE) on Support::POSITIVE => |x| {
        let half = freedom * 0.5;
        -(half + 1.0) * x.log() - x.reciprocal() * 0.5 - half * LN_2 - half.lgamma()
    };
}

/// `a log b - log Γ(a)`
fn log_gamma_constant<'g>(shape: Var<'g>, rate: Var<'g>) -> Var<'g> {
    shape * rate.log() - shape.lgamma()
}
