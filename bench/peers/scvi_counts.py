"""Trains an auto-encoder of counts with hmcvi and with scvi-tools, and says when each came to which bound.

    pip install ./crates/hmcvi-python scvi-tools
    python bench/peers/scvi_counts.py

The data are simulated: cells of several kinds, whose genes have negative binomial counts. Both models have the same
layers, latent dimensions and likelihood, and learn from the same cells; bounds are means over the same held-out cells,
in nats. Each is run with every learning rate; the bound to reach is SCVI's best. What differs and is not hidden: SCVI takes the sum of a cell's counts as its size and so does hmcvi with
`size_factor`; SCVI normalises batches of cells and drops out units.
"""

import argparse
import json
import tempfile
import time

import anndata
import hmcvi
import numpy as np
import scvi

LAYERS, LATENT, BATCH = 128, 10, 128


def simulate(cells, genes, kinds, seed):
    """Counts of cells: gamma-Poisson around the profile of a kind."""
    rng = np.random.default_rng(seed)
    profiles = rng.lognormal(0, 1.2, size=(kinds, genes))
    profiles /= profiles.sum(axis=1, keepdims=True)
    kind = rng.integers(0, kinds, cells)
    means = rng.lognormal(7, 0.3, size=(cells, 1)) * profiles[kind]
    return rng.poisson(rng.gamma(2.0, means / 2.0)).astype(np.float32)


def with_hmcvi(train, held, epochs, every, rate, steps):
    """Times and held-out bounds of the auto-encoder, which goes on in its run directory."""
    vae = hmcvi.VAE(
        latent=LATENT,
        likelihood="negative-binomial",
        hidden=(LAYERS,),
        hmc_steps=steps,
        leapfrog_steps=4,
        batch=BATCH,
        learning_rate=rate,
        settings={"model.size_factor": True, "train.learning_rate.kind": "constant"},
        progress=False,
    )
    found, spent = [], 0.0
    with tempfile.TemporaryDirectory() as folder:
        vae.run = f"{folder}/run"
        for done in range(every, epochs + 1, every):
            begun = time.perf_counter()
            vae.set_params(epochs=done).fit(train)
            spent += time.perf_counter() - begun
            found.append({"epochs": done, "seconds": spent, "bound": vae.score(held)})
    return found


def with_scvi(train, held, epochs, every, rate):
    """Times and held-out bounds of SCVI, which goes on with the weights that it has."""
    everything = anndata.AnnData(np.concatenate([train, held]))
    scvi.model.SCVI.setup_anndata(everything)
    scvi.settings.seed = 1
    model = scvi.model.SCVI(
        everything, n_latent=LATENT, n_hidden=LAYERS, n_layers=1, gene_likelihood="nb", dispersion="gene"
    )
    rest = np.arange(len(train), len(train) + len(held))
    # The cells that choose hmcvi's best epoch are not trained on by either.
    order = np.random.default_rng(1).permutation(len(train))
    parts = [np.sort(order[len(train) // 10 :]), np.sort(order[: len(train) // 10]), rest]
    found, spent = [], 0.0
    for done in range(every, epochs + 1, every):
        begun = time.perf_counter()
        model.train(
            max_epochs=every,
            batch_size=BATCH,
            accelerator="cpu",
            early_stopping=False,
            plan_kwargs={"lr": rate, "n_epochs_kl_warmup": None, "n_steps_kl_warmup": 1},
            datasplitter_kwargs={"external_indexing": parts},
            enable_progress_bar=False,
        )
        spent += time.perf_counter() - begun
        found.append({"epochs": done, "seconds": spent, "bound": float(model.get_elbo(indices=rest))})
    return found


def main():
    """Prints a line of JSON for each method."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cells", type=int, default=2000)
    parser.add_argument("--genes", type=int, default=500)
    parser.add_argument("--kinds", type=int, default=8)
    parser.add_argument("--epochs", type=int, default=30)
    parser.add_argument("--every", type=int, default=3)
    parser.add_argument("--rates", type=float, nargs="+", default=[1e-3, 3e-3])
    arguments = parser.parse_args()
    counts = simulate(arguments.cells, arguments.genes, arguments.kinds, seed=1)
    train, held = counts[: -len(counts) // 5], counts[-len(counts) // 5 :]
    how = (train, held, arguments.epochs, arguments.every)
    goal = None
    for name, method in (
        ("SCVI", with_scvi),
        ("hmcvi, no HMC steps", lambda *how: with_hmcvi(*how, 0)),
        ("hmcvi, 2 HMC steps", lambda *how: with_hmcvi(*how, 2)),
    ):
        runs = {rate: method(*how, rate) for rate in arguments.rates}
        rows = [(row["seconds"], row["bound"], rate) for rate, found in runs.items() for row in found]
        best = max(rows, key=lambda row: row[1])
        goal = best[1] if goal is None else goal
        reached = min((row for row in rows if row[1] >= goal), default=None)
        line = {"method": name, "best": best[1], "seconds_to_best": best[0], "goal": goal, "rate": best[2]}
        line["seconds_to_goal"] = reached and reached[0]
        line["last"] = {str(rate): found[-1] for rate, found in runs.items()}
        print(json.dumps(line), flush=True)


if __name__ == "__main__":
    main()
