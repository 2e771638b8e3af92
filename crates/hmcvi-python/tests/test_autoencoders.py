"""Auto-encoders in the manner of scikit-learn, and the run directories of the program."""

import os
import pickle
import subprocess
import sys

import hmcvi
import numpy as np
import pytest

RNG = np.random.default_rng(7)
#: Two groups of rows of counts, with rates 1 and 6 in either half of the columns.
GROUP = RNG.integers(0, 2, 240)
RATES = np.where((np.arange(12) < 6)[None] == (GROUP[:, None] == 0), 6.0, 1.0)
COUNTS = RNG.poisson(RATES)
SMALL = {"latent": 2, "hidden": (16,), "epochs": 12, "batch": 40, "hmc_steps": 1, "leapfrog_steps": 2, "progress": False}


@pytest.fixture(scope="module")
def trained():
    return hmcvi.VAE(likelihood="poisson", settings={"train.learning_rate.first": 0.01}, **SMALL).fit(COUNTS)


def test_latent_points_tell_groups_apart(trained):
    z = trained.transform(COUNTS)
    assert z.shape == (240, 2) and trained.n_features_in_ == 12
    a, b = z[GROUP == 0], z[GROUP == 1]
    between = np.linalg.norm(a.mean(axis=0) - b.mean(axis=0))
    assert between > 2 * np.sqrt(0.5 * (a.var(axis=0) + b.var(axis=0)).sum())
    np.testing.assert_array_equal(trained.transform(COUNTS[5:9]), z[5:9])


def test_posteriors_before_and_after_the_steps(trained):
    found = trained.posterior(COUNTS[:30], draws=3, seed=2)
    assert found.before.shape == found.after.shape == (3, 30, 2) and found.bound.shape == (30,)
    assert not np.array_equal(found.before, found.after)
    z = (found.before - found.mean) / found.sd
    # 180 standard normal numbers: four standard errors.
    assert abs(z.mean()) < 4 / np.sqrt(180) and abs(z.std() - 1) < 4 / np.sqrt(360)
    np.testing.assert_array_equal(trained.posterior(COUNTS[:30], draws=3, seed=2).after, found.after)


def test_rows_are_scored_reconstructed_and_sampled(trained):
    scores = trained.scores(COUNTS[:20], samples=200)
    assert scores.estimator == "importance sampling" and scores.standard_error.shape == (20,)
    assert (scores.log_likelihood < 0).all() and scores.log_likelihood.mean() > scores.bound.mean()
    assert trained.score(COUNTS[:20]) == pytest.approx(scores.bound.mean(), rel=1e-6)
    assert trained.score_samples(COUNTS[:3]).shape == (3,)
    means = trained.reconstruct(COUNTS)
    assert means.shape == COUNTS.shape and (means > 0).all()
    assert np.corrcoef(means.ravel(), RATES.ravel())[0, 1] > 0.5
    rows = trained.sample(50, seed=3)
    assert rows.shape == (50, 12) and (rows == np.round(rows)).all() and (rows >= 0).all()
    np.testing.assert_array_equal(rows, trained.sample(50, seed=3))
    assert trained.inverse_transform(np.zeros((4, 2))).shape == (4, 12)
    assert len(trained.history) == 12 and trained.history[-1]["epoch"] == 12
    assert "<svg" in trained._repr_html_() and "VAE(latent=2" in repr(trained)


def test_scores_belong_to_rows_and_not_to_their_places(trained):
    scores = trained.scores(COUNTS[:40], samples=100)
    order = RNG.permutation(40)
    again = trained.scores(COUNTS[order], samples=100)
    np.testing.assert_array_equal(again.log_likelihood, scores.log_likelihood[order])
    np.testing.assert_array_equal(again.bound, scores.bound[order])
    np.testing.assert_array_equal(trained.scores(COUNTS[7:8], samples=100).log_likelihood, scores.log_likelihood[7:8])
    other = trained.scores(COUNTS[:40], samples=100, seed=2).log_likelihood
    # Two estimates of the same numbers: 40 differences have a mean within four standard errors of it.
    apart = (other - scores.log_likelihood) / np.hypot(scores.standard_error, scores.standard_error)
    assert (other != scores.log_likelihood).all() and abs(apart.mean()) < 4 / np.sqrt(40)


