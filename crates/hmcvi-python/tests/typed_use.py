"""What a user with types writes; type checkers read it, nobody runs it."""

import hmcvi
import numpy as np
import numpy.typing as npt


@hmcvi.model
def radon(
    m: hmcvi.Builder,
    log_radon: npt.NDArray[np.float64],
    floor: npt.NDArray[np.float64],
    county: npt.NDArray[np.int64],
    x: npt.NDArray[np.float64],
    centred: bool = True,
) -> None:
    mu, tau = m.normal("mu", 0, 10), m.half_normal("tau", 1)
    alpha = m.normal("alpha", mu, tau, shape=int(county.max()) + 1)
    beta, sigma = m.normal("beta", 0, 10, lower=0), m.half_normal("sigma", 1)
    b = m.normal("b", 0, 1, shape=(3,))
    eta = x @ b + alpha[county] + beta * floor + floor * beta - 2**beta
    gain = np.exp(eta) + hmcvi.maximum(eta, 0) + hmcvi.where(eta > 0, 1, eta)
    m.deterministic("gain", gain if centred else eta)
    m.deterministic("spread", eta.reshape(-1, 2).std(axis=1) + hmcvi.softmax(eta)[0] + eta.sum((0,), keepdims=True))
    m.add_log_density("by hand", hmcvi.normal(mu, sigma).log_prob(log_radon))
    m.add_log_density("penalty", -(beta**2).sum())
    parts = [hmcvi.normal(0, 1), hmcvi.normal(1, 1)]
    m.mixture("mixed", m.dirichlet("weights", np.ones(2)), parts, observed=log_radon)
    m.normal("log_radon", eta, sigma, observed=log_radon)


def told(stage: str, done: int, most: int, bound: float) -> None:
    print(stage, done, most, bound)


def use(posterior: hmcvi.Posterior) -> None:
    fit = posterior.fit(seed=1, progress=told)
    bound: float = fit.bound
    mean: float = fit.summary()["mu"].mean
    k_hat: float | None = fit.weights.k_hat
    chains = fit.nuts(draws=100)
    print(bound, fit.draws()["mu"], mean, k_hat, chains.summary()["mu"].r_hat)
    for row in hmcvi.compare({"a": fit}):
        print(row.name, row.probability)
    check = fit.check()
    if check.verdict == "agrees":
        print(check.summary()["mu"].wasserstein)
    low, error = fit.evidence(chains).lower
    print(low, error)
    fit.plot_trace().save("trace.svg")
    fit.save("fit", force=True)
    again = hmcvi.load("fit", posterior)
    if isinstance(again, hmcvi.Fit):
        print(again.bound)


def rest(counts: npt.NDArray[np.int64]) -> None:
    vae = hmcvi.VAE(latent=3, hidden=8, likelihood="poisson")
    vae.set_output(transform="pandas").fit_transform(counts)
    print(vae.get_feature_names_out(), vae.set_params(latent=2).latent)
    print(vae.scores(counts).standard_error, vae.posterior(counts).after, hmcvi.open_run("run"))
    try:
        hmcvi.stan("model.stan")({"seed": 1}, y=3)
    except hmcvi.StanError as failed:
        print(failed.line, failed.variable)
    except hmcvi.Interrupted as stopped:
        print(stopped.result, hmcvi.__version__)
