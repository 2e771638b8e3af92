//! Describe models of groups whose effects have a common distribution.

use crate::bayes::{Builder, binomial_logit, gamma, half_cauchy, half_normal, normal};

pub(super) fn eight_schools(m: &mut Builder<'_>) {
    let (y, sd) = (m.data("y"), m.data("sigma"));
    let raw = m.sample("raw", normal(0.0, 1.0).shape(y.dims()));
    let mu = m.sample("mu", normal(0.0, 5.0));
    let tau = m.sample("tau", half_cauchy(5.0));
    let theta = m.deterministic("theta", mu + tau * raw);
    m.observe("y", normal(theta, sd), y);
}

pub(super) fn radon(m: &mut Builder<'_>) {
    let (radon, floor, county) = (m.data("log_radon"), m.data("floor"), m.index("county", 1));
    let counties = m.size("J");
    let mu = m.sample("mu", normal(0.0, 10.0));
    let tau = m.sample("tau", half_normal(1.0));
    let alpha = m.sample("alpha", normal(mu, tau).shape(counties));
    let beta = m.sample("beta", normal(0.0, 10.0));
    let sigma = m.sample("sigma", half_normal(1.0));
    m.observe("log_radon", normal(alpha.pick(&county) + beta * floor, sigma), radon);
}

/// The effects have their own scale, as the literature has it: a funnel where the data say little.
pub(super) fn seeds(m: &mut Builder<'_>) {
    let (x1, x2) = (m.data("x1"), m.data("x2"));
    let (n, r) = (m.data("n"), m.data("r"));
    let tau = m.sample("tau", gamma(0.01, 0.01));
    let [a0, a1, a2, a12] = ["a0", "a1", "a2", "a12"].map(|name| m.sample(name, normal(0.0, 10.0)));
    let scale = tau.sqrt().reciprocal();
    let b = m.sample("b", normal(0.0, scale).shape(r.dims()));
    m.observe("r", binomial_logit(n, a0 + a1 * x1 + a2 * x2 + a12 * x1 * x2 + b), r);
}
