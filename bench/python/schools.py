"""Fits the eight schools with twelve lines of Python, and holds ArviZ's summary of it against long chains of NUTS.

    pip install ./crates/hmcvi-python arviz
    python bench/python/schools.py
"""

# fmt: off
import hmcvi

@hmcvi.model
def schools(m, y, sigma):
    mu = m.normal("mu", 0, 5)
    tau = m.half_cauchy("tau", 5)
    raw = m.normal("raw", 0, 1, shape=len(y))
    theta = m.deterministic("theta", mu + tau * raw)
    m.normal("y", theta, sigma, observed=y)

fit = schools(y=[28, 8, -3, 7, -1, 1, 18, 12], sigma=[15, 10, 16, 11, 9, 11, 10, 18]).fit()
print(fit.summary())
# fmt: on

import arviz  # noqa: E402

chains = fit.model.nuts(draws=40_000, seed=1)
ours = arviz.summary(fit.to_arviz(), round_to="none")
theirs = arviz.summary(chains.to_arviz(), round_to="none")
offset = (ours["mean"] - theirs["mean"]).abs() / theirs["sd"]
ratio = (ours["sd"] / theirs["sd"] - 1).abs()
print(fit, chains, sep="\n")
print(f"largest difference of a mean: {offset.max():.3f} sd ({offset.idxmax()})")
print(f"largest difference of a sd: {100 * ratio.max():.1f}% ({ratio.idxmax()})")
