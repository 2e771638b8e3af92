"""Compute log densities and their derivatives with SciPy and mpmath, as the reference of tests/likelihoods.rs.

    pip install scipy==1.17.1 mpmath==1.4.1
    python likelihoods.py > likelihoods.json

Ordinary arguments have SciPy's values. SciPy takes probabilities, which are 0 or 1 in double precision for extreme log
means: there the textbook's formulas are computed with 80 digits. Both agree where both can be had. Derivatives are
those of the formulas with 80 digits. All arguments are numbers of single precision, so that both precisions see the
same ones.
"""

import itertools
import json
import math

import mpmath as mp
import numpy as np
from scipy import stats

mp.mp.dps = 80
LOG_8 = math.log(8.0)


def single(value):
    return float(np.float32(value))


def bernoulli(x, logit):
    return x * logit - mp.log1p(mp.exp(logit))


def gaussian(x, mean, log_variance):
    return -((x - mean) ** 2 * mp.exp(-log_variance) + log_variance + mp.log(2 * mp.pi)) / 2


def poisson(x, log_rate):
    return x * log_rate - mp.exp(log_rate) - mp.loggamma(x + 1)


def negative_binomial(x, log_mean, log_dispersion):
    m, r = mp.exp(log_mean), mp.exp(log_dispersion)
    ways = mp.loggamma(x + r) - mp.loggamma(r) - mp.loggamma(x + 1)
    return ways - r * mp.log1p(m / r) - x * mp.log1p(r / m)


def zero_inflated(x, log_mean, log_dispersion, zero_logit):
    rest = negative_binomial(x, log_mean, log_dispersion)
    p = mp.exp(zero_logit) / (1 + mp.exp(zero_logit))
    return mp.log(p + (1 - p) * mp.exp(rest)) if x == 0 else mp.log(1 - p) + rest


def scipy_negative_binomial(x, log_mean, log_dispersion):
    m, r = math.exp(log_mean), math.exp(log_dispersion)
    return stats.nbinom.logpmf(x, r, r / (r + m))


def scipy_zero_inflated(x, log_mean, log_dispersion, zero_logit):
    rest = scipy_negative_binomial(x, log_mean, log_dispersion)
    p = 1.0 / (1.0 + math.exp(-zero_logit))
    return math.log(p + (1.0 - p) * math.exp(rest)) if x == 0 else math.log1p(-p) + rest


# Name, formula, SciPy's function, and what each argument may be.
COUNTS = [0.0, 1.0, 7.0, 30.0, 1000.0, 1e6]
LOG_MEANS = [-30.0, -3.0, 0.0, 2.5, 7.0, 13.8, 30.0]
LOG_DISPERSIONS = [-15.0, -4.0, 0.0, LOG_8, 5.0, 15.0]
SCALARS = [
    (
        "bernoulli",
        bernoulli,
        lambda x, l: stats.bernoulli.logpmf(x, 1.0 / (1.0 + math.exp(-l))),
        [[0.0, 1.0], [-30.0, -5.0, -0.4, 0.0, 1.3, 6.0, 30.0]],
    ),
    (
        "gaussian",
        gaussian,
        lambda x, m, v: stats.norm.logpdf(x, m, math.exp(0.5 * v)),
        [[-50.0, -1.3, 0.0, 0.7, 1000.0], [-3.0, 0.0, 2.2], [-15.0, -1.0, 0.0, 0.7, 15.0]],
    ),
    (
        "poisson",
        poisson,
        lambda x, l: stats.poisson.logpmf(x, math.exp(l)),
        [[0.0, 1.0, 2.0, 7.0, 8.0, 9.0, 100.0, 1000.0, 1e6], [-30.0, -6.0, -2.0, 0.0, 1.7, 4.0, 6.9, 13.8, 13.815, 30.0]],
    ),
    ("negative binomial", negative_binomial, scipy_negative_binomial, [COUNTS, LOG_MEANS, LOG_DISPERSIONS]),
    (
        "zero-inflated negative binomial",
        zero_inflated,
        scipy_zero_inflated,
        [[0.0, 1.0, 30.0, 1e6], [-30.0, -3.0, 2.5, 13.8], [-15.0, 0.0, 5.0, 15.0], [-30.0, -2.0, 0.5, 30.0]],
    ),
]


