"""Smooth known importance weights with ArviZ, as the reference of tests/smoothed_weights.rs.

    pip install arviz==0.23.4
    python psis.py > psis.json

Log weights are made from a linear congruential generator, so that Rust makes the same ones up to the last digit.
"""

import json
import math

import arviz
import numpy as np

# Multiplier and increment of Knuth's MMIX generator.
MULTIPLIER, INCREMENT, MASK = 6364136223846793005, 1442695040888963407, (1 << 64) - 1


def log_weights(case):
    """`location + scale · x`, with x exponential (`kind` tail: Pareto weights) or the sum of twelve uniform draws."""
    state = case["seed"]
    found = []

    def uniform():
        nonlocal state
        state = (state * MULTIPLIER + INCREMENT) & MASK
        return (state >> 11) / 9007199254740992.0

    for _ in range(case["draws"]):
        if case["kind"] == "tail":
            x = -math.log(1.0 - uniform())
        else:
            x = -6.0
            for _ in range(12):
                x += uniform()
        found.append(case["location"] + case["scale"] * x)
    return np.array(found)


CASES = [
    {"name": "Pareto weights of shape 0.3", "kind": "tail", "scale": 0.3, "location": 0.0, "draws": 1000},
    {"name": "Pareto weights of shape 0.6", "kind": "tail", "scale": 0.6, "location": -70.0, "draws": 4000},
    {"name": "Pareto weights of shape 1.1", "kind": "tail", "scale": 1.1, "location": 0.0, "draws": 2000},
    {"name": "nearly log-normal weights", "kind": "sum", "scale": 1.0, "location": -1000.0, "draws": 500},
    {"name": "light tails, negative shape", "kind": "sum", "scale": 0.05, "location": 3.0, "draws": 400},
    {"name": "wide log-normal weights", "kind": "sum", "scale": 30.0, "location": 0.0, "draws": 200},
    {"name": "few draws: 25", "kind": "tail", "scale": 0.5, "location": 0.0, "draws": 25},
    {"name": "too few draws for a tail", "kind": "tail", "scale": 0.5, "location": 0.0, "draws": 15},
]


def main():
    found = []
    for number, case in enumerate(CASES):
        case["seed"] = number + 1
        x = log_weights(case)
        smoothed, k_hat = arviz.psislw(x.copy())
        places = np.unique(np.concatenate([np.argsort(x)[-8:], np.arange(0, len(x), max(1, len(x) // 12))]))
        k_hat = float(k_hat)
        found.append({
            **case,
            "k_hat": k_hat if math.isfinite(k_hat) else None,
            "effective_sample_size": float(1.0 / np.sum(np.exp(2.0 * smoothed))),
            "places": [int(place) for place in places],
            "log_weights": [float(smoothed[place]) for place in places],
        })
    print(json.dumps({"arviz": arviz.__version__, "cases": found}, indent=1))


if __name__ == "__main__":
    main()
