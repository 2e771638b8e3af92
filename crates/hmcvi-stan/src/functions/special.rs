//! Write functions that have no formula of their own as series, integrals and Newton's steps.

use hmcvi_graph::{Expr, Graph};
use libm::lgamma;

use super::elementwise::log1m_exp_of;

/// The quantile function of the standard normal distribution, by Newton's steps on the logarithm of the smaller tail.
pub(super) fn inv_phi_of(p: Expr<'_>) -> Expr<'_> {
    let upper = p.greater(0.5);
    let tail = upper.select(1.0 - p, p);
    let log_tail = tail.log();
    // Tukey's lambda distribution is near.
    let mut x = ((tail.powf(0.135) - (1.0 - tail).powf(0.135)) / 0.1975).stop_gradient();
    for step in 0..10 {
        x = x - (x.log_normal_cdf() - log_tail) / x.inverse_mills();
        if step < 7 {
            x = x.stop_gradient();
        }
    }
    upper.select(-x, x)
}

/// The same of the logarithm of a probability, which may be that of an event of any rarity.
pub(super) fn inv_phi_of_log(log_p: Expr<'_>) -> Expr<'_> {
    let upper = log_p.greater(-std::f64::consts::LN_2);
    let log_tail = upper.select(log1m_exp_of(upper.select(log_p, -1.0)), log_p);
    // Far out, the tail falls as the density does.
    let rare = log_tail.less(-20.0);
    let tail = rare.select(-1.0, log_tail).exp();
    let far = -(rare.select(log_tail, -20.0) * -2.0).sqrt();
    let near = (tail.powf(0.135) - (1.0 - tail).powf(0.135)) / 0.1975;
    let mut x = rare.select(far, near).stop_gradient();
    for step in 0..10 {
        x = x - (x.log_normal_cdf() - log_tail) / x.inverse_mills();
        if step < 7 {
            x = x.stop_gradient();
        }
    }
    upper.select(-x, x)
}

/// `w` with `w eʷ = x`, by Halley's steps.
pub(super) fn lambert(x: Expr<'_>) -> Expr<'_> {
    let large = x.greater(std::f64::consts::E);
    let log = large.select(x, std::f64::consts::E).log();
    let near = ((x * std::f64::consts::E + 1.0).max(0.0) * 2.0).sqrt();
    let mut w = large.select(log - log.log(), near - 1.0 - near.square() / 3.0).stop_gradient();
    for step in 0..10 {
        let e = w.exp();
        let f = w * e - x;
        w = w - f / (e * (w + 1.0) - (w + 2.0) * f / (w * 2.0 + 2.0));
        if step < 7 {
            w = w.stop_gradient();
        }
    }
    w
}

/// `w ≤ -1` with `w eʷ = x`, by Halley's steps.
pub(super) fn lambert_lower(x: Expr<'_>) -> Expr<'_> {
    let far = x.greater(-0.25);
    let log = (-far.select(x, -0.25)).log();
    let near = ((x * std::f64::consts::E + 1.0).max(0.0) * 2.0).sqrt();
    let mut w = far.select(log - (-log).log(), -1.0 - near - near.square() / 3.0).stop_gradient();
    for step in 0..12 {
        let e = w.exp();
        let f = w * e - x;
        w = w - f / (e * (w + 1.0) - (w + 2.0) * f / (w * 2.0 + 2.0));
        if step < 9 {
            w = w.stop_gradient();
        }
    }
    w
}

/// Points of the integral of a Bessel function over a period.
const POINTS: usize = 128;

/// `Jₙ(x) = ∫ cos(n t - x sin t) dt / π` over half a period, for integers `n` and `x` up to about 90.
pub(super) fn bessel<'g>(n: Expr<'g>, x: Expr<'g>) -> Expr<'g> {
    let angle = |k: usize| std::f64::consts::TAU * k as f64 / POINTS as f64;
    let term = |k: usize| (n * angle(k) - x * angle(k).sin()).cos();
    (1..POINTS).map(term).fold(term(0), |a, b| a + b) / POINTS as f64
}

/// `Kᵥ(x) = ∫ exp(-x cosh t) cosh(v t) dt` from 0 on, by trapezoids.
pub(super) fn bessel_falling<'g>(v: Expr<'g>, x: Expr<'g>) -> Expr<'g> {
    const WIDTH: f64 = 0.125;
    let term = |k: usize| {
        let t = WIDTH * k as f64;
        let fall = -x * t.cosh();
        let both = (fall + v * t).exp() + (fall - v * t).exp();
        both * if k == 0 { 0.25 * WIDTH } else { 0.5 * WIDTH }
    };
    (1..120).map(term).fold(term(0), |a, b| a + b)
}

pub(super) fn bessel_falling_number(v: f64, x: f64) -> f64 {
    let graph = Graph::new();
    bessel_falling(graph.constant(v), graph.constant(x)).known().map_or(f64::NAN, |values| values[0])
}

/// Where the two series of the time of a walk meet.
const MEETING: f64 = 0.25;

/// The log density of the time at which a walk with drift `d`, begun at the part `b` of the way, first leaves the upper
/// end of an interval of length `a`, after a pause `t` (Navarro and Fuss 2009): a series for short times, another for
/// long ones, with terms down to rounding.
pub(super) fn first_passage<'g>(y: Expr<'g>, a: Expr<'g>, t: Expr<'g>, b: Expr<'g>, d: Expr<'g>) -> Expr<'g> {
    let after = (y - t) / a.square();
    let possible = after.greater(0.0);
    let x = possible.select(after, 1.0);
    let w = 1.0 - b;
    let short = x.less(MEETING);
    let (x_short, x_long) = (short.select(x, MEETING), short.select(MEETING, x));
    let term = |k: i32| {
        let k = f64::from(k);
        (w + 2.0 * k) * ((w + k) * (-2.0 * k) / x_short).exp()
    };
    let sum = [-1, 1, -2, 2, -3, 3].into_iter().map(term).fold(w, |a, b| a + b);
    let of_short =
        sum.log() - w.square() / (x_short * 2.0) - x_short.log() * 1.5 - 0.5 * std::f64::consts::TAU.ln();
    let rate = x_long * (0.5 * std::f64::consts::PI.powi(2));
    let term = |k: i32| {
        let k = f64::from(k);
        (rate * (1.0 - k * k)).exp() * (w * (k * std::f64::consts::PI)).sin() * k
    };
    let sum = (2..8).map(term).fold(term(1), |a, b| a + b);
    let of_long = sum.log() - rate + std::f64::consts::PI.ln();
    let drift = d * a * w - (d * a).square() * x * 0.5 - a.log() * 2.0;
    possible.select(drift + short.select(of_short, of_long), f64::NEG_INFINITY)
}

/// Terms of the series of Bessel functions: enough for arguments up to 200.
const TERMS: usize = 200;

/// `log Iᵥ(x) = log Σₖ (x/2)²ᵏ⁺ᵛ / (k! Γ(k + v + 1))`
pub(super) fn log_bessel<'g>(v: Expr<'g>, x: Expr<'g>) -> Expr<'g> {
    let log_half = (x * 0.5).log();
    let term = |k: usize| {
        let k = k as f64;
        log_half * (v + 2.0 * k) - (v + (k + 1.0)).lgamma() - lgamma(k + 1.0)
    };
    // All terms are compared with the largest, which comes where k is about x/2.
    let largest = (1..TERMS).map(term).fold(term(0), |a, b| a.max(b)).stop_gradient();
    let sum = (1..TERMS).map(|k| (term(k) - largest).exp()).fold((term(0) - largest).exp(), |a, b| a + b);
    sum.log() + largest
}

pub(super) fn log_bessel_number(v: f64, x: f64) -> f64 {
    let term = |k: usize| {
        let k = k as f64;
        (x * 0.5).ln() * (v + 2.0 * k) - lgamma(v + k + 1.0) - lgamma(k + 1.0)
    };
    super::known::log_sum_exp(&(0..TERMS).map(term).collect::<Vec<f64>>())
}