def derivatives(formula, arguments):
    """The gradient by all arguments but the first, and the Hessian, row by row."""
    x, rest = arguments[0], arguments[1:]
    order = lambda *places: tuple(places.count(i) for i in range(len(rest)))
    diff = lambda places: float(mp.diff(lambda *a: formula(x, *a), tuple(map(mp.mpf, rest)), order(*places)))
    count = range(len(rest))
    return [diff([i]) for i in count], [diff([i, j]) for i in count for j in count]


def scalar_case(formula, library, arguments):
    ordinary = all(abs(a) <= 10.0 for a in arguments[1:]) and arguments[0] <= 1000.0
    exact = float(formula(*map(mp.mpf, arguments)))
    value = exact
    if ordinary:
        value = float(library(*arguments))
        assert abs(value - exact) <= 1e-9 * max(1.0, abs(exact)), (formula.__name__, arguments, value, exact)
    gradient, hessian = derivatives(formula, arguments)
    return {"arguments": arguments, "scipy": ordinary, "value": value, "gradient": gradient, "hessian": hessian}


def scalars():
    found = {}
    for name, formula, library, choices in SCALARS:
        all_arguments = itertools.product(*[[single(c) for c in each] for each in choices])
        found[name] = [scalar_case(formula, library, list(arguments)) for arguments in all_arguments]
    return found


def log_shares(logits):
    total = sum(mp.exp(mp.mpf(l)) for l in logits)
    return [mp.mpf(l) - mp.log(total) for l in logits]


def multinomial(x, logits):
    ways = mp.loggamma(sum(x) + 1) - sum(mp.loggamma(n + 1) for n in x)
    return ways + sum(n * l for n, l in zip(x, log_shares(logits)))


def multinomial_case(x, logits):
    logits = [single(l) for l in logits]
    exact = float(multinomial(x, logits))
    ordinary = max(map(abs, logits)) <= 10.0 and sum(x) <= 1000.0
    value = exact
    if ordinary:
        value = float(stats.multinomial.logpmf(x, sum(x), [float(mp.exp(l)) for l in log_shares(logits)]))
        assert abs(value - exact) <= 1e-9 * max(1.0, abs(exact)), (x, logits, value, exact)
    gradient = [float(n - sum(x) * mp.exp(l)) for n, l in zip(x, log_shares(logits))]
    return {"x": x, "logits": logits, "scipy": ordinary, "value": value, "gradient": gradient}


MULTINOMIAL = [
    ([1.0, 0.0, 0.0, 0.0], [0.3, -1.0, 2.0, 0.0]),
    ([3.0, 1.0, 0.0, 5.0], [0.3, -1.0, 2.0, 0.0]),
    ([40.0, 12.0, 300.0, 55.0], [0.3, -1.0, 2.0, 0.0]),
    ([0.0, 0.0, 0.0, 0.0], [0.3, -1.0, 2.0, 0.0]),
    ([1e6, 250000.0, 5e6, 750000.0], [0.3, -1.0, 2.0, 0.0]),
    ([3.0, 0.0, 2.0, 1.0], [30.0, -30.0, 0.0, 29.0]),
    ([0.0, 4.0, 0.0, 0.0], [30.0, -30.0, 0.0, 29.0]),
]
# One variable of four classes each.
CATEGORICAL = [
    ([0.0, 1.0, 0.0, 0.0], [0.3, -1.0, 2.0, 0.0]),
    ([0.0, 0.0, 1.0, 0.0], [30.0, -30.0, 0.0, 29.0]),
    ([1.0, 0.0, 0.0, 0.0], [500.0, -500.0, 0.0, 499.0]),
    ([0.0, 1.0, 0.0, 0.0], [500.0, -500.0, 0.0, 499.0]),
]


def main():
    found = {
        "scalars": scalars(),
        "multinomial": [multinomial_case(*case) for case in MULTINOMIAL],
        "categorical": [multinomial_case(*case) for case in CATEGORICAL],
    }
    print(json.dumps(found))


if __name__ == "__main__":
    main()
