"""Fits and chains that Python keeps are read by the program, and the other way round."""

import json
import os
import shutil
import subprocess

import hmcvi
import numpy as np
import pytest
from conftest import QUICK, SCHOOLS, schools

PROGRAM = """
data { int<lower=0> N; vector[N] y; real<lower=0> scale; }
parameters { real mu; }
transformed parameters { real twice = 2 * mu; }
model { mu ~ normal(0, scale); y ~ normal(mu, 1); }
generated quantities {
  vector[N] log_lik;
  array[N] real y_rep = normal_rng(rep_vector(mu, N), 1);
  matrix[2, 3] table;
  for (i in 1:N) log_lik[i] = normal_lpdf(y[i] | mu, 1);
  for (i in 1:2) for (j in 1:3) table[i, j] = mu + 10 * i + j;
}
"""
DATA = {"N": 4, "y": [0.5, 1.5, 2.0, 1.0], "scale": 2.0}
#: Posterior of `mu`: precision 1/4 + 4, mean 5 / 4.25.
MEAN, SD = 5 / 4.25, 4.25**-0.5


@pytest.fixture(scope="module")
def posterior():
    return hmcvi.stan(PROGRAM)(**DATA)


@pytest.fixture(scope="module")
def fit(posterior):
    return posterior.fit(**{**QUICK, "draws": 2000})


def program(*arguments, **options):
    """What the program prints."""
    place = os.environ.get("HMCVI_PROGRAM")
    if not place:
        pytest.skip("HMCVI_PROGRAM does not name the program `hmcvi`")
    found = subprocess.run([place, *map(str, arguments)], capture_output=True, text=True, **options)
    assert found.returncode == 0, found.stderr
    return found.stdout


def test_generated_quantities_belong_to_their_draws(fit, posterior):
    draws, y = fit.draws(), np.array(DATA["y"])
    assert {name: values.shape for name, values in draws.items()} == {
        "mu": (2000,), "twice": (2000,), "log_lik": (2000, 4), "y_rep": (2000, 4), "table": (2000, 2, 3)
    }
    assert posterior.generated == ["log_lik", "y_rep", "table"] and posterior.variables["table"] == (2, 3)
    mu = draws["mu"][:, None]
    np.testing.assert_allclose(draws["log_lik"], -0.5 * (y - mu) ** 2 - 0.5 * np.log(2 * np.pi), rtol=1e-12)
    np.testing.assert_allclose(draws["table"][:, 1, 2], draws["mu"] + 23, rtol=1e-12)
    # New data have the mean of the posterior and its variance beside their own; four standard errors.
    spread = np.sqrt(1 + SD**2)
    assert abs(draws["y_rep"].mean() - MEAN) < 4 * np.sqrt(SD**2 / 2000 + 1 / 8000)
    assert abs(draws["y_rep"][:, 0].std() / spread - 1) < 4 / np.sqrt(2 * 2000)
    summary = fit.summary()
    assert summary["table[2,3]"].mean == pytest.approx(draws["mu"].mean() + 23, rel=1e-12)
    other = fit.draws(50, seed=9)
    assert other["y_rep"].shape == (50, 4) and not np.isin(other["y_rep"], draws["y_rep"]).any()


def test_chains_have_generated_quantities(posterior, tmp_path):
    chains = posterior.nuts(chains=2, draws=600, warm_up=200, progress=False)
    draws = chains.draws()
    assert draws["y_rep"].shape == (2, 300, 4) and "table[1,1]" in repr(chains.summary())
    np.testing.assert_allclose(draws["table"][..., 0, 1], draws["mu"] + 12, rtol=1e-12)
    chains.save(tmp_path / "chains")
    again = hmcvi.open_run(tmp_path / "chains")
    for name, values in again.draws().items():
        np.testing.assert_array_equal(values, draws[name])
    assert isinstance(again, hmcvi.Chains) and repr(again) == repr(chains)
    assert repr(again.summary()) == repr(chains.summary())
    for name, values in chains.statistics.items():
        np.testing.assert_array_equal(again.statistics[name], values)


def test_arviz_gets_predictions_and_likelihoods(fit, posterior):
    pytest.importorskip("arviz")
    data = fit.to_arviz()
    assert set(data["posterior"].data_vars) == {"mu", "twice", "table"}
    assert data["posterior_predictive"]["y_rep"].shape == (1, 2000, 4)
    assert data["log_likelihood"]["log_lik"].shape == (1, 2000, 4)
    np.testing.assert_array_equal(data["observed_data"]["y"], DATA["y"])
    named = fit.to_arviz(
        posterior_predictive={"y": "y_rep"}, log_likelihood={"y": "log_lik"}, observed_data="y",
        coords={"unit": list("abcd")}, dims={"y": ["unit"]},
    )
    assert named["posterior_predictive"]["y"].dims == ("chain", "draw", "unit") == named["log_likelihood"]["y"].dims
    import arviz

    assert np.isfinite(float(arviz.loo(named).elpd_loo if hasattr(arviz.loo(named), "elpd_loo") else arviz.loo(named).elpd))
    bare = fit.to_arviz(posterior_predictive=[], log_likelihood=[])
    assert {"log_lik", "y_rep"} <= set(bare["posterior"].data_vars)
    with pytest.raises(hmcvi.DataError, match="names `mu`, but the generated quantities are log_lik, y_rep, table"):
        fit.to_arviz(posterior_predictive="mu")
    chains = posterior.nuts(chains=2, draws=200, warm_up=100, progress=False).to_arviz()
    assert chains["log_likelihood"]["log_lik"].shape == (2, 100, 4)