def test_sparse_rows_tables_and_annotated_data_are_the_same_rows(trained):
    sparse = pytest.importorskip("scipy.sparse").csr_matrix(COUNTS.astype(np.float32))
    expected = trained.transform(COUNTS)
    np.testing.assert_allclose(trained.transform(sparse), expected, rtol=1e-5, atol=1e-6)

    class Annotated:
        X = sparse

    np.testing.assert_allclose(trained.transform(Annotated()), expected, rtol=1e-5, atol=1e-6)
    pandas = pytest.importorskip("pandas")
    np.testing.assert_array_equal(trained.transform(pandas.DataFrame(COUNTS)), expected)
    again = hmcvi.VAE(likelihood="poisson", settings={"train.learning_rate.first": 0.01}, **SMALL).fit(sparse)
    np.testing.assert_allclose(again.transform(sparse), expected, rtol=1e-3, atol=1e-3)


def test_the_same_seed_gives_the_same_bits_and_copies_do(trained, tmp_path):
    again = hmcvi.VAE(likelihood="poisson", settings={"train.learning_rate.first": 0.01}, **SMALL).fit(COUNTS)
    expected = trained.transform(COUNTS)
    np.testing.assert_array_equal(again.transform(COUNTS), expected)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(trained)).transform(COUNTS), expected)
    trained.save(tmp_path / "run")
    opened = hmcvi.open_run(tmp_path / "run")
    assert isinstance(opened, hmcvi.VAE) and opened.likelihood == "poisson"
    np.testing.assert_array_equal(opened.transform(COUNTS), expected)
    with pytest.raises(FileExistsError):
        trained.save(tmp_path / "run")


def test_a_run_goes_on_where_it_was_left(tmp_path):
    vae = hmcvi.VAE(likelihood="poisson", run=str(tmp_path / "run"), **{**SMALL, "epochs": 2}).fit(COUNTS)
    assert len(vae.history) == 2
    vae.set_params(epochs=3).fit(COUNTS)
    assert [epoch["epoch"] for epoch in vae.history] == [1, 2, 3]


INTERRUPTED = """
import signal, sys
import hmcvi, numpy as np
# A job in the background of a shell begins with the signal ignored.
signal.signal(signal.SIGINT, signal.default_int_handler)
counts, stopped = np.random.default_rng(1).poisson(2.0, size=(400, 6)), []
def stop(*told):
    if not stopped and told[1] > 1500:
        stopped.append(told)
        signal.raise_signal(signal.SIGINT)
small = dict(latent=2, hidden=(16,), batch=20, hmc_steps=1, leapfrog_steps=2, run=sys.argv[1])
vae = hmcvi.VAE(epochs=1_000_000, progress=stop, **small)
try:
    vae.fit(counts)
except hmcvi.Interrupted as error:
    done = len(error.result.history)
vae.set_params(epochs=done + 2).fit(counts)
print(done >= 1, [epoch["epoch"] for epoch in vae.history] == list(range(1, done + 3)))
"""


def test_control_c_keeps_the_training(tmp_path):
    run = [sys.executable, "-c", INTERRUPTED, str(tmp_path / "run")]
    found = subprocess.run(run, check=True, capture_output=True, text=True, timeout=600)
    assert found.stdout.split() == ["True", "True"]


def test_the_program_and_the_package_open_runs_of_each_other(tmp_path):
    program = os.environ.get("HMCVI_PROGRAM")
    if not program:
        pytest.skip("HMCVI_PROGRAM does not name the program `hmcvi`")
    np.save(tmp_path / "counts.npy", COUNTS)
    vae = hmcvi.VAE(likelihood="poisson", run=str(tmp_path / "ours"), **{**SMALL, "epochs": 1})
    vae.fit(tmp_path / "counts.npy")
    run = [program, "eval", tmp_path / "ours", "--samples", "20", "--json"]
    found = subprocess.run(run, check=True, capture_output=True, text=True)
    assert "bound" in found.stdout
    flags = ["--set", "train.epochs=1", "model.latent=2", "model.hidden=[16]", "train.batch=40", "chain.hmc_steps=1"]
    flags += ["chain.leapfrog_steps=2", "model.likelihood=poisson"]
    train = [program, "train", "basic-2d", "--data", tmp_path / "counts.npy", "--out", tmp_path / "theirs", *flags]
    subprocess.run(train, check=True, capture_output=True)
    theirs = hmcvi.open_run(tmp_path / "theirs")
    assert theirs.transform(COUNTS).shape == (240, 2)


