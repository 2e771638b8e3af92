"""Models of Python functions are those of the library; what is wrong is said where it is."""

import hmcvi
import numpy as np
import pytest
from conftest import SCHOOLS, schools, split

NORMAL = -0.5 * np.log(2 * np.pi)


def density(model, *places, **data):
    """The log density at some places."""
    return model(**data).log_density(np.array(places, dtype=float))


def test_schools_are_the_built_in_model():
    ours, theirs = schools(**SCHOOLS), hmcvi.builtin("eight-schools")
    places = np.random.default_rng(1).normal(size=(50, 10))
    assert ours.variables == {"raw": (8,), "mu": (), "tau": (), "theta": (8,)} == theirs.variables
    np.testing.assert_array_equal(ours.log_density(places), theirs.log_density(places))


def test_operators_are_those_of_numpy():
    rng = np.random.default_rng(2)
    x, w, which = rng.normal(size=(5, 3)), rng.normal(size=5), np.array([2, 0, 1, 2, 0])

    def formula(b, c):
        elementwise = b * 2.0 - 1.0 / (3.0 + b**2) + (-b) ** 3 + 2.0**c[0]
        by_rows = (x * b).sum(axis=1) + x @ b + b @ x.T + b[which] - b[::-1][which]
        picked = c[1] * c[0] + c[0, 1] - c.T @ b[:2]
        sums = np.exp(-(b**2)).mean() + np.log1p(abs(c)).sum(axis=0) @ np.tanh(b) + np.maximum(b, 0.1).sum()
        compared = (c[0] < b) * 1.0 + 2.0 * (c[0] >= b) + np.sum(c, axis=0) + np.mean(b)
        vectors = [compared, (b @ b) * 0.5, w @ by_rows]
        return [elementwise, by_rows, picked[:, None] * b, sums, c @ x.T, c.reshape(3, -1), *vectors]

    @hmcvi.model
    def model(m):
        b, c = m.normal("b", 0, 1, shape=3), m.normal("c", 0, 1, shape=(2, 3))
        for place, value in enumerate(formula(b, c)):
            m.deterministic(f"out{place}", value)

    places = rng.normal(size=(4, 9))
    posterior = model()
    values, _ = posterior._bound.evaluate(places)
    found = split(values, posterior.variables)
    for draw in range(4):
        for place, expected in enumerate(formula(places[draw, :3], places[draw, 3:].reshape(2, 3))):
            np.testing.assert_allclose(found[f"out{place}"][draw], expected, rtol=1e-12, atol=1e-13)


def test_distributions_have_their_densities():
    """Against formulas: -z²/2 - log s - log √2π, and log odds."""

    @hmcvi.model
    def model(m, y):
        mu = m.normal("mu", 1.0, 2.0)
        m.bernoulli_logit("y", mu, observed=y)

    found = density(model, [0.3], [-2.0], y=[1, 0, 1])
    expected = [
        NORMAL - np.log(2) - 0.5 * ((mu - 1) / 2) ** 2 + 2 * mu - 3 * np.log1p(np.exp(mu)) for mu in (0.3, -2.0)
    ]
    np.testing.assert_allclose(found, expected, rtol=1e-13)


def test_every_distribution_of_the_library_is_there():
    from hmcvi import _hmcvi, distributions

    assert sorted(_hmcvi.DISTRIBUTIONS) == sorted(distributions.__all__)
    for name in distributions.__all__:
        assert hasattr(hmcvi.Builder, name) and hasattr(hmcvi, name)


def test_mixtures_matrices_and_regions():
    @hmcvi.model
    def model(m, y):
        weights = m.dirichlet("weights", 1.0, shape=2)
        places = m.normal("places", 0, 5, shape=2, support="ordered")
        scale = m.normal("scale", 0, 1, lower=0, upper=3)
        m.mixture("y", weights, [hmcvi.normal(places[0], scale), hmcvi.normal(places[1], 1.0)], observed=y)
        factor = m.lkj_corr_cholesky("factor", 3, 2.0)
        m.deterministic("correlation", factor @ factor.T)

    posterior = model(y=[1.0, 2.0, 5.0])
    assert posterior.variables["factor"] == (3, 3) and posterior.dimension == 1 + 2 + 1 + 3
    draws = posterior.fit(method="gaussian", draws=50, progress=False, settings={"learning.most_updates": 50}).draws()
    np.testing.assert_allclose(draws["weights"].sum(axis=1), 1.0)
    assert (np.diff(draws["places"]) > 0).all() and (draws["scale"] < 3).all() and (draws["scale"] > 0).all()
    np.testing.assert_allclose(np.einsum("nii->ni", draws["correlation"]), 1.0)


