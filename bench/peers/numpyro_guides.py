"""Fits one model with hmcvi and with guides of NumPyro, and says when each came to which bound.

    pip install ./crates/hmcvi-python numpyro
    python bench/peers/numpyro_guides.py --model radon

All see the same data and the same density: their log densities are compared first. Times are those of fitting, with
compilation, on the CPU. Each guide is run with every learning rate, and the fastest run counts; a run ends after
`--seconds`. Its bound is estimated with 4,000 fresh draws every `--every` updates, with the clock stopped. The bound to
reach is the lower one of the two best, as in `auto_dais.py`; of hmcvi the whole fit counts.
"""

import argparse
import gzip
import json
import pathlib
import time

import hmcvi
import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
from numpyro.infer import SVI, Trace_ELBO, util
from numpyro.infer.autoguide import AutoDAIS, AutoMultivariateNormal

ASSETS = pathlib.Path(__file__).resolve().parents[2] / "crates/hmcvi/assets/posteriors"
DRAWS = 4000


def schools(y, sigma):
    """Effects of coaching in eight schools."""
    raw = numpyro.sample("raw", dist.Normal(0, 1).expand([8]).to_event(1))
    mu = numpyro.sample("mu", dist.Normal(0, 5))
    tau = numpyro.sample("tau", dist.HalfCauchy(5))
    numpyro.sample("obs", dist.Normal(mu + tau * raw, sigma).to_event(1), obs=y)


def radon(log_radon, floor, county, J, **_):
    """Radon in the houses of 85 counties."""
    mu = numpyro.sample("mu", dist.Normal(0, 10))
    tau = numpyro.sample("tau", dist.HalfNormal(1))
    alpha = numpyro.sample("alpha", dist.Normal(mu, tau).expand([int(J)]).to_event(1))
    beta = numpyro.sample("beta", dist.Normal(0, 10))
    sigma = numpyro.sample("sigma", dist.HalfNormal(1))
    numpyro.sample("obs", dist.Normal(alpha[county - 1] + beta * floor, sigma).to_event(1), obs=log_radon)


MODELS = {"eight-schools": schools, "radon": radon}


def data_of(name):
    """Data of a built-in model as arrays."""
    with gzip.open(ASSETS / f"{name}.json.gz") as file:
        return {key: np.array(values) for key, values in json.load(file).items()}


def check_densities(posterior, model, data):
    """Refuses models that differ by more than rounding, at places on the supports."""
    seed = numpyro.handlers.seed(model, jax.random.PRNGKey(0))
    shapes = numpyro.handlers.trace(seed).get_trace(**data)
    names = [name for name, site in shapes.items() if site["type"] == "sample" and not site["is_observed"]]
    rng = np.random.default_rng(0)
    z = 0.3 * rng.normal(size=(3, posterior.dimension))
    ours, first = posterior.log_density(z), 0
    theirs = np.zeros(3)
    places, order = {}, [name for name in posterior.variables if name in names]
    for name in order:
        size = int(np.prod(shapes[name]["value"].shape))
        places[name] = (first, size)
        first += size
    for row in range(3):
        free = {n: jnp.array(z[row, f : f + s].reshape(shapes[n]["value"].shape)) for n, (f, s) in places.items()}
        theirs[row] = -util.potential_energy(seed, (), data, free)
    assert sorted(names) == sorted(order), (names, order)
    assert np.allclose(ours, theirs, rtol=1e-8), (ours, theirs)


def fit_numpyro(guide, model, data, rate, arguments):
    """Times and bounds of a guide."""
    optimiser, particles = numpyro.optim.Adam(rate), arguments.particles
    svi = SVI(model, guide, optimiser, Trace_ELBO(num_particles=particles, vectorize_particles=True))
    judge = SVI(model, guide, optimiser, Trace_ELBO(num_particles=DRAWS, vectorize_particles=True))
    state = svi.init(jax.random.PRNGKey(1), **data)
    judge.init(jax.random.PRNGKey(1), **data)
    judged = jax.jit(lambda state: judge.evaluate(state, **data))

    @jax.jit
    def many(state):
        return jax.lax.fori_loop(0, arguments.every, lambda _, s: svi.update(s, **data)[0], state)

    spent, found = 0.0, []
    while spent < arguments.seconds:
        begun = time.perf_counter()
        state = jax.block_until_ready(many(state))
        spent += time.perf_counter() - begun
        found.append((spent, -float(judged(state))))
    return found


def reached(bound, runs):
    """The first time at which one of the runs had that bound, and its learning rate."""
    times = [(seconds, rate) for rate, rows in runs.items() for seconds, value in rows if value >= bound]
    return min(times) if times else (None, None)


def main():
    """Prints a line of JSON for each method."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", choices=list(MODELS), default="eight-schools")
    parser.add_argument("--seconds", type=float, default=20.0)
    parser.add_argument("--every", type=int, default=250)
    parser.add_argument("--rates", type=float, nargs="+", default=[0.003, 0.01, 0.03])
    parser.add_argument("--particles", type=int, default=16)
    parser.add_argument("--dais-steps", type=int, default=12, help="gradients of the density in a draw: hmcvi has 12")
    arguments = parser.parse_args()
    numpyro.enable_x64()
    data, model = data_of(arguments.model), MODELS[arguments.model]
    posterior = hmcvi.builtin(arguments.model)
    check_densities(posterior, model, data)
    guides = {
        "AutoMultivariateNormal": (lambda: AutoMultivariateNormal(model), "gaussian"),
        "AutoDAIS": (lambda: AutoDAIS(model, K=arguments.dais_steps, base_dist="cholesky"), "hmcvi"),
    }
    for name, (guide, method) in guides.items():
        begun = time.perf_counter()
        fit = posterior.fit(method=method, progress=False)
        ours = {"method": method, "seconds": time.perf_counter() - begun, "bound": fit.bound, "error": fit.bound_error}
        runs = {rate: fit_numpyro(guide(), model, data, rate, arguments) for rate in arguments.rates}
        best = max(value for rows in runs.values() for _, value in rows)
        # Two standard errors of ours: what nobody could tell apart.
        goal = min(best, fit.bound - 2 * fit.bound_error)
        seconds, rate = reached(goal, runs)
        print(json.dumps({"hmcvi": ours}), flush=True)
        print(
            json.dumps({
                "guide": name,
                "best": best,
                "goal": goal,
                "seconds_to_goal": seconds,
                "rate": rate,
                "seconds_to_bound_of_hmcvi": reached(fit.bound, runs)[0],
                "limit": arguments.seconds,
                "best_of_each_rate": {str(rate): max(value for _, value in rows) for rate, rows in runs.items()},
            }),
            flush=True,
        )


if __name__ == "__main__":
    main()
