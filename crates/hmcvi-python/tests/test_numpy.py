"""Functions of NumPy and SciPy do with values of a model what they do with arrays."""

import hmcvi
import numpy as np
import pytest
from conftest import split

RNG = np.random.default_rng(11)
KNOWN = RNG.normal(size=(2, 3))

#: What is done with a vector `b` of three elements, a matrix `c` [2, 3] and the positive definite `k` [3, 3].
MOVING = {
    "reshape": lambda b, c, k: np.reshape(c, (3, 2)) @ np.ones(2),
    "transpose": lambda b, c, k: np.transpose(c) + c.transpose(1, 0),
    "three": lambda b, c, k: (c[:, :, None] * b).T + np.transpose(c[:, :, None] * b, (2, 1, 0)),
    "moveaxis": lambda b, c, k: np.moveaxis(c[:, None, :] * b, 0, -1),
    "ravel": lambda b, c, k: np.ravel(c) + c.flatten(),
    "expand": lambda b, c, k: np.squeeze(np.expand_dims(b, 0), 0) * np.broadcast_to(b, (2, 3)),
    "roll": lambda b, c, k: np.roll(b, 1) + np.flip(b) + c[0].repeat(1),
    "repeat": lambda b, c, k: np.repeat(b, [1, 0, 2]) + np.tile(b, 1),
    "take": lambda b, c, k: np.take(c, [2, 0], axis=1),
    "split": lambda b, c, k: np.split(c, 3, axis=1)[1],
    "diagonal": lambda b, c, k: np.diag(k, 1) - k.diagonal(-1),
}
JOINING = {
    "concatenate": lambda b, c, k: np.concatenate([c, KNOWN, b[None]], axis=0),
    "by columns": lambda b, c, k: np.concatenate([KNOWN, c], axis=1),
    "stack": lambda b, c, k: np.stack([b, KNOWN[0], c[1]], axis=1),
    "hstack": lambda b, c, k: np.hstack([b, 1.0, c[0]]),
    "vstack": lambda b, c, k: np.vstack([b, c]),
    "column_stack": lambda b, c, k: np.column_stack([np.ones(3), b]),
}
MADE = {
    "sums": lambda b, c, k: np.sum(c, axis=(0, 1)) + c.sum(axis=0) + np.sum(c[None], axis=(0, 1)) + np.sum(c),
    "kept": lambda b, c, k: c - c.mean(axis=1, keepdims=True) + np.sum(c, axis=0, keepdims=True),
    "all kept": lambda b, c, k: c / np.sum(c, keepdims=True),
    "spread": lambda b, c, k: np.var(c, axis=1) + np.std(c, axis=1, ddof=1) + c.std() + np.var(b, ddof=1),
    "largest": lambda b, c, k: np.max(c, axis=0) + c.min(axis=0) + np.amax(b) - np.min(c),
    "prod": lambda b, c, k: np.prod(c, axis=1) + b.prod() * np.prod(c, axis=0, keepdims=True).sum(),
    "cumsum": lambda b, c, k: np.cumsum(c, axis=0) + np.cumsum(c, axis=1) + np.cumsum(b) + c.cumsum()[:3],
    "diff": lambda b, c, k: np.diff(c, axis=0) + np.diff(np.diff(b), n=1),
    "products": lambda b, c, k: np.dot(KNOWN, b) + np.dot(c, b) + np.inner(b, b) + np.dot(2.0, c[:, 0]),
    "outer": lambda b, c, k: np.outer(b, c[0]) + np.outer(np.ones(3), b),
    "where": lambda b, c, k: np.where(c > 0, c, KNOWN) + np.where(KNOWN > 0, c, 0.0),
    "clip": lambda b, c, k: np.clip(c, -0.1, 0.2) + np.clip(b, None, 0.1) + np.clip(KNOWN, b, 9.0),
    "matrices": lambda b, c, k: np.linalg.cholesky(k) + np.tril(k) - np.triu(k, 1) + np.diag(b) + np.trace(k),
    "norm": lambda b, c, k: np.linalg.norm(b) + np.linalg.norm(c, axis=1).sum(),
    "sizes": lambda b, c, k: b * np.size(c) + np.ndim(c) + np.shape(c)[0] + np.zeros_like(b) + np.ones_like(b),
    "elements": lambda b, c, k: np.logaddexp(b, c) + np.log2(2 + b**2) + np.log10(2 + b**2) + np.exp2(b) + np.tan(b / 9),
    "compared": lambda b, c, k: (KNOWN >= c) * 1.0 + 2.0 * (KNOWN <= b) + 4.0 * (KNOWN < c) + 8.0 * (KNOWN > b),
    "hyperbolic": lambda b, c, k: np.cosh(b) * np.sinh(b) + np.arctanh(0.5 * np.tanh(b)) + np.arctan(b) + np.positive(b),
}


