"""Mistakes that users make: each is said with the name of the variable, and nothing wrong goes through in silence."""

import functools

import hmcvi
import numpy as np
import pytest
from conftest import QUICK, SCHOOLS, schools
from test_models import wrong

Y = np.arange(5.0)


@hmcvi.model
def line(m, x, y):
    slope, sigma = m.normal("slope", 0, 1, shape=2), m.half_normal("sigma", 1)
    m.normal("y", x @ slope, sigma, observed=y)


@pytest.mark.parametrize(
    ("y", "said"),
    [
        (np.ma.masked_array(Y, [0, 1, 0, 0, 1]), "2 of its elements are masked"),
        ([1, 2, None, 4, 5], "there is None at [2] (from 0)"),
        ([[1, 2], [3]], "this list is no array"),
        (["a", "b"], "expected numbers, not text"),
        (np.array(["1", 2, 3, 4, 5], dtype=object), "there is '1' of the type str at [0]"),
        ([10**400] * 5, "a number that is too large"),
        (10**400, "int too large"),
        ({"a": 1}, "of the type dict; parts that have names are data of their own: `model(**table)`"),
        (Y + 1j, "complex128"),
        ([], "there are no elements: the shape is [0]"),
        ([1, 2, np.inf, 4, 5], "normal cannot give inf at position 2"),
        ("words", "expected numbers, not text"),
    ],
)
def test_data_that_are_no_numbers_are_named(y, said):
    with pytest.raises(hmcvi.Error) as raised:
        line(x=np.ones((5, 2)), y=y)
    assert raised.value.variable == "y" and said in str(raised.value)


def test_columns_of_tables_are_data():
    pandas = pytest.importorskip("pandas")
    x, expected = pandas.DataFrame(np.ones((5, 2))), line(x=np.ones((5, 2)), y=Y).log_density([0.1, 0.2, 0.3])
    for y in (pandas.Series(Y), pandas.Series([0, 1, 2, 3, 4], dtype="Int64"), pandas.Series(list(Y), dtype=object)):
        assert line(x=x, y=y).log_density([0.1, 0.2, 0.3]) == expected
    letters = pandas.Series(list("abcab"), dtype="category")
    for y, said in [
        (letters, "the `codes` of categories are numbers"),
        (pandas.Series([1, None, 2, 3, 4], dtype="Int64"), "nan"),
        (pandas.Series(pandas.date_range("2020-01-01", periods=5)), "datetime64"),
    ]:
        with pytest.raises(hmcvi.DataError, match="`y`") as raised:
            line(x=x, y=y)
        assert said in str(raised.value)
    with pytest.raises(hmcvi.DataError, match=r"`x`: .*`model\(\*\*table\)`"):
        line(x=pandas.DataFrame({"a": Y, "kind": letters}), y=Y)
    numbers = pandas.Series(Y)

    @hmcvi.model
    def outside(m):
        slope = m.normal("slope", 0, 1)
        m.normal("y", numbers * slope + (numbers - slope), 1, observed=numbers)

    by_hand = 0.1 * Y + Y - 0.1
    expected = -0.5 * (0.1**2 + ((Y - by_hand) ** 2).sum()) - 3 * np.log(2 * np.pi)
    assert outside().log_density([0.1])[0] == pytest.approx(expected, rel=1e-12)
    assert line(x=x, y=letters.cat.codes).observed["y"].tolist() == [0, 1, 2, 0, 1]
    sparse = pytest.importorskip("scipy.sparse").csr_matrix(np.ones((5, 2)))
    with pytest.raises(hmcvi.DataError, match=r"`x`: .*`toarray\(\)` gives the numbers"):
        line(x=sparse, y=Y)


