"""Fits one model with hmcvi and with guides of NumPyro, and says when each came to which bound.

    pip install ./crates/hmcvi-python numpyro
    python bench/peers/numpyro_guides.py --model radon

All see the same data and the same density: their log densities are compared first. Times are those of fitting, with
compilation, on the CPU. The bound of each is estimated with 4,000 fresh draws; of a guide of NumPyro every `--every`
updates, with the clock stopped, so that the time to a bound can be read off.
"""

import argparse
import json
import time

import hmcvi
import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
from numpyro.infer import SVI, Trace_ELBO, util
from numpyro.infer.autoguide import AutoDAIS, AutoMultivariateNormal

DRAWS = 4000


def schools(y, sigma):
    """Effects of coaching in eight schools."""
    raw = numpyro.sample("raw", dist.Normal(0, 1).expand([8]).to_event(1))
    mu = numpyro.sample("mu", dist.Normal(0, 5))
    tau = numpyro.sample("tau", dist.HalfCauchy(5))
    numpyro.sample("obs", dist.Normal(mu + tau * raw, sigma).to_event(1), obs=y)


def radon(log_radon, floor, county, J):
    """Radon in the houses of 85 counties."""
    mu = numpyro.sample("mu", dist.Normal(0, 10))
    tau = numpyro.sample("tau", dist.HalfNormal(1))
    alpha = numpyro.sample("alpha", dist.Normal(mu, tau).expand([int(J)]).to_event(1))
    beta = numpyro.sample("beta", dist.Normal(0, 10))
    sigma = numpyro.sample("sigma", dist.HalfNormal(1))
    numpyro.sample("obs", dist.Normal(alpha[county - 1] + beta * floor, sigma).to_event(1), obs=log_radon)


MODELS = {"eight-schools": schools, "radon": radon}


def data_of(path):
    """Data of a JSON file as arrays."""
    with open(path, encoding="utf-8") as file:
        return {name: np.array(values) for name, values in json.load(file).items()}


def check_densities(posterior, model, data):
    """Refuses models that differ by more than rounding, at places on the supports."""
    seed = numpyro.handlers.seed(model, jax.random.PRNGKey(0))
    shapes = numpyro.handlers.trace(seed).get_trace(**data)
    names = [name for name, site in shapes.items() if site["type"] == "sample" and not site["is_observed"]]
    rng = np.random.default_rng(0)
    z = 0.3 * rng.normal(size=(3, posterior.dimension))
    ours, first = posterior.log_density(z), 0
    theirs = np.zeros(3)
    places, order = {}, [name for name in posterior._bound.variables]
    for name in order:
        size = int(np.prod(shapes[name]["value"].shape))
        places[name] = (first, size)
        first += size
    for row in range(3):
        free = {n: jnp.array(z[row, f : f + s].reshape(shapes[n]["value"].shape)) for n, (f, s) in places.items()}
        theirs[row] = -util.potential_energy(seed, (), data, free)
    assert sorted(names) == sorted(order), (names, order)
    assert np.allclose(ours, theirs, rtol=1e-8), (ours, theirs)


def fit_numpyro(guide, model, data, updates, every, rate, particles):
    """Times and bounds of a guide."""
    elbo = Trace_ELBO(num_particles=particles, vectorize_particles=True)
    svi = SVI(model, guide, numpyro.optim.Adam(rate), elbo)
    judge = SVI(model, guide, numpyro.optim.Adam(rate), Trace_ELBO(num_particles=DRAWS, vectorize_particles=True))
    state = svi.init(jax.random.PRNGKey(1), **data)
    judge.init(jax.random.PRNGKey(1), **data)
    judged = jax.jit(lambda state: judge.evaluate(state, **data))

    @jax.jit
    def many(state):
        return jax.lax.fori_loop(0, every, lambda _, s: svi.update(s, **data)[0], state)

    spent, found = 0.0, []
    for done in range(every, updates + 1, every):
        begun = time.perf_counter()
        state = jax.block_until_ready(many(state))
        spent += time.perf_counter() - begun
        found.append({"updates": done, "seconds": spent, "bound": -float(judged(state))})
    return found


def main():
    """Prints a line of JSON for each method."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", choices=list(MODELS), default="eight-schools")
    parser.add_argument("--data", required=True, help="JSON with the data of the model")
    parser.add_argument("--updates", type=int, default=6000)
    parser.add_argument("--every", type=int, default=500)
    parser.add_argument("--rate", type=float, default=0.01)
    parser.add_argument("--particles", type=int, default=8)
    parser.add_argument("--dais-steps", type=int, default=8)
    arguments = parser.parse_args()
    numpyro.enable_x64()
    data, model = data_of(arguments.data), MODELS[arguments.model]
    posterior = hmcvi.builtin(arguments.model, **data)
    check_densities(posterior, model, data)

    begun = time.perf_counter()
    fit = posterior.fit(progress=False)
    seconds = time.perf_counter() - begun
    print(json.dumps({"method": "hmcvi", "seconds": seconds, "bound": fit.bound, "error": fit.bound_error}), flush=True)
    guides = {
        "AutoMultivariateNormal": AutoMultivariateNormal(model),
        "AutoDAIS": AutoDAIS(model, K=arguments.dais_steps, base_dist="cholesky"),
    }
    for name, guide in guides.items():
        found = fit_numpyro(
            guide, model, data, arguments.updates, arguments.every, arguments.rate, arguments.particles
        )
        reached = next((row["seconds"] for row in found if row["bound"] >= fit.bound), None)
        best = max(found, key=lambda row: row["bound"])
        print(json.dumps({"method": name, "best": best, "last": found[-1], "seconds_to_bound": reached}), flush=True)


if __name__ == "__main__":
    main()
