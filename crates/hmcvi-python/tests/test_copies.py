"""Models, fits and chains are copied, pickled, and sent to other processes and threads."""

import copy
import multiprocessing
import pickle
import threading

import hmcvi
import numpy as np
import pytest
from conftest import QUICK, SCHOOLS, schools

PROGRAM = """
data { real y; } parameters { real mu; } model { mu ~ std_normal(); y ~ normal(mu, 1); }
generated quantities { real y_rep = normal_rng(mu, 1); }
"""


def same(copied, fit):
    """Whether two fits, or chains, have the same draws."""
    ours, theirs = copied.draws(), fit.draws()
    assert list(ours) == list(theirs)
    return all(np.array_equal(ours[name], theirs[name]) for name in ours)


def test_models_are_copied_by_name_and_posteriors_with_their_data():
    assert pickle.loads(pickle.dumps(schools)) is schools and copy.deepcopy(schools) is schools
    stan = pickle.loads(pickle.dumps(hmcvi.stan(PROGRAM)))
    place = np.zeros((1, 10))
    for posterior in (schools(**SCHOOLS), hmcvi.builtin("eight-schools"), hmcvi.builtin("eight-schools", **SCHOOLS)):
        for again in (pickle.loads(pickle.dumps(posterior)), copy.deepcopy(posterior)):
            assert again.log_density(place) == posterior.log_density(place) and again.name == posterior.name
    again = pickle.loads(pickle.dumps(stan(y=1.0)))
    assert again.log_density([0.3]) == stan(y=1.0).log_density([0.3]) and again.generated == ["y_rep"]

    @hmcvi.model
    def local(m):
        m.normal("mu", 0, 1)

    with pytest.raises((AttributeError, pickle.PicklingError), match="local"):
        pickle.dumps(local)


def test_fits_and_chains_are_copied_to_the_same_bits(quick_fit, tmp_path):
    checked = schools(**SCHOOLS).fit(**QUICK)
    checked.check(draws=400, progress=False)
    for fit in (quick_fit, hmcvi.stan(PROGRAM)(y=1.0).fit(**QUICK), checked):
        for again in (pickle.loads(pickle.dumps(fit)), copy.deepcopy(fit), copy.copy(fit)):
            assert same(again, fit) and again.bound == fit.bound and again.seconds == fit.seconds
            assert same(pickle.loads(pickle.dumps(again)), fit)
    chains = schools(**SCHOOLS).nuts(chains=2, draws=200, warm_up=100, progress=False)
    chains.save(tmp_path / "chains")
    for known in (chains, hmcvi.load(tmp_path / "chains", chains.model)):
        again = pickle.loads(pickle.dumps(known))
        assert same(again, chains) and same(copy.deepcopy(again), chains) and repr(again) == repr(chains)


def bound_of(seed):
    """A fit of another process."""
    return schools(**SCHOOLS).fit(**QUICK, seed=seed)


@pytest.mark.parametrize("way", ["fork", "spawn"])
def test_fits_come_from_other_processes(way, quick_fit):
    if way not in multiprocessing.get_all_start_methods():
        pytest.skip(f"this system does not {way} processes")
    with multiprocessing.get_context(way).Pool(2) as pool:
        one, two = pool.map_async(bound_of, [1, 2]).get(timeout=300)
    assert same(one, quick_fit) and two.bound != one.bound


def test_fits_in_threads_are_the_same():
    found = {}

    def fit(seed):
        found[seed] = schools(**SCHOOLS).fit(**QUICK, seed=seed)

    threads = [threading.Thread(target=fit, args=(seed,)) for seed in (1, 2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(same(found[seed], bound_of(seed)) for seed in (1, 2))
