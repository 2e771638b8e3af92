"""Draws of NUTS, and fits held against them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from . import plots
from .errors import DataError
from .kept import by_files, packed, saved
from .tables import Summary

if TYPE_CHECKING:
    import os

    from . import _hmcvi
    from .inference_data import Names
    from .models import Posterior


class Chains:
    """Draws of chains of the no-U-turn sampler.

    >>> import hmcvi
    >>> chains = hmcvi.builtin("eight-schools").nuts(chains=2, draws=400, warm_up=200, progress=False)
    >>> chains.draws()["theta"].shape, sorted(chains.statistics)[:2]
    ((2, 200, 8), ['diverging', 'energy'])
    """

    def __init__(self, model: Posterior, sampled: _hmcvi.Sampled, folder: str | None = None) -> None:
        #: The model with its data.
        self.model = model
        self._sampled = sampled
        # Where they were read from, or what stood there.
        self._folder = folder
        self._files: dict[str, bytes] | None = None

    @property
    def seconds(self) -> float:
        """Seconds that it took."""
        return self._sampled.seconds

    @property
    def settings(self) -> str:
        """All settings as TOML, as the program writes them."""
        return self._sampled.settings

    @property
    def _chains(self) -> int:
        return self._sampled.chains

    @property
    def finished(self) -> bool:
        """Whether the chains came to their last draw."""
        return not self._sampled.stopped

    def draws(self) -> dict[str, Any]:
        """Draws by name, `[chain, draw, ...]`. Chains that were stopped are cut to the shortest that has draws. Those of a
        Stan program have its generated quantities too."""
        return dict(self._drawn().arrays())

    @property
    def statistics(self) -> dict[str, Any]:
        """What the sampler says of each draw, `[chain, draw]`, under the names of ArviZ."""
        from .inference_data import statistics

        return statistics(self._drawn())

    def summary(self) -> Summary:
        """Mean, standard deviation, quantiles, errors, R-hat and effective sample sizes of each number of the model.

        Generated quantities of a Stan program with more than 100 numbers have no rows.
        """
        return Summary.read(self._sampled.summary(), chains=True)

    def to_arviz(
        self,
        coords: Mapping[str, Sequence[Any]] | None = None,
        dims: Mapping[str, Sequence[str]] | None = None,
        *,
        posterior_predictive: Names = None,
        log_likelihood: Names = None,
        observed_data: Names = None,
    ) -> Any:
        """The draws for ArviZ, as those of a fit. Chains that were loaded have no log-likelihoods but those that a Stan
        program generates."""
        from .inference_data import to_arviz

        groups = (posterior_predictive, log_likelihood, observed_data)
        return to_arviz(self.model, self._drawn(), self._sampled.log_likelihoods() or [], groups, coords, dims)

    def save(self, folder: str | os.PathLike[str], *, force: bool = False) -> None:
        """Keeps the chains in a folder, as `Fit.save` does."""
        import os

        from .fits import command

        self._drawn()
        self._sampled.save(os.fspath(folder), force, command())

    def __reduce__(self) -> tuple[Any, ...]:
        if self._files is not None:
            return by_files(self.model, self._files)
        return by_files(self.model, packed(self._folder) if self._folder else saved(self.save))

    def _drawn(self) -> _hmcvi.Drawn:
        from .fits import made

        return made(self.model, self._sampled.drawn)

    def plot_trace(self, name: str | None = None) -> plots.Svg:
        """Draws of one number by all chains; without a name of the one with the smallest effective sample size."""
        found = plots.elements(self.draws(), 2)
        if name is None:
            sizes = {row.name: row.ess_bulk for row in self.summary() if row.ess_bulk is not None}
            name = min(sizes, key=lambda known: sizes[known]) if sizes else next(iter(found))
        if name not in found:
            raise DataError(f"there is no number `{name}`; there are {', '.join(found)}", name)
        return plots.chains_of(name, found[name].reshape(self._chains, -1))

    def plot_pairs(self, x: str | None = None, y: str | None = None) -> plots.Svg:
        """Two numbers against each other; without names those whose ranks have most to do with each other."""
        draws = plots.elements(self.draws(), 2)
        first, second = plots.widest(draws) if x is None or y is None else (x, y)
        return plots.pairs(x or first, y or second, {"NUTS": draws})

    def _repr_html_(self) -> str:
        from html import escape

        figures = f"{self.plot_trace().text}{self.plot_pairs().text}"
        return f"<div><p>{escape(repr(self)[1:-1])}</p>{self.summary()._repr_html_()}{figures}</div>"

    def __repr__(self) -> str:
        divergences = int(self.statistics["diverging"].sum()) if self._chains else 0
        return (
            f"<hmcvi.Chains of {self.model.name}: {self._chains} chains of NUTS, {divergences} divergences, "
            f"{self.seconds:.1f} s{'' if self.finished else ', unfinished'}>"
        )


class Check:
    """A fit held against chains of NUTS that begin with it, and others that do not."""

    def __init__(self, model: Posterior, elements: str, trust: str, verdict: str | None, chains: Any) -> None:
        import json

        #: "agrees", "differs", "too-few-draws", or `None` where the chains cannot be trusted.
        self.verdict = verdict
        #: What speaks against the chains.
        self.doubts: list[str] = json.loads(trust)["doubts"]
        #: Draws of the chains that began with the fit.
        self.chains = Chains(model, chains)
        self._elements = json.loads(elements)

    def summary(self) -> Summary:
        """Of each number: difference of means, of the ratio of standard deviations from 1, and distance, in standard
        deviations of the chains."""
        names = ("mean", "sd", "wasserstein")
        rows = [(row["name"], *(row[name]["value"] for name in names)) for row in self._elements]
        return Summary(rows, names)

    @property
    def differing(self) -> list[str]:
        """Numbers in which the fit differs from the chains, the worst first."""
        found = [row for row in self._elements if row["verdict"] == "differs"]
        return [row["name"] for row in sorted(found, key=lambda row: -row["wasserstein"]["value"])]

    def __repr__(self) -> str:
        said = self.verdict or "no verdict: " + "; ".join(self.doubts)
        return f"<hmcvi.Check: {said}>"


class Evidence:
    """The log evidence between two sides: annealing from the fit, and back from draws of the posterior."""

    def __init__(self, found: str, is_bracket: bool) -> None:
        import json

        record = json.loads(found)
        #: Whether what can be checked of both sides is in order.
        self.is_bracket = is_bracket
        #: Lower bound in expectation, with its standard error.
        self.lower = (record["lower"]["log_evidence"], record["lower"]["standard_error"])
        #: Upper bound in expectation, with its standard error.
        self.upper = (record["upper"]["log_evidence"], record["upper"]["standard_error"])
        between = record["between"]
        #: What both sides agree on, with its standard error.
        self.between = (between["mean"], between["standard_error"]) if between else None
        importance = record["importance"]
        #: By importance sampling with draws of the fit, with its standard error.
        self.importance = (importance["log_evidence"], importance["standard_error"])

    def __repr__(self) -> str:
        ends = f"{self.lower[0]:.3f} ± {self.lower[1]:.3f} to {self.upper[0]:.3f} ± {self.upper[1]:.3f}"
        return f"<hmcvi.Evidence: {ends}{'' if self.is_bracket else ', no bracket'}>"
