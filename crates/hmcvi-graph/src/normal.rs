//! Compute the error function and the logarithm of the normal distribution function, in a form that compilers turn
//! into vector code.
//!
//! All of them come from one fit of the scaled complement `eˣ² erfc x` for `x ≥ 0`: what it is scaled by is known
//! exactly, so tails have the relative accuracy of the middle. Largest errors are measured in `tests/functions.rs`.

use std::f64::consts::{FRAC_1_SQRT_2, FRAC_2_SQRT_PI};

use crate::real::Real;

/// The fits of a precision, and where they hold.
pub(crate) trait Fits: Real {
    /// `t = (x - MIDDLE) / (x + MIDDLE)` takes all `x ≥ 0` to `[-1, 1]`.
    const MIDDLE: f64;
    /// `(1 + 2x) eˣ² erfc x` in powers of `t`.
    const SCALED: &'static [f64];
    /// `erf x / x` in powers of `x²`, for `|x| ≤ ½`.
    const NEAR: &'static [f64];
    /// Beyond this `e⁻ˣ²ᐟ²` is 0.
    const FAR: f64;
}

impl Fits for f32 {
    const MIDDLE: f64 = 3.0;
    // Fitted for least relative error, 2.5e-9.
    const SCALED: &'static [f64] = &[
        1.253_008,
        -1.356_210_7e-1,
        -4.756_229_4e-2,
        1.296_441e-1,
        -1.192_736_8e-1,
        6.831_67e-2,
        -2.377_038_8e-2,
        2.498_822_5e-3,
        1.888_215_7e-3,
        -7.261_608e-4,
        -1.042_211_8e-4,
        7.720_414e-5,
        3.891_751_5e-6,
    ];
    // 1.4e-9
    const NEAR: &'static [f64] =
        &[FRAC_2_SQRT_PI, -3.761_260_8e-1, 1.128_283_1e-1, -2.675_773_2e-2, 4.719_082_7e-3];
    const FAR: f64 = 15.0;
}

impl Fits for f64 {
    const MIDDLE: f64 = 3.75;
    // 5.1e-17
    const SCALED: &'static [f64] = &[
        1.2375126308378275,
        -0.14024059858554702,
        0.003585415485479575,
        0.08227673849014977,
        -0.10880393014246645,
        0.09230432116025894,
        -0.05869339857631058,
        0.028362277420377363,
        -0.009746579685962445,
        0.0017556258434315854,
        0.00029371439058030376,
        -0.0002901540420320509,
        5.1646493405288055e-05,
        2.2384138520823167e-05,
        -1.1437980364598676e-05,
        -9.733875066586658e-07,
        1.7419011813347325e-06,
        -5.741077417314685e-08,
        -2.4851107566140226e-07,
        2.3398545366127673e-08,
        3.195398111162009e-08,
        -3.798194904825588e-09,
        -2.6185191622796032e-09,
        3.2052724749442415e-10,
    ];
    // 4.1e-18
    const NEAR: &'static [f64] = &[
        FRAC_2_SQRT_PI,
        -0.37612638903183476,
        0.11283791670925353,
        -0.026866170632887928,
        0.00522397737302147,
        -0.0008548297753674966,
        0.00012053335124353741,
        -1.4845849259707869e-05,
        1.4725865480556744e-06,
    ];
    const FAR: f64 = 40.0;
}

/// `erf x`
#[inline(always)]
pub(crate) fn erf<T: Fits>(x: T) -> T {
    let size = x.abs();
    let far = number::<T>(1.0) - gauss(size, 1.0) * scaled(size);
    if is_near(x) {
        near(x)
    } else if x < T::default() {
        -far
    } else {
        far
    }
}

/// `1 - erf x`
#[inline(always)]
pub(crate) fn erfc<T: Fits>(x: T) -> T {
    let size = x.abs();
    let tail = gauss(size, 1.0) * scaled(size);
    if is_near(x) {
        number::<T>(1.0) - near(x)
    } else if x < T::default() {
        number::<T>(2.0) - tail
    } else {
        tail
    }
}

/// `log Φ(x)`
#[inline(always)]
pub(crate) fn log_normal_cdf<T: Fits>(x: T) -> T {
    let Cdf { middle, tail, gauss, is_middle } = cdf(x);
    // The logarithm of the middle, or that of the left tail without its factor e^(-x²/2).
    let log = if is_middle { middle } else { tail }.log();
    let factor = if is_middle { T::default() } else { x * x * number(-0.5) };
    let right = (-(gauss * tail)).log1p();
    if is_middle | (x < T::default()) { factor + log } else { right }
}

/// `φ(x) / Φ(x)`, the derivative of `log Φ`.
#[inline(always)]
pub(crate) fn inverse_mills<T: Fits>(x: T) -> T {
    let Cdf { middle, tail, gauss, is_middle } = cdf(x);
    let is_left = !is_middle & (x < T::default());
    let right = if is_middle { middle } else { number::<T>(1.0) - gauss * tail };
    let over = if is_left { tail } else { right };
    number::<T>(DENSITY_AT_0) * if is_left { number(1.0) } else { gauss } / over
}

/// `1/√2π`
const DENSITY_AT_0: f64 = 0.398_942_280_401_432_7;

/// What `Φ(x)` is made of: `middle` where `is_middle`, else `gauss·tail` on the left and 1 less that on the right.
struct Cdf<T> {
    middle: T,
    tail: T,
    gauss: T,
    is_middle: bool,
}

#[inline(always)]
fn cdf<T: Fits>(x: T) -> Cdf<T> {
    let u = x * number(FRAC_1_SQRT_2);
    let middle = number::<T>(0.5) + near(u) * number(0.5);
    Cdf { middle, tail: scaled(u.abs()) * number(0.5), gauss: gauss(x.abs(), 0.5), is_middle: is_near(u) }
}

/// Whether `near` is the error function of this argument.
#[inline(always)]
fn is_near<T: Fits>(x: T) -> bool {
    x.abs() < number(0.5)
}

/// `erf x` near 0.
#[inline(always)]
fn near<T: Fits>(x: T) -> T {
    x * horner(x * x, T::NEAR)
}

/// `eˣ² erfc x` for `x ≥ 0`.
#[inline(always)]
fn scaled<T: Fits>(x: T) -> T {
    let t = number::<T>(1.0) - number::<T>(2.0 * T::MIDDLE) / (x + number(T::MIDDLE));
    horner(t, T::SCALED) * number(0.5) / (x + number(0.5))
}

/// `e^(-factor x²)` for `x ≥ 0`. The rounding error of `x²` is known, and corrected.
#[inline(always)]
fn gauss<T: Fits>(x: T, factor: f64) -> T {
    // Comparisons let not-a-number through.
    let x = if x > number(T::FAR) { number(T::FAR) } else { x };
    let square = x * x;
    let rest = x.fma(x, -square);
    (square * number(-factor)).exp() * (number::<T>(1.0) - rest * number(factor))
}

#[inline(always)]
fn number<T: Real>(x: f64) -> T {
    T::from_f64(x)
}

#[inline(always)]
fn horner<T: Real>(x: T, coefficients: &'static [f64]) -> T {
    let mut sum = number::<T>(coefficients[coefficients.len() - 1]);
    for i in (0..coefficients.len() - 1).rev() {
        sum = sum.fma(x, number(coefficients[i]));
    }
    sum
}
