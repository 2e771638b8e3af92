"""Distributions: what is sampled and what is observed.

Names and arguments are those of Stan's distributions: scales are standard deviations, rates are inverse scales, and
classes count from 1. Each of them is a method of the model too: `m.normal("mu", 0, 5)` is short for
`m.sample("mu", normal(0, 5))`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Union

from . import _hmcvi

if TYPE_CHECKING:
    from ._hmcvi import Value

#: What a value of a model can be made of: a number, an array or a list of them, or a value.
Number = Union["Value", float, Any]


class Distribution:
    """A distribution with its arguments."""

    __slots__ = ("arguments", "components", "name", "size")

    def __init__(
        self,
        name: str,
        arguments: Sequence[Number] = (),
        components: Sequence[Distribution] = (),
        size: int = 0,
    ) -> None:
        self.name = name
        self.arguments = list(arguments)
        self.components = list(components)
        self.size = size

    def log_prob(self, x: Number) -> Value:
        """The log density at `x`, element by element: for densities that are put together by hand.

        >>> import hmcvi, numpy as np
        >>> @hmcvi.model
        ... def counts(m, y):
        ...     zero, rate = m.beta("zero", 1, 1), m.exponential("rate", 1)
        ...     seen = hmcvi.log(1 - zero) + hmcvi.poisson(rate).log_prob(y)
        ...     m.add_log_density("y", hmcvi.where(y == 0, np.logaddexp(hmcvi.log(zero), seen), seen))
        >>> counts(y=[0, 3, 0, 1]).dimension
        2
        """
        return _hmcvi.log_prob(self, x)

    def __repr__(self) -> str:
        return f"<hmcvi.{self.name}>"


def flat() -> Distribution:
    """No preference: a density of 1 everywhere, which is no probability."""
    return Distribution("flat", [])


def normal(mean: Number, sd: Number) -> Distribution:
    """Gaussian with a mean and a standard deviation."""
    return Distribution("normal", [mean, sd])


def cauchy(location: Number, scale: Number) -> Distribution:
    """Cauchy with a location and a scale."""
    return Distribution("cauchy", [location, scale])


def student_t(freedom: Number, location: Number, scale: Number) -> Distribution:
    """Student's t with degrees of freedom, a location and a scale."""
    return Distribution("student_t", [freedom, location, scale])


def laplace(location: Number, scale: Number) -> Distribution:
    """Laplace with a location and a scale: Stan's `double_exponential`."""
    return Distribution("laplace", [location, scale])


def logistic(location: Number, scale: Number) -> Distribution:
    """Logistic with a location and a scale."""
    return Distribution("logistic", [location, scale])


def gumbel(location: Number, scale: Number) -> Distribution:
    """Gumbel with a location and a scale: the largest of many draws."""
    return Distribution("gumbel", [location, scale])


def skew_normal(location: Number, scale: Number, skew: Number) -> Distribution:
    """Skew normal with a location, a scale and a skew, which is 0 for a Gaussian."""
    return Distribution("skew_normal", [location, scale, skew])


def skew_laplace(location: Number, scale: Number, below: Number) -> Distribution:
    """Laplace with a location, a scale and the probability to lie below the location."""
    return Distribution("skew_laplace", [location, scale, below])


def exp_mod_normal(mean: Number, sd: Number, rate: Number) -> Distribution:
    """Sum of a Gaussian variable and an exponential one."""
    return Distribution("exp_mod_normal", [mean, sd, rate])


def half_normal(sd: Number) -> Distribution:
    """The positive half of a Gaussian around 0, with the standard deviation of the whole."""
    return Distribution("half_normal", [sd])


def half_cauchy(scale: Number) -> Distribution:
    """The positive half of a Cauchy distribution around 0."""
    return Distribution("half_cauchy", [scale])


def lognormal(mean: Number, sd: Number) -> Distribution:
    """Numbers whose logarithms are Gaussian, with the mean and the standard deviation of these."""
    return Distribution("lognormal", [mean, sd])


def exponential(rate: Number) -> Distribution:
    """Exponential with a rate, the inverse of its mean."""
    return Distribution("exponential", [rate])


def gamma(alpha: Number, rate: Number) -> Distribution:
    """Gamma with a shape `alpha` and a rate."""
    return Distribution("gamma", [alpha, rate])


