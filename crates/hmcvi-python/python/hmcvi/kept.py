"""Carry what is kept in folders along in pickles."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .chains import Chains
    from .fits import Fit
    from .models import Posterior


def packed(folder: str, names: Sequence[str] | None = None) -> dict[str, bytes]:
    """The content of the files of a folder, or of some of them, by their paths in it."""
    found = {}
    for place, _, files in os.walk(folder):
        for file in files:
            path = os.path.join(place, file)
            name = os.path.relpath(path, folder)
            if names is None or name in names:
                with open(path, "rb") as opened:
                    found[name] = opened.read()
    return found


def unpack(files: Mapping[str, bytes], folder: str) -> None:
    """Writes files into a folder."""
    for name, content in files.items():
        path = os.path.join(folder, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as opened:
            opened.write(content)


@contextmanager
def _beside() -> Iterator[str]:
    folder = tempfile.mkdtemp(prefix="hmcvi-")
    try:
        yield os.path.join(folder, "kept")
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def saved(save: Callable[[str], None]) -> dict[str, bytes]:
    """The files that `save` writes into a folder."""
    with _beside() as folder:
        save(folder)
        return packed(folder)


def loaded(model: Posterior, files: Mapping[str, bytes]) -> Fit | Chains:
    """A fit or chains from their files."""
    from .chains import Chains
    from .fits import load

    with _beside() as folder:
        unpack(files, folder)
        found = load(folder, model)
    if isinstance(found, Chains):
        found._files = dict(files)
    return found


def by_files(model: Posterior, files: Mapping[str, bytes]) -> tuple[Any, ...]:
    """What `__reduce__` gives of a fit or of chains."""
    return loaded, (model, dict(files))
