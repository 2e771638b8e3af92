//! Distributions of positive numbers.

use std::f64::consts::LN_2;

use super::real::LOG_PI;
use super::univariate::univariate;
use crate::bayes::{Arg, Support, Var};
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
        let (log_x, log_scale) = (x.log(), scale.log());
        let power = (shape * (log_x - log_scale)).exp();
        shape.log() + (shape - 1.0).times_log(x) - shape * log_scale - power
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
    /// Numbers whose inverses have a Weibull distribution with a shape and the inverse of a scale.
    frechet(shape: POSITIVE, scale: POSITIVE) on Support::POSITIVE => |x| {
        let log_x = x.log();
        shape.log() + shape * scale.log() - (shape + 1.0) * log_x - (shape * (scale.log() - log_x)).exp()
    };
    /// Length of a vector of two Gaussian variables with a standard deviation.
    rayleigh(sd: POSITIVE) on Support::POSITIVE => |x| {
        x.log() - sd.log() * 2.0 - (x / sd).square() * 0.5
    };
    /// Numbers whose logarithms are logistic, with their median and a shape.
    log_logistic(median: POSITIVE, shape: POSITIVE) on Support::POSITIVE => |x| {
        let (log_x, log_median) = (x.log(), median.log());
        let z = shape * (log_x - log_median);
        shape.log() + (shape - 1.0) * log_x - shape * log_median - z.softplus() * 2.0
    };
    /// Numbers whose inverses have a [`chi_square`] distribution, times the degrees of freedom and the square of a scale.
    scaled_inv_chi_square(freedom: POSITIVE, scale: POSITIVE) on Support::POSITIVE => |x| {
        let half = freedom * 0.5;
        let constant = half * half.log() - half.lgamma();
        constant + freedom * scale.log() - (half + 1.0) * x.log() - half * scale.square() / x
    };
    /// Pareto from a smallest value on, with a shape.
    pareto(smallest: POSITIVE, shape: POSITIVE) on Support::Above(smallest) => |x| {
        let below = (x - smallest).less(0.0);
        let log_density = shape.log() + shape * smallest.log() - (shape + 1.0) * x.log();
        log_density + below.select(Arg::Number(f64::NEG_INFINITY), 0.0)
    };
    /// Pareto of the second type, with a location, a scale and a shape.
    pareto_type_2(location: REAL, scale: POSITIVE, shape: POSITIVE) on Support::Above(location) => |x| {
        shape.log() - scale.log() - (shape + 1.0) * ((x - location) / scale).log1p()
    };
}

/// `a log b - log Γ(a)`
fn log_gamma_constant<'g>(shape: Var<'g>, rate: Var<'g>) -> Var<'g> {
    shape * rate.log() - shape.lgamma()
}
