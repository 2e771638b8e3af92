//! Describe a mixture, a Gaussian process and a funnel.

use crate::bayes::{Builder, Support, Var, beta, gamma, half_normal, mixture, multi_normal, normal};

pub(super) fn mixture_of_two(m: &mut Builder<'_>) {
    let y = m.data("y");
    let mu = m.sample("mu", normal(0.0, 2.0).shape(2).on(Support::Ordered));
    let sigma = m.sample("sigma", half_normal(2.0).shape(2));
    let theta = m.sample("theta", beta(5.0, 5.0));
    let components = [0, 1].map(|k| normal(mu.at(k), sigma.at(k)));
    m.observe("y", mixture(Var::concat(&[theta, 1.0 - theta]), components), y);
}

pub(super) fn gaussian_process(m: &mut Builder<'_>) {
    let (x, y) = (m.data("x"), m.data("y"));
    let rho = m.sample("rho", gamma(25.0, 4.0));
    let alpha = m.sample("alpha", half_normal(2.0));
    let sigma = m.sample("sigma", half_normal(1.0));
    let (points, n) = (x.known().unwrap_or_default(), x.dims().elements());
    let squares: Vec<f64> = (0..n * n).map(|k| (points[k / n] - points[k % n]).powi(2)).collect();
    let identity: Vec<f64> = (0..n * n).map(|k| f64::from(u8::from(k / n == k % n))).collect();
    let (squares, identity) = (m.known((n, n), &squares), m.known((n, n), &identity));
    let covariance = alpha.square() * (squares * -0.5 / rho.square()).exp() + sigma * identity;
    m.observe("y", multi_normal(0.0, covariance), y);
}

pub(super) fn funnel(m: &mut Builder<'_>) {
    let v = m.sample("v", normal(0.0, 3.0));
    m.sample("x", normal(0.0, (v * 0.5).exp()).shape(9));
}
