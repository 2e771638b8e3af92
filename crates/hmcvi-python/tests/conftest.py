"""What several tests use."""

import hmcvi
import numpy as np
import pytest

SCHOOLS = {
    "y": [28, 8, -3, 7, -1, 1, 18, 12],
    "sigma": [15, 10, 16, 11, 9, 11, 10, 18],
}
#: Settings that make fits quick; draws of the Gaussian alone.
QUICK = {"method": "gaussian", "draws": 500, "settings": {"learning.most_updates": 200}, "progress": False}
#: Settings of a fit that does not end by itself.
ENDLESS = {"learning.most_updates": 1_000_000_000, "learning.tolerance": 0.0}


@hmcvi.model
def schools(m, y, sigma):
    raw = m.normal("raw", 0, 1, shape=len(y))
    mu = m.normal("mu", 0, 5)
    tau = m.half_cauchy("tau", 5)
    theta = m.deterministic("theta", mu + tau * raw)
    m.normal("y", theta, sigma, observed=y)


@pytest.fixture(scope="session")
def quick_fit():
    """A quick fit of the eight schools."""
    return schools(**SCHOOLS).fit(**QUICK)


def split(values, shapes):
    """Columns of draws by the names of the values that they belong to."""
    found, first = {}, 0
    for name, shape in shapes.items():
        size = int(np.prod(shape, dtype=int))
        found[name] = values[:, first : first + size].reshape(len(values), *shape)
        first += size
    return found
