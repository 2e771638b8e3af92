"""Compute log densities with SciPy and transforms as Stan's manual writes them, as the reference of
tests/distributions.rs and tests/supports.rs.

    pip install scipy==1.17.1
    python distributions.py > distributions.json

A density is a function of one vector: its arguments and then the value, in the order of the tests. Observed classes are
known to the tests and not part of it.
"""

import itertools
import json
import math

import numpy as np
from scipy import special, stats

CLASSES = [1, 3, 2, 4]
LOCATIONS, SCALES, REALS = [0.0, -1.3, 40.0], [0.3, 1.0, 7.5], [-3.1, 0.2, 2.7]
SHAPES, POSITIVE, SHARES = [0.6, 1.0, 4.5, 30.0], [0.05, 0.9, 6.0], [0.04, 0.5, 0.93]
COUNTS, MEANS = [0.0, 1.0, 7.0, 120.0], [0.2, 3.0, 95.0]


def grid(log_density, *columns, only=lambda *_: True):
    points = [point for point in itertools.product(*columns) if only(*point)]
    return [{"z": list(point), "value": float(log_density(*point))} for point in points]


def neg_binomial_2(m, r, x):
    return stats.nbinom.logpmf(x, r, r / (r + m))


def log_choices(n, x):
    return -math.log(n + 1.0) - special.betaln(n - x + 1.0, x + 1.0)


UNIVARIATE = {
    "normal": grid(lambda m, s, x: stats.norm.logpdf(x, m, s), LOCATIONS, SCALES, REALS),
    "cauchy": grid(lambda m, s, x: stats.cauchy.logpdf(x, m, s), LOCATIONS, SCALES, REALS),
    "student_t": grid(lambda f, m, s, x: stats.t.logpdf(x, f, m, s), [0.7, 3.0, 50.0], LOCATIONS, SCALES, REALS),
    "laplace": grid(lambda m, s, x: stats.laplace.logpdf(x, m, s), LOCATIONS, SCALES, REALS),
    "logistic": grid(lambda m, s, x: stats.logistic.logpdf(x, m, s), LOCATIONS, SCALES, REALS),
    "half_normal": grid(lambda s, x: stats.halfnorm.logpdf(x, 0, s), SCALES, POSITIVE),
    "half_cauchy": grid(lambda s, x: stats.halfcauchy.logpdf(x, 0, s), SCALES, POSITIVE),
    "lognormal": grid(lambda m, s, x: stats.lognorm.logpdf(x, s, 0, math.exp(m)), [-1.3, 0.4], SCALES, POSITIVE),
    "exponential": grid(lambda r, x: stats.expon.logpdf(x, 0, 1 / r), SCALES, POSITIVE),
    "gamma": grid(lambda a, b, x: stats.gamma.logpdf(x, a, 0, 1 / b), SHAPES, SCALES, POSITIVE),
    "inv_gamma": grid(lambda a, b, x: stats.invgamma.logpdf(x, a, 0, b), SHAPES, SCALES, POSITIVE),
    "weibull": grid(lambda a, s, x: stats.weibull_min.logpdf(x, a, 0, s), [0.6, 1.0, 2.5], SCALES, POSITIVE),
    "chi_square": grid(lambda f, x: stats.chi2.logpdf(x, f), SHAPES, POSITIVE),
    "inv_chi_square": grid(lambda f, x: stats.invgamma.logpdf(x, f / 2, 0, 0.5), SHAPES, POSITIVE),
    "beta": grid(lambda a, b, x: stats.beta.logpdf(x, a, b), SHAPES, SHAPES, SHARES),
    "uniform": grid(lambda a, b, x: stats.uniform.logpdf(x, a, b - a), [-4.0, -3.3], [2.8, 9.0], REALS),
    "flat": grid(lambda x: 0.0, REALS),
    "bernoulli": grid(lambda p, x: stats.bernoulli.logpmf(x, p), SHARES, [0.0, 1.0]),
    "bernoulli_logit": grid(lambda l, x: -np.logaddexp(0, l - 2 * x * l), REALS, [0.0, 1.0]),
    "binomial": grid(lambda n, p, x: stats.binom.logpmf(x, n, p), [1.0, 9.0, 150.0], SHARES, COUNTS,
                     only=lambda n, _, x: x <= n),
    "binomial_logit": grid(lambda n, l, x: log_choices(n, x) - x * np.logaddexp(0, -l) - (n - x) * np.logaddexp(0, l),
                           [1.0, 9.0, 150.0], REALS, COUNTS, only=lambda n, _, x: x <= n),
    "poisson": grid(lambda m, x: stats.poisson.logpmf(x, m), MEANS, COUNTS),
    "poisson_log": grid(lambda l, x: stats.poisson.logpmf(x, math.exp(l)), REALS, COUNTS),
    "neg_binomial": grid(lambda a, b, x: neg_binomial_2(a / b, a, x), SHAPES, SCALES, COUNTS),
    "neg_binomial_2": grid(neg_binomial_2, MEANS, SHAPES, COUNTS),
    "neg_binomial_2_log": grid(lambda l, r, x: neg_binomial_2(math.exp(l), r, x), REALS, SHAPES, COUNTS),
}


