//! Distributions of numbers between two bounds.

use super::univariate::univariate;
use crate::bayes::{Arg, Support};

univariate! {
    /// Beta: between 0 and 1, as after `a - 1` successes and `b - 1` failures.
    beta(a: POSITIVE, b: POSITIVE) on Support::UNIT => |x| {
        (a - 1.0).times_log(x) + (b - 1.0).times_log1p(-x) + (a + b).lgamma() - a.lgamma() - b.lgamma()
    };
    /// The same density everywhere between two bounds, and none beyond.
    uniform(low: REAL, high: REAL) on Support::Between(low, high) => |x| {
        let beyond = (x - low).min(high - x).less(0.0);
        beyond.select(Arg::Number(f64::NEG_INFINITY), 0.0) - (high - low).log()
    };
    /// Beta with a mean and a precision, the sum of its other two arguments.
    beta_proportion(mean: UNIT, precision: POSITIVE) on Support::UNIT => |x| {
        let (a, b) = (mean * precision, (1.0 - mean) * precision);
        let constant = precision.lgamma() - a.lgamma() - b.lgamma();
        (a - 1.0).times_log(x) + (b - 1.0).times_log1p(-x) + constant
    };
}
