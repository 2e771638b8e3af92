//! Compute exponentials, logarithms and what is made from them in f64, without branches.
//!
//! A loop over these functions becomes vector code, with the same bits on each instruction set. `tests/numerics.rs`
//! holds them against the standard library's: at most 2 units in the last place apart, and 3 where those are put together
//! from several functions.

use std::f64::consts::LOG2_E;

// ln 2 in two parts, so that n·LN2_HIGH is exact for |n| < 2^20.
const LN2_HIGH: f64 = f64::from_bits(0x3fe6_2e42_fee0_0000);
const LN2_LOW: f64 = 1.908_214_929_270_587_7e-10;

/// Adding this rounds to an integer and leaves it in the low bits.
const ROUND: f64 = 6_755_399_441_055_744.0;

/// Horner's scheme with fused multiply-adds; coefficients from the constant upwards.
#[inline(always)]
fn polynomial<const N: usize>(x: f64, coefficients: [f64; N]) -> f64 {
    let mut sum = coefficients[N - 1];
    for i in (0..N - 1).rev() {
        sum = sum.mul_add(x, coefficients[i]);
    }
    sum
}

/// `2ⁿ` for an integer in the range of normal numbers.
#[inline(always)]
fn power_of_two(n: f64) -> f64 {
    f64::from_bits((n + (ROUND + 1023.0)).to_bits() << 52)
}

/// `(p, i, j)` with `eˣ = (1 + p) 2ⁱ 2ʲ`, for `x` between -750 and 710. In two steps subnormal results and the overflow
/// to infinity come out right.
#[inline(always)]
fn parts(x: f64) -> (f64, f64, f64) {
    let n = x.mul_add(LOG2_E, ROUND) - ROUND;
    let r = n.mul_add(-LN2_LOW, n.mul_add(-LN2_HIGH, x));
    // eʳ = 1 + r + r²Q(r), by Taylor's series: the next term is below 5e-18 for |r| < ½ ln 2.
    let q = polynomial(
        r,
        [
            1.0 / 2.0,
            1.0 / 6.0,
            1.0 / 24.0,
            1.0 / 120.0,
            1.0 / 720.0,
            1.0 / 5_040.0,
            1.0 / 40_320.0,
            1.0 / 362_880.0,
            1.0 / 3_628_800.0,
            1.0 / 39_916_800.0,
            1.0 / 479_001_600.0,
            1.0 / 6_227_020_800.0,
        ],
    );
    let half = n.mul_add(0.5, ROUND) - ROUND;
    ((r * r).mul_add(q, r), half, n - half)
}

/// Comparisons let not-a-number through.
#[inline(always)]
fn clamp(x: f64) -> f64 {
    let x = if x > 710.0 { 710.0 } else { x };
    if x < -750.0 { -750.0 } else { x }
}

/// `eˣ`
#[inline(always)]
pub(crate) fn exp(x: f64) -> f64 {
    let (p, i, j) = parts(clamp(x));
    (p + 1.0) * power_of_two(i) * power_of_two(j)
}

/// `eˣ - 1`
#[inline(always)]
pub(crate) fn expm1(x: f64) -> f64 {
    // Below this the result is -1.
    let (p, i, j) = parts(if x < -50.0 { -50.0 } else { clamp(x) });
    // (p 2ⁱ + 2ⁱ - 2⁻ʲ) 2ʲ: near 0, where i and j are 0, this is p itself.
    let y = p.mul_add(power_of_two(i), power_of_two(i) - power_of_two(-j)) * power_of_two(j);
    if x == 0.0 { x } else { y }
}

/// `2 atanh(s) / s - 2` as a function of `s²`, by its series: exact to all digits for `s² < 0.03`.
#[inline(always)]
fn atanh_tail(square: f64) -> f64 {
    let q = polynomial(
        square,
        [
            2.0 / 3.0,
            2.0 / 5.0,
            2.0 / 7.0,
            2.0 / 9.0,
            2.0 / 11.0,
            2.0 / 13.0,
            2.0 / 15.0,
            2.0 / 17.0,
            2.0 / 19.0,
            2.0 / 21.0,
            2.0 / 23.0,
        ],
    );
    q * square
}

/// `log x + c` of a positive, normal number and a small one.
#[inline(always)]
fn log_normal(x: f64, c: f64) -> f64 {
    const SQRT_HALF: u64 = 0x3fe6_a09e_667f_3bcd;
    const ONE: u64 = 0x3ff0_0000_0000_0000;
    // m in [√½, √2) and x = m·2ᵉ; the exponent becomes a number by the low bits of 2^52.
    let bits = x.to_bits().wrapping_add(ONE - SQRT_HALF);
    let e = f64::from_bits((bits >> 52) | 0x4330_0000_0000_0000) - (4_503_599_627_370_496.0 + 1023.0);
    let m = f64::from_bits((bits & 0x000f_ffff_ffff_ffff).wrapping_add(SQRT_HALF));
    // log(1+f) = f - f²/2 + s(f²/2 + R(s²)) with s = f/(2+f).
    let f = m - 1.0;
    let s = f / (2.0 + f);
    let half = 0.5 * f * f;
    let tail = s.mul_add(half + atanh_tail(s * s), e.mul_add(LN2_LOW, c));
    e.mul_add(LN2_HIGH, f - (half - tail))
}

/// `log x + c` of any number and a small one.
#[inline(always)]
fn log_plus(x: f64, c: f64) -> f64 {
    let subnormal = x < f64::MIN_POSITIVE;
    // 2^54, and its logarithm.
    let scaled = if subnormal { x * 18_014_398_509_481_984.0 } else { x };
    let shift = if subnormal { -54.0 * std::f64::consts::LN_2 } else { c };
    let y = log_normal(scaled, shift);
    let y = if x == f64::INFINITY { f64::INFINITY } else { y };
    let y = if x == 0.0 { f64::NEG_INFINITY } else { y };
    if x >= 0.0 { y } else { f64::NAN }
}

/// Natural logarithm.
#[inline(always)]
pub(crate) fn log(x: f64) -> f64 {
    log_plus(x, 0.0)
}

/// `log(1 + x)`
#[inline(always)]
pub(crate) fn log1p(x: f64) -> f64 {
    // The rounding error of u = 1 + x is known and corrected to first order.
    let u = 1.0 + x;
    let correction = (x - (u - 1.0)) / u;
    let exact = (x == -1.0) | (x == f64::INFINITY);
    let y = log_plus(u, if exact { 0.0 } else { correction });
    // Small arguments: the correction is the whole result.
    if u == 1.0 { x } else { y }
}

/// `1 / (1 + e⁻ˣ)`
#[inline(always)]
pub(crate) fn sigmoid(x: f64) -> f64 {
    let e = exp(-x.abs());
    let r = 1.0 / (1.0 + e);
    if x < 0.0 { e * r } else { r }
}

/// `log(1 + eˣ)`
#[inline(always)]
pub(crate) fn softplus(x: f64) -> f64 {
    // As in log1p; the rounding error of u needs no division, because u is between 1 and 2.
    let e = exp(-x.abs());
    let u = 1.0 + e;
    (if x > 0.0 { x } else { 0.0 }) + log_normal(u, e - (u - 1.0))
}

/// Hyperbolic tangent.
#[inline(always)]
pub(crate) fn tanh(x: f64) -> f64 {
    let t = expm1(-2.0 * x.abs());
    (-t / (t + 2.0)).copysign(x)
}