def at(log_density, *points):
    flat = lambda parts: [float(number) for part in parts for number in np.ravel(part)]
    return [{"z": flat(parts), "value": float(log_density(*parts))} for parts in points]


def softmax_log(logits):
    return np.log(special.softmax(logits))


def categorical(log_p):
    return sum(log_p[k - 1] for k in CLASSES)


def ordered_logistic(locations, cuts):
    ends = np.concatenate([[-np.inf], cuts, [np.inf]])
    share = lambda l, k: special.expit(ends[k] - l) - special.expit(ends[k - 1] - l)
    return sum(math.log(share(l, k)) for l, k in zip(locations, CLASSES))


def lkj_corr_cholesky(eta, factor):
    # Theorem 5 of Lewandowski, Kurowicka and Joe (2009), in the form of their equation (16).
    d = len(factor)
    k = np.arange(1, d)
    half = eta + (d - k - 1) / 2
    log_constant = np.sum((2 * eta - 2 + d - k) * (d - k)) * math.log(2) + np.sum((d - k) * special.betaln(half, half))
    # The correlations are functions of the factor, with this Jacobian.
    jacobian = np.sum((d - np.arange(2, d + 1)) * np.log(np.diag(factor)[1:]))
    return (eta - 1) * np.linalg.slogdet(factor @ factor.T)[1] - log_constant + jacobian


def mixture(log_w, means, sds, x):
    return sum(special.logsumexp(log_w + stats.norm.logpdf(value, means, sds)) for value in x)


def gaussians(mean, covariance, rows):
    return np.sum(stats.multivariate_normal.logpdf(rows, mean, covariance))


FACTOR = np.array([[1.2, 0, 0], [-0.4, 0.7, 0], [0.3, 0.9, 2.1]])
CORRELATION = np.array([[1, 0, 0], [0.6, 0.8, 0], [-0.48, 0.6, 0.64]])
MEAN, ROWS = np.array([0.5, -1.0, 3.0]), np.array([[0.1, 0.2, -0.3], [2.0, -4.0, 1.5]])
WEIGHTS, MEANS_3, SDS_3, SEEN = [0.2, 0.5, 0.3], [-1.0, 0.5, 4.0], [0.4, 1.5, 2.0], [0.3, -2.0, 3.5, 12.0]
LOGITS = [0.3, -1.2, 2.0, 0.1]

