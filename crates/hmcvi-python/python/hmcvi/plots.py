"""Figures as SVG: shown by notebooks, written to files, and text for everything else."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

from . import _hmcvi
from .errors import DataError


class Svg:
    """A figure. Notebooks show it; `save` writes it to a file, and `str` is its text.

    >>> import hmcvi
    >>> figure = hmcvi.builtin("eight-schools").fit(method="gaussian", draws=100, progress=False).plot_pairs("mu", "tau")
    >>> str(figure)[:4]
    '<svg'
    """

    def __init__(self, text: str) -> None:
        #: The SVG.
        self.text = text

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes it to a file where there is nothing yet."""
        with open(path, "x", encoding="utf-8") as file:
            file.write(self.text)

    def _repr_svg_(self) -> str:
        return self.text

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return f"<hmcvi.Svg, {len(self.text)} characters>"


def trace(curves: Sequence[tuple[str, list[tuple[float, float]]]]) -> Svg:
    """The bound over the updates of a fit, stage by stage."""
    return Svg(_hmcvi.lines("Bound on the log evidence", "update", "bound (nats)", list(curves)))


def chains_of(name: str, chains: Any) -> Svg:
    """Draws of one number by all chains, one after the other."""
    curves = [(f"chain {i + 1}", [(at + 1.0, float(x)) for at, x in enumerate(chain)]) for i, chain in enumerate(chains)]
    return Svg(_hmcvi.lines(name, "draw", name, curves))


def learning(epochs: Sequence[Mapping[str, Any]]) -> Svg:
    """The bound over the epochs of a training."""
    curves = []
    for name in ("train", "validation"):
        points = [(float(epoch["epoch"]), epoch[name]["bound"]) for epoch in epochs if (epoch[name] or {}).get("bound")]
        curves.append((name, points))
    return Svg(_hmcvi.lines("Bound", "epoch", "bound (nats)", curves))


def pairs(x: str, y: str, panels: Mapping[str, Mapping[str, Any]], most: int = 2000) -> Svg:
    """Two numbers of a model against each other; of many draws the first ones are shown."""
    drawn = []
    for name, columns in panels.items():
        for wanted in (x, y):
            if wanted not in columns:
                raise DataError(f"there is no number `{wanted}`; there are {', '.join(columns)}", wanted)
        drawn.append((name, [[float(a), float(b)] for a, b in zip(columns[x][:most], columns[y][:most])]))
    return Svg(_hmcvi.pairs(x, y, drawn))


def elements(draws: Mapping[str, Any], first: int) -> dict[str, Any]:
    """Draws of every number by its name, as Stan writes it; `first` axes are those of draws, which come flat."""
    import numpy as np

    found = {}
    for name, values in draws.items():
        shape = values.shape[first:]
        flat = values.reshape(-1, *shape)
        for place in np.ndindex(*shape):
            label = f"{name}[{','.join(str(i + 1) for i in place)}]" if place else name
            found[label] = flat[(slice(None), *place)]
    return found


def widest(draws: Mapping[str, Any]) -> tuple[str, str]:
    """The two numbers of a model whose ranks have most to do with each other, other than what equals another."""
    import numpy as np

    names = list(draws)[:50]
    if len(names) == 1:
        return names[0], names[0]
    ranks = np.array([np.argsort(np.argsort(draws[name])) for name in names], dtype=float)
    with np.errstate(invalid="ignore", divide="ignore"):
        related = np.nan_to_num(np.abs(np.corrcoef(ranks)))
    np.fill_diagonal(related, 0.0)
    related[related > 0.999] = 0.0
    a, b = np.unravel_index(int(related.argmax()), related.shape)
    return names[min(a, b)], names[max(a, b)]
