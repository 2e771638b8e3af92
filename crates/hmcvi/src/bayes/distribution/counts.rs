//! Distributions of counts, which are observed.

use super::univariate::univariate;
use crate::bayes::{Dims, Support, Var};
use crate::dist::{NegativeBinomial, Poisson};

univariate! {
    /// 0 or 1, with the probability of 1.
    bernoulli(p: UNIT) on Support::BINARY => |x| x.times_log(p) + (1.0 - x).times_log1p(-p);
    /// 0 or 1, with the log odds of 1.
    bernoulli_logit(logit: REAL) on Support::BINARY => |x| {
        // log σ(l) where x is 1, log σ(-l) where it is 0.
        x * logit - logit.softplus()
    };
    /// Successes among so many trials, with the probability of one.
    binomial(trials: COUNTS, p: UNIT) on Support::Integers { from: 0, to: Some(trials) } => |x| {
        log_choices(trials, x) + x.times_log(p) + (trials - x).times_log1p(-p)
    };
    /// Successes among so many trials, with the log odds of one.
    binomial_logit(trials: COUNTS, logit: REAL) on Support::Integers { from: 0, to: Some(trials) } => |x| {
        log_choices(trials, x) + x * logit - trials * logit.softplus()
    };
    /// Successes among so many trials, with a probability that has a [`beta`](super::beta) distribution.
    beta_binomial(trials: COUNTS, a: POSITIVE, b: POSITIVE) on
        Support::Integers { from: 0, to: Some(trials) } => |x|
    {
        let log_beta = |a: Var<'g>, b: Var<'g>| a.lgamma() + b.lgamma() - (a + b).lgamma();
        log_choices(trials, x) + log_beta(x + a, trials - x + b) - log_beta(a, b)
    };
    /// Counts with their mean.
    poisson(mean: NOT_NEGATIVE) on Support::COUNTS => |x| log_poisson(x, mean.log()), fixed |x| orders(x);
    /// Counts with the logarithm of their mean.
    poisson_log(log_mean: REAL) on Support::COUNTS => |x| log_poisson(x, log_mean), fixed |x| orders(x);
    /// Counts whose means have a [`gamma`](super::gamma) distribution with a shape and a rate.
    neg_binomial(shape: POSITIVE, rate: POSITIVE) on Support::COUNTS => |x| {
        log_negative_binomial(x, shape.log() - rate.log(), shape.log())
    }, fixed |x| ways(x, shape);
    /// Counts with their mean `m` and a dispersion `φ`: their variance is `m + m²/φ`.
    neg_binomial_2(mean: POSITIVE, dispersion: POSITIVE) on Support::COUNTS => |x| {
        log_negative_binomial(x, mean.log(), dispersion.log())
    }, fixed |x| ways(x, dispersion);
    /// The same with the logarithm of the mean.
    neg_binomial_2_log(log_mean: REAL, dispersion: POSITIVE) on Support::COUNTS => |x| {
        log_negative_binomial(x, log_mean, dispersion.log())
    }, fixed |x| ways(x, dispersion);
}

/// Logarithm of the ways to choose `x` of `n`.
fn log_choices<'g>(n: Var<'g>, x: Var<'g>) -> Var<'g> {
    (n + 1.0).lgamma() - (x + 1.0).lgamma() - (n - x + 1.0).lgamma()
}

/// `-log x!` of counts that are known.
fn orders(x: Var<'_>) -> Option<Var<'_>> {
    x.known().map(|_| -(x + 1.0).lgamma())
}

/// `log Γ(x + φ) - log Γ(φ) - log x!` where all is known.
fn ways<'g>(x: Var<'g>, dispersion: Var<'g>) -> Option<Var<'g>> {
    x.known().zip(dispersion.known())?;
    Some((x + dispersion).lgamma() - dispersion.lgamma() - (x + 1.0).lgamma())
}

fn log_poisson<'g>(x: Var<'g>, log_rate: Var<'g>) -> Var<'g> {
    let log_prob = Poisson { log_rate: log_rate.expr() }.log_prob_terms(x.expr());
    Var::new(log_prob, largest([x, log_rate]))
}

fn log_negative_binomial<'g>(x: Var<'g>, log_mean: Var<'g>, log_dispersion: Var<'g>) -> Var<'g> {
    let counts = NegativeBinomial { log_mean: log_mean.expr(), log_dispersion: log_dispersion.expr() };
    Var::new(counts.log_prob_terms(x.expr()), largest([x, log_mean, log_dispersion]))
}

/// Dimensions of values that are known to fit each other.
fn largest<const N: usize>(values: [Var<'_>; N]) -> Dims {
    values.iter().map(|value| value.dims()).find(|dims| !dims.is_scalar()).unwrap_or(Dims::SCALAR)
}
