"""Fits: a bound, draws, and how far to trust them."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from . import _hmcvi, plots
from . import progress as bars
from .chains import Chains, Check, Evidence
from .errors import DataError, Error, Interrupted
from .kept import by_files, saved
from .known import whole
from .tables import Summary

if TYPE_CHECKING:
    from .inference_data import Names
    from .models import Posterior

#: Most draws that can be asked for, as in the program.
MOST_DRAWS = 100_000_000


class Weights:
    """What importance weights say."""

    __slots__ = ("effective_sample_size", "k_hat", "log_evidence", "log_evidence_error")

    def __init__(
        self, log_evidence: float, log_evidence_error: float, effective_sample_size: float, k_hat: float | None
    ) -> None:
        #: Log evidence by importance sampling, with smoothed weights.
        self.log_evidence = log_evidence
        #: Its standard error as far as the weights know it.
        self.log_evidence_error = log_evidence_error
        #: How many draws of the posterior the weighted draws are worth.
        self.effective_sample_size = effective_sample_size
        #: Shape of the tail of the weights: below 0.7 they are usable, below 0.5 good.
        self.k_hat = k_hat


class Missed:
    """A part of the posterior that no draw comes near, such as a second mode."""

    __slots__ = ("log_evidence", "log_evidence_error", "middle", "share")

    def __init__(self, log_evidence: Mapping[str, float], share: float, middle: Sequence[tuple[str, float]]) -> None:
        #: A lower bound on the logarithm of the evidence there.
        self.log_evidence = log_evidence["mean"]
        #: Its standard error.
        self.log_evidence_error = log_evidence["standard_error"]
        #: How much that is at least, for each 1 that the draws have found.
        self.share = share
        #: The middle of it: numbers of the model, named as Stan writes them.
        self.middle = dict(middle)

    def __repr__(self) -> str:
        middle = ", ".join(f"{name} = {value:.3g}" for name, value in list(self.middle.items())[:4])
        return f"<hmcvi.Missed: at least {self.share:.2g} times what was found, around {middle}>"


class Fit:
    """An approximation to a posterior, with its draws.

    >>> import hmcvi
    >>> @hmcvi.model
    ... def heights(m, y):
    ...     mu = m.normal("mu", 170, 20)
    ...     m.normal("y", mu, 8, observed=y)
    >>> fit = heights(y=[168.0, 181.5, 175.0]).fit(draws=1000, hmc_steps=1, leapfrog_steps=1, progress=False)
    >>> fit.draws()["mu"].shape, round(fit.summary()["mu"].mean)
    ((1000,), 175)
    >>> fit.evidence(progress=False).is_bracket
    True
    """

    def __init__(self, model: Posterior, fitted: _hmcvi.Fitted) -> None:
        #: The model with its data.
        self.model = model
        self._fitted = fitted

    @property
    def resampled(self) -> bool:
        """Whether the draws were chosen in proportion to their importance weights."""
        return self._fitted.resampled

    @property
    def bound(self) -> float:
        """A lower bound on the log evidence, in nats: the mean log weight of the draws."""
        return self._fitted.bound[0]

    @property
    def bound_error(self) -> float:
        """The standard error of the bound."""
        return self._fitted.bound[1]

    @property
    def weights(self) -> Weights:
        """What the importance weights of the draws say."""
        return Weights(*self._fitted.weights)

    @property
    def missed(self) -> Missed | None:
        """A part of the posterior that the draws miss, such as a second mode, where walks from other places found one."""
        found = self._fitted.elsewhere
        missed = None if found is None else json.loads(found)["missed"]
        return None if missed is None else Missed(**missed)

    @property
    def log_weights(self) -> Any:
        """Log importance weights of the draws of the approximation, before any were chosen by them."""
        return self._fitted.log_weights()

    @property
    def seconds(self) -> float:
        """Seconds that the fit took."""
        return self._fitted.seconds

    @property
    def finished(self) -> bool:
        """Whether all stages came to their end."""
        return self._fitted.finished

    @property
    def settings(self) -> str:
        """All settings as TOML, as the program writes them."""
        return self._fitted.settings

    def draws(self, n: int | None = None, *, seed: int | None = None) -> dict[str, Any]:
        """Draws by name, `[n, ...]`; without arguments those that were made with the fit.

        They are chosen in proportion to their importance weights as `resample` of the fit says. Those of a Stan program
        have its generated quantities too.
        """
        if n is None and seed is None:
            drawn = made(self.model, self._fitted.drawn)
        else:
            count = self._fitted.count if n is None else whole("n", n, 1, MOST_DRAWS)
            drawn = made(self.model, self._fitted.draw, count, self._seed(seed))
        return {name: values[0] for name, values in drawn.arrays()}

    def summary(self) -> Summary:
        """Mean, standard deviation, quantiles and Monte Carlo error of each number of the model.

        Generated quantities of a Stan program with more than 100 numbers have no rows.
        """
        return Summary.read(self._fitted.summary())

    def nuts(
        self,
        *,
        chains: int = 4,
        draws: int = 4000,
        seed: int | None = None,
        settings: Mapping[str, Any] | None = None,
        progress: bool | Callable[..., None] | None = None,
    ) -> Chains:
        """Draws of NUTS, with chains that begin with this fit and need a short warm-up only."""
        given = {"nuts.chains": chains, "draws": draws, "seed": self._seed(seed), **(settings or {})}
        return sample(self.model, given, self._fitted, progress)

    def check(self, *, draws: int | None = None, progress: bool | Callable[..., None] | None = None) -> Check:
        """Holds the fit against chains of NUTS that begin with it, and others that do not."""
        draws = self._fitted.count if draws is None else whole("draws", draws, 1, MOST_DRAWS)
        with bars.shown(progress, self.model.name) as watch:
            return Check(self.model, *_hmcvi.check(self._fitted, draws, watch))

    def evidence(
        self,
        chains: Chains | None = None,
        *,
        seed: int | None = None,
        progress: bool | Callable[..., None] | None = None,
    ) -> Evidence:
        """Brackets the log evidence by annealing from both sides.

        The upper side begins with draws of the posterior: those of chains, where they are given, else of a long chain.
        """
        given = None if chains is None else chains._sampled
        with bars.shown(progress, self.model.name) as watch:
            return Evidence(*_hmcvi.evidence(self._fitted, self._fitted.count, self._seed(seed), given, watch))

    def to_arviz(
        self,
        coords: Mapping[str, Sequence[Any]] | None = None,
        dims: Mapping[str, Sequence[str]] | None = None,
        *,
        posterior_predictive: Names = None,
        log_likelihood: Names = None,
        observed_data: Names = None,
    ) -> Any:
        """The draws for ArviZ, with all groups: an InferenceData, or since ArviZ 1.0 a DataTree.

        `dims` names dimensions, `{"theta": ["school"]}`, and `coords` their labels. Draws are one chain; they are
        independent, so R-hat says nothing about them.

        The other arguments are for Stan programs: generated quantities that belong into these groups, and data that
        were observed, by their names, or as `{"y": "y_rep"}` under others. Without them, `log_lik` is the
        log-likelihood, `y_rep` a draw of the data `y`, and such `y` are what was observed.
        """
        from .inference_data import to_arviz

        groups = (posterior_predictive, log_likelihood, observed_data)
        return to_arviz(self.model, made(self.model, self._fitted.drawn), self._fitted.log_likelihoods(), groups, coords, dims)

    def plot_trace(self) -> plots.Svg:
        """The bound over the updates, stage by stage."""
        return plots.trace(self._fitted.trace)

    def plot_pairs(self, x: str | None = None, y: str | None = None) -> plots.Svg:
        """Two numbers against each other, as Stan writes them: `theta[1]`, `tau`.

        Without names those whose ranks have most to do with each other.
        """
        draws = plots.elements(self.draws(), 1)
        first, second = plots.widest(draws) if x is None or y is None else (x, y)
        return plots.pairs(x or first, y or second, {"draws": draws})

    def _repr_html_(self) -> str:
        from html import escape

        figures = f"{self.plot_trace().text}{self.plot_pairs().text}"
        return f"<div><p>{escape(repr(self)[1:-1])}</p>{self.summary()._repr_html_()}{figures}</div>"

    def save(self, folder: str | os.PathLike[str], *, force: bool = False) -> None:
        """Keeps the fit in a folder, with its draws, and with what `check` and `evidence` found last.

        `hmcvi.load` takes it up again; `hmcvi report`, `diagnose` and `compare` read it. A fit that is there is replaced
        with `force` only.
        """
        made(self.model, self._fitted.drawn)
        self._fitted.save(os.fspath(folder), force, command())

    def _seed(self, seed: int | None) -> int:
        return self._fitted.seed if seed is None else whole("seed", seed)

    def __reduce__(self) -> tuple[Any, ...]:
        return by_files(self.model, saved(self.save))

    def __repr__(self) -> str:
        state = "" if self.finished else ", unfinished"
        k_hat = self.weights.k_hat
        trust = "" if k_hat is None else f", k-hat {k_hat:.2f}"
        return (
            f"<hmcvi.Fit of {self.model.name}: bound {self.bound:.3f} ± {self.bound_error:.3f}, log evidence "
            f"{self.weights.log_evidence:.3f}{trust}, {self.seconds:.1f} s{state}>"
        )


def assignments(settings: Mapping[str, Any]) -> list[str]:
    """Settings as the program takes them: `learning.rows=128`."""

    def text(value: Any) -> str:
        if isinstance(value, bool):
            return str(value).lower()
        if isinstance(value, (list, tuple)):
            return "[" + ", ".join(text(part) for part in value) + "]"
        return str(value)

    return [f"{key}={text(value)}" for key, value in settings.items() if value is not None]


def sample(
    model: Posterior,
    settings: Mapping[str, Any],
    start: _hmcvi.Fitted | None,
    progress: bool | Callable[..., None] | None,
) -> Chains:
    """Samples a posterior, shows how it goes on, and says what ended it before its time."""
    with bars.shown(progress, model.name) as watch:
        sampled, ended = _hmcvi.nuts(model._bound, assignments(settings), start, watch)
    if ended is None:
        return Chains(model, sampled)
    if not isinstance(ended, KeyboardInterrupt):
        raise ended
    found = Chains(model, sampled)
    raise Interrupted("the chains were interrupted; `result` of this exception has their draws", found) from None


def made(model: Posterior, draw: Callable[..., _hmcvi.Drawn], *arguments: Any) -> _hmcvi.Drawn:
    """Draws with all quantities, and a warning where some are wrong."""
    with bars.shown(None if model.generated else False, model.name) as watch:
        drawn = draw(*arguments, watch)
    if drawn.failed:
        import warnings

        warnings.warn(drawn.failed, RuntimeWarning, stacklevel=3)
    return drawn


def command() -> list[str]:
    """What runs now, for records."""
    import sys

    return ["python", *sys.argv]


def load(folder: str | os.PathLike[str], model: Posterior) -> Fit | Chains:
    """Takes up a fit or chains that `save` or the program kept, with the same model and data. The draws are the same.

    >>> import hmcvi, tempfile
    >>> schools = hmcvi.builtin("eight-schools")
    >>> fit = schools.fit(method="gaussian", draws=100, progress=False)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     fit.save(folder + "/fit")
    ...     hmcvi.load(folder + "/fit", schools).bound == fit.bound
    True
    """
    place = os.fspath(folder)
    if not os.path.isdir(place):
        raise Error(f"{place}: there is no such folder")
    if not hasattr(model, "_bound"):
        raise DataError(f"{model!r} is no model with data; a model that is called with its data makes one")
    if _hmcvi.method_of(place) == "nuts":
        return Chains(model, model._bound.load_chains(place), place)
    return Fit(model, model._bound.load(place))


def fit_model(model: Posterior, settings: Mapping[str, Any], progress: bool | Callable[..., None] | None) -> Fit:
    """Fits a model, shows how it goes on, and says what ended it before its time."""
    with bars.shown(progress, model.name) as watch:
        fitted, ended = model._bound.fit(assignments(settings), watch)
    fit = Fit(model, fitted)
    if ended is None:
        missed = fit.missed
        if missed is not None:
            import warnings

            said = f"a part of the posterior without draws has at least {missed.share:.2g} times as much of it as was found"
            warnings.warn(f"{said}; `missed` of the fit says where it is", RuntimeWarning, stacklevel=3)
        return fit
    if not isinstance(ended, KeyboardInterrupt):
        raise ended
    raise Interrupted("the fit was interrupted; `result` of this exception is what there was by then", fit) from None
