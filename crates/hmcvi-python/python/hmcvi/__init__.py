"""Variational inference that is improved by Hamiltonian Monte Carlo.

A model is a function; its first argument describes variables, the others are data:

>>> import hmcvi
>>> @hmcvi.model
... def schools(m, y, sigma):
...     mu = m.normal("mu", 0, 5)
...     tau = m.half_cauchy("tau", 5)
...     raw = m.normal("raw", 0, 1, shape=len(y))
...     theta = m.deterministic("theta", mu + tau * raw)
...     m.normal("y", theta, sigma, observed=y)
>>> posterior = schools(y=[28, 8, -3, 7, -1, 1, 18, 12], sigma=[15, 10, 16, 11, 9, 11, 10, 18])
>>> fit = posterior.fit(hmc_steps=1, leapfrog_steps=2, progress=False)
>>> -32 < fit.bound < -31
True
>>> fit.draws()["theta"].shape
(4000, 8)
"""

from . import distributions, functions
from ._hmcvi import Value, __version__
from .autoencoders import VAE, open_vae
from .builder import Builder
from .chains import Chains, Check, Evidence
from .comparison import Comparison, compare
from .distributions import *  # noqa: F403
from .errors import DataError, Error, FitError, Interrupted, ModelError, SettingError, StanError
from .fits import Fit, load
from .functions import *  # noqa: F403
from .models import Model, Posterior, StanModel, builtin, model, stan
from .plots import Svg
from .runs import open_run
from .tables import Summary

__all__ = [
    "VAE",
    "Builder",
    "Chains",
    "Check",
    "Comparison",
    "DataError",
    "Error",
    "Evidence",
    "Fit",
    "FitError",
    "Interrupted",
    "Model",
    "ModelError",
    "Posterior",
    "SettingError",
    "StanError",
    "StanModel",
    "Summary",
    "Svg",
    "Value",
    "__version__",
    "builtin",
    "compare",
    "distributions",
    "functions",
    "load",
    "model",
    "open_run",
    "open_vae",
    "stan",
]
__all__ += distributions.__all__
__all__ += functions.__all__
