"""Models: functions under `hmcvi.model`, Stan programs, and the built-in ones, with their data."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from . import _hmcvi
from .builder import Builder
from .errors import DataError, Error, ModelError
from .chains import Chains
from .fits import Fit, fit_model, sample
from .known import numeric, whole


class Posterior:
    """A model with its data: what there is to find out about.

    Calling a model with its data makes one.
    """

    def __init__(
        self,
        bound: _hmcvi.BoundModel,
        name: str,
        data: dict[str, Any],
        made: tuple[Any, ...],
        observed: dict[str, Any] | None = None,
    ) -> None:
        self._bound = bound
        self._observed = observed
        # A function with its arguments that makes it again, for copies elsewhere.
        self._made = made
        #: What the model is called.
        self.name = name
        #: The data, by name.
        self.data = data

    @property
    def observed(self) -> dict[str, Any]:
        """What the model says was observed, by name. A Stan program does not say it."""
        if self._observed is None:
            self._observed = {name: self.data[name] for name in self._bound.observations() if name in self.data}
        return self._observed

    @property
    def dimension(self) -> int:
        """Real numbers that all variables are made from."""
        return self._bound.dimension

    @property
    def variables(self) -> dict[str, tuple[int, ...]]:
        """Shapes of all values by name: variables first, then what is computed from them, then what a Stan program
        generates."""
        return dict(self._bound.values)

    @property
    def generated(self) -> list[str]:
        """Names of the generated quantities of a Stan program."""
        return self._bound.generated

    def log_density(self, places: Any) -> Any:
        """`log p(x, z)` at places `[n, dimension]` of the real numbers, with the Jacobians of the supports."""
        import numpy as np

        return self._bound.evaluate(np.atleast_2d(np.asarray(places, dtype=float)))[1]

    def fit(
        self,
        *,
        seed: int = 1,
        draws: int = 4000,
        method: str = "hmcvi",
        gaussian: str = "auto",
        resample: str = "auto",
        hmc_steps: int | None = None,
        leapfrog_steps: int | None = None,
        settings: dict[str, Any] | None = None,
        progress: bool | Callable[..., None] | None = None,
    ) -> Fit:
        """Fits an approximation to the posterior.

        `method` is "hmcvi", a chain of HMC steps from a Gaussian, or "gaussian", the Gaussian alone. `resample` says when
        draws are chosen in proportion to their importance weights: "auto" (where k-hat allows it), "always" or "never".
        `settings` has all others by their names in the program: `{"learning.rows": 128}`. The same settings, seed and
        data give the same draws and the same bound as `hmcvi fit`.

        Ctrl-C ends it with `hmcvi.Interrupted`, whose `result` is the unfinished fit.
        """
        given = {
            "seed": seed,
            "draws": draws,
            "method": method,
            "gaussian.covariance": gaussian,
            "resample": resample,
            "chain.hmc_steps": hmc_steps,
            "chain.leapfrog_steps": leapfrog_steps,
            **(settings or {}),
        }
        return fit_model(self, given, progress)

    def nuts(
        self,
        *,
        chains: int = 4,
        draws: int = 4000,
        warm_up: int = 1000,
        seed: int = 1,
        target_accept: float = 0.8,
        settings: dict[str, Any] | None = None,
        progress: bool | Callable[..., None] | None = None,
    ) -> Chains:
        """Samples the posterior with NUTS; `draws` are those of all chains together.

        Ctrl-C ends it with `hmcvi.Interrupted`, whose `result` has the draws so far.
        """
        given = {
            "seed": seed,
            "draws": draws,
            "nuts.chains": chains,
            "nuts.warm_up": warm_up,
            "nuts.target_accept": target_accept,
            **(settings or {}),
        }
        return sample(self, given, None, progress)

    def __reduce__(self) -> tuple[Any, ...]:
        return self._made

    def __repr__(self) -> str:
        shapes = ", ".join(f"{name}{list(shape) if shape else ''}" for name, shape in self.variables.items())
        return f"<hmcvi.Posterior {self.name}: {shapes}; {self.dimension} real numbers>"


class Model:
    """A model that waits for its data: call it with them."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.__name__ = getattr(function, "__name__", "model")
        self.__qualname__ = getattr(function, "__qualname__", self.__name__)
        self.__module__ = getattr(function, "__module__", __name__)
        self.__doc__ = function.__doc__
        self.__wrapped__ = self.function = function
        _check(function, self.__name__)

    def __call__(self, *arguments: Any, **data: Any) -> Posterior:
        """The model with its data, which are numbers, arrays, lists, or columns of a table."""
        return self._with(_arguments(self, arguments, data))

    def _with(self, data: dict[str, Any]) -> Posterior:
        """The model with its data by name."""
        given = {name: _array(name, value) for name, value in data.items()}
        builder = Builder(given)
        try:
            self.function(builder, **given)
            numbers = {name: value for name, value in given.items() if not isinstance(value, (str, bool, type(None)))}
            bound = builder._trace.finish(self.__name__, numbers)
        except Error as error:
            raise _at_line(error, self.function) from None
        return Posterior(bound, self.__name__, numbers, (Model._with, (self, given)), builder._observed)

    def __reduce__(self) -> str | tuple[Any, ...]:
        # In its module the model stands in the place of the function.
        found: Any = sys.modules.get(self.__module__)
        for part in self.__qualname__.split("."):
            found = getattr(found, part, None)
        return self.__qualname__ if found is self else (Model, (self.function,))

    def __repr__(self) -> str:
        return f"<hmcvi.model {self.__name__}>"


