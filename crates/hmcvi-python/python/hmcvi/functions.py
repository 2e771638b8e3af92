"""Functions of values of a model. Those of NumPy with the same name (`numpy.exp`) do the same with such values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from . import _hmcvi
from .of_numpy import dot as product
from .of_numpy import joined

if TYPE_CHECKING:
    from ._hmcvi import Value
    from .distributions import Number


def exp(x: Value) -> Value:
    """`e` to the power of `x`."""
    return _hmcvi.apply("exp", x)


def log(x: Value) -> Value:
    """Natural logarithm."""
    return _hmcvi.apply("log", x)


def log1p(x: Value) -> Value:
    """`log(1 + x)`."""
    return _hmcvi.apply("log1p", x)


def expm1(x: Value) -> Value:
    """`exp(x) - 1`."""
    return _hmcvi.apply("expm1", x)


def sqrt(x: Value) -> Value:
    """Square root."""
    return _hmcvi.apply("sqrt", x)


def square(x: Value) -> Value:
    """`x * x`."""
    return _hmcvi.apply("square", x)


def sigmoid(x: Value) -> Value:
    """`1 / (1 + exp(-x))`, the inverse of `logit`."""
    return _hmcvi.apply("sigmoid", x)


def log_sigmoid(x: Value) -> Value:
    """`log(sigmoid(x))`."""
    return _hmcvi.apply("log_sigmoid", x)


def softplus(x: Value) -> Value:
    """`log(1 + exp(x))`."""
    return _hmcvi.apply("softplus", x)


def logit(x: Value) -> Value:
    """`log(x / (1 - x))`."""
    return _hmcvi.apply("log", x) - _hmcvi.apply("log1p", -x)


def tanh(x: Value) -> Value:
    """Hyperbolic tangent."""
    return _hmcvi.apply("tanh", x)


def sin(x: Value) -> Value:
    """Sine."""
    return _hmcvi.apply("sin", x)


def cos(x: Value) -> Value:
    """Cosine."""
    return _hmcvi.apply("cos", x)


def atan(x: Value) -> Value:
    """Arctangent."""
    return _hmcvi.apply("atan", x)


def erf(x: Value) -> Value:
    """The error function."""
    return _hmcvi.apply("erf", x)


def erfc(x: Value) -> Value:
    """`1 - erf(x)`."""
    return _hmcvi.apply("erfc", x)


def normal_cdf(x: Value) -> Value:
    """The standard normal distribution function."""
    return _hmcvi.apply("normal_cdf", x)


def log_normal_cdf(x: Value) -> Value:
    """The logarithm of the standard normal distribution function."""
    return _hmcvi.apply("log_normal_cdf", x)


def lgamma(x: Value) -> Value:
    """Logarithm of the gamma function."""
    return _hmcvi.apply("lgamma", x)


def digamma(x: Value) -> Value:
    """The derivative of `lgamma`."""
    return _hmcvi.apply("digamma", x)


def maximum(a: Number, b: Number) -> Value:
    """The larger of two values, element by element."""
    return _hmcvi.apply_to_two("maximum", a, b)


def minimum(a: Number, b: Number) -> Value:
    """The smaller of two values, element by element."""
    return _hmcvi.apply_to_two("minimum", a, b)


def where(condition: Number, a: Number, b: Number) -> Value:
    """`a` where the condition is not 0, else `b`, element by element."""
    return _hmcvi.select(condition, a, b)


def concatenate(parts: Sequence[Number], axis: int = 0) -> Value:
    """Numbers and arrays one after the other along a dimension, of which at least one is a value of the model."""
    import numpy as np

    # A number is a vector of one.
    given: Sequence[Any] = parts
    return joined(np.concatenate, [np.atleast_1d(part) for part in given], axis)


def stack(parts: Sequence[Number], axis: int = 0) -> Value:
    """Values of one shape as parts of a new dimension, of which at least one is a value of the model."""
    import numpy as np

    return joined(np.stack, parts, axis)


def scale_rows(scales: Number, matrix: Number) -> Value:
    """A matrix with each row multiplied by the element of a vector.

    With standard deviations and the Cholesky factor of correlations it is the factor of covariances.
    """
    return _hmcvi.scale_rows(scales, matrix)


def logsumexp(x: Value, axis: int | Sequence[int] | None = None, *, keepdims: bool = False) -> Value:
    """`log(sum(exp(x)))` over all elements, or along dimensions."""
    return x.logsumexp(axis, keepdims=keepdims)


def softmax(x: Value, axis: int = -1) -> Value:
    """`exp(x) / sum(exp(x))` along a dimension: probabilities from their logarithms up to a constant."""
    return exp(log_softmax(x, axis))


def log_softmax(x: Value, axis: int = -1) -> Value:
    """The logarithm of `softmax`."""
    return x - x.logsumexp(axis, keepdims=True)


def dot(a: Number, b: Number) -> Value:
    """The sum of the products of the elements of two vectors."""
    return product(a, b)


def cholesky(x: Value) -> Value:
    """The Cholesky factor `L` of a positive definite matrix `L @ L.T`."""
    return x.cholesky()


def cumsum(x: Value, axis: int | None = None) -> Value:
    """The sums of the elements up to each, of all or along a dimension."""
    return x.cumsum(axis)


__all__ = [
    "atan",
    "cholesky",
    "concatenate",
    "cos",
    "cumsum",
    "digamma",
    "dot",
    "erf",
    "erfc",
    "exp",
    "expm1",
    "lgamma",
    "log",
    "log1p",
    "log_normal_cdf",
    "log_sigmoid",
    "log_softmax",
    "logit",
    "logsumexp",
    "maximum",
    "minimum",
    "normal_cdf",
    "scale_rows",
    "sigmoid",
    "sin",
    "softmax",
    "softplus",
    "sqrt",
    "square",
    "stack",
    "tanh",
    "where",
]
