//! Distributions of integers, which are observed.

use super::univariate;
use crate::bayes::support::Support;

univariate! {
    /// 0 or 1, with the log odds of 1.
    bernoulli_logit(logit) on Support::Discrete => |x| {
        // log σ(l) where x is 1, log σ(-l) where it is 0.
        x * logit - logit.softplus()
    };
    /// Counts with the logarithm of their mean.
    poisson_log(log_mean) on Support::Discrete => |x| x * log_mean - log_mean.exp() - (x + 1.0).lgamma();
}