def model(function: Callable[..., Any]) -> Model:
    """Makes a model of a function that describes it.

    Its first argument is a `Builder`, the others are the data. The function runs once for each set of data; what it
    does with values is recorded, so that Python has no part in a fit.

    >>> import hmcvi
    >>> @hmcvi.model
    ... def heights(m, y):
    ...     mu = m.normal("mu", 170, 20)
    ...     sigma = m.half_normal("sigma", 20)
    ...     m.normal("y", mu, sigma, observed=y)
    >>> heights(y=[168.0, 181.5, 175.0])
    <hmcvi.Posterior heights: mu, sigma; 2 real numbers>
    """
    return Model(function)


class StanModel:
    """A Stan program that waits for its data: call it with them."""

    def __init__(self, code: str = "", file: str | None = None, name: str = "model") -> None:
        self._program = _hmcvi.StanProgram(code, file)
        self.__name__ = os.path.splitext(os.path.basename(file))[0] if file else name
        #: The program, with the files that it includes.
        self.code = self._program.code

    def __call__(self, given: Mapping[str, Any] | None = None, /, *, seed: int = 1, **data: Any) -> Posterior:
        """The program with its data, by their names or as a mapping from them; `seed` is for random numbers of
        transformed data."""
        arrays = {name: _array(name, value) for name, value in {**(given or {}), **data}.items()}
        bound = self._program.bind(self.__name__, arrays, whole("seed", seed))
        return Posterior(bound, self.__name__, arrays, (_again, (self, arrays, seed)))

    def __reduce__(self) -> tuple[Any, ...]:
        return StanModel, (self.code, None, self.__name__)

    def __repr__(self) -> str:
        return f"<hmcvi.stan {self.__name__}>"


def stan(code_or_path: str | os.PathLike[str]) -> StanModel:
    """Reads a Stan program: its text, or the path of a file that ends in `.stan`.

    >>> import hmcvi
    >>> program = hmcvi.stan("data { real y; } parameters { real mu; } model { mu ~ normal(0, 1); y ~ normal(mu, 1); }")
    >>> program(y=0.5).dimension
    1
    """
    text = os.fspath(code_or_path)
    return StanModel(file=text) if text.endswith(".stan") else StanModel(text)


def builtin(name: str, **data: Any) -> Posterior:
    """A built-in model with its own data, or with others: `hmcvi.builtin("eight-schools")`."""
    given = {key: _array(key, value) for key, value in data.items()}
    bound, own = _hmcvi.builtin(name, given or None)
    return Posterior(bound, bound.name, own, (_builtin_again, (name, given)))


def of_folder(folder: str) -> Posterior:
    """The model of a kept fit, with its data."""
    bound, data = _hmcvi.model_of(folder)
    return Posterior(bound, bound.name, data, (of_folder, (os.path.abspath(folder),)))