def test_data_are_kept_as_they_were():
    y = Y.copy()
    posterior = line(x=np.ones((5, 2)), y=y)
    before = posterior.log_density([0.1, 0.2, 0.3])
    y[0] = 100.0
    assert posterior.data["y"][0] == posterior.observed["y"][0] == 0.0
    assert posterior.log_density([0.1, 0.2, 0.3]) == before

    @hmcvi.model
    def changing(m, y):
        y[0] = 7.0
        m.normal("y", m.normal("mu", 0, 1), 1, observed=y)

    assert changing(y=y).observed["y"][0] == 7.0 and y[0] == 100.0


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (lambda m, y: m.normal("a", 0, 1, shape=0), "`a`: `shape` is 0, but must be a whole number above 0"),
        (lambda m, y: m.normal("a", 0, 1, shape=(3, 0)), "`shape` is (3, 0)"),
        (lambda m, y: m.normal("a", 0, 1, shape=-3), "`shape` is -3"),
        (lambda m, y: m.normal("a", 0, 1, shape=2.5), "`shape` is 2.5"),
        (lambda m, y: m.normal("a", 0, 1, shape=10**19), "of at most 100000000 elements"),
        (lambda m, y: m.normal("a", 0, 1, shape=(10**6, 10**6)), "of at most 100000000 elements"),
        (lambda m, y: m.normal("a", 0, 1, shape=[1] * 9), "`a`: 9 dimensions, but at most 8 are allowed"),
        (lambda m, y: m.normal("a", 0, 1, support="simplx"), '`a`: `support` is "simplx"'),
        (lambda m, y: m.normal("a", 0, 1, lower="b"), "`a`: expected numbers"),
        (lambda m, y: m.normal("a", "b", 1), "`a`: expected numbers"),
        (lambda m, y: m.normal("a", 0, None), "`a`: leave out or fill in what is missing: there is None"),
        (lambda m, y: m.normal("a", 0, [m.normal("b", 0, 1)]), "`a`: `b` is no array"),
        (lambda m, y: m.normal("a", 0, 1, dims="x"), "`a`: normal has no option `dims`, but `shape`, `lower`, `upper`"),
        (lambda m, y: m.lkj_corr_cholesky("a", 2.5, 1), "`a`: the size of lkj_corr_cholesky is 2.5, but must be a whole"),
        (lambda m, y: m.deterministic("a", "b"), "`a`: expected numbers"),
        (lambda m, y: m.normal(0, 1, 2), 'as in `m.normal("mu", 0, 1)`; 0 is none'),
        (lambda m, y: [m.normal("y", m.normal(a, 0, 1), 1, observed=y) for a in "ab"], "`y`: data were observed under"),
        (lambda m, y: m.normal("a", m.normal("a", 0, 1), 1, observed=y), "`a`: this is the name of a variable"),
    ],
)
def test_variables_that_are_none_are_named(body, said):
    error = wrong(body)
    assert isinstance(error, hmcvi.ModelError) and said in str(error)
    assert "\n  in test_models.py, line " in str(error)


@pytest.mark.parametrize(
    ("use", "kind", "said"),
    [
        (lambda mu: 1 if mu[0] > 0 else 2, TypeError, "neither true nor false"),
        (lambda mu: bool(mu), TypeError, "`mu` is neither true nor false"),
        (lambda mu: float(mu), TypeError, "`mu` has no value"),
        (lambda mu: mu[7], IndexError, "`mu`: index 7 is out of bounds"),
        (lambda mu: mu["a"], IndexError, "`mu`: only integers"),
        (lambda mu: np.array([mu, mu]), TypeError, "`mu` is no array"),
        (lambda mu: np.array([mu, mu]), TypeError, "`hmcvi` (`stack`, `concatenate`"),
    ],
)
def test_what_values_cannot_do_is_said(use, kind, said):
    @hmcvi.model
    def model(m):
        use(m.normal("mu", 0, 1, shape=3))

    with pytest.raises(kind) as raised:
        model()
    assert said in str(raised.value)


