"""What the first argument of a model function can do. Written by `tools/write_builder.py`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypedDict

from . import _hmcvi, distributions
from .errors import ModelError

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ._hmcvi import Value
    from .distributions import Distribution, Number


class Options(TypedDict, total=False):
    """What can be said of a variable beside its distribution."""

    shape: int | Sequence[int] | None
    lower: Number | None
    upper: Number | None
    support: str | None
    observed: Number | None


def _name(name: Any) -> str:
    if not isinstance(name, str):
        raise ModelError(f'a variable has a name, which comes first, as in `m.normal("mu", 0, 1)`; {name!r:.40} is none')
    return name


class Builder:
    """Describes a model, variable by variable: the first argument of a function under `hmcvi.model`.

    Every distribution of `hmcvi.distributions` is a method. `m.normal("mu", 0, 5)` is a variable to infer, with as many
    elements as its arguments have, or as `shape` says. With `observed` it is data that were seen. `lower`, `upper` and
    `support` ("positive", "ordered", "positive-ordered", "simplex", "unit-vector", "sum-to-zero") say where a variable
    lives if not where the distribution does; the density is the same there, without a new constant.
    """

    def __init__(self, data: dict[str, Any]) -> None:
        self._trace = _hmcvi.Trace(data)
        #: What was observed, by name.
        self._observed: dict[str, Any] = {}

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
        return self._trace.sample(_name(name), distribution, shape, lower, upper, support)

    def observe(self, name: str, distribution: Distribution, seen: Number) -> None:
        """Data that were seen, with the distribution that they come from."""
        self._trace.observe(_name(name), distribution, seen)
        if not isinstance(seen, _hmcvi.Value):
            import numpy as np

            self._observed[name] = np.array(seen)

    def deterministic(self, name: str, value: Number) -> Value:
        """Names a value that is computed from variables, so that draws and summaries have it too."""
        return self._trace.deterministic(_name(name), value)

    def add_log_density(self, name: str, value: Number) -> None:
        """Adds the elements of a value to the log density: what no distribution says."""
        self._trace.log_density(_name(name), value)

    def value(self, known: Number) -> Value:
        """An array as a value of the model. Operators do that by themselves."""
        return self._trace.known(known)

    def _draw(
        self,
        name: str,
        distribution: Distribution,
        *,
        shape: int | Sequence[int] | None = None,
        lower: Number | None = None,
        upper: Number | None = None,
        support: str | None = None,
        observed: Number | None = None,
        **unknown: Any,
    ) -> Value:
        for option in unknown:
            known = ", ".join(f"`{key}`" for key in Options.__annotations__)
            where = "; `to_arviz` takes names of dimensions" if option == "dims" else ""
            message = f"`{name}`: {distribution.name} has no option `{option}`, but {known}{where}"
            raise ModelError(message, name)
        if observed is None:
            return self._trace.sample(_name(name), distribution, shape, lower, upper, support)
        for key, given in {"shape": shape, "lower": lower, "upper": upper, "support": support}.items():
            if given is not None:
                message = f"`{name}`: `{key}` is for variables to infer; what was observed has its own"
                raise ModelError(message, name)
        self.observe(name, distribution, observed)
        return self._trace.known(observed)

    def flat(self, name: str, **options: Unpack[Options]) -> Value:
        """No preference: a density of 1 everywhere, which is no probability."""
        return self._draw(name, distributions.flat(), **options)

    def normal(self, name: str, mean: Number, sd: Number, **options: Unpack[Options]) -> Value:
        """Gaussian with a mean and a standard deviation."""
        return self._draw(name, distributions.normal(mean, sd), **options)

    def cauchy(self, name: str, location: Number, scale: Number, **options: Unpack[Options]) -> Value:
        """Cauchy with a location and a scale."""
        return self._draw(name, distributions.cauchy(location, scale), **options)

    def student_t(self, name: str, freedom: Number, location: Number, scale: Number, **options: Unpack[Options]) -> Value:
        """Student's t with degrees of freedom, a location and a scale."""
        return self._draw(name, distributions.student_t(freedom, location, scale), **options)

    def laplace(self, name: str, location: Number, scale: Number, **options: Unpack[Options]) -> Value:
        """Laplace with a location and a scale: Stan's `double_exponential`."""
        return self._draw(name, distributions.laplace(location, scale), **options)

    def logistic(self, name: str, location: Number, scale: Number, **options: Unpack[Options]) -> Value:
        """Logistic with a location and a scale."""
        return self._draw(name, distributions.logistic(location, scale), **options)

    def gumbel(self, name: str, location: Number, scale: Number, **options: Unpack[Options]) -> Value:
        """Gumbel with a location and a scale: the largest of many draws."""
        return self._draw(name, distributions.gumbel(location, scale), **options)

    def skew_normal(self, name: str, location: Number, scale: Number, skew: Number, **options: Unpack[Options]) -> Value:
        """Skew normal with a location, a scale and a skew, which is 0 for a Gaussian."""
        return self._draw(name, distributions.skew_normal(location, scale, skew), **options)

    def skew_laplace(self, name: str, location: Number, scale: Number, below: Number, **options: Unpack[Options]) -> Value:
        """Laplace with a location, a scale and the probability to lie below the location."""
        return self._draw(name, distributions.skew_laplace(location, scale, below), **options)

    def exp_mod_normal(self, name: str, mean: Number, sd: Number, rate: Number, **options: Unpack[Options]) -> Value:
        """Sum of a Gaussian variable and an exponential one."""
        return self._draw(name, distributions.exp_mod_normal(mean, sd, rate), **options)

    def half_normal(self, name: str, sd: Number, **options: Unpack[Options]) -> Value:
        """The positive half of a Gaussian around 0, with the standard deviation of the whole."""
        return self._draw(name, distributions.half_normal(sd), **options)

    def half_cauchy(self, name: str, scale: Number, **options: Unpack[Options]) -> Value:
        """The positive half of a Cauchy distribution around 0."""
        return self._draw(name, distributions.half_cauchy(scale), **options)

    def lognormal(self, name: str, mean: Number, sd: Number, **options: Unpack[Options]) -> Value:
        """Numbers whose logarithms are Gaussian, with the mean and the standard deviation of these."""
        return self._draw(name, distributions.lognormal(mean, sd), **options)

    def exponential(self, name: str, rate: Number, **options: Unpack[Options]) -> Value:
        """Exponential with a rate, the inverse of its mean."""
        return self._draw(name, distributions.exponential(rate), **options)

    def gamma(self, name: str, alpha: Number, rate: Number, **options: Unpack[Options]) -> Value:
        """Gamma with a shape `alpha` and a rate."""
        return self._draw(name, distributions.gamma(alpha, rate), **options)

    def inv_gamma(self, name: str, alpha: Number, scale: Number, **options: Unpack[Options]) -> Value:
        """Numbers whose inverses have a gamma distribution."""
        return self._draw(name, distributions.inv_gamma(alpha, scale), **options)

    def weibull(self, name: str, alpha: Number, scale: Number, **options: Unpack[Options]) -> Value:
        """Weibull with a shape `alpha` and a scale."""
        return self._draw(name, distributions.weibull(alpha, scale), **options)

    def chi_square(self, name: str, freedom: Number, **options: Unpack[Options]) -> Value:
        """Sum of the squares of so many standard normal variables."""
        return self._draw(name, distributions.chi_square(freedom), **options)

    def inv_chi_square(self, name: str, freedom: Number, **options: Unpack[Options]) -> Value:
        """Numbers whose inverses have a chi-square distribution."""
        return self._draw(name, distributions.inv_chi_square(freedom), **options)

    def scaled_inv_chi_square(self, name: str, freedom: Number, scale: Number, **options: Unpack[Options]) -> Value:
        """Inverse chi-square, times the degrees of freedom and the square of a scale."""
        return self._draw(name, distributions.scaled_inv_chi_square(freedom, scale), **options)

    def frechet(self, name: str, alpha: Number, scale: Number, **options: Unpack[Options]) -> Value:
        """Numbers whose inverses have a Weibull distribution."""
        return self._draw(name, distributions.frechet(alpha, scale), **options)

    def rayleigh(self, name: str, sd: Number, **options: Unpack[Options]) -> Value:
        """Length of a vector of two Gaussian variables with a standard deviation."""
        return self._draw(name, distributions.rayleigh(sd), **options)

    def log_logistic(self, name: str, median: Number, alpha: Number, **options: Unpack[Options]) -> Value:
        """Numbers whose logarithms are logistic, with their median and a shape `alpha`."""
        return self._draw(name, distributions.log_logistic(median, alpha), **options)

    def pareto(self, name: str, smallest: Number, alpha: Number, **options: Unpack[Options]) -> Value:
        """Pareto from a smallest value on, with a shape `alpha`."""
        return self._draw(name, distributions.pareto(smallest, alpha), **options)

    def pareto_type_2(self, name: str, location: Number, scale: Number, alpha: Number, **options: Unpack[Options]) -> Value:
        """Pareto of the second type, with a location, a scale and a shape `alpha`."""
        return self._draw(name, distributions.pareto_type_2(location, scale, alpha), **options)

    def beta(self, name: str, a: Number, b: Number, **options: Unpack[Options]) -> Value:
        """Beta: between 0 and 1, as after `a - 1` successes and `b - 1` failures."""
        return self._draw(name, distributions.beta(a, b), **options)

    def beta_proportion(self, name: str, mean: Number, precision: Number, **options: Unpack[Options]) -> Value:
        """Beta with a mean and a precision, the sum of its other two arguments."""
        return self._draw(name, distributions.beta_proportion(mean, precision), **options)

    def uniform(self, name: str, low: Number, high: Number, **options: Unpack[Options]) -> Value:
        """The same density everywhere between two bounds, and none beyond."""
        return self._draw(name, distributions.uniform(low, high), **options)

    def bernoulli(self, name: str, p: Number, **options: Unpack[Options]) -> Value:
        """0 or 1, with the probability of 1."""
        return self._draw(name, distributions.bernoulli(p), **options)

    def bernoulli_logit(self, name: str, logit: Number, **options: Unpack[Options]) -> Value:
        """0 or 1, with the log odds of 1."""
        return self._draw(name, distributions.bernoulli_logit(logit), **options)

    def binomial(self, name: str, trials: Number, p: Number, **options: Unpack[Options]) -> Value:
        """Successes among so many trials, with the probability of one."""
        return self._draw(name, distributions.binomial(trials, p), **options)

    def binomial_logit(self, name: str, trials: Number, logit: Number, **options: Unpack[Options]) -> Value:
        """Successes among so many trials, with the log odds of one."""
        return self._draw(name, distributions.binomial_logit(trials, logit), **options)

    def beta_binomial(self, name: str, trials: Number, a: Number, b: Number, **options: Unpack[Options]) -> Value:
        """Successes among so many trials, with a probability that has a beta distribution."""
        return self._draw(name, distributions.beta_binomial(trials, a, b), **options)

    def poisson(self, name: str, mean: Number, **options: Unpack[Options]) -> Value:
        """Counts with their mean."""
        return self._draw(name, distributions.poisson(mean), **options)

    def poisson_log(self, name: str, log_mean: Number, **options: Unpack[Options]) -> Value:
        """Counts with the logarithm of their mean."""
        return self._draw(name, distributions.poisson_log(log_mean), **options)

    def neg_binomial(self, name: str, alpha: Number, rate: Number, **options: Unpack[Options]) -> Value:
        """Counts whose means have a gamma distribution with a shape `alpha` and a rate."""
        return self._draw(name, distributions.neg_binomial(alpha, rate), **options)

    def neg_binomial_2(self, name: str, mean: Number, dispersion: Number, **options: Unpack[Options]) -> Value:
        """Counts with their mean `m` and a dispersion `d`: their variance is `m + m * m / d`."""
        return self._draw(name, distributions.neg_binomial_2(mean, dispersion), **options)

    def neg_binomial_2_log(self, name: str, log_mean: Number, dispersion: Number, **options: Unpack[Options]) -> Value:
        """The same with the logarithm of the mean."""
        return self._draw(name, distributions.neg_binomial_2_log(log_mean, dispersion), **options)

    def dirichlet(self, name: str, concentration: Number, **options: Unpack[Options]) -> Value:
        """Dirichlet with a concentration for each element, or one for all."""
        return self._draw(name, distributions.dirichlet(concentration), **options)

    def categorical(self, name: str, probabilities: Number, **options: Unpack[Options]) -> Value:
        """Classes from 1 on with their probabilities, along the last dimension."""
        return self._draw(name, distributions.categorical(probabilities), **options)

    def categorical_logit(self, name: str, logits: Number, **options: Unpack[Options]) -> Value:
        """Classes from 1 on with the logarithms of their probabilities up to a constant."""
        return self._draw(name, distributions.categorical_logit(logits), **options)

    def multinomial(self, name: str, probabilities: Number, **options: Unpack[Options]) -> Value:
        """How often each class is drawn, with the probabilities of the classes."""
        return self._draw(name, distributions.multinomial(probabilities), **options)

    def ordered_logistic(self, name: str, location: Number, cut_points: Number, **options: Unpack[Options]) -> Value:
        """Classes from 1 on: between which cut points a logistic variable falls."""
        return self._draw(name, distributions.ordered_logistic(location, cut_points), **options)

    def ordered_probit(self, name: str, location: Number, cut_points: Number, **options: Unpack[Options]) -> Value:
        """Classes from 1 on: between which cut points a Gaussian variable falls."""
        return self._draw(name, distributions.ordered_probit(location, cut_points), **options)

    def multi_normal(self, name: str, mean: Number, covariance: Number, **options: Unpack[Options]) -> Value:
        """Gaussian vectors with a mean and a covariance."""
        return self._draw(name, distributions.multi_normal(mean, covariance), **options)

    def multi_normal_cholesky(self, name: str, mean: Number, factor: Number, **options: Unpack[Options]) -> Value:
        """Gaussian vectors with a mean and the Cholesky factor of the covariance."""
        return self._draw(name, distributions.multi_normal_cholesky(mean, factor), **options)

    def multi_normal_prec(self, name: str, mean: Number, precision: Number, **options: Unpack[Options]) -> Value:
        """Gaussian vectors with a mean and the inverse of the covariance."""
        return self._draw(name, distributions.multi_normal_prec(mean, precision), **options)

    def multi_student_t(self, name: str, freedom: Number, location: Number, scale: Number, **options: Unpack[Options]) -> Value:
        """Vectors of Student's t with degrees of freedom, a location and a scale matrix."""
        return self._draw(name, distributions.multi_student_t(freedom, location, scale), **options)

    def wishart(self, name: str, freedom: Number, scale: Number, **options: Unpack[Options]) -> Value:
        """Sums of so many squares of Gaussian vectors, with degrees of freedom and their covariance."""
        return self._draw(name, distributions.wishart(freedom, scale), **options)

    def inv_wishart(self, name: str, freedom: Number, scale: Number, **options: Unpack[Options]) -> Value:
        """Matrices whose inverses have a Wishart distribution."""
        return self._draw(name, distributions.inv_wishart(freedom, scale), **options)

    def lkj_corr(self, name: str, size: int, concentration: Number, **options: Unpack[Options]) -> Value:
        """Correlation matrices of so many variables, with a density in proportion to their determinant to the power of
        `concentration - 1`."""
        return self._draw(name, distributions.lkj_corr(size, concentration), **options)

    def lkj_corr_cholesky(self, name: str, size: int, concentration: Number, **options: Unpack[Options]) -> Value:
        """Cholesky factors of correlation matrices of so many variables, with an LKJ distribution."""
        return self._draw(name, distributions.lkj_corr_cholesky(size, concentration), **options)

    def mixture(self, name: str, weights: Number, components: Sequence[Distribution], **options: Unpack[Options]) -> Value:
        """A mixture with the probabilities of its components along the last dimension."""
        return self._draw(name, distributions.mixture(weights, components), **options)

    def mixture_logit(self, name: str, logits: Number, components: Sequence[Distribution], **options: Unpack[Options]) -> Value:
        """A mixture with the logarithms of its weights up to a constant."""
        return self._draw(name, distributions.mixture_logit(logits, components), **options)
