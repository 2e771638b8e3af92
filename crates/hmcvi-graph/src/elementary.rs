//! Compute sine, cosine, arctangent and powers in f32, in a form that compilers turn into vector code.
//!
//! Where f32 would lose digits, in the reduction of angles and in the product of exponent and logarithm, the arithmetic
//! is that of f64: results are right to the last place, also where arguments are large. Largest errors are measured
//! in `tests/functions.rs`.

use std::f64::consts::{FRAC_2_PI, FRAC_PI_2, LN_2, LOG2_E};

use crate::real::polynomial;

/// Adding 1.5·2^52 rounds to an integer and leaves it in the low bits.
const ROUND: f64 = 6_755_399_441_055_744.0;

/// What `π/2` has beyond its f64.
const FRAC_PI_2_LOW: f64 = 6.123_233_995_736_766e-17;

/// Largest angle whose quarter turns are counted exactly; neighbouring f32 numbers there are 2²⁷ apart.
const LARGEST_ANGLE: f32 = 1.0e15;

#[inline(always)]
pub(crate) fn sin(x: f32) -> f32 {
    sine_after(x, 0)
}

#[inline(always)]
pub(crate) fn cos(x: f32) -> f32 {
    sine_after(x, 1)
}

/// `sin(x + turn·π/2)`
#[inline(always)]
fn sine_after(x: f32, turn: u64) -> f32 {
    let wide = f64::from(x);
    // x = n π/2 + r, with r in [-π/4, π/4].
    let shifted = wide.mul_add(FRAC_2_PI, ROUND);
    let (n, quarter) = (shifted - ROUND, shifted.to_bits().wrapping_add(turn));
    let r = n.mul_add(-FRAC_PI_2_LOW, n.mul_add(-FRAC_PI_2, wide));
    let s = r * r;
    // Fitted for least relative error of what is added to the first terms, 1.7e-10 and 4.9e-8.
    let p = horner(
        s,
        [-0.16666666663854168, 0.008333331874273714, -0.00019840086499593593, 2.724989523061118e-06],
    );
    let q = horner(s, [0.041666664658901405, -0.0013888302919113629, 2.4547916853690606e-05]);
    let sine = (r * s).mul_add(p, r);
    let cosine = (s * s).mul_add(q, s.mul_add(-0.5, 1.0));
    let y = if quarter & 1 == 0 { sine } else { cosine };
    let y = (if quarter & 2 == 0 { y } else { -y }) as f32;
    if x.abs() <= LARGEST_ANGLE { y } else { f32::NAN }
}

/// Arctangent.
#[inline(always)]
pub(crate) fn atan(x: f32) -> f32 {
    let size = x.abs();
    let is_large = size > 1.0;
    let z = if is_large { 1.0 / size } else { size };
    let s = z * z;
    // arctan z = z + z³ P(z²); P fitted for least relative error, 7.6e-9.
    let p = polynomial(
        s,
        [
            -3.333_333_4e-1,
            1.999_995e-1,
            -1.428_400_4e-1,
            1.108_826_2e-1,
            -8.931_827e-2,
            7.031_914_6e-2,
            -4.896_051_4e-2,
            2.630_500_1e-2,
            -9.144_629e-3,
            1.488_691_9e-3,
        ],
    );
    let y = (z * s).mul_add(p, z);
    (if is_large { std::f32::consts::FRAC_PI_2 - y } else { y }).copysign(x)
}

/// `xʸ` for `x ≥ 0`, NaN below; 1 where the exponent is 0 or the base 1.
#[inline(always)]
pub(crate) fn pow(x: f32, y: f32) -> f32 {
    let product = log(x) * f64::from(y);
    let power = exp(product) as f32;
    if (y == 0.0) | (x == 1.0) { 1.0 } else { power }
}

/// Logarithm of an f32, exact to 3e-14.
#[inline(always)]
fn log(x: f32) -> f64 {
    let bits = f64::from(x).to_bits();
    // x = m·2ᵉ with m in [√½, √2); log m = 2 artanh u.
    let e = ((bits >> 32) as i32).wrapping_sub(0x3fe6_a09e) >> 20;
    let m = f64::from_bits(bits.wrapping_sub((i64::from(e) << 52) as u64));
    let u = (m - 1.0) / (m + 1.0);
    let series = horner(
        u * u,
        [
            1.9999999999999472,
            0.6666666667957926,
            0.3999999489183238,
            0.28572166145875727,
            0.22174249910077448,
            0.19608095639753553,
        ],
    );
    let y = f64::from(e).mul_add(LN_2, u * series);
    let y = if x == f32::INFINITY { f64::INFINITY } else { y };
    let y = if x == 0.0 { f64::NEG_INFINITY } else { y };
    if x >= 0.0 { y } else { f64::NAN }
}

/// Exponential to 1e-12, where its f32 is neither 0 nor infinite.
#[inline(always)]
fn exp(x: f64) -> f64 {
    let x = if x > 100.0 { 100.0 } else { x };
    let x = if x < -120.0 { -120.0 } else { x };
    let shifted = x.mul_add(LOG2_E, ROUND);
    let n = shifted - ROUND;
    let r = n.mul_add(-LN_2, x);
    let p = horner(
        r,
        [
            1.0,
            0.9999999999796227,
            0.49999999999796313,
            0.16666666892396495,
            0.041666666892307004,
            0.0083332658283135,
            0.0013888821408139453,
            0.00019916016440604505,
            2.487631345479937e-05,
        ],
    );
    let i = (shifted.to_bits() as i64).wrapping_sub(ROUND.to_bits() as i64);
    p * f64::from_bits((i.wrapping_add(1023) as u64) << 52)
}

#[inline(always)]
fn horner<const N: usize>(x: f64, coefficients: [f64; N]) -> f64 {
    let mut sum = coefficients[N - 1];
    for i in (0..N - 1).rev() {
        sum = sum.mul_add(x, coefficients[i]);
    }
    sum
}
