"""Open run directories of the program."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from . import _hmcvi
from .autoencoders import VAE, open_vae
from .errors import Error
from .fits import Fit, load

if TYPE_CHECKING:
    from .models import Posterior


def open_run(folder: str | os.PathLike[str], model: Posterior | None = None) -> Fit | VAE:
    """The fit or the auto-encoder of a run directory, whoever made it.

    Fits of built-in models and Stan programs find model and data by themselves; those of models in Python need theirs.
    """
    place = os.fspath(folder)
    if os.path.exists(os.path.join(place, "config.toml")):
        return open_vae(place)
    if model is None:
        model = _model_of(place)
    return load(place, model)


def _model_of(place: str) -> Posterior:
    from .models import builtin, stan

    import json

    name, file = _hmcvi.fit_source(place)
    data = {}
    if file is not None:
        with open(file, encoding="utf-8") as text:
            data = json.load(text)
    if name.endswith(".stan"):
        return stan(name)(**data)
    if name == "python":
        raise Error(f"{place}: the model is a function of Python; give it with its data: `open_run(folder, model)`")
    return builtin(name, **data)
