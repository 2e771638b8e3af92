"""Fits: a bound, draws, and how far to trust them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from . import _hmcvi, progress as bars
from .errors import Interrupted
from .tables import Summary, split

if TYPE_CHECKING:
    from .models import Posterior


class Weights:
    """What importance weights say."""

    __slots__ = ("effective_sample_size", "k_hat", "log_evidence")

    def __init__(self, log_evidence: float, effective_sample_size: float, k_hat: float | None) -> None:
        #: Log evidence by importance sampling, with smoothed weights.
        self.log_evidence = log_evidence
        #: How many draws of the posterior the weighted draws are worth.
        self.effective_sample_size = effective_sample_size
        #: Shape of the tail of the weights: below 0.7 they are usable, below 0.5 good.
        self.k_hat = k_hat


class Fit:
    """An approximation to a posterior, with its draws."""

    def __init__(self, model: Posterior, fitted: _hmcvi.Fitted, settings: Mapping[str, Any]) -> None:
        #: The model with its data.
        self.model = model
        self._fitted = fitted
        self._settings = dict(settings)
        self._draws = fitted.draws(int(settings["draws"]), int(settings["seed"]))

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
        return Weights(*self._draws.weights)

    @property
    def log_weights(self) -> Any:
        """Log importance weights of the draws: weighted by them, they are draws of the posterior."""
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

    def draws(self, n: int | None = None, *, seed: int | None = None, resample: bool = False) -> dict[str, Any]:
        """Draws by name, `[n, ...]`; without arguments those that were made with the fit.

        `resample` chooses them in proportion to their importance weights.
        """
        found = self._draws
        seed = int(self._settings["seed"]) if seed is None else seed
        if n is not None or seed != int(self._settings["seed"]):
            found = self._fitted.draws(len(found) if n is None else n, seed)
        if resample:
            found = found.resampled(len(found), seed)
        return split(found.values(), self.model.variables)

    def summary(self, *, weighted: bool = False) -> Summary:
        """Mean, standard deviation, quantiles and Monte Carlo error of each number of the model."""
        return Summary(self._draws.summary(weighted))

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
