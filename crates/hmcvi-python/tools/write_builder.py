"""Write `python/hmcvi/builder.py`: the methods of a model, one for each distribution of `distributions.py`."""

import inspect
import sys
from pathlib import Path

from hmcvi import distributions

HEAD = '''"""What the first argument of a model function can do. Written by `tools/write_builder.py`."""

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
'''

METHOD = '''
    def {name}(self, name: str{parameters}, **options: Unpack[Options]) -> Value:
        """{doc}"""
        return self._draw(name, distributions.{name}({arguments}), **options)
'''


def methods() -> list[tuple[str, str]]:
    """Names of all distributions, with the methods for them."""
    found = []
    for name, function in vars(distributions).items():
        if not inspect.isfunction(function):
            continue
        parameters = list(inspect.signature(function).parameters.values())
        lines = "".join(f", {p.name}: {p.annotation}" for p in parameters)
        arguments = ", ".join(p.name for p in parameters)
        # Python 3.13 leaves indentation out of doc strings, and others do not.
        doc = inspect.cleandoc(function.__doc__).replace("\n", "\n" + 8 * " ")
        found.append((name, METHOD.format(name=name, parameters=lines, arguments=arguments, doc=doc)))
    return found


def text() -> str:
    """The whole file."""
    return HEAD + "".join(method for _, method in methods())


if __name__ == "__main__":
    place = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parents[1] / "python/hmcvi/builder.py"
    place.write_text(text(), encoding="utf-8")