def test_what_is_no_data_is_refused():
    vae = hmcvi.VAE(likelihood="poisson", **SMALL)
    with pytest.raises(ValueError, match="(?i)nan"):
        vae.fit(np.full((10, 3), np.nan))
    with pytest.raises(ValueError, match="negative|poisson"):
        vae.fit(-COUNTS)
    with pytest.raises(hmcvi.SettingError, match="`chain.leapfrog_steps` is 0"):
        hmcvi.VAE(**{**SMALL, "leapfrog_steps": 0}).fit(COUNTS)
    with pytest.raises(hmcvi.Error, match='`device` is "tpu"'):
        hmcvi.VAE(device="tpu", **SMALL).fit(COUNTS)


def test_types_say_what_values_are():
    likelihood = {"poisson": hmcvi.VAE(likelihood="poisson", **{**SMALL, "epochs": 1}).fit(COUNTS)}
    for name, rows in [("counts", COUNTS), ("bytes", COUNTS.astype(np.uint8)), ("real", COUNTS * 1.0), ("two", COUNTS > 2)]:
        likelihood[name] = hmcvi.VAE(**{**SMALL, "epochs": 1}).fit(rows)
    found = {name: vae._network.likelihood for name, vae in likelihood.items()}
    assert found == {
        "poisson": "poisson", "counts": "negative-binomial", "bytes": "bernoulli", "real": "gaussian", "two": "bernoulli"
    }
    assert hmcvi.VAE(**{**SMALL, "hidden": 8, "epochs": 1}).fit(COUNTS.tolist())._network.likelihood == found["counts"]
    for vae, rows in [(likelihood["poisson"], -COUNTS), (likelihood["counts"], COUNTS + 0.5)]:
        with pytest.raises(hmcvi.DataError, match=r"row 0(, column \d)? .*from 0"):
            vae.transform(rows)
    real = hmcvi.VAE(likelihood="poisson", **{**SMALL, "epochs": 1}).fit(COUNTS * 1.0)
    with pytest.raises(hmcvi.DataError, match=r"row 0 \(from 0\) of the rows has .*poisson needs"):
        real.score_samples(-1.0 * COUNTS)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"validation_fraction": 0.0}, "`validation_fraction` is 0.0, but must be above 0 and below 1"),
        ({"validation_fraction": 1.5}, "`validation_fraction` is 1.5"),
        ({"seed": None}, "`seed` is None, but must be a whole number of at least 0"),
        ({"seed": -1}, "`seed` is -1"),
        ({"threads": -1}, "`threads` is -1"),
        ({"latent": 0}, "`model.latent` is 0"),
    ],
)
def test_arguments_that_mean_nothing_are_named(arguments, said):
    with pytest.raises(hmcvi.SettingError) as raised:
        hmcvi.VAE(**{**SMALL, **arguments}).fit(COUNTS)
    assert said in str(raised.value)


def test_uses_that_mean_nothing_are_named(trained):
    for use, said in [
        (lambda: trained.sample(0), "`n` is 0, but must be a whole number of at least 1"),
        (lambda: trained.sample(2, seed=-1), "`seed` is -1"),
        (lambda: trained.posterior(COUNTS, draws=0), "`draws` is 0"),
        (lambda: trained.scores(COUNTS, samples=-1), "`samples` is -1"),
        (lambda: trained.inverse_transform(np.zeros(2)), "latent points are a matrix [rows, 2], not of the shape (2,)"),
        (lambda: trained.transform(np.ma.masked_array(COUNTS, COUNTS > 5)), "some elements of the rows are masked"),
    ]:
        with pytest.raises(hmcvi.Error) as raised:
            use()
        assert said in str(raised.value)


def test_estimator_checks_of_scikit_learn():
    checks = pytest.importorskip("sklearn.utils.estimator_checks")
    tiny = {**SMALL, "epochs": 1, "hidden": (4,), "hmc_steps": 0, "leapfrog_steps": 1}
    vae = hmcvi.VAE(likelihood="gaussian", kind="real", **tiny)
    results = checks.check_estimator(vae, on_fail=None)
    failed = [(r["check_name"], str(r["exception"])[:200]) for r in results if r["status"] == "failed"]
    assert failed == [] and sum(r["status"] == "passed" for r in results) > 30