def test_stan_programs_are_models():
    program = hmcvi.stan(
        "data { int J; vector[J] y; vector[J] sigma; } parameters { vector[J] raw; real mu; real<lower=0> tau; }"
        "transformed parameters { vector[J] theta = mu + tau * raw; }"
        "model { raw ~ std_normal(); mu ~ normal(0, 5); tau ~ cauchy(0, 5); y ~ normal(theta, sigma); }"
    )
    places = np.random.default_rng(3).normal(size=(5, 10))
    # A Cauchy above 0 has half the density of a half-Cauchy.
    found = program(J=8, **SCHOOLS).log_density(places) + np.log(2)
    np.testing.assert_allclose(found, schools(**SCHOOLS).log_density(places), rtol=1e-12)


def test_stan_programs_that_are_wrong_have_a_place(tmp_path):
    with pytest.raises(hmcvi.StanError, match="did you mean `normal`") as raised:
        hmcvi.stan("parameters { real mu; }\nmodel { mu ~ nomal(0, 1); }")
    assert (raised.value.line, raised.value.column) == (2, 9)
    file = tmp_path / "model.stan"
    file.write_text("parameters { real mu; } model { mu ~ normal(0, x); }")
    with pytest.raises(hmcvi.StanError, match=r"model\.stan: line 1"):
        hmcvi.stan(file)
    with pytest.raises(hmcvi.DataError, match="cannot read the program none.stan"):
        hmcvi.stan("none.stan")
    with pytest.raises(hmcvi.StanError, match="`b`"):
        hmcvi.stan("parameters { real a; real b; } model { a ~ std_normal(); }")()


def test_stan_programs_include_files_beside_them(tmp_path):
    (tmp_path / "prior.stan").write_text("mu ~ std_normal();")
    file = tmp_path / "model.stan"
    file.write_text("parameters { real mu; }\nmodel {\n#include prior.stan\n}")
    program = hmcvi.stan(file)
    assert "mu ~ std_normal();" in program.code and program().dimension == 1


def wrong(body, **data):
    """The error of a model that does `body`."""

    @hmcvi.model
    def model(m, y):
        body(m, y)

    with pytest.raises(hmcvi.Error) as raised:
        model(**{"y": [1.0, 2.0, 3.0], **data})
    return raised.value


def test_shapes_that_do_not_fit_name_values():
    def body(m, y):
        a = m.normal("a", 0, 1, shape=2)
        a + y

    error = wrong(body)
    assert isinstance(error, hmcvi.ModelError) and error.variable == "a"
    assert "not [2] and [3]; `a` is [2], `y` is [3]" in str(error)


