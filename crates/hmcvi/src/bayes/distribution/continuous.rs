//! Distributions of real numbers.

use super::univariate;
use crate::bayes::support::Support;
use crate::dist::HALF_LOG_TWO_PI;

/// `log π`
const LOG_PI: f64 = 1.144_729_885_849_400_2;

univariate! {
    /// Gaussian with a mean and a standard deviation.
    normal(mean, sd) on Support::Real => |x| ((x - mean) / sd).square() * -0.5 - sd.log() - HALF_LOG_TWO_PI;
    /// The positive half of a Gaussian around 0, with the standard deviation of the whole.
    half_normal(sd) on Support::POSITIVE => |x| {
        (x / sd).square() * -0.5 - sd.log() + (std::f64::consts::LN_2 - HALF_LOG_TWO_PI)
    };
    /// Cauchy with a location and a scale.
    cauchy(location, scale) on Support::Real => |x| {
        -((x - location) / scale).square().log1p() - scale.log() - LOG_PI
    };
    /// The positive half of a Cauchy distribution around 0.
    half_cauchy(scale) on Support::POSITIVE => |x| {
        -(x / scale).square().log1p() - scale.log() + (std::f64::consts::LN_2 - LOG_PI)
    };
}
