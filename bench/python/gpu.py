"""Trains and uses one auto-encoder on the CPU and on the GPU through the Python package, and says whether they agree.

    cargo build --release -p hmcvi-python --features cuda
    cp target/release/lib_hmcvi.so crates/hmcvi-python/python/hmcvi/_hmcvi.abi3.so
    PYTHONPATH=crates/hmcvi-python/python python3 bench/python/gpu.py

It needs NumPy alone. Products on the GPU are in TF32, whose numbers have ten bits: the same parameters give latent points
that differ by about a thousandth of their spread, and rows whose bounds differ by a few hundredths of a nat.
"""

import json
import sys
import tempfile
import time

import hmcvi
import numpy as np


def counts(rows, columns, seed):
    """Counts of a few kinds of rows."""
    rng = np.random.default_rng(seed)
    profiles = rng.lognormal(0.5, 1.0, size=(6, columns))
    return rng.poisson(rng.gamma(3.0, profiles[rng.integers(0, 6, rows)] / 3.0))


def train(device, train_rows, run):
    """An auto-encoder, and the seconds of its training."""
    vae = hmcvi.VAE(
        latent=5, likelihood="negative-binomial", hidden=(64, 64), hmc_steps=2, leapfrog_steps=3, epochs=10,
        learning_rate=1e-3, device=device, run=run, progress=False,
    )
    begun = time.perf_counter()
    vae.fit(train_rows)
    return vae, time.perf_counter() - begun


def main():
    """Prints a line of JSON for each comparison, and exits with 1 where something is off."""
    data = counts(4000, 200, seed=1)
    held, good = data[3600:], True
    with tempfile.TemporaryDirectory() as folder:
        cpu, seconds = train("cpu", data[:3600], f"{folder}/cpu")
        gpu, on_card = train("cuda", data[:3600], f"{folder}/cuda")
        bounds = {"cpu": cpu.score(held), "cuda": gpu.score(held)}
        print(json.dumps({"training": {"cpu": seconds, "cuda": on_card}, "held-out bound": bounds}))
        # Both learn from the same rows in the same order; roundings grow into other paths.
        spread = float(cpu.scores(held, samples=0).bound.std()) / np.sqrt(len(held))
        good &= abs(bounds["cpu"] - bounds["cuda"]) < 4 * spread
        there = hmcvi.open_vae(f"{folder}/cpu", device="cuda")
        here, moved = cpu.transform(held), there.transform(held)
        apart = float(np.abs(here - moved).max() / here.std())
        a, b = cpu.scores(held, samples=200), there.scores(held, samples=200)
        mean = float(np.mean(b.log_likelihood - a.log_likelihood))
        print(json.dumps({"same parameters": {"latent": apart, "log-likelihood": mean}}))
        good &= apart < 0.02 and abs(mean) < 0.1
        rows = there.sample(100, seed=3)
        good &= rows.shape == (100, 200) and bool((rows >= 0).all())
    print("agrees" if good else "DIFFERS")
    sys.exit(not good)


if __name__ == "__main__":
    main()