def inv_gamma(alpha: Number, scale: Number) -> Distribution:
    """Numbers whose inverses have a gamma distribution."""
    return Distribution("inv_gamma", [alpha, scale])


def weibull(alpha: Number, scale: Number) -> Distribution:
    """Weibull with a shape `alpha` and a scale."""
    return Distribution("weibull", [alpha, scale])


def chi_square(freedom: Number) -> Distribution:
    """Sum of the squares of so many standard normal variables."""
    return Distribution("chi_square", [freedom])


def inv_chi_square(freedom: Number) -> Distribution:
    """Numbers whose inverses have a chi-square distribution."""
    return Distribution("inv_chi_square", [freedom])


def scaled_inv_chi_square(freedom: Number, scale: Number) -> Distribution:
    """Inverse chi-square, times the degrees of freedom and the square of a scale."""
    return Distribution("scaled_inv_chi_square", [freedom, scale])


def frechet(alpha: Number, scale: Number) -> Distribution:
    """Numbers whose inverses have a Weibull distribution."""
    return Distribution("frechet", [alpha, scale])


def rayleigh(sd: Number) -> Distribution:
    """Length of a vector of two Gaussian variables with a standard deviation."""
    return Distribution("rayleigh", [sd])


def log_logistic(median: Number, alpha: Number) -> Distribution:
    """Numbers whose logarithms are logistic, with their median and a shape `alpha`."""
    return Distribution("log_logistic", [median, alpha])


def pareto(smallest: Number, alpha: Number) -> Distribution:
    """Pareto from a smallest value on, with a shape `alpha`."""
    return Distribution("pareto", [smallest, alpha])


def pareto_type_2(location: Number, scale: Number, alpha: Number) -> Distribution:
    """Pareto of the second type, with a location, a scale and a shape `alpha`."""
    return Distribution("pareto_type_2", [location, scale, alpha])


def beta(a: Number, b: Number) -> Distribution:
    """Beta: between 0 and 1, as after `a - 1` successes and `b - 1` failures."""
    return Distribution("beta", [a, b])


def beta_proportion(mean: Number, precision: Number) -> Distribution:
    """Beta with a mean and a precision, the sum of its other two arguments."""
    return Distribution("beta_proportion", [mean, precision])


def uniform(low: Number, high: Number) -> Distribution:
    """The same density everywhere between two bounds, and none beyond."""
    return Distribution("uniform", [low, high])


def bernoulli(p: Number) -> Distribution:
    """0 or 1, with the probability of 1."""
    return Distribution("bernoulli", [p])


def bernoulli_logit(logit: Number) -> Distribution:
    """0 or 1, with the log odds of 1."""
    return Distribution("bernoulli_logit", [logit])


def binomial(trials: Number, p: Number) -> Distribution:
    """Successes among so many trials, with the probability of one."""
    return Distribution("binomial", [trials, p])


def binomial_logit(trials: Number, logit: Number) -> Distribution:
    """Successes among so many trials, with the log odds of one."""
    return Distribution("binomial_logit", [trials, logit])


def beta_binomial(trials: Number, a: Number, b: Number) -> Distribution:
    """Successes among so many trials, with a probability that has a beta distribution."""
    return Distribution("beta_binomial", [trials, a, b])


def poisson(mean: Number) -> Distribution:
    """Counts with their mean."""
    return Distribution("poisson", [mean])


def poisson_log(log_mean: Number) -> Distribution:
    """Counts with the logarithm of their mean."""
    return Distribution("poisson_log", [log_mean])


def neg_binomial(alpha: Number, rate: Number) -> Distribution:
    """Counts whose means have a gamma distribution with a shape `alpha` and a rate."""
    return Distribution("neg_binomial", [alpha, rate])


def neg_binomial_2(mean: Number, dispersion: Number) -> Distribution:
    """Counts with their mean `m` and a dispersion `d`: their variance is `m + m * m / d`."""
    return Distribution("neg_binomial_2", [mean, dispersion])


def neg_binomial_2_log(log_mean: Number, dispersion: Number) -> Distribution:
    """The same with the logarithm of the mean."""
    return Distribution("neg_binomial_2_log", [log_mean, dispersion])


def dirichlet(concentration: Number) -> Distribution:
    """Dirichlet with a concentration for each element, or one for all."""
    return Distribution("dirichlet", [concentration])