@pytest.mark.parametrize("name", [*MOVING, *JOINING, *MADE])
def test_values_are_what_arrays_are(name):
    formula = {**MOVING, **JOINING, **MADE}[name]

    @hmcvi.model
    def model(m):
        b, c = m.normal("b", 0, 1, shape=3), m.normal("c", 0, 1, shape=(2, 3))
        a = m.normal("a", 0, 1, shape=(3, 3))
        m.deterministic("out", formula(b, c, a @ a.T + np.eye(3)))

    places = RNG.normal(size=(4, 18))
    posterior = model()
    found = split(posterior._bound.evaluate(places)[0], posterior.variables)["out"]
    for draw, (b, c, a) in enumerate((z[:3], z[3:9].reshape(2, 3), z[9:].reshape(3, 3)) for z in places):
        expected = formula(b, c, a @ a.T + np.eye(3))
        assert posterior.variables["out"] == np.shape(expected)
        np.testing.assert_allclose(found[draw], expected, rtol=1e-12, atol=1e-13)


def test_functions_of_scipy_are_those_of_values():
    special = pytest.importorskip("scipy.special")
    functions = {
        "expit": (), "log_expit": (), "gammaln": (), "psi": (), "ndtr": (), "log_ndtr": (), "erf": (), "erfc": (),
        "logit": (), "xlogy": (2.0,),
    }

    @hmcvi.model
    def model(m):
        p = m.beta("p", 1, 1)
        for name, first in functions.items():
            m.deterministic(name, getattr(special, name)(*first, p))
        m.deterministic("none", special.xlogy(0.0, p - p))

    posterior = model()
    values = split(posterior._bound.evaluate(np.array([[0.3]]))[0], posterior.variables)
    p = values["p"][0]
    for name, first in functions.items():
        assert values[name][0] == pytest.approx(getattr(special, name)(*first, p), rel=1e-12), name
    assert values["none"][0] == 0.0


def test_softmax_and_functions_of_the_package():
    @hmcvi.model
    def model(m):
        c = m.normal("c", 0, 1, shape=(2, 3))
        m.deterministic("softmax", hmcvi.softmax(c))
        m.deterministic("first", hmcvi.log_softmax(c, axis=0))
        m.deterministic("sums", hmcvi.logsumexp(c, axis=1, keepdims=True))
        m.deterministic("joined", hmcvi.concatenate([c[0], 1.0, c[1, 0]]))
        m.deterministic("below", hmcvi.concatenate([c, KNOWN], axis=0))
        m.deterministic("dot", hmcvi.dot(KNOWN[0], c[1]))

    posterior, z = model(), RNG.normal(size=6)
    found, c = split(posterior._bound.evaluate(z[None])[0], posterior.variables), z.reshape(2, 3)
    expected = {
        "softmax": np.exp(c) / np.exp(c).sum(axis=1, keepdims=True),
        "first": c - np.log(np.exp(c).sum(axis=0)),
        "sums": np.log(np.exp(c).sum(axis=1, keepdims=True)),
        "joined": [*c[0], 1.0, c[1, 0]],
        "below": np.vstack([c, KNOWN]),
        "dot": KNOWN[0] @ c[1],
    }
    for name, value in expected.items():
        np.testing.assert_allclose(found[name][0], value, rtol=1e-12)


def used(use, shape):
    """A model that does something with a variable `b`."""

    @hmcvi.model
    def model(m):
        use(m.normal("b", 0, 1, shape=shape))

    model()


def test_what_numpy_cannot_do_with_values_is_said():
    for use, said in [
        (lambda b: np.sort(b), "`numpy.sort` cannot take `b` while the model is described"),
        (lambda b: np.linalg.inv(np.outer(b, b)), "`numpy.inv` cannot take a value of a model"),
        (lambda b: np.floor(b), "there is no function `floor` of values of a model, which it is asked for with `b`"),
        (lambda b: np.array([b, b]), "`b` is no array"),
        (lambda b: np.add.reduce(b), "`numpy.add` has no such form"),
    ]:
        with pytest.raises(TypeError) as raised:
            used(use, 3)
        assert said in str(raised.value)

    @hmcvi.model
    def changed(m):
        m.normal("b", 0, 1, shape=3)[0] = 1.0

    with pytest.raises(TypeError, match="`b` cannot be changed; `hmcvi.where`"):
        changed()

    @hmcvi.model
    def unknown(m):
        m.normal("b", 0, 1).quantile(0.5)

    with pytest.raises(AttributeError, match="a value of a model has no `quantile`"):
        unknown()


