"""Open run directories of the program."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from .autoencoders import VAE, open_vae
from .chains import Chains
from .fits import Fit, load

if TYPE_CHECKING:
    from .models import Posterior


def open_run(folder: str | os.PathLike[str], model: Posterior | None = None) -> Fit | Chains | VAE:
    """The fit, the chains or the auto-encoder of a run directory, whoever made it.

    Those of built-in models and Stan programs find model and data by themselves; those of models in Python need theirs.
    """
    place = os.fspath(folder)
    if os.path.exists(os.path.join(place, "config.toml")):
        return open_vae(place)
    if model is None:
        from .models import of_folder

        model = of_folder(place)
    return load(place, model)
