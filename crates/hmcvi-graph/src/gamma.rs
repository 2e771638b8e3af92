//! Compute log Γ and its derivatives, in a form that compilers turn into vector code.
//!
//! Arguments below a threshold are moved above it by the recurrence `Γ(x + 1) = x Γ(x)`, always by the same number of
//! steps; above it Stirling's series is exact to rounding. There are no branches that depend on the argument. All
//! functions are NaN for negative arguments: densities ask for positive ones only, and a reflection would have poles.
//!
//! The threshold and the number of terms are `S`, 4 in f32 and 8 in f64. The first term left out is then at most 3e-8
//! and 1e-14 of the result, for low orders 7e-9 and 2e-16. Largest errors are measured in `tests/gamma.rs`.

use crate::double;
use crate::real::{Real, polynomial};

/// Bernoulli numbers `B₂, B₄, …, B₁₆`.
const BERNOULLI: [f64; 8] = [
    1.0 / 6.0,
    -1.0 / 30.0,
    1.0 / 42.0,
    -1.0 / 30.0,
    5.0 / 66.0,
    -691.0 / 2730.0,
    7.0 / 6.0,
    -3617.0 / 510.0,
];

/// `½ log 2π - ½`
const HALF_LOG_TAU_LESS_HALF: f64 = 0.418_938_533_204_672_7;

/// `log Γ(x)` in f64, with absolute accuracy at its zeros 1 and 2.
#[inline(always)]
pub(crate) fn lgamma_f64(x: f64) -> f64 {
    let is_small = x < 8.0;
    let (product, _) = rising::<f64, 8>(x);
    let z = if is_small { x + 8.0 } else { x };
    let y = stirling::<f64, 8>(z, double::log(z));
    unless_negative(x, y - if is_small { double::log(product) } else { 0.0 })
}

/// `log Γ(x)` in f32, with relative accuracy at its zeros, too: below 4.5 the recurrence leads to a fit around 2.
#[inline(always)]
pub(crate) fn lgamma_f32(x: f32) -> f32 {
    // log Γ(x) = log Γ(2 + t) ± log a, with t in [-½, ½].
    let (t, a) = if x < 0.5 { (x, x * (x + 1.0)) } else { (x - 1.0, x) };
    let (t, a) = if x < 1.5 { (t, a) } else { (x - 2.0, 1.0) };
    let (t, a) = if x < 2.5 { (t, a) } else { (x - 3.0, x - 1.0) };
    let (t, a) = if x < 3.5 { (t, a) } else { (x - 4.0, (x - 1.0) * (x - 2.0)) };
    let is_small = x < 4.5;
    let log = Real::log(if is_small { a } else { x });
    // log Γ(2 + t) = t Q(t); Q fitted for least error, 1.7e-8 of it.
    let q = polynomial(
        t,
        [
            4.227_843_3e-1,
            3.224_670_3e-1,
            -6.735_228e-2,
            2.058_08e-2,
            -7.386_174e-3,
            2.890_795_2e-3,
            -1.185_86e-3,
            5.065_171e-4,
            -2.538_171e-4,
            1.134_728_2e-4,
        ],
    );
    let near = t.mul_add(q, if x < 1.5 { -log } else { log });
    unless_negative(x, if is_small { near } else { stirling::<f32, 4>(x, log) })
}

/// Stirling's series for `log Γ(z)`, given `log z`.
#[inline(always)]
fn stirling<T: Real, const S: usize>(z: T, log: T) -> T {
    let r = number::<T>(1.0) / z;
    // (z - ½) log z - z + ½ log 2π, so written that it is infinite only where the result is.
    let main = (z - number(0.5)) * (log - number(1.0)) + number(HALF_LOG_TAU_LESS_HALF);
    r.fma(series::<T, S>(r * r, |k| BERNOULLI[k - 1] / (2 * k * (2 * k - 1)) as f64), main)
}

/// `ψ(x)`, the derivative of `log Γ`, with absolute accuracy at its zero 1.46.
#[inline(always)]
pub(crate) fn digamma<T: Real, const S: usize>(x: T) -> T {
    let is_small = x < number(S as f64);
    let (product, derivative) = rising::<T, S>(x);
    let z = if is_small { x + number(S as f64) } else { x };
    let r = number::<T>(1.0) / z;
    let series = series::<T, S>(r * r, |k| BERNOULLI[k - 1] / (2 * k) as f64);
    let y = z.log() - r.fma(number(0.5), r * r * series);
    unless_negative(x, y - if is_small { derivative / product } else { T::default() })
}

/// The derivative of order `order` of digamma, at least 1.
///
/// `(-1)ⁿ⁺¹ ψₙ(x) = Σᵢ n!/(x + i)ⁿ⁺¹ + (n-1)!/zⁿ (1 + n/2z + Σₖ B₂ₖ C(2k+n-1, 2k) / z²ᵏ)`: all summands but the last
/// are positive, so nothing cancels.
#[inline(always)]
pub(crate) fn polygamma<T: Real, const S: usize>(order: u32, x: T) -> T {
    // The series needs larger arguments for higher orders.
    let steps = S as u32 + order;
    let is_small = x < number(steps.into());
    let z = if is_small { x + number(steps.into()) } else { x };
    let mut shifted = T::default();
    for i in 0..steps {
        shifted = shifted + factorial_over_power(order, number::<T>(1.0) / (x + number(i.into())));
    }
    let r = number::<T>(1.0) / z;
    let series = series::<T, S>(r * r, |k| BERNOULLI[k - 1] * binomial(order, 2 * k));
    let tail = (r * r).fma(series, r.fma(number(0.5 * f64::from(order)), number(1.0)));
    let y = factorial_over_power(order - 1, r) * tail + if is_small { shifted } else { T::default() };
    unless_negative(x, if order.is_multiple_of(2) { -y } else { y })
}

#[inline(always)]
fn number<T: Real>(x: f64) -> T {
    T::from_f64(x)
}

#[inline(always)]
fn unless_negative<T: Real>(x: T, y: T) -> T {
    if x >= T::default() { y } else { number(f64::NAN) }
}

/// `x (x+1) … (x+S-1)` and its derivative.
#[inline(always)]
fn rising<T: Real, const S: usize>(x: T) -> (T, T) {
    let (mut product, mut derivative) = (x, number::<T>(1.0));
    for i in 1..S {
        let factor = x + number(i as f64);
        derivative = derivative.fma(factor, product);
        product = product * factor;
    }
    (product, derivative)
}

/// `Σₖ cₖ wᵏ⁻¹` for `k` from 1 to `S`.
#[inline(always)]
fn series<T: Real, const S: usize>(w: T, coefficient: impl Fn(usize) -> f64) -> T {
    let mut sum = number::<T>(coefficient(S));
    for k in (1..S).rev() {
        sum = sum.fma(w, number(coefficient(k)));
    }
    sum
}

/// `n! rⁿ⁺¹`, with factors that neither overflow nor vanish before the result does.
#[inline(always)]
fn factorial_over_power<T: Real>(n: u32, r: T) -> T {
    let mut y = r;
    // Loops over inclusive ranges are not unrolled.
    for j in 1..n + 1 {
        y = y * (r * number(j.into()));
    }
    y
}

/// `C(m + n - 1, m)` for an order `n`.
#[inline(always)]
fn binomial(n: u32, m: usize) -> f64 {
    let mut c = 1.0;
    for j in 0..m {
        c = c * (f64::from(n) + j as f64) / (j + 1) as f64;
    }
    c
}
