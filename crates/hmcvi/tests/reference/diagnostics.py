"""Compute convergence diagnostics of known chains with ArviZ, as the reference of tests/hmc_diagnostics.rs.

    pip install arviz==0.23.4
    python diagnostics.py > diagnostics.json

Chains are made by plain IEEE arithmetic from a linear congruential generator, so that Rust makes the same bits.
"""

import json
import math
import warnings

import arviz
import numpy as np
from arviz.stats.diagnostics import _ess_mean, _mcse_mean, _rhat, _split_chains, _z_scale

# Multiplier and increment of Knuth's MMIX generator.
MULTIPLIER, INCREMENT, MASK = 6364136223846793005, 1442695040888963407, (1 << 64) - 1


class Noise:
    def __init__(self, seed):
        self.state = seed

    def uniform(self):
        self.state = (self.state * MULTIPLIER + INCREMENT) & MASK
        return (self.state >> 11) / 9007199254740992.0

    def normal(self):
        """Nearly normal: twelve uniform draws, added one after the other."""
        total = -6.0
        for _ in range(12):
            total += self.uniform()
        return total


def chain(case, number):
    """The sum of autoregressive series, moved, scaled and drifting."""
    noise = Noise(case["seed"] * 1000 + number)
    parts = [0.0] * len(case["autoregression"])
    draws = []
    for step in range(case["draws"]):
        for i, rho in enumerate(case["autoregression"]):
            parts[i] = rho * parts[i] + math.sqrt(1.0 - rho * rho) * noise.normal()
        value = 0.0
        for part in parts:
            value += part
        if case["heavy_tails"]:
            value = value / noise.normal()
        if case["levels"] > 0:
            value = math.floor(value * case["levels"]) / case["levels"]
        shift = case["location"][number % len(case["location"])]
        scale = case["scale"][number % len(case["scale"])]
        draws.append(shift + scale * value + case["drift"] * step)
    return draws


def case(name, chains=4, draws=200, autoregression=(0.0,), **others):
    plain = {"location": [0.0], "scale": [1.0], "drift": 0.0, "heavy_tails": False, "levels": 0}
    return {"name": name, "chains": chains, "draws": draws, "autoregression": list(autoregression), **plain, **others}


CASES = [
    case("independent draws"),
    case("AR(0.8)", autoregression=[0.8], draws=2000),
    case("AR(0.99)", autoregression=[0.99], draws=500),
    case("antithetic AR(-0.5)", autoregression=[-0.5]),
    case("antithetic AR(-0.9), where the size is limited", autoregression=[-0.9], draws=300),
    case("AR(-0.5) and AR(0.99) added", autoregression=[-0.5, 0.99], draws=5000),
    case("heavy tails", heavy_tails=True, draws=500),
    case("heavy tails, AR(0.9)", heavy_tails=True, autoregression=[0.9], draws=500),
    case("one chain elsewhere", location=[0.0, 0.0, 0.0, 2.0]),
    case("one chain wider: only folding finds it", scale=[1.0, 1.0, 1.0, 4.0]),
    case("one chain frozen", scale=[1.0, 1.0, 1.0, 0.0], location=[0.0, 0.0, 0.0, 0.3]),
    case("all chains frozen at different places", scale=[0.0], location=[0.0, 1.0, 2.0, 3.0]),
    case("a drift", drift=0.01),
    case("equal draws in steps of a half", levels=2, autoregression=[0.5]),
    case("a large offset", location=[1e6], autoregression=[0.5]),
    case("an odd number of draws", draws=101, autoregression=[0.6]),
    case("two chains", chains=2, draws=50),
    case("one chain", chains=1, draws=400, autoregression=[0.3]),
    case("few draws: 4", draws=4),
    case("few draws: 5", draws=5),
    case("few draws: 8", draws=8),
    case("few draws: 10, AR(0.9)", draws=10, autoregression=[0.9]),
    case("few draws: 13, AR(-0.5)", draws=13, autoregression=[-0.5]),
]


def r_hat(x):
    """ArviZ computes none for a single chain; the halves of one can be compared like any others."""
    if len(x) > 1:
        return arviz.rhat(x, method="rank")
    halves = _split_chains(x)
    return max(_rhat(_z_scale(halves)), _rhat(_z_scale(abs(halves - np.median(halves)))))


def finite(value):
    value = float(value)
    return value if math.isfinite(value) else str(value)


def main():
    warnings.simplefilter("ignore")
    found = []
    for number, each in enumerate(CASES):
        each["seed"] = number + 1
        x = np.array([chain(each, c) for c in range(each["chains"])])
        values = {
            "mean": x.mean(),
            "standard_deviation": x.std(ddof=1),
            "r_hat": r_hat(x),
            "ess_bulk": arviz.ess(x, method="bulk"),
            "ess_tail": arviz.ess(x, method="tail"),
            "ess_mean": _ess_mean(x),
            "mcse_mean": _mcse_mean(x),
        }
        found.append({**each, "expected": {name: finite(value) for name, value in values.items()}})
    print(json.dumps({"arviz": arviz.__version__, "cases": found}, indent=1))


if __name__ == "__main__":
    main()
