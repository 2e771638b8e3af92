"""NUTS, checks, evidence, kept fits and ArviZ."""

import hmcvi
import numpy as np
import pytest
from conftest import SCHOOLS, schools


@hmcvi.model
def mean_of(m, y):
    mu = m.normal("mu", 0, 2)
    m.normal("y", mu, 1, observed=y)


Y = [0.5, 1.5, 2.0, 1.0]
# Posterior: precision 1/4 + 4, mean 5 / 4.25. Evidence: y is Gaussian with covariance I + 4.
SD = 4.25**-0.5
EVIDENCE = float(
    -0.5 * np.array(Y) @ np.linalg.solve(np.eye(4) + 4, np.array(Y))
    - 0.5 * np.linalg.slogdet(2 * np.pi * (np.eye(4) + 4))[1]
)


@pytest.fixture(scope="module")
def fit():
    return mean_of(y=Y).fit(method="gaussian", draws=2000, progress=False)


@pytest.fixture(scope="module")
def chains():
    return mean_of(y=Y).nuts(chains=2, draws=2000, warm_up=300, seed=3, progress=False)


def test_chains_have_draws_statistics_and_diagnostics(chains):
    draws, statistics, row = chains.draws()["mu"], chains.statistics, chains.summary()["mu"]
    assert draws.shape == (2, 1000) and set(statistics) == {
        "lp", "step_size", "tree_depth", "n_steps", "diverging", "energy"
    }
    assert all(values.shape == (2, 1000) for values in statistics.values()) and statistics["diverging"].dtype == bool
    # Four standard errors of a mean of so many effective draws.
    assert abs(draws.mean() - 5 / 4.25) < 4 * SD / np.sqrt(row.ess_bulk)
    assert row.r_hat < 1.02 and row.mcse == pytest.approx(SD / np.sqrt(row.ess_bulk), rel=0.1)
    density = mean_of(y=Y).log_density(draws[0][:, None])
    np.testing.assert_allclose(statistics["lp"][0], density, rtol=1e-12)
    assert "2 chains of NUTS" in repr(chains)


def test_chains_begin_with_a_fit(fit):
    chains = fit.nuts(chains=2, draws=400, seed=5, progress=False)
    assert chains.draws()["mu"].shape == (2, 200) and chains.finished


def test_a_check_has_a_verdict(fit):
    check = fit.check(draws=8000, progress=False)
    assert check.verdict == "agrees" and check.differing == [] and check.doubts == []
    assert abs(check.summary()["mu"].mean) < 0.1 and check.chains.draws()["mu"].ndim == 2


def test_the_evidence_lies_between_both_sides(fit):
    found = fit.evidence(progress=False)
    low, high = found.lower, found.upper
    assert found.is_bracket
    assert low[0] - 4 * low[1] < EVIDENCE < high[0] + 4 * high[1]
    assert abs(found.between[0] - EVIDENCE) < 4 * found.between[1] + 1e-3
    assert fit.bound < EVIDENCE + 4 * fit.bound_error
    again = fit.evidence(fit.check(progress=False).chains, progress=False)
    assert abs(again.between[0] - EVIDENCE) < 4 * again.between[1] + 1e-3


def test_a_fit_is_kept_and_taken_up_again(fit, tmp_path):
    place = tmp_path / "fit"
    fit.save(place)
    again = hmcvi.load(place, mean_of(y=Y))
    np.testing.assert_array_equal(again.draws()["mu"], fit.draws()["mu"])
    assert (again.bound, again.settings) == (fit.bound, fit.settings)
    with pytest.raises(hmcvi.Error, match="force"):
        fit.save(place)
    fit.save(place, force=True)
    with pytest.raises(hmcvi.Error, match="`y`"):
        hmcvi.load(place, mean_of(y=[*Y[:3], 7.0]))
    with pytest.raises(hmcvi.Error, match="nowhere"):
        hmcvi.load(tmp_path / "nowhere", mean_of(y=Y))


def test_models_are_compared_by_their_evidence(fit):
    @hmcvi.model
    def shifted(m, y):
        mu = m.normal("mu", 3, 2)
        m.normal("y", mu, 1, observed=y)

    other = shifted(y=Y).fit(method="gaussian", draws=2000, progress=False)
    found = hmcvi.compare({"zero": fit, "three": other})
    best, second = found
    assert (best.name, second.name) == ("zero", "three") and best.difference == 0
    # The evidence of each: Gaussians around 0 and 3, whose mean of four has the variance 4 + 1/4.
    centre = np.mean(Y)
    expected = -0.5 * ((centre - 3) ** 2 - centre**2) / 4.25
    assert second.difference == pytest.approx(expected, abs=4 * second.error + 1e-6)
    assert "three" in repr(found) and "<table>" in found._repr_html_()
    with pytest.raises(hmcvi.DataError, match="other data"):
        hmcvi.compare({"a": fit, "b": mean_of(y=[1.0]).fit(method="gaussian", draws=200, progress=False)})
    program = hmcvi.stan("data { real y; } parameters { real mu; } model { mu ~ normal(0, 1); y ~ normal(mu, 1); }")
    one, two = (program(y=y).fit(method="gaussian", draws=200, progress=False) for y in (1.0, 2.0))
    with pytest.warns(RuntimeWarning, match="was not checked"):
        hmcvi.compare({"one": one, "two": two})


def test_built_in_models_say_what_they_observe():
    posterior = hmcvi.builtin("eight-schools")
    assert list(posterior.observed) == ["y"] and posterior.observed["y"].tolist() == SCHOOLS["y"]
    pytest.importorskip("arviz")
    data = posterior.fit(method="gaussian", draws=50, progress=False).to_arviz()
    assert data["log_likelihood"]["y"].shape == (1, 50, 8)


def test_arviz_gets_all_groups(quick_fit):
    arviz = pytest.importorskip("arviz")
    names = [f"school {i}" for i in range(8)]
    dims = {"theta": ["school"], "raw": ["school"], "y": ["school"]}
    data = quick_fit.to_arviz(coords={"school": names}, dims=dims)
    assert data["posterior"]["theta"].dims == ("chain", "draw", "school")
    assert list(data["posterior"]["school"].values) == names
    assert data["posterior"]["theta"].shape == (1, 500, 8)
    np.testing.assert_array_equal(data["observed_data"]["y"], SCHOOLS["y"])
    theta = data["posterior"]["theta"].values
    z = (np.array(SCHOOLS["y"]) - theta) / SCHOOLS["sigma"]
    expected = -0.5 * z**2 - np.log(SCHOOLS["sigma"]) - 0.5 * np.log(2 * np.pi)
    np.testing.assert_allclose(data["log_likelihood"]["y"].values, expected, rtol=1e-12)
    statistics = data["sample_stats"]
    assert statistics["log_weight"].shape == (1, 500) == statistics["lp"].shape
    assert {"lp", "log_weight"} <= set(statistics)
    assert len(arviz.summary(data, var_names=["mu", "tau"])) == 2
    with pytest.raises(hmcvi.DataError, match="`coords` has 2 labels for `school`, but `theta` has 8"):
        quick_fit.to_arviz(coords={"school": [1, 2]}, dims={"theta": ["school"]})
    with pytest.raises(hmcvi.DataError, match="`dims` names `phi`"):
        quick_fit.to_arviz(dims={"phi": ["school"]})


def test_settings_of_the_sampler_are_refused_in_the_words_of_the_program():
    with pytest.raises(hmcvi.SettingError, match="`nuts.target_accept` is 2, but must be"):
        schools(**SCHOOLS).nuts(target_accept=2, progress=False)


