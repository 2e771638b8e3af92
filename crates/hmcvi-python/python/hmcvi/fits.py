"""Fits: a bound, draws, and how far to trust them."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from . import _hmcvi, plots
from . import progress as bars
from .chains import Chains, Check, Evidence
from .errors import Error, Interrupted
from .tables import Summary, split

if TYPE_CHECKING:
    from .models import Posterior


class Weights:
    """What importance weights say."""

    __slots__ = ("effective_sample_size", "k_hat", "log_evidence", "log_evidence_error")

    def __init__(self, log_evidence: float, effective_sample_size: float, k_hat: float | None, draws: int) -> None:
        #: Log evidence by importance sampling, with smoothed weights.
        self.log_evidence = log_evidence
        #: How many draws of the posterior the weighted draws are worth.
        self.effective_sample_size = effective_sample_size
        #: Shape of the tail of the weights: below 0.7 they are usable, below 0.5 good.
        self.k_hat = k_hat
        #: Standard error of the log evidence as far as the weights know it: the relative error of their mean.
        self.log_evidence_error = (max(draws / effective_sample_size - 1.0, 0.0) / max(draws - 1, 1)) ** 0.5


class Fit:
    """An approximation to a posterior, with its draws."""

    def __init__(self, model: Posterior, fitted: _hmcvi.Fitted, settings: Mapping[str, Any]) -> None:
        #: The model with its data.
        self.model = model
        self._fitted = fitted
        self._settings = dict(settings)
        seed = int(settings["seed"])
        self._draws = fitted.draws(int(settings["draws"]), seed)
        chosen = fitted.chosen(self._draws, seed)
        #: Whether the draws were chosen in proportion to their importance weights.
        self.resampled = chosen is not None
        self._kept = chosen or self._draws

    @property
    def bound(self) -> float:
        """A lower bound on the log evidence, in nats: the mean log weight of the draws."""
        return self._draws.bound[0]

    @property
    def bound_error(self) -> float:
        """The standard error of the bound."""
        return self._draws.bound[1]

    @property
    def weights(self) -> Weights:
        """What the importance weights of the draws say."""
        return Weights(*self._draws.weights, len(self._draws))

    @property
    def log_weights(self) -> Any:
        """Log importance weights of the draws of the approximation, before any were chosen by them."""
        return self._draws.log_weights()

    @property
    def seconds(self) -> float:
        """Seconds that the fit took."""
        return self._fitted.seconds

    @property
    def finished(self) -> bool:
        """Whether all stages came to their end."""
        return all(why != "asked" for *_, why in self._fitted.stages)

    @property
    def settings(self) -> str:
        """All settings as TOML, as the program writes them."""
        return self._fitted.settings

    def draws(self, n: int | None = None, *, seed: int | None = None) -> dict[str, Any]:
        """Draws by name, `[n, ...]`; without arguments those that were made with the fit.

        They are chosen in proportion to their importance weights as `resample` of the fit says.
        """
        if n is None and seed is None:
            return split(self._kept.values(), self.model.variables)
        seed = self._seed(seed)
        made = self._fitted.draws(len(self._draws) if n is None else n, seed)
        return split((self._fitted.chosen(made, seed) or made).values(), self.model.variables)

    def summary(self) -> Summary:
        """Mean, standard deviation, quantiles and Monte Carlo error of each number of the model."""
        return Summary(self._kept.summary())

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
        draws = len(self._draws) if draws is None else draws
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
            return Evidence(*_hmcvi.evidence(self._fitted, len(self._draws), self._seed(seed), given, watch))

    def to_arviz(
        self, coords: Mapping[str, Sequence[Any]] | None = None, dims: Mapping[str, Sequence[str]] | None = None
    ) -> Any:
        """The draws for ArviZ, with all groups: an InferenceData, or since ArviZ 1.0 a DataTree.

        `dims` names dimensions, `{"theta": ["school"]}`, and `coords` their labels. Draws are one chain; they are
        independent, so R-hat says nothing about them.
        """
        from .inference_data import to_arviz

        z = self._kept.unconstrained()
        statistics = {
            "lp": self.model._bound.evaluate(z)[1][None],
            "log_weight": self._kept.log_weights()[None],
        }
        likelihoods = {
            name: values.reshape(1, len(z), *shape)
            for name, shape, values in self.model._bound.log_likelihoods(z)
            if name in self.model.observed
        }
        draws = {name: values[None] for name, values in self.draws().items()}
        return to_arviz(self.model, draws, statistics, likelihoods, coords, dims)

    def plot_trace(self) -> plots.Svg:
        """The bound over the updates, stage by stage."""
        return plots.trace(self._fitted.stages)

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
        """Keeps the fit in a folder; `hmcvi.load` takes it up again. One that is there is replaced with `force` only."""
        self._fitted.save(os.fspath(folder), force)

    def _seed(self, seed: int | None) -> int:
        return int(self._settings["seed"]) if seed is None else seed

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


def load(folder: str | os.PathLike[str], model: Posterior) -> Fit:
    """Takes up a fit that `Fit.save` or the program kept, with the same model and data. Its draws are the same."""
    place = os.fspath(folder)
    if not os.path.isdir(place):
        raise Error(f"{place}: there is no such folder")
    fitted = model._bound.load(place)
    return Fit(model, fitted, {"draws": fitted.count, "seed": fitted.seed})


def fit_model(model: Posterior, settings: Mapping[str, Any], progress: bool | Callable[..., None] | None) -> Fit:
    """Fits a model, shows how it goes on, and says what ended it before its time."""
    with bars.shown(progress, model.name) as watch:
        fitted, ended = model._bound.fit(assignments(settings), watch)
    if ended is None:
        return Fit(model, fitted, settings)
    if not isinstance(ended, KeyboardInterrupt):
        raise ended
    fit = Fit(model, fitted, settings)
    raise Interrupted("the fit was interrupted; `result` of this exception is what there was by then", fit) from None
