"""Fits from Python are those of the library, in threads, with Ctrl-C, and with the program's words."""

import json
import os
import subprocess
import sys
import threading
import time

import hmcvi
import numpy as np
import pytest
from conftest import ENDLESS, QUICK, SCHOOLS, schools


def test_draws_and_summary_belong_together(quick_fit):
    draws, summary = quick_fit.draws(), quick_fit.summary()
    assert {name: values.shape for name, values in draws.items()} == {
        "raw": (500, 8),
        "mu": (500,),
        "tau": (500,),
        "theta": (500, 8),
    }
    np.testing.assert_allclose(draws["theta"], draws["mu"][:, None] + draws["tau"][:, None] * draws["raw"])
    assert summary["theta[3]"].mean == pytest.approx(draws["theta"][:, 2].mean(), rel=1e-12)
    assert summary["tau"].sd == pytest.approx(draws["tau"].std(ddof=1), rel=1e-12)
    assert len(summary) == 18 and "theta[8]" in repr(summary)


def test_the_bound_is_the_mean_log_weight(quick_fit):
    weights = quick_fit.log_weights
    assert quick_fit.bound == pytest.approx(weights.mean(), rel=1e-14)
    assert quick_fit.bound_error == pytest.approx(weights.std(ddof=1) / np.sqrt(500), rel=1e-12)
    assert quick_fit.bound < quick_fit.weights.log_evidence < 0
    assert "bound" in repr(quick_fit) and quick_fit.finished


def test_the_same_seed_gives_the_same_draws(quick_fit):
    again = schools(**SCHOOLS).fit(**QUICK)
    np.testing.assert_array_equal(again.draws()["theta"], quick_fit.draws()["theta"])
    other = schools(**SCHOOLS).fit(**{**QUICK, "seed": 2})
    assert other.bound != quick_fit.bound
    assert len(quick_fit.draws(20)["mu"]) == 20
    kept = schools(**SCHOOLS).fit(**QUICK, resample="never")
    np.testing.assert_array_equal(kept.draws(20)["mu"], kept.draws()["mu"][:20])
    chosen = schools(**SCHOOLS).fit(**QUICK, resample="always")
    assert chosen.resampled and not kept.resampled and kept.bound == chosen.bound
    assert np.isin(chosen.draws()["mu"], kept.draws()["mu"]).all()


def test_the_program_finds_the_same(tmp_path):
    program = os.environ.get("HMCVI_PROGRAM")
    if not program:
        pytest.skip("HMCVI_PROGRAM does not name the program `hmcvi`")
    out = tmp_path / "run"
    flags = ["--hmc-steps", "1", "--leapfrog-steps", "2", "--draws", "300", "--set", "learning.most_updates=200"]
    run = [program, "fit", "eight-schools", "--json", "--out", str(out), *flags]
    record = json.loads(subprocess.run(run, check=True, capture_output=True).stdout)
    fit = schools(**SCHOOLS).fit(
        hmc_steps=1, leapfrog_steps=2, draws=300, settings={"learning.most_updates": 200}, progress=False
    )
    assert fit.bound == record["bound"]
    kept = np.load(out / "draws.npz")
    for name, values in fit.draws().items():
        np.testing.assert_array_equal(kept[name][0], values)


def test_settings_are_refused_in_the_words_of_the_program():
    posterior = schools(**SCHOOLS)
    for settings, said in [
        ({"draws": 0}, "`draws` is 0, but must be a whole number from 1 to 100000000"),
        ({"method": "vi"}, '`method` is "vi", but must be "hmcvi", "gaussian" or "nuts"'),
        ({"settings": {"learning.row": 3}}, "did you mean `learning.rows`?"),
    ]:
        with pytest.raises(hmcvi.SettingError) as raised:
            posterior.fit(**settings)
        assert said in str(raised.value)


def test_a_density_without_end_cannot_be_fitted():
    @hmcvi.model
    def model(m):
        m.flat("x")

    with pytest.raises(hmcvi.FitError, match="check that the priors are proper"):
        model().fit(progress=False)


def test_progress_is_told_and_its_errors_come_through():
    seen = []
    schools(**SCHOOLS).fit(**{**QUICK, "progress": lambda *told: seen.append(told)})
    assert seen[0][0] == "start" and all(len(told) == 4 for told in seen)

    def fail(*_):
        raise LookupError("no more")

    with pytest.raises(LookupError, match="no more"):
        schools(**SCHOOLS).fit(**{**QUICK, "progress": fail})


INTERRUPTED = """
import hmcvi, signal, sys
# A job in the background of a shell begins with the signal ignored.
signal.signal(signal.SIGINT, signal.default_int_handler)
sys.path.insert(0, {here!r})
from conftest import ENDLESS, SCHOOLS, schools
def stop(*told):
    if told[0] == "gaussian":
        signal.raise_signal(signal.SIGINT)
try:
    schools(**SCHOOLS).fit(draws=100, progress=stop, settings=ENDLESS)
except hmcvi.Interrupted as error:
    fit = error.result
    print(fit.finished, len(fit.draws()["mu"]), "unfinished" in repr(fit))
"""


def test_control_c_keeps_the_state():
    code = INTERRUPTED.format(here=os.path.dirname(__file__))
    found = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True, timeout=600)
    assert found.stdout.split() == ["False", "100", "True"]


def test_python_runs_while_a_fit_does():
    """The interpreter is free: this thread counts while another one fits, which goes on until it has."""
    counted, seen = 0, []

    def look(*_):
        seen.append(counted)
        # With the interpreter held, the other thread has one turn at most between two looks.
        if len(seen) > 600 or max(np.diff(seen), default=0) > 5:
            raise StopIteration

    def fit():
        with pytest.raises(StopIteration):
            schools(**SCHOOLS).fit(progress=look, settings=ENDLESS)

    fitting = threading.Thread(target=fit)
    fitting.start()
    while fitting.is_alive():
        counted += 1
        time.sleep(0.001)
    fitting.join()
    assert max(np.diff(seen)) > 5


def test_a_mode_that_draws_miss_is_named(tmp_path):
    @hmcvi.model
    def two(m):
        x = m.normal("x", 0, 1)
        away = hmcvi.log(hmcvi.exp(-0.5 * (x - 10) ** 2) + hmcvi.exp(-0.5 * (x + 10) ** 2))
        m.add_log_density("modes", away + 0.5 * x**2)

    posterior = two()
    with pytest.warns(RuntimeWarning, match="a part of the posterior without draws"):
        fit = posterior.fit(draws=1000, progress=False)
    missed = fit.missed
    assert abs(missed.middle["x"]) == pytest.approx(10, abs=0.5)
    assert missed.middle["x"] * fit.draws()["x"].mean() < 0
    assert 0.9 < missed.share < 1.05
    assert repr(missed).startswith("<hmcvi.Missed: at least ")
    fit.save(tmp_path / "fit")
    assert hmcvi.load(tmp_path / "fit", posterior).missed.share == missed.share


def test_a_fit_of_one_mode_misses_none(quick_fit):
    assert quick_fit.missed is None
