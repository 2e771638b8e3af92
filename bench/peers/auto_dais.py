"""Times fits of Bayesian models by hmcvi against NumPyro's AutoDAIS, in one run on one machine.

    python bench/peers/auto_dais.py target/release/hmcvi eight-schools logistic radon brownian

AutoDAIS is differentiable annealed importance sampling: a chain of K uncorrected HMC steps inside a lower bound on the log
evidence. It has as many gradients of the log density in a draw as hmcvi has (K = T * L = 12), as many particles in an
update (64), and Adam. hmcvi runs as it comes; its time is that of the whole program, from its start to the end of the fit
and 10,000 draws, and its bound, that of single draws, is what AutoDAIS is timed to, less 0.01 nats in favour of AutoDAIS.
AutoDAIS is run with several learning rates and with both Gaussians that its chain may begin with, and the fastest of these
runs counts. Compilation is timed; draws that tell its bound between its updates are not. A run ends when it has reached
the bound, or after ten times the time of hmcvi; where none reaches it, the ratio of that time is what AutoDAIS takes at
least, and its best bound says how far it came.
"""

import argparse
import gzip
import json
import pathlib
import subprocess
import sys
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
# Updates between two looks at most, and draws of each look, in parts that are made one after the other.
EVERY, LOOK = 250, 10_240
# Nats that AutoDAIS may be below.
SLACK = 0.01
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


def auto_dais(model, rate, base, goal, limit, seed):
    """Seconds after which the bound is reached, or none; updates; the best bound of a look."""
    begun = time.perf_counter()
    guide = AutoDAIS(model, K=STEPS, base_dist=base)
    svi = SVI(model, guide, numpyro.optim.Adam(rate), Trace_ELBO(num_particles=PARTICLES))
    state = svi.init(jax.random.PRNGKey(seed))

    @jax.jit
    def train(state, updates):
        return jax.lax.fori_loop(0, updates, lambda _, state: svi.update(state)[0], state)

    @jax.jit
    def bound(keys, values):
        one = Trace_ELBO(num_particles=PARTICLES)
        return -jax.lax.map(lambda key: one.loss(key, values, model, guide), keys).mean()

    spent, best, updates, every = time.perf_counter() - begun, -np.inf, 0, 1
    while spent < limit:
        begun = time.perf_counter()
        state = jax.block_until_ready(train(state, every))
        took = time.perf_counter() - begun
        spent, updates = spent + took, updates + every
        # The first update has compiled the loop; looks are ten or more to a run.
        every = EVERY if updates > 1 and took * 10 < limit else max(1, min(EVERY, 4 * every))
        keys = jax.random.split(jax.random.PRNGKey(updates), LOOK // PARTICLES)
        found = float(bound(keys, svi.get_params(state)))
        best = max(best, found) if np.isfinite(found) else best
        if found >= goal:
            return spent, updates, best
    return None, updates, best


def fit(program, model, seed):
    """Seconds of the whole program, of the fit, and the bound."""
    with tempfile.TemporaryDirectory() as folder:
        words = [program, "fit", model, "--draws", "10000", "--seed", str(seed), "--json", "--quiet"]
        begun = time.perf_counter()
        text = subprocess.run([*words, "--out", f"{folder}/fit"], check=True, capture_output=True).stdout
        spent = time.perf_counter() - begun
    record = json.loads(text)
    return spent, record["seconds"], record["bound"]


def compare(program, model, arguments):
    whole, fitted, own = fit(program, model, arguments.seed)
    limit, fastest, best = arguments.times * whole, None, -np.inf
    for rate in arguments.rates:
        for base in arguments.bases:
            # Whoever is slower than the fastest need not go on.
            most = limit if fastest is None else fastest[0]
            spent, updates, found = auto_dais(MODELS[model](), rate, base, own - SLACK, most, arguments.seed)
            line = {"rate": rate, "base": base, "seconds": spent and round(spent, 2), "updates": updates, "bound": found}
            print(json.dumps(line), file=sys.stderr, flush=True)
            best = max(best, found)
            if spent is not None and spent <= most:
                fastest = (spent, updates, rate, base)
    ratio = (fastest[0] if fastest else limit) / whole
    result = {
        "model": model,
        "hmcvi_seconds": round(whole, 2),
        "of_which_fit": round(fitted, 2),
        "hmcvi_bound": round(own, 3),
        "auto_dais_best_bound": round(best, 3),
        "reached": fastest is not None,
        "ratio" if fastest else "ratio_at_least": round(ratio, 2),
    }
    if fastest:
        names = ["auto_dais_seconds", "auto_dais_updates", "auto_dais_rate", "auto_dais_base"]
        result |= dict(zip(names, [round(fastest[0], 2), *fastest[1:]]))
    return result


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", help="hmcvi, built with --release")
    parser.add_argument("models", nargs="*", default=list(MODELS))
    parser.add_argument("--times", type=float, default=10, help="how often the time of hmcvi each run of AutoDAIS has")
    parser.add_argument("--rates", type=float, nargs="+", default=[0.01, 0.003, 0.03], help="its learning rates")
    parser.add_argument("--bases", nargs="+", choices=BASES, default=BASES, help="its Gaussians")
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    for model in arguments.models:
        print(json.dumps(compare(arguments.program, model, arguments)), flush=True)


if __name__ == "__main__":
    main()