MULTIVARIATE = {
    "dirichlet": at(lambda a, x: stats.dirichlet.logpdf(x, a),
                    ([0.5, 1.0, 4.0], [0.2, 0.7, 0.1]), ([3.0, 3.0, 30.0], [0.02, 0.08, 0.9])),
    "categorical": at(lambda p: categorical(np.log(p)), ([0.1, 0.2, 0.3, 0.4],)),
    "categorical_logit": at(lambda l: categorical(softmax_log(l)), (LOGITS,)),
    "ordered_logistic": at(ordered_logistic, ([0.3, -1.0, 2.0, 5.0], [-1.1, 0.2, 2.5]),
                           ([-3.0, 4.0, 0.0, 0.0], [-6.0, -5.9, 3.0])),
    "multi_normal_cholesky": at(lambda m, f, x: gaussians(m, f @ f.T, x), (MEAN, FACTOR, ROWS)),
    "multi_normal": at(gaussians, (MEAN, FACTOR @ FACTOR.T, ROWS)),
    "lkj_corr_cholesky": at(lkj_corr_cholesky, (1.0, CORRELATION), (0.7, CORRELATION), (5.5, CORRELATION)),
    "mixture": at(lambda w, m, s, x: mixture(np.log(w), m, s, x), (WEIGHTS, MEANS_3, SDS_3, SEEN)),
    "mixture_logit": at(lambda l, m, s, x: mixture(softmax_log(l), m, s, x), (LOGITS[:3], MEANS_3, SDS_3, SEEN)),
}


def ordered(y):
    return np.cumsum([y[0], *np.exp(y[1:])]), sum(y[1:])


def positive_ordered(y):
    return np.cumsum(np.exp(y)), sum(y)


def simplex(y):
    size, left, x, log_jacobian = len(y) + 1, 1.0, [], 0.0
    for k, raw in enumerate(y, 1):
        z = special.expit(raw - math.log(size - k))
        x.append(left * z)
        log_jacobian += math.log(z) + math.log(1 - z) + math.log(left)
        left -= x[-1]
    return [*x, left], log_jacobian


def correlation_cholesky(y):
    size = round((1 + math.sqrt(1 + 8 * len(y))) / 2)
    z, factor, log_jacobian = iter(np.tanh(y)), np.zeros((size, size)), 0.0
    for i in range(size):
        left = 1.0
        for j in range(i):
            share = next(z)
            factor[i, j] = share * math.sqrt(left)
            log_jacobian += math.log(1 - share**2) + 0.5 * math.log(left)
            left -= factor[i, j] ** 2
        factor[i, i] = math.sqrt(left)
    return factor.ravel(), log_jacobian


def transformed(transform, *points):
    cases = []
    for y in points:
        value, log_jacobian = transform(y)
        cases.append({"z": y, "value": [float(v) for v in value], "log_jacobian": float(log_jacobian)})
    return cases


SUPPORTS = {
    "above": transformed(lambda y: (-2 + np.exp(y), sum(y)), [0.3, -2.0, 1.1]),
    "below": transformed(lambda y: (5 - np.exp(y), sum(y)), [0.3, -2.0, 1.1]),
    "between": transformed(
        lambda y: (-2 + 7 * special.expit(y), np.sum(np.log(7 * special.expit(y) * special.expit(-np.array(y))))),
        [0.3, -2.0, 1.1]),
    "ordered": transformed(ordered, [0.3, -2.0, 1.1], [-4.0, 0.5, 0.1]),
    "positive_ordered": transformed(positive_ordered, [0.3, -2.0, 1.1]),
    "simplex": transformed(simplex, [0.3, -2.0, 1.1], [0.0, 0.0, 0.0], [4.0, -3.0, 2.0]),
    "correlation_cholesky": transformed(correlation_cholesky, [0.3, -1.2, 0.7], [0.0, 0.0, 0.0],
                                        [2.0, -0.1, 0.4]),
}

if __name__ == "__main__":
    table = {"densities": UNIVARIATE | MULTIVARIATE, "supports": SUPPORTS}
    lines = [f'"{kind}": {{\n' + ",\n".join(f'"{name}": {json.dumps(cases)}' for name, cases in part.items()) + "\n}"
             for kind, part in table.items()]
    print("{" + ",\n".join(lines) + "}")