def test_the_line_of_the_model_is_named():
    @hmcvi.model
    def model(m, x, y):
        b = m.normal("b", 0, 1, shape=3)
        m.normal("y", x @ b, 1, observed=y)  # this line

    with pytest.raises(hmcvi.ModelError) as raised:
        model(x=np.ones((4, 2)), y=np.ones(4))
    line = model.function.__code__.co_firstlineno + 3
    assert f"test_models.py, line {line}: m.normal(\"y\", x @ b, 1, observed=y)  # this line" in str(raised.value)
    assert "`x` is [4, 2]" in str(raised.value)


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (lambda m, y: m.normal("a", 0, -1.0), "the argument `sd` of normal is"),
        (lambda m, y: m.normal("a", np.zeros(2), np.ones(3)), "the arguments of normal are [2] and [3]"),
        (lambda m, y: m.poisson("y", m.exponential("a", 1), observed=-y), "poisson cannot give"),
        (lambda m, y: m.normal("y", m.normal("a", 0, 1, shape=2), 1, observed=y), "normal describes [2], but the data are [3]"),
        (lambda m, y: m.poisson("a", 3.0), "a variable that is inferred must be continuous"),
        (lambda m, y: [m.normal("a", 0, 1), m.normal("a", 0, 1)], "`a` is the name of two variables"),
        (lambda m, y: None, "the model has no variables"),
        (lambda m, y: m.normal("a", 0, 1) @ y, "`@` needs vectors or matrices"),
        (lambda m, y: m.normal("a", 0, 1, shape=3)[y.astype(int)[:0]], "nothing is left"),
        (lambda m, y: y[m.normal("a", 0, 1, shape=3)], "positions"),
        (lambda m, y: m.value(y)[m.normal("a", 0, 1)], "positions have to be known"),
        (lambda m, y: m.normal("a", 0, 1, observed=y, shape=3), "`shape` is for variables to infer"),
    ],
)
def test_what_is_wrong_is_said(body, said):
    if said == "positions":
        with pytest.raises((IndexError, TypeError)):
            hmcvi.model(lambda m, y: body(m, y))(y=np.ones(3))
        return
    assert said in str(wrong(body))


def test_data_that_are_wrong_are_named():
    for data, said in [
        ({"y": [1.0, np.nan], "sigma": [1.0, 1.0]}, "`y`: the value at [1] (from 0) is nan"),
        ({"y": SCHOOLS["y"]}, "the model needs data `sigma`; given are y"),
        ({**SCHOOLS, "sgima": 1}, "has no data `sgima`; its data are `y`, `sigma`"),
        ({"y": ["a"], "sigma": 1}, "`y`: expected numbers"),
    ]:
        with pytest.raises(hmcvi.DataError) as raised:
            schools(**data)
        assert said in str(raised.value) and raised.value.variable in said


def test_values_are_no_numbers():
    kept = []

    @hmcvi.model
    def model(m):
        a = m.normal("a", 0, 1)
        with pytest.raises(TypeError, match="neither true nor false"):
            bool(a > 0)
        with pytest.raises(TypeError, match="are not compared"):
            a == 1
        with pytest.raises(TypeError, match="has no value"):
            float(a)
        with pytest.raises(TypeError, match="functions of NumPy are for arrays"):
            hmcvi.exp(1.0)
        assert repr(a) == "<hmcvi.Value a: a scalar>" and [v.shape for v in m.normal("b", 0, 1, shape=(2, 3))] == [(3,)] * 2
        kept.append(a)

    model()
    with pytest.raises(hmcvi.ModelError, match="the model function has ended"):
        kept[0] + 1


def test_arrays_that_change_are_used_as_they_were():
    @hmcvi.model
    def model(m):
        b, x = m.normal("b", 0, 1, shape=2), np.ones((3, 2))
        m.deterministic("before", x @ b)
        x[:, 1] = 5.0
        m.deterministic("after", x @ b)

    posterior = model()
    values, _ = posterior._bound.evaluate(np.array([[1.0, 2.0]]))
    found = split(values, posterior.variables)
    assert found["before"].tolist() == [[3.0] * 3] and found["after"].tolist() == [[11.0] * 3]


def test_settings_are_data_too_if_they_are_numbers():
    @hmcvi.model
    def model(m, y, scale=2.0, centred=True, kind="normal"):
        mu = m.normal("mu", 0, scale) if centred and kind == "normal" else m.cauchy("mu", 0, scale)
        m.normal("y", mu, 1, observed=y)

    assert model([1.0], kind="other").log_density([0.0]) != model([1.0]).log_density([0.0])
    assert sorted(model([1.0]).data) == ["scale", "y"]


def test_generated_methods_are_those_of_the_distributions():
    import importlib.util
    from pathlib import Path

    place = Path(__file__).parents[1] / "tools/write_builder.py"
    spec = importlib.util.spec_from_file_location("write_builder", place)
    tool = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(tool)
    assert Path(hmcvi.builder.__file__).read_text(encoding="utf-8") == tool.text(), "run tools/write_builder.py"
