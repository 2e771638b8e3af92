"""What the first argument of a model function can do. Written by `tools/write_builder.py`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from . import _hmcvi, distributions
from .errors import ModelError

if TYPE_CHECKING:
    from ._hmcvi import Value
    from .distributions import Distribution, Number


class Builder:
    """Describes a model, variable by variable: the first argument of a function under `hmcvi.model`.

    Every distribution of `hmcvi.distributions` is a method. `m.normal("mu", 0, 5)` is a variable to infer, with as many
    elements as its arguments have, or as `shape` says. With `observed` it is data that were seen. `lower`, `upper` and
    `support` ("positive", "ordered", "positive-ordered", "simplex", "unit-vector", "sum-to-zero") say where a variable
    lives if not where the distribution does; the density is the same there, without a new constant.
    """

    def __init__(self, data: dict[str, Any]) -> None:
        self._trace = _hmcvi.Trace(data)

    def sample(
        self,
        name: str,
        distribution: Distribution,
        *,
        shape: int | Sequence[int] | None = None,
        lower: Number | None = None,
        upper: Number | None = None,
        support: str | None = None,
    ) -> Value:
        """A variable to infer, with its prior."""
        return self._trace.sample(name, distribution, shape, lower, upper, support)

    def observe(self, name: str, distribution: Distribution, seen: Number) -> None:
        """Data that were seen, with the distribution that they come from."""
        self._trace.observe(name, distribution, seen)

    def deterministic(self, name: str, value: Number) -> Value:
        """Names a value that is computed from variables, so that draws and summaries have it too."""
        return self._trace.deterministic(name, value)

    def add_log_density(self, name: str, value: Number) -> None:
        """Adds the elements of a value to the log density: what no distribution says."""
        self._trace.log_density(name, value)

    def value(self, known: Number) -> Value:
        """An array as a value of the model. Operators do that by themselves."""
        return self._trace.known(known)

    def _draw(
        self,
        name: str,
        distribution: Distribution,
        shape: int | Sequence[int] | None,
        lower: Number | None,
        upper: Number | None,
        support: str | None,
        observed: Number | None,
    ) -> Value:
        if observed is None:
            return self._trace.sample(name, distribution, shape, lower, upper, support)
        for key, given in {"shape": shape, "lower": lower, "upper": upper, "support": support}.items():
            if given is not None:
                message = f"`{name}`: `{key}` is for variables to infer; what was observed has its own"
                raise ModelError(message, name)
        self._trace.observe(name, distribution, observed)
        return self._trace.known(observed)

    def flat(
        self,
        name: str,
        *,
        shape: int | Sequence[int] | None = None,
        lower: Number | None = None,
        upper: Number | None = None,
        support: str | None = None,
        observed: Number | None = None,
    ) -> Value:
        """No preference: a density of 1 everywhere, which is no probability."""
        distribution = distributions.flat()
        return self._draw(name, distribution, shape, lower, upper, support, observed)

    def normal(
        self,
        name: str,
        mean: Number,
        sd: Number,
        *,
        shape: int | Sequence[int] | None = None,
        lower: Number | None = None,
        upper: Number | None = None,
        support: str | None = None,
        observed: Number | None = None,
    ) -> Value:
        """Gaussian with a mean and a standard deviation."""
        distribution = distributions.normal(mean, sd)
        return self._draw(name, distribution, shape, lower, upper, support, observed)

    def cauchy(
        self,
        name: str,
        location: Number,
        scale: Number,
        *,
        shape: int | Sequence[int] | None = None,
        lower: Number | None = None,
        upper: Number | None = None,
        support: str | None = None,
        observed: Number | None = None,
    ) -> Value:
        """Cauchy with a location and a scale."""
        distribution = distributions.cauchy(location, scale)
        return self._draw(name, distribution, shape, lower, upper, support, observed)

    def student_t(
        self,
        name: str,
        freedom: Number,
        location: Number,
        scale: Number,
        *,
        shape: int | Sequence[int] | None = None,
        lower: Number | None = None,
        upper: Number | None = None,
        support: str | None = None,
        observed: Number | None = None,
    ) -> Value:
        """Student's t with degrees of freedom, a location and a scale."""
        distribution = distributions.student_t(freedom, location, scale)
        return self._draw(name, distribution, shape, lower, upper, support, observed)

    def laplace(
        self,
        name: str,
        location: Number,
        scale: Number,
        *,
        shape: int | Sequence[int] | None = None,
        lower: Number | None = None,
        upper: Number | None = None,
        support: str | None = None,
        observed: Number | None = None,
    ) -> Value:
        """Laplace with a location and a scale: Stan's `double_exponential`."""
        distribution = distributions.laplace(location, scale)
        return self._draw(name, distribution, shape, lower, upper, support, observed)

    def logistic(
        self,
        name: str,
        location: Number,
        scale: Number,
        *,
        shape: int | Sequence[int] | None = None,
        lower: Number | None = None,
        upper: Number | None = None,
        support: str | None = None,
        observed: Number | None = None,
    ) -> Value:
        """Logistic with a location and a scale."""
        distribution = distributions.logistic(location, scale)
        return self._draw(name, distribution, shape, lower, upper, support, observed)

    def gumbel(
        self,
        name: str,
        location: Number,
        scale: Number,
        *,
        shape: int | Sequence[int] | None = None,
        lower: Number | None = None,
        upper: Number | None = None,
        support: str | None = None,
        observed: Number | None = None,
    ) -> Value:
        """Gumbel with a location and a scale: the largest of many draws."""
        distribution = distributions.gumbel(location, scale)
        return self._draw(name, distribution, shape, lower, upper, support, observed)

    def skew_normal(
        self,
        name: str,
        location: Number,
        scale: Number,
        skew: Number,
        *,
        shape: int | Sequence[int] | None = None,
        lower: Number | None = None,
        upper: Number | None = None,
        support: str | None = None,
        observed: Number | None = None,
    ) -> Value:
        """Skew normal with a location, a scale and a skew, which is 0 for a Gaussian."""
        distribution = distributions.skew_normal(location, scale, skew)
        return self._draw(name, distribution, shape, lower, upper, support, observed)

    def skew_laplace(
        self,
        name: str,
        location: Number,
        scale: Number,
        below: Number,
        *,
        shape: int | Sequence[int] | None = None,
        lower: Number | None = None,
        upper: Number | None = None,
        support: str | None = None,
        observed: Number | None = None,
    ) -> Value:
        """Laplace with a location, a scale and the probability to lie below the location."""
        distribution = distributions.skew_laplace(location, scale, below)
        return self._draw(name, distribution, shape, lower, upper, support, observed)

    def exp_mod_normal(
        self,
        name: str,
        mean: Number,
        sd: Number,
        rate: Number,
        *,
        shape: int | Sequence[int] | None = None,
        lower: Number | None = None,
        upper: Number | None = None,
        support: str | None = None,
        observed: Number | None = None,
    ) -> Value:
        """Sum of a Gaussian variable and an exponential one."""
        distribution = distributions.exp_mod_normal(mean, sd, rate)
        return self._draw(name, distribution, shape, lower, upper, support, observed)

    def half_normal(
        self,
        name: str,
        sd: Number,
        *,
        shape: int | Sequence[int] | None = None,
        lower: Number | None = None,
        upper: Number | None = None,
        support: str | None = None,
        observed: Number | None = None,
    ) -> Value:
        """The positive half of a Gaussian around 0, with the standard deviation of the whole."""
        distribution = distributions.half_normal(sd)
        return self._draw(name, distribution, shape, lower, upper, support, observed)

    def half_cauchy(
        self,
        name: str,
        scale: Number,
        *,
        shape: int | Sequence[int] | None = None,
        lower: Number | None = None,
        upper: Number | None = None,
        support: str | None = None,
        observed: Number | None = None,
    ) -> Value:
        """The positive half of a Cauchy distribution around 0."""
        distribution = distributions.half_cauchy(scale)
        return self._draw(name, distribution, shape, lower, upper, support, observed)

    def lognormal(
        self,
        name: str,
        mean: Number,
        sd: Number,
        *,
        shape: int | Sequence[int] | None = None,
        lower: Number | None = None,
        upper: Number | None = None,
        support: str | None = None,
        observed: Number | None = None,
    ) -> Value:
        """Numbers whose logarithms are Gaussian, with the mean and the standard deviation of these."""
        distribution = distributions.lognormal(mean, sd)
        return self._draw(name, distribution, shape, lower, upper, support, observed)

    def exponential(
        self,
        name: str,
        rate: Number,
        *,
        shape: int | Sequence[int] | None = None,
        lower: Number | None = None,
        upper: Number | None = None,
        support: str | None = None,
        observed: Number | None = None,
    ) -> Value:
        """Exponential with a rate, the inverse of its mean."""
        distribution = distributions.exponential(rate)
        return self._draw(name, distribution, shape, lower, upper, support, observed)

    def gamma(
        self,
        name: str,
        alpha: Number,
        rate: Number,
        *,
        shape: int | Sequence[int] | None = None,
        lower: Number | None = None,
        upper: Number | None = None,
        support: str | None = None,
        observed: Number | None = None,
    ) -> Value:
        """Gamma with a shape `alpha` and a rate."""
        distribution = distributions.gamma(alpha, rate)
        return self._draw(name, distribution, shape, lower, upper, support, observed)

    def inv_gamma(
        self,
        name: str,
        alpha: Number,
        scale: Number,
        *,
        shape: int | Sequence[int] | None = None,
        lower: Number | None = None,
        upper: Number | None = None,
        support: str | None = None,
        observed: Number | None = None,
    ) -> Value:
        """Numbers whose inverses have a gamma distribution."""
        distribution = distributions.inv_gamma(alpha, scale)
        return self._draw(name, distribution, shape, lower, upper, support, observed)

    def weibull(
        self,
        name: str,
        alpha: Number,
        scale: Number,
        *,
        shape: int | Sequence[int] | None = None,
        lower: Number | None = None,
        upper: Number | None = None,
        support: str | None = None,
        observed: Number | None = None,
    ) -> Value:
        """Weibull with a shape `alpha` and a scale."""
        distribution = distributions.weibull(alpha, scale)
        return self._draw(name, distribution, shape, lower, upper, support, observed)

    def chi_square(
        self,
        name: str,
        freedom: Number,
        *,
        shape: int | Sequence[int] | None = None,
        lower: Number | None = None,
        upper: Number | None = None,
        support: str | None = None,
        observed: Number | None = None,
    ) -> Value:
        """Sum of the squares of so many standard normal variables."""
        distribution = distributions.chi_square(freedom)
        return self._draw(name, distribution, shape, lower, upper, support, observed)

    def inv_chi_square(
        self,
        name: str,
        freedom: Number,
        *,
        shape: int | Sequence[int] | None = None,
        lower: Number | None = None,
        upper: Number | None = None,
        support: str | None = None,
        observed: Number | None = None,
    ) -> Value:
        """Numbers whose inverses have a chi-square distribution."""
        distribution = distributions.inv_chi_square(freedom)
        return self._draw(name, distribution, shape, lower, upper, support, observed)

    def scaled_inv_chi_square(
        self,
        name: str,
        freedom: Number,
        scale: Number,
        *,
        shape: int | Sequence[int] | None = None,
        lower: Number | None = None,
        upper: Number | None = None,
        support: str | None = None,
        observed: Number | None = None,
    ) -> Value:
        """Inverse chi-square, times the degrees of freedom and the square of a scale."""
        distribution = distributions.scaled_inv_chi_square(freedom, scale)
        return self._draw(name, distribution, shape, lower, upper, support, observed)

    def frechet(
        self,
        name: str,
        alpha: Number,
        scale: Number,
        *,
        shape: int | Sequence[int] | None = None,
        lower: Number | None = None,
        upper: Number | None = None,
        support: str | None = None,
        observed: Number | None = None,
    ) -> Value:
        """Numbers whose inverses have a Weibull distribution."""
        distribution = distributions.frechet(alpha, scale)
        return self._draw(name, distribution, shape, lower, upper, support, observed)

    def rayleigh(
        self,
        name: str,
        sd: Number,
        *,
        shape: int | Sequence[int] | None = None,
        lower: Number | None = None,
        upper: Number | None = None,
        support: str | None = None,
        observed: Number | None = None,
    ) -> Value:
        """Length of a vector of two Gaussian variables with a standard deviation."""
        distribution = distributions.rayleigh(sd)
        return self._draw(name, distribution, shape, lower, upper, support, observed)

    def log_logistic(
        self,
        name: str,
        median: Number,
        alpha: Number,
        *,
        shape: int | Sequence[int] | None = None,
        lower: Number | None = None,
        upper: Number | None = None,
        support: str | None = None,
        observed: Number | None = None,
    ) -> Value:
        """Numbers whose logarithms are logistic, with their median and a shape `alpha`."""
        distribution = distributions.log_logistic(median, alpha)
        return self._draw(name, distribution, shape, lower, upper, support, observed)

    def pareto(
        self,
        name: str,
        smallest: Number,
        alpha: Number,
        *,
        shape: int | Sequence[int] | None = None,
        lower: Number | None = None,
        upper: Number | None = None,
        support: str | None = None,
        observed: Number | None = None,
    ) -> Value:
        """Pareto from a smallest value on, with a shape `alpha`."""
        distribution = distributions.pareto(smallest, alpha)
        return self._draw(name, distribution, shape, lower, upper, support, observed)

    def pareto_type_2(
        self,
        name: str,
        location: Number,
        scale: Number,
        alpha: Number,
        *,
        shape: int | Sequence[int] | None = None,
        lower: Number | None = None,
        upper: Number | None = None,
        support: str | None = None,
        observed: Number | None = None,
    ) -> Value:
        """Pareto of the second type, with a location, a scale and a shape `alpha`."""
        distribution = distributions.pareto_type_2(location, scale, alpha)
        return self._draw(name, distribution, shape, lower, upper, support, observed)

    def beta(
        self,
        name: str,
        a: Number,
        b: Number,
        *,
        shape: int | Sequence[int] | None = None,
        lower: Number | None = None,
        upper: Number | None = None,
        support: str | None = None,
        observed: Number | None = None,
    ) -> Value:
        """Beta: between 0 and 1, as after `a - 1` successes and `b - 1` failures."""
        distribution = distributions.beta(a, b)
        return self._draw(name, distribution, shape, lower, upper, support, observed)

    def beta_proportion(
        self,
        name: str,
        mean: Number,
        precision: Number,
        *,
        shape: int | Sequence[int] | None = None,
        lower: Number | None = None,
        upper: Number | None = None,
        support: str | None = None,
        observed: Number | None = None,
    ) -> Value:
        """Beta with a mean and a precision, the sum of its other two arguments."""
        distribution = distributions.beta_proportion(mean, precision)
        return self._draw(name, distribution, shape, lower, upper, support, observed)

    def uniform(
        self,
        name: str,
        low: Number,
        high: Number,
        *,
        shape: int | Sequence[int] | None = None,
        lower: Number | None = None,
        upper: Number | None = None,
        support: str | None = None,
        observed: Number | None = None,
    ) -> Value:
        """The same density everywhere between two bounds, and none beyond."""
        distribution = distributions.uniform(low, high)
        return self._draw(name, distribution, shape, lower, upper, support, observed)

    def bernoulli(
        self,
        name: str,
        p: Number,
        *,
        shape: int | Sequence[int] | None = None,
        lower: Number | None = None,
        upper: Number | None = None,
        support: str | None = None,
        observed: Number | None = None,
    ) -> Value:
        """0 or 1, with the probability of 1."""
        distribution = distributions.bernoulli(p)
        return self._draw(name, distribution, shape, lower, upper, support, observed)

    def bernoulli_logit(
        self,
        name: str,
        logit: Number,
        *,
        shape: int | Sequence[int] | None = None,
        lower: Number | None = None,
        upper: Number | None = None,
        support: str | None = None,
        observed: Number | None = None,
    ) -> Value:
        """0 or 1, with the log odds of 1."""
        distribution = distributions.bernoulli_logit(logit)
        return self._draw(name, distribution, shape, lower, upper, support, observed)

    def binomial(
        self,
        name: str,
        trials: Number,
        p: Number,
        *,
        shape: int | Sequence[int] | None = None,
        lower: Number | None = None,
        upper: Number | None = None,
        support: str | None = None,
        observed: Number | None = None,
    ) -> Value:
        """Successes among so many trials, with the probability of one."""
        distribution = distributions.binomial(trials, p)
        return self._draw(name, distribution, shape, lower, upper, support, observed)

    def binomial_logit(
        self,
        name: str,
        trials: Number,
        logit: Number,
        *,
        shape: int | Sequence[int] | None = None,
        lower: Number | None = None,
        upper: Number | None = None,
        support: str | None = None,
        observed: Number | None = None,
    ) -> Value:
        """Successes among so many trials, with the log odds of one."""
        distribution = distributions.binomial_logit(trials, logit)
        return self._draw(name, distribution, shape, lower, upper, support, observed)

    def beta_binomial(
        self,
        name: str,
        trials: Number,
        a: Number,
        b: Number,
        *,
        shape: int | Sequence[int] | None = None,
        lower: Number | None = None,
        upper: Number | None = None,
        support: str | None = None,
        observed: Number | None = None,
    ) -> Value:
        """Successes among so many trials, with a probability that has a beta distribution."""
        distribution = distributions.beta_binomial(trials, a, b)
        return self._draw(name, distribution, shape, lower, upper, support, observed)

    def poisson(
        self,
        name: str,
        mean: Number,
        *,
        shape: int | Sequence[int] | None = None,
        lower: Number | None = None,
        upper: Number | None = None,
        support: str | None = None,
        observed: Number | None = None,
    ) -> Value:
        """Counts with their mean."""
        distribution = distributions.poisson(mean)
        return self._draw(name, distribution, shape, lower, upper, support, observed)

    def poisson_log(
        self,
        name: str,
        log_mean: Number,
        *,
        shape: int | Sequence[int] | None = None,
        lower: Number | None = None,
        upper: Number | None = None,
        support: str | None = None,
        observed: Number | None = None,
    ) -> Value:
        """Counts with the logarithm of their mean."""
        distribution = distributions.poisson_log(log_mean)
        return self._draw(name, distribution, shape, lower, upper, support, observed)

    def neg_binomial(
        self,
        name: str,
        alpha: Number,
        rate: Number,
        *,
        shape: int | Sequence[int] | None = None,
        lower: Number | None = None,
        upper: Number | None = None,
        support: str | None = None,
        observed: Number | None = None,
    ) -> Value:
        """Counts whose means have a gamma distribution with a shape `alpha` and a rate."""
        distribution = distributions.neg_binomial(alpha, rate)
        return self._draw(name, distribution, shape, lower, upper, support, observed)

    def neg_binomial_2(
        self,
        name: str,
        mean: Number,
        dispersion: Number,
        *,
        shape: int | Sequence[int] | None = None,
        lower: Number | None = None,
        upper: Number | None = None,
        support: str | None = None,
        observed: Number | None = None,
    ) -> Value:
        """Counts with their mean `m` and a dispersion `d`: their variance is `m + m * m / d`."""
        distribution = distributions.neg_binomial_2(mean, dispersion)
        return self._draw(name, distribution, shape, lower, upper, support, observed)

    def neg_binomial_2_log(
        self,
        name: str,
        log_mean: Number,
        dispersion: Number,
        *,
        shape: int | Sequence[int] | None = None,
        lower: Number | None = None,
        upper: Number | None = None,
        support: str | None = None,
        observed: Number | None = None,
    ) -> Value:
        """The same with the logarithm of the mean."""
        distribution = distributions.neg_binomial_2_log(log_mean, dispersion)
        return self._draw(name, distribution, shape, lower, upper, support, observed)

    def dirichlet(
        self,
        name: str,
        concentration: Number,
        *,
        shape: int | Sequence[int] | None = None,
        lower: Number | None = None,
        upper: Number | None = None,
        support: str | None = None,
        observed: Number | None = None,
    ) -> Value:
        """Dirichlet with a concentration for each element, or one for all."""
        distribution = distributions.dirichlet(concentration)
        return self._draw(name, distribution, shape, lower, upper, support, observed)

    def categorical(
        self,
        name: str,
        probabilities: Number,
        *,
        shape: int | Sequence[int] | None = None,
        lower: Number | None = None,
        upper: Number | None = None,
        support: str | None = None,
        observed: Number | None = None,
    ) -> Value:
        """Classes from 1 on with their probabilities, along the last dimension."""
        distribution = distributions.categorical(probabilities)
        return self._draw(name, distribution, shape, lower, upper, support, observed)

    def categorical_logit(
        self,
        name: str,
        logits: Number,
        *,
        shape: int | Sequence[int] | None = None,
        lower: Number | None = None,
        upper: Number | None = None,
        support: str | None = None,
        observed: Number | None = None,
    ) -> Value:
        """Classes from 1 on with the logarithms of their probabilities up to a constant."""
        distribution = distributions.categorical_logit(logits)
        return self._draw(name, distribution, shape, lower, upper, support, observed)

    def multinomial(
        self,
        name: str,
        probabilities: Number,
        *,
        shape: int | Sequence[int] | None = None,
        lower: Number | None = None,
        upper: Number | None = None,
        support: str | None = None,
        observed: Number | None = None,
    ) -> Value:
        """How often each class is drawn, with the probabilities of the classes."""
        distribution = distributions.multinomial(probabilities)
        return self._draw(name, distribution, shape, lower, upper, support, observed)

    def ordered_logistic(
        self,
        name: str,
        location: Number,
        cut_points: Number,
        *,
        shape: int | Sequence[int] | None = None,
        lower: Number | None = None,
        upper: Number | None = None,
        support: str | None = None,
        observed: Number | None = None,
    ) -> Value:
        """Classes from 1 on: between which cut points a logistic variable falls."""
        distribution = distributions.ordered_logistic(location, cut_points)
        return self._draw(name, distribution, shape, lower, upper, support, observed)

    def ordered_probit(
        self,
        name: str,
        location: Number,
        cut_points: Number,
        *,
        shape: int | Sequence[int] | None = None,
        lower: Number | None = None,
        upper: Number | None = None,
        support: str | None = None,
        observed: Number | None = None,
    ) -> Value:
        """Classes from 1 on: between which cut points a Gaussian variable falls."""
        distribution = distributions.ordered_probit(location, cut_points)
        return self._draw(name, distribution, shape, lower, upper, support, observed)

    def multi_normal(
        self,
        name: str,
        mean: Number,
        covariance: Number,
        *,
        shape: int | Sequence[int] | None = None,
        lower: Number | None = None,
        upper: Number | None = None,
        support: str | None = None,
        observed: Number | None = None,
    ) -> Value:
        """Gaussian vectors with a mean and a covariance."""
        distribution = distributions.multi_normal(mean, covariance)
        return self._draw(name, distribution, shape, lower, upper, support, observed)

    def multi_normal_cholesky(
        self,
        name: str,
        mean: Number,
        factor: Number,
        *,
        shape: int | Sequence[int] | None = None,
        lower: Number | None = None,
        upper: Number | None = None,
        support: str | None = None,
        observed: Number | None = None,
    ) -> Value:
        """Gaussian vectors with a mean and the Cholesky factor of the covariance."""
        distribution = distributions.multi_normal_cholesky(mean, factor)
        return self._draw(name, distribution, shape, lower, upper, support, observed)

    def multi_normal_prec(
        self,
        name: str,
        mean: Number,
        precision: Number,
        *,
        shape: int | Sequence[int] | None = None,
        lower: Number | None = None,
        upper: Number | None = None,
        support: str | None = None,
        observed: Number | None = None,
    ) -> Value:
        """Gaussian vectors with a mean and the inverse of the covariance."""
        distribution = distributions.multi_normal_prec(mean, precision)
        return self._draw(name, distribution, shape, lower, upper, support, observed)

    def multi_student_t(
        self,
        name: str,
        freedom: Number,
        location: Number,
        scale: Number,
        *,
        shape: int | Sequence[int] | None = None,
        lower: Number | None = None,
        upper: Number | None = None,
        support: str | None = None,
        observed: Number | None = None,
    ) -> Value:
        """Vectors of Student's t with degrees of freedom, a location and a scale matrix."""
        distribution = distributions.multi_student_t(freedom, location, scale)
        return self._draw(name, distribution, shape, lower, upper, support, observed)

    def wishart(
        self,
        name: str,
        freedom: Number,
        scale: Number,
        *,
        shape: int | Sequence[int] | None = None,
        lower: Number | None = None,
        upper: Number | None = None,
        support: str | None = None,
        observed: Number | None = None,
    ) -> Value:
        """Sums of so many squares of Gaussian vectors, with degrees of freedom and their covariance."""
        distribution = distributions.wishart(freedom, scale)
        return self._draw(name, distribution, shape, lower, upper, support, observed)

    def inv_wishart(
        self,
        name: str,
        freedom: Number,
        scale: Number,
        *,
        shape: int | Sequence[int] | None = None,
        lower: Number | None = None,
        upper: Number | None = None,
        support: str | None = None,
        observed: Number | None = None,
    ) -> Value:
        """Matrices whose inverses have a Wishart distribution."""
        distribution = distributions.inv_wishart(freedom, scale)
        return self._draw(name, distribution, shape, lower, upper, support, observed)

    def lkj_corr(
        self,
        name: str,
        size: int,
        concentration: Number,
        *,
        shape: int | Sequence[int] | None = None,
        lower: Number | None = None,
        upper: Number | None = None,
        support: str | None = None,
        observed: Number | None = None,
    ) -> Value:
        """Correlation matrices of so many variables, with a density in proportion to their determinant to the power of
    `concentration - 1`."""
        distribution = distributions.lkj_corr(size, concentration)
        return self._draw(name, distribution, shape, lower, upper, support, observed)

    def lkj_corr_cholesky(
        self,
        name: str,
        size: int,
        concentration: Number,
        *,
        shape: int | Sequence[int] | None = None,
        lower: Number | None = None,
        upper: Number | None = None,
        support: str | None = None,
        observed: Number | None = None,
    ) -> Value:
        """Cholesky factors of correlation matrices of so many variables, with an LKJ distribution."""
        distribution = distributions.lkj_corr_cholesky(size, concentration)
        return self._draw(name, distribution, shape, lower, upper, support, observed)

    def mixture(
        self,
        name: str,
        weights: Number,
        components: Sequence[Distribution],
        *,
        shape: int | Sequence[int] | None = None,
        lower: Number | None = None,
        upper: Number | None = None,
        support: str | None = None,
        observed: Number | None = None,
    ) -> Value:
        """A mixture with the probabilities of its components along the last dimension."""
        distribution = distributions.mixture(weights, components)
        return self._draw(name, distribution, shape, lower, upper, support, observed)

    def mixture_logit(
        self,
        name: str,
        logits: Number,
        components: Sequence[Distribution],
        *,
        shape: int | Sequence[int] | None = None,
        lower: Number | None = None,
        upper: Number | None = None,
        support: str | None = None,
        observed: Number | None = None,
    ) -> Value:
        """A mixture with the logarithms of its weights up to a constant."""
        distribution = distributions.mixture_logit(logits, components)
        return self._draw(name, distribution, shape, lower, upper, support, observed)
