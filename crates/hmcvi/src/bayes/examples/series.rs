//! Describe series in time.

use crate::bayes::{Arg, Builder, Support, Var, flat, half_cauchy, lognormal, normal};

pub(super) fn autoregressive(m: &mut Builder<'_>) {
    let (y, order) = (m.data("y"), m.size("K"));
    let alpha = m.sample("alpha", normal(0.0, 10.0));
    let beta = m.sample("beta", normal(0.0, 10.0).shape(order));
    let sigma = m.sample("sigma", half_cauchy(2.5));
    let length = y.dims().elements();
    let mean = (0..order).fold(alpha, |mean, k| mean + beta.at(k) * y.slice(order - 1 - k..length - 1 - k));
    m.observe("y", normal(mean, sigma), y.slice(order..length));
}

pub(super) fn arma(m: &mut Builder<'_>) {
    let y = m.data("y");
    let mu = m.sample("mu", normal(0.0, 10.0));
    let phi = m.sample("phi", normal(0.0, 2.0));
    let theta = m.sample("theta", normal(0.0, 2.0));
    let sigma = m.sample("sigma", half_cauchy(2.5));
    let mut means = vec![mu + phi * mu];
    for t in 1..y.dims().elements() {
        let surprise = y.at(t - 1) - means[t - 1];
        means.push(mu + phi * y.at(t - 1) + theta * surprise);
    }
    m.observe("y", normal(Var::concat(&means), sigma), y);
}

pub(super) fn garch(m: &mut Builder<'_>) {
    let (y, first) = (m.data("y"), m.data("sigma1"));
    let mu = m.sample("mu", flat());
    let alpha0 = m.sample("alpha0", flat().on(Support::POSITIVE));
    let alpha1 = m.sample("alpha1", flat().on(Support::UNIT));
    let rest = Support::Between(Arg::Number(0.0), (1.0 - alpha1).into());
    let beta1 = m.sample("beta1", flat().on(rest));
    let mut variances = vec![first.square()];
    for t in 1..y.dims().elements() {
        let surprise = (y.at(t - 1) - mu).square();
        variances.push(alpha0 + alpha1 * surprise + beta1 * variances[t - 1]);
    }
    m.observe("y", normal(mu, Var::concat(&variances).sqrt()), y);
}

pub(super) fn brownian(m: &mut Builder<'_>) {
    let (y, at, length) = (m.data("y"), m.index("at", 1), m.size("T"));
    let innovation = m.sample("innovation", lognormal(0.0, 2.0));
    let observation = m.sample("observation", lognormal(0.0, 2.0));
    let x = m.sample("x", flat().shape(length));
    m.add_log_density("x[1]", normal(0.0, innovation).log_prob(x.at(0)));
    if length > 1 {
        let steps = x.slice(1..length) - x.slice(0..length - 1);
        m.add_log_density("steps", normal(0.0, innovation).log_prob(steps));
    }
    m.observe("y", normal(x.pick(&at), observation), y);
}
