"""Times fits of Bayesian models by hmcvi against NumPyro's AutoDAIS, in one run on one machine.

    python bench/peers/auto_dais.py target/release/hmcvi eight-schools logistic radon brownian

AutoDAIS is differentiable annealed importance sampling: a chain of K uncorrected HMC steps inside a lower bound on the log
evidence. It has as many gradients of the log density in a draw as hmcvi has (K = T * L = 12), as many particles in an
update (64), and Adam. It is run with every learning rate and with both Gaussians that its chain may begin with, and the
fastest of these runs counts. hmcvi runs as it comes; its time is that of the whole program, from its start to the end of
the fit and 10,000 draws. AutoDAIS is looked at every 250 updates; the draws that tell its bound are not timed. The bound
that both are timed to is the lower one of the two best; compilation is timed. The ratio is that of the seconds.
"""

import argparse
import gzip
import json
import pathlib
import subprocess
import tempfile
import time

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
from numpyro.infer import SVI, Trace_ELBO
from numpyro.infer.autoguide import AutoDAIS

ASSETS = pathlib.Path(__file__).resolve().parents[2] / "crates/hmcvi/assets/posteriors"
STEPS, PARTICLES = 12, 64
# Updates between two looks, draws of each look, and updates at most.
EVERY, LOOK, MOST = 250, 10_240, 50_000
BASES = ["diagonal", "cholesky"]


def data(name):
    with gzip.open(ASSETS / f"{name}.json.gz") as file:
        return {key: np.array(value) for key, value in json.load(file).items()}


def eight_schools():
    known = data("eight-schools")

    def model():
        raw = numpyro.sample("raw", dist.Normal(0, 1).expand([8]).to_event(1))
        mu = numpyro.sample("mu", dist.Normal(0, 5))
        tau = numpyro.sample("tau", dist.HalfCauchy(5))
        numpyro.sample("y", dist.Normal(mu + tau * raw, known["sigma"]), obs=known["y"])

    return model


def logistic():
    known = data("logistic")
    columns = (known["x"] - known["x"].mean(0)) / known["x"].std(0)
    columns = np.hstack([np.ones((len(columns), 1)), columns])

    def model():
        weights = numpyro.sample("w", dist.Normal(0, 1).expand([columns.shape[1]]).to_event(1))
        numpyro.sample("y", dist.Bernoulli(logits=columns @ weights), obs=known["y"])

    return model


def radon():
    known = data("radon")
    county, counties = known["county"] - 1, int(known["J"])

    def model():
        mu = numpyro.sample("mu", dist.Normal(0, 10))
        tau = numpyro.sample("tau", dist.HalfNormal(1))
        alpha = numpyro.sample("alpha", dist.Normal(mu, tau).expand([counties]).to_event(1))
        beta = numpyro.sample("beta", dist.Normal(0, 10))
        sigma = numpyro.sample("sigma", dist.HalfNormal(1))
        mean = alpha[county] + beta * known["floor"]
        numpyro.sample("log_radon", dist.Normal(mean, sigma), obs=known["log_radon"])

    return model


def brownian():
    known = data("brownian")
    length, at = int(known["T"]), known["at"] - 1

    def model():
        innovation = numpyro.sample("innovation", dist.LogNormal(0, 2))
        observation = numpyro.sample("observation", dist.LogNormal(0, 2))
        flat = dist.ImproperUniform(dist.constraints.real_vector, (), (length,))
        x = numpyro.sample("x", flat)
        steps = jnp.diff(x, prepend=0.0)
        numpyro.factor("steps", dist.Normal(0, innovation).log_prob(steps).sum())
        numpyro.sample("y", dist.Normal(x[at], observation), obs=known["y"])

    return model


MODELS = {"eight-schools": eight_schools, "logistic": logistic, "radon": radon, "brownian": brownian}


def auto_dais(model, rate, base, seconds, seed):
    """Seconds and bounds, look by look."""
    begun = time.perf_counter()
    guide = AutoDAIS(model, K=STEPS, base_dist=base)
    svi = SVI(model, guide, numpyro.optim.Adam(rate), Trace_ELBO(num_particles=PARTICLES))
    state = svi.init(jax.random.PRNGKey(seed))

    @jax.jit
    def train(state):
        return jax.lax.scan(lambda state, _: (svi.update(state)[0], None), state, None, length=EVERY)[0]

    @jax.jit
    def bound(key, values):
        return -Trace_ELBO(num_particles=PARTICLES).loss(key, values, model, guide)

    spent, found = time.perf_counter() - begun, []
    for updates in range(EVERY, MOST + 1, EVERY):
        begun = time.perf_counter()
        state = jax.block_until_ready(train(state))
        spent += time.perf_counter() - begun
        values = svi.get_params(state)
        keys = jax.random.split(jax.random.PRNGKey(updates), LOOK // PARTICLES)
        found.append((spent, float(np.mean([bound(key, values) for key in keys])), updates))
        if spent > seconds:
            break
    return found


def fit(program, model, seed):
    """Seconds of the whole program, of the fit, and the bound."""
    with tempfile.TemporaryDirectory() as folder:
        words = [program, "fit", model, "--draws", "10000", "--seed", str(seed), "--json", "--quiet"]
        begun = time.perf_counter()
        text = subprocess.run([*words, "--out", f"{folder}/fit"], check=True, capture_output=True).stdout
        spent = time.perf_counter() - begun
    record = json.loads(text)
    return spent, record["seconds"], record["bound"]


def compare(program, model, rates, seconds, seed):
    whole, fitted, own = fit(program, model, seed)
    settings = [(rate, base) for rate in rates for base in BASES]
    runs = {setting: auto_dais(MODELS[model](), *setting, seconds, seed) for setting in settings}
    best = max(bound for looks in runs.values() for _, bound, _ in looks if np.isfinite(bound))
    bound = min(own, best)
    reached = {
        setting: (spent, updates)
        for setting, looks in runs.items()
        for spent, found, updates in reversed(looks)
        if found >= bound
    }
    (rate, base), (spent, updates) = min(reached.items(), key=lambda item: item[1])
    return {
        "model": model,
        "hmcvi_seconds": round(whole, 2),
        "of_which_fit": round(fitted, 2),
        "hmcvi_bound": round(own, 3),
        "auto_dais_best_bound": round(best, 3),
        "bound": round(bound, 3),
        "auto_dais_seconds": round(spent, 2),
        "auto_dais_updates": updates,
        "auto_dais_rate": rate,
        "auto_dais_base": base,
        "auto_dais_stopped_after": round(seconds, 1),
        "ratio": round(spent / whole, 2),
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", help="hmcvi, built with --release")
    parser.add_argument("models", nargs="*", default=list(MODELS))
    parser.add_argument("--seconds", type=float, default=60, help="time that each run of AutoDAIS has")
    parser.add_argument("--rates", type=float, nargs="+", default=[0.003, 0.01], help="its learning rates")
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    for model in arguments.models:
        found = compare(arguments.program, model, arguments.rates, arguments.seconds, arguments.seed)
        print(json.dumps(found), flush=True)


if __name__ == "__main__":
    main()