def _again(program: StanModel, data: dict[str, Any], seed: int) -> Posterior:
    return program(data, seed=seed)


def _builtin_again(name: str, data: dict[str, Any]) -> Posterior:
    return builtin(name, **data)


def _check(function: Callable[..., Any], name: str) -> None:
    """Refuses a function that is no model."""
    import inspect

    if not callable(function):
        raise TypeError(f"`hmcvi.model` stands before a function, not {function!r:.40}")
    parameters = list(inspect.signature(function).parameters.values())
    if not parameters or parameters[0].kind not in (parameters[0].POSITIONAL_ONLY, parameters[0].POSITIONAL_OR_KEYWORD):
        raise ModelError(f"the model `{name}` has no argument that describes variables: `def {name}(m, ...)`")
    for parameter in parameters[1:]:
        if parameter.kind in (parameter.POSITIONAL_ONLY, parameter.VAR_POSITIONAL):
            raise ModelError(f"the model `{name}` has the argument `{parameter}`, but data have names")


def _arguments(model: Model, arguments: tuple[Any, ...], data: dict[str, Any]) -> dict[str, Any]:
    """Arguments of a model function by name."""
    import inspect

    signature = inspect.signature(model.function)
    names = list(signature.parameters)[1:]
    for name in data:
        takes_all = any(p.kind is p.VAR_KEYWORD for p in signature.parameters.values())
        if name not in names and not takes_all:
            wanted = ", ".join(f"`{known}`" for known in names) or "none"
            first = next(iter(signature.parameters))
            why = f" (`{first}` is its first argument, which describes variables)" if name == first else ""
            raise DataError(f"the model `{model.__name__}` has no data `{name}`{why}; its data are {wanted}", name)
    if len(arguments) > len(names):
        raise DataError(f"the model `{model.__name__}` has {len(names)} data, but {len(arguments)} are given")
    for name in names[: len(arguments)]:
        if name in data:
            raise DataError(f"the data `{name}` of the model `{model.__name__}` are given twice", name)
    try:
        found = signature.bind(None, *arguments, **data)
    except TypeError:
        given = set(names[: len(arguments)]) | set(data)
        parameters = signature.parameters
        missing = [n for n in names if n not in given and parameters[n].default is inspect.Parameter.empty]
        if not missing:
            raise
        said = ", ".join(sorted(given)) or "none"
        raise DataError(f"the model needs data `{missing[0]}`; given are {said}", missing[0]) from None
    found.apply_defaults()
    _, *rest = found.arguments.items()
    flat: dict[str, Any] = {}
    for name, value in rest:
        if signature.parameters[name].kind is inspect.Parameter.VAR_KEYWORD:
            flat.update(value)
        else:
            flat[name] = value
    return flat


def _array(name: str, value: Any) -> Any:
    """Data as a number or an array of its own, without missing values. Text and `None` are settings, and stay."""
    if value is None or isinstance(value, (str, bool, int)):
        return value
    import numpy as np

    try:
        array = numeric(value)
    except TypeError as error:
        raise DataError(f"`{name}`: {error}", name) from None
    if array.dtype.kind == "f" and np.isnan(array).any():
        place = [int(i) for i in np.argwhere(np.isnan(array))[0]] if array.ndim else ""
        raise DataError(f"`{name}`: the value{f' at {place} (from 0)' if place else ''} is nan; leave out or fill in what is missing", name)
    # What is done to the array later is not done to the model.
    return np.array(array) if array.ndim else array.item()


def _at_line(error: Error, function: Callable[..., None]) -> Error:
    """The error with the line of the model function that it comes from."""
    import inspect

    while isinstance(function, partial):
        function = function.func
    code = getattr(inspect.unwrap(function), "__code__", None)
    place = error.__traceback__
    while place is not None and place.tb_frame.f_code is not code:
        place = place.tb_next
    if code is None or place is None:
        return error
    import linecache

    text = linecache.getline(code.co_filename, place.tb_lineno).strip()
    where = f"{os.path.basename(code.co_filename)}, line {place.tb_lineno}"
    error.args = (f"{error.args[0]}\n  in {where}: {text}" if text else f"{error.args[0]}\n  in {where}",)
    return error
