"""Compare models by their log evidence."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from .errors import DataError

if TYPE_CHECKING:
    from .fits import Fit


class Compared:
    """One model among others."""

    __slots__ = ("bound", "difference", "error", "k_hat", "log_evidence", "name", "probability")

    def __init__(self, name: str, fit: Fit) -> None:
        #: Its name in the comparison.
        self.name = name
        #: Lower bound on the log evidence.
        self.bound = fit.bound
        weights = fit.weights
        #: Log evidence by importance sampling.
        self.log_evidence = weights.log_evidence
        #: How far to trust it: above 0.7 it is too low by an unknown amount.
        self.k_hat = weights.k_hat
        #: Its standard error; after the comparison that of the difference.
        self.error = weights.log_evidence_error
        #: Log evidence less that of the best model.
        self.difference = 0.0
        #: Posterior probability where all models are equally probable before.
        self.probability = 1.0


class Comparison:
    """Models by their log evidence, the best first."""

    def __init__(self, rows: list[Compared]) -> None:
        self._rows = sorted(rows, key=lambda row: -row.log_evidence)
        best = self._rows[0]
        own = best.error
        total = sum(math.exp(row.log_evidence - best.log_evidence) for row in self._rows)
        for row in self._rows:
            row.difference = row.log_evidence - best.log_evidence
            row.probability = math.exp(row.difference) / total
            row.error = 0.0 if row is best else math.hypot(row.error, own)

    def __iter__(self) -> Iterator[Compared]:
        return iter(self._rows)

    def __len__(self) -> int:
        return len(self._rows)

    def to_dict(self) -> dict[str, dict[str, float | None]]:
        """Entries by model and column."""
        return {row.name: {column: getattr(row, column) for column in self._COLUMNS} for row in self}

    def to_pandas(self) -> Any:
        """The table for pandas, with the names of the models as its index."""
        import pandas

        return pandas.DataFrame.from_dict(self.to_dict(), orient="index", columns=pandas.Index(self._COLUMNS))

    def _texts(self, row: Compared) -> list[str]:
        numbers = (row.log_evidence, row.difference, row.error, row.probability, row.bound)
        return [f"{number:.3f}" for number in numbers] + ["" if row.k_hat is None else f"{row.k_hat:.2f}"]

    _COLUMNS = ("log_evidence", "difference", "error", "probability", "bound", "k_hat")
    _HEAD = ("log evidence", "difference", "error", "probability", "bound", "k-hat")

    def __repr__(self) -> str:
        width = max([5, *(len(row.name) for row in self)])
        head = " " * width + "".join(f"{column:>14}" for column in self._HEAD)
        body = (f"{row.name:<{width}}" + "".join(f"{text:>14}" for text in self._texts(row)) for row in self)
        return "\n".join([head, *body])

    def _repr_html_(self) -> str:
        from html import escape

        head = "".join(f"<th>{column}</th>" for column in ("model", *self._HEAD))
        rows = []
        for row in self:
            cells = "".join(f"<td>{text}</td>" for text in self._texts(row))
            rows.append(f"<tr><th>{escape(row.name)}</th>{cells}</tr>")
        return f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(rows)}</tbody></table>"


def compare(fits: Mapping[str, Fit]) -> Comparison:
    """Compares models of the same observations by their log evidence.

    >>> import hmcvi
    >>> @hmcvi.model
    ... def heights(m, y, scale):
    ...     mu = m.normal("mu", 170, scale)
    ...     m.normal("y", mu, 8, observed=y)
    >>> fits = {f"scale {s}": heights(y=[168.0, 181.5, 175.0], scale=s).fit(method="gaussian") for s in (5, 50)}
    >>> best, other = hmcvi.compare(fits)
    >>> best.name, other.difference < 0
    ('scale 5', True)
    """
    import numpy as np

    if not isinstance(fits, Mapping):
        raise DataError('the fits to compare need names: `hmcvi.compare({"a": fit, "b": other})`')
    if not fits:
        raise DataError("there is nothing to compare")
    fits = {str(name): fit for name, fit in fits.items()}
    for name, fit in fits.items():
        if not hasattr(fit, "weights"):
            raise DataError(f"`{name}` is {fit!r:.60}, but must be a fit: it has a log evidence", name)
    (first, one), *others = fits.items()
    for name, fit in others:
        a, b = one.model.observed, fit.model.observed
        if not (a and b):
            if one.model._bound.data_sha256 != fit.model._bound.data_sha256:
                _doubt(first, name)
            continue
        if sorted(a) != sorted(b) or any(not np.array_equal(a[key], b[key]) for key in a):
            raise DataError(f"`{first}` and `{name}` observe other data, so that their evidences cannot be compared")
    return Comparison([Compared(name, fit) for name, fit in fits.items()])


def _doubt(first: str, other: str) -> None:
    """Says that something cannot be checked."""
    import warnings

    text = (
        f"`{first}` and `{other}` have other data, and a Stan program does not say which of them are observed: whether "
        "they observe the same was not checked"
    )
    warnings.warn(text, RuntimeWarning, stacklevel=3)