def categorical(probabilities: Number) -> Distribution:
    """Classes from 1 on with their probabilities, along the last dimension."""
    return Distribution("categorical", [probabilities])


def categorical_logit(logits: Number) -> Distribution:
    """Classes from 1 on with the logarithms of their probabilities up to a constant."""
    return Distribution("categorical_logit", [logits])


def multinomial(probabilities: Number) -> Distribution:
    """How often each class is drawn, with the probabilities of the classes."""
    return Distribution("multinomial", [probabilities])


def ordered_logistic(location: Number, cut_points: Number) -> Distribution:
    """Classes from 1 on: between which cut points a logistic variable falls."""
    return Distribution("ordered_logistic", [location, cut_points])


def ordered_probit(location: Number, cut_points: Number) -> Distribution:
    """Classes from 1 on: between which cut points a Gaussian variable falls."""
    return Distribution("ordered_probit", [location, cut_points])


def multi_normal(mean: Number, covariance: Number) -> Distribution:
    """Gaussian vectors with a mean and a covariance."""
    return Distribution("multi_normal", [mean, covariance])


def multi_normal_cholesky(mean: Number, factor: Number) -> Distribution:
    """Gaussian vectors with a mean and the Cholesky factor of the covariance."""
    return Distribution("multi_normal_cholesky", [mean, factor])


def multi_normal_prec(mean: Number, precision: Number) -> Distribution:
    """Gaussian vectors with a mean and the inverse of the covariance."""
    return Distribution("multi_normal_prec", [mean, precision])


def multi_student_t(freedom: Number, location: Number, scale: Number) -> Distribution:
    """Vectors of Student's t with degrees of freedom, a location and a scale matrix."""
    return Distribution("multi_student_t", [freedom, location, scale])


def wishart(freedom: Number, scale: Number) -> Distribution:
    """Sums of so many squares of Gaussian vectors, with degrees of freedom and their covariance."""
    return Distribution("wishart", [freedom, scale])


def inv_wishart(freedom: Number, scale: Number) -> Distribution:
    """Matrices whose inverses have a Wishart distribution."""
    return Distribution("inv_wishart", [freedom, scale])


def lkj_corr(size: int, concentration: Number) -> Distribution:
    """Correlation matrices of so many variables, with a density in proportion to their determinant to the power of
    `concentration - 1`."""
    return Distribution("lkj_corr", [concentration], size=size)


def lkj_corr_cholesky(size: int, concentration: Number) -> Distribution:
    """Cholesky factors of correlation matrices of so many variables, with an LKJ distribution."""
    return Distribution("lkj_corr_cholesky", [concentration], size=size)


def mixture(weights: Number, components: Sequence[Distribution]) -> Distribution:
    """A mixture with the probabilities of its components along the last dimension."""
    return Distribution("mixture", [weights], components)


def mixture_logit(logits: Number, components: Sequence[Distribution]) -> Distribution:
    """A mixture with the logarithms of its weights up to a constant."""
    return Distribution("mixture_logit", [logits], components)


__all__ = [
    "flat",
    "normal",
    "cauchy",
    "student_t",
    "laplace",
    "logistic",
    "gumbel",
    "skew_normal",
    "skew_laplace",
    "exp_mod_normal",
    "half_normal",
    "half_cauchy",
    "lognormal",
    "exponential",
    "gamma",
    "inv_gamma",
    "weibull",
    "chi_square",
    "inv_chi_square",
    "scaled_inv_chi_square",
    "frechet",
    "rayleigh",
    "log_logistic",
    "pareto",
    "pareto_type_2",
    "beta",
    "beta_proportion",
    "uniform",
    "bernoulli",
    "bernoulli_logit",
    "binomial",
    "binomial_logit",
    "beta_binomial",
    "poisson",
    "poisson_log",
    "neg_binomial",
    "neg_binomial_2",
    "neg_binomial_2_log",
    "dirichlet",
    "categorical",
    "categorical_logit",
    "multinomial",
    "ordered_logistic",
    "ordered_probit",
    "multi_normal",
    "multi_normal_cholesky",
    "multi_normal_prec",
    "multi_student_t",
    "wishart",
    "inv_wishart",
    "lkj_corr",
    "lkj_corr_cholesky",
    "mixture",
    "mixture_logit",
]