def test_functions_that_are_no_models_are_refused():
    with pytest.raises(TypeError, match="before a function, not 3"):
        hmcvi.model(3)
    with pytest.raises(hmcvi.ModelError, match=r"no argument that describes variables: `def nothing\(m, ...\)`"):

        @hmcvi.model
        def nothing():
            pass

    with pytest.raises(hmcvi.ModelError, match=r"the argument `\*ys`, but data have names"):

        @hmcvi.model
        def several(m, *ys):
            pass

    @hmcvi.model
    def forgotten(y):
        pass

    with pytest.raises(hmcvi.DataError, match="`y` is its first argument, which describes variables"):
        forgotten(y=Y)
    with pytest.raises(hmcvi.DataError, match="has 2 data, but 3 are given"):
        schools(1, 2, 3)
    with pytest.raises(hmcvi.DataError, match="the data `y` of the model `schools` are given twice"):
        schools([1.0], y=[1.0])


def test_the_line_is_that_of_the_function_inside_wrappers():
    def around(function):
        @functools.wraps(function)
        def whole(*arguments, **data):
            return function(*arguments, **data)

        return whole

    @hmcvi.model
    @around
    def inside(m):
        m.normal("mu", 0, -1)  # this one

    def partly(m, sd):
        m.normal("mu", 0, sd)  # that one

    for model, line_of_it in [(inside, "# this one"), (hmcvi.model(functools.partial(partly, sd=-1.0)), "# that one")]:
        with pytest.raises(hmcvi.ModelError, match="`mu`") as raised:
            model()
        assert str(raised.value).endswith(line_of_it)


def test_numbers_of_draws_and_seeds_are_whole(quick_fit):
    for use, said in [
        (lambda: quick_fit.draws(-1), "`n` is -1, but must be a whole number from 1 to 100000000"),
        (lambda: quick_fit.draws(10**15), "`n` is 1000000000000000"),
        (lambda: quick_fit.draws(2.5), "`n` is 2.5"),
        (lambda: quick_fit.draws(2, seed=-1), "`seed` is -1, but must be a whole number of at least 0"),
        (lambda: quick_fit.draws(2, seed=2**70), "`seed` is"),
        (lambda: quick_fit.check(draws=0), "`draws` is 0"),
        (lambda: hmcvi.stan("parameters { real a; } model { a ~ normal(0, 1); }")(seed="x"), "`seed` is 'x'"),
    ]:
        with pytest.raises(hmcvi.SettingError) as raised:
            use()
        assert said in str(raised.value)


def test_models_without_end_are_refused_before_memory_is_asked_for():
    @hmcvi.model
    def model(m):
        m.normal("a", 0, 1, shape=100_000)

    with pytest.raises(hmcvi.FitError, match="the model has 100000 real numbers, but a fit takes at most 16384"):
        model().fit(progress=False)


def test_what_cannot_be_compared_or_loaded_is_said(quick_fit, tmp_path):
    with pytest.raises(hmcvi.DataError, match="need names"):
        hmcvi.compare([quick_fit, quick_fit])
    with pytest.raises(hmcvi.DataError, match="`b` is 3, but must be a fit"):
        hmcvi.compare({"a": quick_fit, "b": 3})
    assert [row.name for row in hmcvi.compare({1: quick_fit})] == ["1"]
    quick_fit.save(tmp_path / "fit")
    with pytest.raises(hmcvi.DataError, match="is no model with data"):
        hmcvi.load(tmp_path / "fit", schools)
    other = schools(**{**SCHOOLS, "sigma": [1.0] * 8})
    with pytest.raises(hmcvi.Error, match="`sigma`"):
        hmcvi.load(tmp_path / "fit", other)
    (tmp_path / "file").write_text("")
    with pytest.raises(hmcvi.Error) as raised:
        quick_fit.save(tmp_path / "file")
    assert "force" not in str(raised.value)


def test_data_of_any_name_are_given_as_a_mapping():
    program = hmcvi.stan("data { real seed; real given; } parameters { real a; } model { a ~ normal(seed, given); }")
    posterior = program({"seed": 2.0, "given": 3.0}, seed=4)
    assert posterior.data == {"seed": 2.0, "given": 3.0}
    assert posterior.log_density([2.0]) == pytest.approx(-np.log(3.0) - 0.5 * np.log(2 * np.pi))
    assert posterior.fit(**QUICK).finished
