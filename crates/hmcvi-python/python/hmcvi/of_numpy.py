"""Functions of NumPy for values of a model: what they do is written with the operations that values have."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from . import _hmcvi
from .known import numeric

if TYPE_CHECKING:
    from ._hmcvi import Value

#: Functions that put elements of one array elsewhere, and compute nothing.
MOVING = frozenset(
    "array_split atleast_1d atleast_2d atleast_3d broadcast_to delete diagonal dsplit expand_dims flip fliplr flipud hsplit "
    "moveaxis ravel repeat reshape resize roll rollaxis rot90 split squeeze swapaxes take tile transpose vsplit".split()
)
#: Functions that put the elements of several arrays together.
JOINING = frozenset("column_stack concatenate dstack hstack stack vstack".split())
#: Methods of arrays with another name than their function.
RENAMED = {"flatten": "ravel"}


def call(function: Callable[..., Any], arguments: Sequence[Any], options: Mapping[str, Any]) -> Any:
    """`function(*arguments, **options)`, of which one is a value of a model, or has one in it."""
    name = function.__name__
    if name in JOINING:
        return joined(function, *arguments, **options)
    if name in MOVING and arguments and isinstance(arguments[0], _hmcvi.Value):
        return moved(function, *arguments, **options)
    if name in MADE:
        return MADE[name](*arguments, **options)
    value = next(_values([*arguments, *options.values()]), None)
    raise TypeError(
        f"`numpy.{name}` cannot take {_called(value)} while the model is described; operators, and functions of `hmcvi` and "
        "NumPy for single elements, are what it is made of"
    )


def method(value: Value, name: str) -> Any:
    """What stands behind `value.name`."""
    import numpy as np

    if name == "transpose":
        # The method takes the order of the dimensions one by one, too.
        return lambda *axes: value.T if not axes else np.transpose(value, axes[0] if np.ndim(axes[0]) else axes)  # type: ignore[call-overload]
    known = RENAMED.get(name, name)
    if hasattr(np.ndarray, name) and (known in MOVING or known in MADE):
        return partial(getattr(np, known), value)
    raise AttributeError(f"a value of a model has no `{name}`")


def ufunc(name: str, inputs: Sequence[Value]) -> Value:
    """`numpy.name` or `scipy.special.name` of the elements of values."""
    if name not in ELEMENTS:
        called = ", ".join(_called(value) for value in inputs)
        raise TypeError(f"there is no function `{name}` of values of a model, which it is asked for with {called}")
    return ELEMENTS[name](*inputs)


def moved(function: Callable[..., Any], value: Value, *arguments: Any, **options: Any) -> Any:
    """What a function that moves elements does: it is done to their places."""
    import numpy as np

    flat, places = value.reshape(-1), np.arange(value.size).reshape(value.shape)
    found = function(places, *arguments, **options)
    return [flat[part] for part in found] if isinstance(found, (list, tuple)) else flat[found]


def joined(function: Callable[..., Any], parts: Sequence[Any], *arguments: Any, **options: Any) -> Value:
    """Several arrays as one, of which at least one is a value."""
    import numpy as np

    elements, places, first = [], [], 0
    for part in parts:
        known = part if isinstance(part, _hmcvi.Value) else numeric(part)
        elements.append(known.reshape(-1))
        places.append(np.arange(first, first + known.size).reshape(known.shape))
        first += known.size
    found = function(places, *arguments, **options)
    return _hmcvi.concatenate([part for part in elements if part.size])[found]


def cumsum(x: Value, axis: int | None = None) -> Value:
    """Sums of the elements up to each."""
    import numpy as np

    if axis is None or x.ndim < 2:
        return x.reshape(-1).cumsum()
    last = _last(x, axis)
    size = last.shape[-1]
    sums = last.reshape(-1, size) @ np.triu(np.ones((size, size)))
    found: Value = moved(np.moveaxis, sums.reshape(last.shape), -1, axis)
    return found


def _last(x: Value, axis: int) -> Value:
    """With a dimension moved to the end."""
    import numpy as np

    found: Value = moved(np.moveaxis, x, axis, -1)
    return found


def _values(objects: Sequence[Any]) -> Iterator[Value]:
    """Values among some objects, and in lists of them."""
    for one in objects:
        if isinstance(one, _hmcvi.Value):
            yield one
        elif isinstance(one, (list, tuple)):
            yield from _values(one)


def _called(value: Value | None) -> str:
    """What errors call a value: its name, where it has one."""
    name = repr(value).removeprefix("<hmcvi.Value").partition(":")[0].strip() if value is not None else ""
    return f"`{name}`" if name else "a value of a model"


def _value_of(*objects: Any) -> Value:
    """The first object as a value; another one knows the model."""
    first = objects[0]
    found: Value = first if isinstance(first, _hmcvi.Value) else next(_values(objects)) * 0.0 + first
    return found


def _sum(x: Value, axis: Any = None, *, keepdims: bool = False) -> Value:
    return x.sum(axis, keepdims=keepdims)


def _mean(x: Value, axis: Any = None, *, keepdims: bool = False) -> Value:
    return x.mean(axis, keepdims=keepdims)


def _var(x: Value, axis: Any = None, *, ddof: float = 0, keepdims: bool = False) -> Value:
    squares = (x - x.mean(axis, keepdims=True)) ** 2
    found = squares.mean(axis, keepdims=keepdims)
    count = x.size // found.size
    return found * (count / (count - ddof)) if ddof else found


def _std(x: Value, axis: Any = None, *, ddof: float = 0, keepdims: bool = False) -> Value:
    return _var(x, axis, ddof=ddof, keepdims=keepdims) ** 0.5


def _halved(combine: Callable[[Any, Any], Value], x: Value, axis: int | None = None, *, keepdims: bool = False) -> Value:
    """Reduces elements by a function of two of them, halves at a time."""
    import numpy as np

    last = x.reshape(-1) if axis is None else _last(x, axis)
    while last.shape[-1] > 1:
        half = last.shape[-1] // 2
        rest = last[..., 2 * half :] if last.shape[-1] % 2 else None
        last = combine(last[..., :half], last[..., half : 2 * half])
        if rest is not None:
            last = joined(np.concatenate, [last, rest], axis=-1)
    shape = [1] * x.ndim if axis is None else [*x.shape]
    if keepdims and axis is not None:
        shape[axis] = 1
    return last.reshape(shape) if keepdims else last[..., 0]


def _prod(x: Value, axis: int | None = None, *, keepdims: bool = False) -> Value:
    return _halved(lambda a, b: a * b, x, axis, keepdims=keepdims)


def _max(x: Value, axis: int | None = None, *, keepdims: bool = False) -> Value:
    return _halved(partial(_hmcvi.apply_to_two, "maximum"), x, axis, keepdims=keepdims)


def _min(x: Value, axis: int | None = None, *, keepdims: bool = False) -> Value:
    return _halved(partial(_hmcvi.apply_to_two, "minimum"), x, axis, keepdims=keepdims)


def _diff(x: Value, n: int = 1, axis: int = -1) -> Value:
    import numpy as np

    last = _last(x, axis)
    for _ in range(n):
        last = last[..., 1:] - last[..., :-1]
    found: Value = moved(np.moveaxis, last, -1, axis)
    return found


def dot(a: Any, b: Any) -> Value:
    """The product of vectors and matrices, or with a number."""
    import numpy as np

    scalar = 0 in (np.ndim(a), np.ndim(b))
    a, b = (part if isinstance(part, _hmcvi.Value) else np.asarray(part) for part in (a, b))
    found: Value = a * b if scalar else a @ b
    return found


def _outer(a: Any, b: Any) -> Value:
    import numpy as np

    left: Any = a if isinstance(a, _hmcvi.Value) else np.asarray(a)
    right: Any = b if isinstance(b, _hmcvi.Value) else np.asarray(b)
    found: Value = left.reshape(-1, 1) * right.reshape(1, -1)
    return found


def _diag(x: Value, k: int = 0) -> Value:
    import numpy as np

    if x.ndim == 1:
        size = x.size + abs(k)
        rows, columns = np.arange(x.size) + max(-k, 0), np.arange(x.size) + max(k, 0)
        places, mask = np.zeros((size, size), dtype=int), np.zeros((size, size))
        places[rows, columns], mask[rows, columns] = np.arange(x.size), 1.0
        return x[places] * mask
    found: Value = moved(np.diagonal, x, k)
    return found


def _trace(x: Value) -> Value:
    return _diag(x).sum()


def _triangle(mask: str, x: Value, k: int = 0) -> Value:
    import numpy as np

    return _hmcvi.select(getattr(np, mask)(np.ones(x.shape[-2:]), k), x, 0.0)


def _where(condition: Any, x: Any, y: Any) -> Value:
    return _hmcvi.select(condition, x, y)


def _clip(x: Any, a_min: Any = None, a_max: Any = None, *, min: Any = None, max: Any = None) -> Value:
    low, high = (min if a_min is None else a_min), (max if a_max is None else a_max)
    found = _value_of(x, low, high)
    found = found if low is None else _hmcvi.apply_to_two("maximum", found, low)
    return found if high is None else _hmcvi.apply_to_two("minimum", found, high)


def _norm(x: Value, *, axis: Any = None, keepdims: bool = False) -> Value:
    return (x * x).sum(axis, keepdims=keepdims) ** 0.5


def _like(function: str, x: Value, *arguments: Any) -> Any:
    import numpy as np

    return getattr(np, function)(x.shape, *arguments)


#: Functions that are made of others, by their names.
MADE: dict[str, Callable[..., Any]] = {
    "amax": _max,
    "amin": _min,
    "cholesky": lambda a: a.cholesky(),
    "clip": _clip,
    "cumsum": cumsum,
    "diag": _diag,
    "diff": _diff,
    "dot": dot,
    "full_like": partial(_like, "full"),
    "inner": dot,
    "max": _max,
    "mean": _mean,
    "min": _min,
    "ndim": lambda a: a.ndim,
    "norm": _norm,
    "ones_like": partial(_like, "ones"),
    "outer": _outer,
    "prod": _prod,
    "shape": lambda a: a.shape,
    "size": lambda a: a.size,
    "std": _std,
    "sum": _sum,
    "trace": _trace,
    "tril": partial(_triangle, "tril"),
    "triu": partial(_triangle, "triu"),
    "var": _var,
    "vdot": dot,
    "where": _where,
    "zeros_like": partial(_like, "zeros"),
}


def _of(name: str) -> Callable[[Value], Value]:
    return partial(_hmcvi.apply, name)


def _log_add(a: Value, b: Value) -> Value:
    distance = abs(a - b)
    return _hmcvi.apply_to_two("maximum", a, b) + _hmcvi.apply("softplus", -distance)


def _xlogy(x: Value, y: Value) -> Value:
    # Where `x` is 0 so is the product, whatever `y` is.
    return x * _hmcvi.apply("log", _hmcvi.select(abs(x) > 0, y, 1.0))


#: Functions of single elements that are made of others, by the names that NumPy and `scipy.special` have for them.
ELEMENTS: dict[str, Callable[..., Value]] = {
    "arctan": _of("atan"),
    "arctanh": lambda x: 0.5 * (_hmcvi.apply("log1p", x) - _hmcvi.apply("log1p", -x)),
    "clip": _clip,
    "cosh": lambda x: 0.5 * (_hmcvi.apply("exp", x) + _hmcvi.apply("exp", -x)),
    "exp2": lambda x: 2.0**x,
    "expit": _of("sigmoid"),
    "gammaln": _of("lgamma"),
    "greater": lambda a, b: a > b,
    "greater_equal": lambda a, b: a >= b,
    "less_equal": lambda a, b: a <= b,
    "log10": lambda x: _hmcvi.apply("log", x) / 2.302585092994046,
    "log2": lambda x: _hmcvi.apply("log", x) / 0.6931471805599453,
    "log_expit": _of("log_sigmoid"),
    "log_ndtr": _of("log_normal_cdf"),
    "logaddexp": _log_add,
    "logit": lambda x: _hmcvi.apply("log", x) - _hmcvi.apply("log1p", -x),
    "ndtr": _of("normal_cdf"),
    "positive": lambda x: x,
    "psi": _of("digamma"),
    "sinh": lambda x: 0.5 * (_hmcvi.apply("exp", x) - _hmcvi.apply("exp", -x)),
    "tan": lambda x: _hmcvi.apply("sin", x) / _hmcvi.apply("cos", x),
    "xlogy": _xlogy,
}