def gaussian(x, mean, sd):
    """Sum of the log densities of Gaussians."""
    return np.sum(-0.5 * ((x - mean) / sd) ** 2 - np.log(sd) - 0.5 * np.log(2 * np.pi))


def test_arguments_of_distributions_are_repeated_as_in_numpy():
    seen = RNG.normal(size=(4, 3))

    @hmcvi.model
    def model(m, y):
        mean, sd = m.normal("mean", 0, 1, shape=3), m.lognormal("sd", np.zeros((4, 1)), 1)
        m.normal("y", mean, sd, observed=y)
        m.normal("both", mean, sd)
        m.normal("several", mean, 1, shape=(2, 3))

    posterior = model(y=seen)
    assert posterior.variables == {"mean": (3,), "sd": (4, 1), "both": (4, 3), "several": (2, 3)}
    z = RNG.normal(size=3 + 4 + 12 + 6)
    mean, sd, both, several = z[:3], np.exp(z[3:7])[:, None], z[7:19].reshape(4, 3), z[19:].reshape(2, 3)
    # The Jacobian of `exp` cancels the one in the density of a log-normal variable.
    expected = gaussian(mean, 0, 1) + gaussian(z[3:7], 0, 1) + gaussian(seen, mean, sd) + gaussian(both, mean, sd)
    assert posterior.log_density(z)[0] == pytest.approx(expected + gaussian(several, mean, 1), rel=1e-12)


def test_data_are_not_repeated():
    @hmcvi.model
    def model(m, y):
        m.normal("y", m.normal("mean", 0, 1, shape=(3, 1)), 1, observed=y)

    with pytest.raises(hmcvi.ModelError, match=r"normal describes \[3, 1\], but the data are \[3\]"):
        model(y=[1.0, 2.0, 3.0])


def test_log_densities_are_values():
    y = np.array([0.0, 2.0, -1.0, 0.5])

    @hmcvi.model
    def mixed(m, y):
        weight, places = m.beta("weight", 1, 1), m.normal("places", 0, 1, shape=2)
        parts = hmcvi.normal(places, [1.0, 2.0]).log_prob(y[:, None]) + np.log(hmcvi.stack([weight, 1 - weight]))
        m.add_log_density("y", hmcvi.logsumexp(parts, axis=1))

    @hmcvi.model
    def built_in(m, y):
        weight, places = m.beta("weight", 1, 1), m.normal("places", 0, 1, shape=2)
        parts = [hmcvi.normal(places[0], 1), hmcvi.normal(places[1], 2)]
        m.mixture("y", hmcvi.stack([weight, 1 - weight]), parts, observed=y)

    z = RNG.normal(size=(5, 3))
    np.testing.assert_allclose(mixed(y=y).log_density(z), built_in(y=y).log_density(z), rtol=1e-12)

    @hmcvi.model
    def walk(m):
        x = m.flat("x", shape=4)
        m.add_log_density("steps", hmcvi.normal(x[:-1], 0.5).log_prob(x[1:]))
        m.add_log_density("first", hmcvi.normal(0, 2).log_prob(x[0]))
        m.add_log_density("far", hmcvi.multi_normal(np.zeros(2), np.eye(2)).log_prob(x[:2]))

    x = RNG.normal(size=4)
    expected = gaussian(x[1:], x[:-1], 0.5) + gaussian(x[0], 0, 2) + gaussian(x[:2], 0, 1)
    assert walk().log_density(x)[0] == pytest.approx(expected, rel=1e-12)


def test_log_densities_that_are_none_are_said():
    for use, said in [
        (lambda a: hmcvi.poisson(np.exp(a)).log_prob(-1.0), "poisson cannot give"),
        (lambda a: hmcvi.normal(a, -1.0).log_prob(0.0), "the argument `sd` of normal is"),
        (lambda a: hmcvi.normal(a, 1.0).log_prob("b"), "`log_prob`: expected numbers"),
        (lambda a: hmcvi.normal(a, np.ones(2)).log_prob(np.ones(3)), "[2]"),
    ]:
        with pytest.raises(hmcvi.ModelError) as raised:
            used(use, None)
        assert said in str(raised.value) and "test_numpy.py, line" in str(raised.value)
    with pytest.raises(TypeError, match="everything is known"):
        hmcvi.normal(0.0, 1.0).log_prob(2.0)
