"""Log evidences of the logistic regressions `credit` and `sonar` by importance sampling, apart from everything in hmcvi.

    python bench/peers/log_evidence.py

Draws are from a t distribution with 20 degrees of freedom around the mode, with the curvature there. Both divisors of the
standard deviation are tried: published targets do not say which one they have.
"""

import gzip
import json
import pathlib

import numpy as np
from scipy.optimize import minimize
from scipy.stats import multivariate_t

ASSETS = pathlib.Path(__file__).resolve().parents[2] / "crates/hmcvi/assets/posteriors"
DRAWS, BLOCK = 200_000, 20_000


def log_density(weights, columns, signs, precision):
    """For rows of weights; a precision of 0 is a flat prior."""
    prior = 0.5 * np.log(precision[precision > 0] / (2 * np.pi)).sum() - 0.5 * weights**2 @ precision
    return prior - np.logaddexp(0, -signs * (weights @ columns.T)).sum(1)


def log_evidence(columns, labels, precision, generator):
    signs = 2 * labels - 1

    def uphill(weights):
        pulls = signs / (1 + np.exp(signs * (columns @ weights)))
        return -log_density(weights[None], columns, signs, precision)[0], precision * weights - pulls @ columns

    mode = minimize(uphill, np.zeros(columns.shape[1]), jac=True, method="BFGS", options={"gtol": 1e-8}).x
    chances = 1 / (1 + np.exp(-columns @ mode))
    curvature = (columns.T * (chances * (1 - chances))) @ columns + np.diag(precision)
    proposal = multivariate_t(mode, np.linalg.inv(curvature), df=20, seed=generator)
    draws = proposal.rvs(DRAWS)
    blocks = np.split(draws, DRAWS // BLOCK)
    target = np.concatenate([log_density(block, columns, signs, precision) for block in blocks])
    weights = target - proposal.logpdf(draws)
    scaled = np.exp(weights - weights.max())
    return weights.max() + np.log(scaled.mean()), scaled.std() / scaled.mean() / np.sqrt(DRAWS)


def main():
    generator = np.random.default_rng(1)
    for name in ["credit", "sonar"]:
        with gzip.open(ASSETS / f"{name}.json.gz") as file:
            data = {key: np.array(value, float) for key, value in json.load(file).items()}
        for freedom in [0, 1]:
            x = data["x"] if name == "credit" else data["x"] - data["x"].mean(0)
            columns = np.hstack([np.ones((len(x), 1)), x / x.std(0, ddof=freedom)])
            precision = np.full(columns.shape[1], 0.0 if name == "credit" else 1.0)
            found, error = log_evidence(columns, data["y"], precision, generator)
            print(f"{name}, divisor n - {freedom}: {found:.3f} ± {error:.3f}", flush=True)


if __name__ == "__main__":
    main()
