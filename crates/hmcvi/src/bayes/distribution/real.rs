//! Distributions of real numbers.

use std::f64::consts::LN_2;

use super::univariate::univariate;
use crate::bayes::{Arg, Support};
use crate::dist::HALF_LOG_TWO_PI;

/// `log π`
pub(super) const LOG_PI: f64 = 1.144_729_885_849_400_2;

univariate! {
    /// No preference: a density of 1 everywhere, which is no probability. With [`on`](crate::bayes::Distribution::on) it
    /// leaves a variable to its support alone.
    flat() on Support::Real => |x| Arg::Number(0.0).var(x.graph());
    /// Gaussian with a mean and a standard deviation.
    normal(mean: REAL, sd: POSITIVE) on Support::Real => |x| {
        ((x - mean) / sd).square() * -0.5 - sd.log() - HALF_LOG_TWO_PI
    };
    /// Cauchy with a location and a scale.
    cauchy(location: REAL, scale: POSITIVE) on Support::Real => |x| {
        -((x - location) / scale).square().log1p() - scale.log() - LOG_PI
    };
    /// Student's t with degrees of freedom, a location and a scale.
    student_t(freedom: POSITIVE, location: REAL, scale: POSITIVE) on Support::Real => |x| {
        let (half, z) = (freedom * 0.5, (x - location) / scale);
        let constant = (half + 0.5).lgamma() - half.lgamma() - freedom.log() * 0.5 - 0.5 * LOG_PI;
        constant - scale.log() - (half + 0.5) * (z.square() / freedom).log1p()
    };
    /// Laplace with a location and a scale: Stan's `double_exponential`.
    laplace(location: REAL, scale: POSITIVE) on Support::Real => |x| {
        -((x - location) / scale).abs() - scale.log() - LN_2
    };
    /// Logistic with a location and a scale.
    logistic(location: REAL, scale: POSITIVE) on Support::Real => |x| {
        let z = (x - location) / scale;
        z.log_sigmoid() + (-z).log_sigmoid() - scale.log()
    };
    /// Gumbel with a location and a scale: the largest of many draws.
    gumbel(location: REAL, scale: POSITIVE) on Support::Real => |x| {
        let z = (x - location) / scale;
        -z - (-z).exp() - scale.log()
    };
    /// Skew normal with a location, a scale and a shape, which is 0 for a Gaussian.
    skew_normal(location: REAL, scale: POSITIVE, shape: REAL) on Support::Real => |x| {
        let z = (x - location) / scale;
        z.square() * -0.5 + (shape * z).log_normal_cdf() - scale.log() + (LN_2 - HALF_LOG_TWO_PI)
    };
    /// Laplace with a location, a scale and the probability to lie below the location.
    skew_laplace(location: REAL, scale: POSITIVE, below: UNIT) on Support::Real => |x| {
        let z = (x - location) / scale;
        let slope = z.less(0.0).select(below - 1.0, below);
        z * slope * -2.0 + below.log() + (-below).log1p() - scale.log() + LN_2
    };
    /// Sum of a Gaussian, with a mean and a standard deviation, and an exponential variable with a rate.
    exp_mod_normal(mean: REAL, sd: POSITIVE, rate: POSITIVE) on Support::Real => |x| {
        let spread = rate * sd;
        let z = (x - mean) / sd;
        rate.log() + spread * (spread * 0.5 - z) + (z - spread).log_normal_cdf()
    };
}
