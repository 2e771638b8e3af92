"""Show how long something takes: with tqdm where it is installed, else with plain lines."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

#: Seconds between plain lines.
EVERY = 5.0

IN_WORDS = {
    "places": "trying places to begin from",
    "start": "looking for a first Gaussian",
    "gaussian": "learning the Gaussian",
    "bend": "bending its coordinates",
    "chain": "learning the chain",
    "modes": "looking for other modes",
}


def _said(stage: str, value: float) -> str:
    if value != value:
        return ""
    return f", divergences {value:.0f}" if stage in ("warm-up", "sampling") else f", bound {value:.2f}"


class Plain:
    """A line on standard error now and then."""

    def __init__(self, title: str) -> None:
        self.title = title
        self.spoken = time.monotonic()

    def __call__(self, stage: str, done: int, most: int, value: float) -> None:
        now = time.monotonic()
        if now - self.spoken >= EVERY:
            self.spoken = now
            what = IN_WORDS.get(stage, stage)
            print(f"{self.title}: {what}, {done} of {most}{_said(stage, value)}", file=sys.stderr, flush=True)

    def close(self) -> None:
        """Nothing is left to be taken away."""


class Bar:
    """A bar of tqdm for each stage."""

    def __init__(self, tqdm: Any, title: str) -> None:
        self.tqdm = tqdm
        self.title = title
        self.stage = ""
        self.bar: Any = None

    def __call__(self, stage: str, done: int, most: int, value: float) -> None:
        if stage != self.stage:
            self.close()
            self.stage = stage
            self.bar = self.tqdm(total=most, desc=f"{self.title}: {IN_WORDS.get(stage, stage)}", leave=False)
        self.bar.n = min(done, most)
        self.bar.set_postfix_str(_said(stage, value).removeprefix(", "), refresh=True)

    def close(self) -> None:
        """Takes the bar away."""
        if self.bar is not None:
            self.bar.close()
            self.bar = None


@contextmanager
def shown(progress: bool | Callable[..., None] | None, title: str) -> Iterator[Callable[..., None] | None]:
    """What is to be called with progress.

    `None` shows it where somebody watches: in a terminal or a notebook. `True` and `False` decide; a function of one's
    own is called with the stage, the updates done, the most there may be, and the bound.
    """
    if callable(progress):
        yield progress
        return
    if progress is None:
        progress = sys.stderr.isatty() or "ipykernel" in sys.modules
    if not progress:
        yield None
        return
    try:
        from tqdm.auto import tqdm
    except ImportError:
        watch: Plain | Bar = Plain(title)
    else:
        watch = Bar(tqdm, title)
    try:
        yield watch
    finally:
        watch.close()