def test_quantities_that_fail_are_said():
    wrong = hmcvi.stan(
        "parameters { real mu; } model { mu ~ std_normal(); } generated quantities { real<lower=0> s = mu; }"
    )().fit(**QUICK)
    with pytest.warns(RuntimeWarning, match="quantities of 2.. of 500 draws are wrong.*First in draw"):
        wrong.draws()


def test_the_program_reads_what_python_keeps(tmp_path):
    kept = schools(**SCHOOLS).fit(**QUICK)
    kept.check(draws=400, progress=False)
    found = kept.evidence(progress=False)
    kept.save(tmp_path / "fit")
    record = json.loads((tmp_path / "fit/fit.json").read_text())
    assert record["bound"] == kept.bound and record["model"] == "schools" and record["check"]["parameters"]
    assert record["evidence"]["lower"]["mean"] == found.lower[0]
    assert record["command"][0] == "python"
    program("report", tmp_path / "fit")
    page = (tmp_path / "fit/report.html").read_text()
    assert "schools" in page and "theta[8]" in page and "<svg" in page
    place = os.environ["HMCVI_PROGRAM"]
    said = subprocess.run([place, "diagnose", tmp_path / "fit"], capture_output=True, text=True)
    # 1 is what it says where something is not good.
    assert said.returncode in (0, 1) and "500 draws" in said.stdout, said
    again = subprocess.run([place, "fit", tmp_path / "fit/fit.toml"], capture_output=True, text=True, cwd=tmp_path)
    assert again.returncode == 2 and "function of Python" in again.stderr
    again = hmcvi.load(tmp_path / "fit", schools(**SCHOOLS))
    np.testing.assert_array_equal(again.draws()["theta"], kept.draws()["theta"])
    assert str(again.plot_trace()) == str(kept.plot_trace())
    again.save(tmp_path / "copy")
    copied = json.loads((tmp_path / "copy/fit.json").read_text())
    assert copied["check"] == record["check"] and copied["evidence"] == record["evidence"]


def test_python_and_the_program_keep_the_same(fit, tmp_path):
    fit.save(tmp_path / "ours")
    program("fit", tmp_path / "ours/fit.toml", "--out", tmp_path / "theirs", "--quiet")
    ours, theirs = (json.loads((tmp_path / name / "fit.json").read_text()) for name in ("ours", "theirs"))
    assert ours["parameters"] == theirs["parameters"] and ours["bound"] == theirs["bound"]
    assert ours["generated"]["rows"] == theirs["generated"]["rows"]
    rows = [(tmp_path / name / "draws-1.csv").read_text().splitlines() for name in ("ours", "theirs")]
    assert [line for line in rows[0] if line[0] != "#"] == [line for line in rows[1] if line[0] != "#"]
    a, b = (np.load(tmp_path / name / "draws.npz") for name in ("ours", "theirs"))
    assert a.files == b.files and all(np.array_equal(a[name], b[name]) for name in a.files)
    assert "Wasserstein" in program("compare", tmp_path / "ours", tmp_path / "theirs")


def test_folders_of_the_program_open_in_python(tmp_path):
    flags = ["--draws", "300", "--set", "learning.most_updates=200", "--quiet"]
    program("fit", "eight-schools", "--out", tmp_path / "fit", *flags, "--check", "--json")
    record = json.loads((tmp_path / "fit/fit.json").read_text())
    opened = hmcvi.open_run(tmp_path / "fit")
    assert isinstance(opened, hmcvi.Fit) and opened.bound == record["bound"]
    kept = np.load(tmp_path / "fit/draws.npz")
    for name, values in opened.draws().items():
        np.testing.assert_array_equal(kept[name][0], values)
    data = tmp_path / "data.json"
    data.write_text(json.dumps(DATA))
    model = tmp_path / "normal.stan"
    model.write_text(PROGRAM)
    flags = ["--method", "nuts", "--draws", "400", "--quiet", "--set", "nuts.warm_up=200"]
    program("fit", model, "--data", data, "--out", tmp_path / "nuts", *flags)
    chains, kept = hmcvi.open_run(tmp_path / "nuts"), np.load(tmp_path / "nuts/draws.npz")
    assert isinstance(chains, hmcvi.Chains)
    for name, values in chains.draws().items():
        np.testing.assert_array_equal(kept[name], values)
    np.testing.assert_array_equal(chains.statistics["lp"], kept["lp__"])
    record = json.loads((tmp_path / "nuts/fit.json").read_text())
    assert chains.summary()["mu"].r_hat == record["parameters"][0]["rhat"]


def test_a_kept_stan_fit_is_complete_and_can_be_moved(fit, tmp_path):
    fit.save(tmp_path / "fit")
    shutil.move(tmp_path / "fit", tmp_path / "moved")
    again = hmcvi.open_run(tmp_path / "moved")
    for name, values in fit.draws().items():
        np.testing.assert_array_equal(again.draws()[name], values)
    again.save(tmp_path / "moved", force=True)
    np.testing.assert_array_equal(hmcvi.open_run(tmp_path / "moved").draws()["mu"], fit.draws()["mu"])
    other = hmcvi.builtin("eight-schools", **{**SCHOOLS, "J": 8}).fit(**QUICK)
    other.save(tmp_path / "other")
    np.testing.assert_array_equal(hmcvi.open_run(tmp_path / "other").draws()["mu"], other.draws()["mu"])


def test_settings_that_belong_elsewhere_are_refused():
    posterior = schools(**SCHOOLS)
    for settings, said in [
        ({"method": "nuts"}, r"`nuts\(\)` of the model"),
        ({"settings": {"check": True}}, r"`check\(\)` of a fit"),
        ({"settings": {"evidence": True}}, r"`evidence\(\)` of a fit"),
        ({"settings": {"model": "radon"}}, "no settings"),
    ]:
        with pytest.raises(hmcvi.SettingError, match=said):
            posterior.fit(**settings)
