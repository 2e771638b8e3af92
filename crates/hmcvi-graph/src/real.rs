//! Compute element-wise functions in f32 and f64, in a form that compilers turn into vector code.
//!
//! The f32 functions are branch-free polynomials with fused multiply-adds, so a loop over them
//! becomes SIMD code for whatever instruction set it is compiled for, with the same bits on each.
//! Largest errors, measured over a sweep of their domains in `tests/numerics.rs`: `exp`, `log`, `log1p`,
//! `sigmoid`, `softplus` and `tanh` at most 4 units in the last place. Those of f64 are in [`double`]; for the others it
//! takes the standard library's functions. Log Γ and its derivatives are in [`gamma`], those of the normal distribution in [`normal`], the same for both;
//! the f32 functions of [`elementary`] calculate in f64 where f32 would lose digits.

use std::fmt::{Debug, Display};
use std::ops::{Add, Div, Mul, Neg, Sub};

use pulp::Simd;

use crate::op::{Binary, Unary};
use crate::{double, elementary, gamma, normal};

/// A floating-point type that programs run in: `f32` or `f64`.
pub trait Real:
    Copy
    + Debug
    + Default
    + Display
    + PartialEq
    + PartialOrd
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Div<Output = Self>
    + Neg<Output = Self>
    + Send
    + Sync
    + 'static
    + sealed::Vectors
    + crate::cpu::kernels::Kernels
{
    /// Nearest value to an `f64`.
    fn from_f64(x: f64) -> Self;
    /// The value as an `f64`, exactly.
    fn to_f64(self) -> f64;
    /// A byte as a number.
    fn from_byte(x: u8) -> Self;
    /// A uniform draw in `[0, 1)` from 32 random bits; the same number in f32 and f64.
    fn uniform(bits: u32) -> Self;
    /// A uniform draw in `(0, 1)` from 32 random bits, with small values for the tails of a normal.
    fn open_uniform(bits: u32) -> Self;
    /// `self * a + b` with one rounding.
    fn fma(self, a: Self, b: Self) -> Self;
    /// Absolute value.
    fn abs(self) -> Self;
    /// Square root.
    fn sqrt(self) -> Self;
    /// `eˣ`
    fn exp(self) -> Self;
    /// Natural logarithm.
    fn log(self) -> Self;
    /// `log(1 + x)`
    fn log1p(self) -> Self;
    /// `eˣ - 1`
    fn expm1(self) -> Self;
    /// Sine; of f32 beyond 1e15, where nothing of an angle is left, NaN.
    fn sin(self) -> Self;
    /// Cosine; see [`Real::sin`].
    fn cos(self) -> Self;
    /// Arctangent.
    fn atan(self) -> Self;
    /// `xʸ` for `x ≥ 0`, NaN below; 1 where `y` is 0.
    fn pow(self, y: Self) -> Self;
    /// `1 / (1 + e⁻ˣ)`
    fn sigmoid(self) -> Self;
    /// `log(1 + eˣ)`
    fn softplus(self) -> Self;
    /// Hyperbolic tangent.
    fn tanh(self) -> Self;
    /// The error function.
    fn erf(self) -> Self;
    /// `1 - erf x`, accurate in its tail.
    fn erfc(self) -> Self;
    /// Logarithm of the normal distribution function, `log Φ(x)`.
    fn log_normal_cdf(self) -> Self;
    /// `φ(x) / Φ(x)`, the derivative of `log Φ`.
    fn inverse_mills(self) -> Self;
    /// `log Γ(x)`; NaN below 0.
    fn lgamma(self) -> Self;
    /// The derivative of order `order` of digamma, the derivative of `log Γ`; NaN below 0.
    fn polygamma(self, order: u32) -> Self;
    /// Cosine and sine of `2π·self`, for `self` in `[0, 1)`.
    fn cos_sin_turns(self) -> (Self, Self);
}

pub(crate) mod sealed {
    use super::Simd;

    /// SIMD vectors of a number type.
    pub trait Vectors: Sized {
        type Vector<S: Simd>: Copy;
        fn splat<S: Simd>(simd: S, x: Self) -> Self::Vector<S>;
        /// `a * b + c` with one rounding.
        fn vector_fma<S: Simd>(
            simd: S,
            a: Self::Vector<S>,
            b: Self::Vector<S>,
            c: Self::Vector<S>,
        ) -> Self::Vector<S>;
        fn vector_add<S: Simd>(simd: S, a: Self::Vector<S>, b: Self::Vector<S>) -> Self::Vector<S>;
        fn vector_lanes<S: Simd>() -> usize {
            size_of::<Self::Vector<S>>() / size_of::<Self>()
        }
    }
}

macro_rules! vectors {
    ($real:ty, $vector:ident, $splat:ident, $fma:ident, $add:ident) => {
        impl sealed::Vectors for $real {
            type Vector<S: Simd> = S::$vector;
            #[inline(always)]
            fn splat<S: Simd>(simd: S, x: $real) -> S::$vector {
                simd.$splat(x)
            }
            #[inline(always)]
            fn vector_fma<S: Simd>(simd: S, a: S::$vector, b: S::$vector, c: S::$vector) -> S::$vector {
                simd.$fma(a, b, c)
            }
            #[inline(always)]
            fn vector_add<S: Simd>(simd: S, a: S::$vector, b: S::$vector) -> S::$vector {
                simd.$add(a, b)
            }
        }
    };
}

vectors!(f32, f32s, splat_f32s, mul_add_f32s, add_f32s);
vectors!(f64, f64s, splat_f64s, mul_add_f64s, add_f64s);

/// Value of a unary operation.
#[inline(always)]
pub(crate) fn unary<T: Real>(f: Unary, x: T) -> T {
    match f {
        Unary::Neg => -x,
        Unary::Abs => x.abs(),
        Unary::Sqrt => x.sqrt(),
        Unary::Exp => x.exp(),
        Unary::Log => x.log(),
        Unary::Log1p => x.log1p(),
        Unary::Expm1 => x.expm1(),
        Unary::Sin => x.sin(),
        Unary::Cos => x.cos(),
        Unary::Atan => x.atan(),
        Unary::Sigmoid => x.sigmoid(),
        Unary::Softplus => x.softplus(),
        Unary::Tanh => x.tanh(),
        Unary::Erf => x.erf(),
        Unary::Erfc => x.erfc(),
        Unary::LogNormalCdf => x.log_normal_cdf(),
        Unary::InverseMills => x.inverse_mills(),
        Unary::Lgamma => x.lgamma(),
        Unary::Polygamma(order) => x.polygamma(order),
        Unary::Broadcast => x,
    }
}

/// Value of a binary operation. Minimum and maximum pass on what is not a number.
#[inline(always)]
#[expect(clippy::eq_op, reason = "x != x is the branch-free test for not-a-number")]
pub(crate) fn binary<T: Real>(f: Binary, a: T, b: T) -> T {
    let flag = |yes: bool| if yes { T::from_byte(1) } else { T::from_byte(0) };
    match f {
        Binary::Add => a + b,
        Binary::Sub => a - b,
        Binary::Mul => a * b,
        Binary::Div => a / b,
        Binary::Pow => a.pow(b),
        Binary::Min => {
            if (a < b) | (a != a) {
                a
            } else {
                b
            }
        }
        Binary::Max => {
            if (a > b) | (a != a) {
                a
            } else {
                b
            }
        }
        Binary::Less => flag(a < b),
        Binary::LessEqual => flag(a <= b),
        Binary::Equal => flag(a == b),
    }
}

/// Horner's scheme with fused multiply-adds; coefficients from the constant upwards.
#[inline(always)]
pub(crate) fn polynomial<const N: usize>(x: f32, coefficients: [f32; N]) -> f32 {
    let mut sum = coefficients[N - 1];
    for i in (0..N - 1).rev() {
        sum = sum.mul_add(x, coefficients[i]);
    }
    sum
}

// ln 2 in two parts, so that n·LN2_HIGH is exact for |n| < 2^9.
const LN2_HIGH: f32 = 0.693_359_4;
const LN2_LOW: f32 = -2.121_944_4e-4;

/// `2ⁿ` for an exponent in the range of normal numbers.
#[inline(always)]
fn power_of_two(n: i32) -> f32 {
    f32::from_bits(((n + 127) as u32) << 23)
}

/// `log` of a positive, normal number.
#[inline(always)]
fn log_normal(x: f32) -> f32 {
    // m in [√½, √2) and x = m·2ᵉ.
    let e = (x.to_bits().wrapping_sub(0x3f35_04f3) as i32) >> 23;
    let m = f32::from_bits(x.to_bits().wrapping_sub((e << 23) as u32));
    let (f, e) = (m - 1.0, e as f32);
    // log(1+f) = f - f²/2 + f³Q(f); Q fitted for least relative error, 7.5e-10.
    let q = polynomial(
        f,
        [
            3.333_331_3e-1,
            -2.500_001e-1,
            2.000_211_9e-1,
            -1.666_799_6e-1,
            1.421_955_2e-1,
            -1.240_558_9e-1,
            1.188_816_2e-1,
            -1.167_565_2e-1,
            6.746_64e-2,
        ],
    );
    let square = f * f;
    let tail = (square * f).mul_add(q, e * LN2_LOW);
    let tail = square.mul_add(-0.5, tail);
    e.mul_add(LN2_HIGH, f + tail)
}

/// `eˣ`
#[inline(always)]
fn exp_f32(argument: f32) -> f32 {
    // Beyond this the result is infinite; comparisons let not-a-number through.
    exp_below_89(if argument > 89.0 { 89.0 } else { argument })
}

/// Exponential of a number that is at most 89.
#[inline(always)]
fn exp_below_89(argument: f32) -> f32 {
    let (p, half, rest) = exp_parts(argument);
    (p + 1.0) * power_of_two(half) * power_of_two(rest)
}

/// `(p, i, j)` with `eˣ = (1 + p) 2ⁱ 2ʲ`. In two steps subnormal results and the overflow to infinity come out right.
#[inline(always)]
fn exp_parts(argument: f32) -> (f32, i32, i32) {
    // Beyond this the result is 0.
    let x = if argument < -104.0 { -104.0 } else { argument };
    // Adding 1.5·2^23 rounds to an integer and leaves it in the low bits.
    const ROUND: f32 = 12_582_912.0;
    let shifted = x.mul_add(std::f32::consts::LOG2_E, ROUND);
    let n = shifted - ROUND;
    let i = (shifted.to_bits() as i32).wrapping_sub(ROUND.to_bits() as i32);
    let r = n.mul_add(-LN2_LOW, n.mul_add(-LN2_HIGH, x));
    // eʳ = 1 + r + r²Q(r); Q fitted for least relative error, 3.1e-9.
    let q = polynomial(r, [4.999_999_3e-1, 1.666_652e-1, 4.166_839e-2, 8.368_745e-3, 1.381_454e-3]);
    let half = i >> 1;
    ((r * r).mul_add(q, r), half, i.wrapping_sub(half))
}

/// `eˣ - 1`
#[inline(always)]
fn expm1_f32(argument: f32) -> f32 {
    let (p, i, j) = exp_parts(if argument > 89.0 { 89.0 } else { argument });
    // (p 2ⁱ + 2ⁱ - 2⁻ʲ) 2ʲ: near 0, where i and j are 0, this is p itself.
    let y = p.mul_add(power_of_two(i), power_of_two(i) - power_of_two(j.wrapping_neg()));
    y * power_of_two(j)
}

/// Natural logarithm of any number.
#[inline(always)]
fn log_f32(argument: f32) -> f32 {
    let subnormal = argument < f32::MIN_POSITIVE;
    let scaled = if subnormal { argument * 33_554_432.0 } else { argument };
    let shift = if subnormal { -25.0 * std::f32::consts::LN_2 } else { 0.0 };
    let y = log_normal(scaled) + shift;
    let y = if argument == f32::INFINITY { f32::INFINITY } else { y };
    let y = if argument == 0.0 { f32::NEG_INFINITY } else { y };
    if argument >= 0.0 { y } else { f32::NAN }
}

impl Real for f32 {
    #[inline(always)]
    fn from_f64(x: f64) -> f32 {
        x as f32
    }
    #[inline(always)]
    fn to_f64(self) -> f64 {
        f64::from(self)
    }
    #[inline(always)]
    fn from_byte(x: u8) -> f32 {
        f32::from(x)
    }
    #[inline(always)]
    fn uniform(bits: u32) -> f32 {
        ((bits >> 8) as i32) as f32 * (1.0 / 16_777_216.0)
    }
    #[inline(always)]
    fn open_uniform(bits: u32) -> f32 {
        (((bits >> 1) as i32) as f32 + 0.5) * (1.0 / 2_147_483_648.0)
    }
    #[inline(always)]
    fn fma(self, a: f32, b: f32) -> f32 {
        self.mul_add(a, b)
    }
    #[inline(always)]
    fn abs(self) -> f32 {
        f32::abs(self)
    }
    #[inline(always)]
    fn sqrt(self) -> f32 {
        f32::sqrt(self)
    }
    #[inline(always)]
    fn exp(self) -> f32 {
        exp_f32(self)
    }
    #[inline(always)]
    fn log(self) -> f32 {
        log_f32(self)
    }
    #[inline(always)]
    fn log1p(self) -> f32 {
        // The rounding error of u = 1 + x is known and corrected to first order.
        let u = 1.0 + self;
        let y = log_f32(u) + (self - (u - 1.0)) / u;
        let y = if (self == -1.0) | (self == f32::INFINITY) { log_f32(u) } else { y };
        // Small arguments: the correction is the whole result.
        if u == 1.0 { self } else { y }
    }
    #[inline(always)]
    fn expm1(self) -> f32 {
        expm1_f32(self)
    }
    #[inline(always)]
    fn sin(self) -> f32 {
        elementary::sin(self)
    }
    #[inline(always)]
    fn cos(self) -> f32 {
        elementary::cos(self)
    }
    #[inline(always)]
    fn atan(self) -> f32 {
        elementary::atan(self)
    }
    #[inline(always)]
    fn pow(self, y: f32) -> f32 {
        elementary::pow(self, y)
    }
    #[inline(always)]
    fn sigmoid(self) -> f32 {
        let e = exp_below_89(-self.abs());
        let r = 1.0 / (1.0 + e);
        if self < 0.0 { e * r } else { r }
    }
    #[inline(always)]
    fn softplus(self) -> f32 {
        let e = exp_below_89(-self.abs());
        // log(1+e) = e + e²Q(e) for e in [0, 1]; Q fitted for least relative error, 8.0e-10.
        let q = polynomial(
            e,
            [
                -4.999_998_8e-1,
                3.333_269e-1,
                -2.498_858e-1,
                1.989_793_2e-1,
                -1.612_933_7e-1,
                1.246_712_5e-1,
                -8.307_411e-2,
                4.198_139_5e-2,
                -1.363_149_75e-2,
                2.072_950_8e-3,
            ],
        );
        let y = (e * e).mul_add(q, e);
        (if self > 0.0 { self } else { 0.0 }) + y
    }
    #[inline(always)]
    fn tanh(self) -> f32 {
        let x = self.abs();
        // Odd polynomial below 0.625 (error 4.1e-9), the exponential above.
        let s = x * x;
        let q = polynomial(s, [-3.333_328_4e-1, 1.333_149_1e-1, -5.374_35e-2, 2.065_058_7e-2, -5.717_045e-3]);
        let small = (s * self).mul_add(q, self);
        let large = 1.0 - 2.0 / (exp_f32(2.0 * x) + 1.0);
        let large = large.copysign(self);
        if x < 0.625 { small } else { large }
    }
    #[inline(always)]
    fn erf(self) -> f32 {
        normal::erf(self)
    }
    #[inline(always)]
    fn erfc(self) -> f32 {
        normal::erfc(self)
    }
    #[inline(always)]
    fn log_normal_cdf(self) -> f32 {
        normal::log_normal_cdf(self)
    }
    #[inline(always)]
    fn inverse_mills(self) -> f32 {
        normal::inverse_mills(self)
    }
    #[inline(always)]
    fn lgamma(self) -> f32 {
        gamma::lgamma_f32(self)
    }
    #[inline(always)]
    fn polygamma(self, order: u32) -> f32 {
        match order {
            0 => gamma::digamma::<f32, 4>(self),
            _ => gamma::polygamma::<f32, 4>(order, self),
        }
    }
    #[inline(always)]
    fn cos_sin_turns(self) -> (f32, f32) {
        // Quarter turns q and the rest r in [-1/8, 1/8].
        const ROUND: f32 = 12_582_912.0;
        let shifted = self.mul_add(4.0, ROUND);
        let q = shifted.to_bits();
        let r = (shifted - ROUND).mul_add(-0.25, self);
        let s = r * r;
        // The first coefficient of the fit is 2π to the last place of f32.
        let sine = r * polynomial(s, [std::f32::consts::TAU, -41.341_45, 81.555_42, -73.791_29]);
        let cosine = polynomial(s, [1.0, -19.739_209, 64.939_316, -85.442_85, 59.220_407]);
        let (c, d) = if q & 1 == 0 { (cosine, sine) } else { (sine, cosine) };
        let negate = |flip: bool, x: f32| if flip { -x } else { x };
        (negate((q.wrapping_add(1)) & 2 != 0, c), negate(q & 2 != 0, d))
    }
}

impl Real for f64 {
    #[inline(always)]
    fn from_f64(x: f64) -> f64 {
        x
    }
    #[inline(always)]
    fn to_f64(self) -> f64 {
        self
    }
    #[inline(always)]
    fn from_byte(x: u8) -> f64 {
        f64::from(x)
    }
    #[inline(always)]
    fn uniform(bits: u32) -> f64 {
        f64::from(f32::uniform(bits))
    }
    #[inline(always)]
    fn open_uniform(bits: u32) -> f64 {
        f64::from(f32::open_uniform(bits))
    }
    #[inline(always)]
    fn fma(self, a: f64, b: f64) -> f64 {
        self.mul_add(a, b)
    }
    #[inline(always)]
    fn abs(self) -> f64 {
        f64::abs(self)
    }
    #[inline(always)]
    fn sqrt(self) -> f64 {
        f64::sqrt(self)
    }
    #[inline(always)]
    fn exp(self) -> f64 {
        double::exp(self)
    }
    #[inline(always)]
    fn log(self) -> f64 {
        double::log(self)
    }
    #[inline(always)]
    fn log1p(self) -> f64 {
        double::log1p(self)
    }
    #[inline(always)]
    fn expm1(self) -> f64 {
        double::expm1(self)
    }
    #[inline(always)]
    fn sin(self) -> f64 {
        f64::sin(self)
    }
    #[inline(always)]
    fn cos(self) -> f64 {
        f64::cos(self)
    }
    #[inline(always)]
    fn atan(self) -> f64 {
        f64::atan(self)
    }
    #[inline(always)]
    fn pow(self, y: f64) -> f64 {
        if (self >= 0.0) | (y == 0.0) { f64::abs(self).powf(y) } else { f64::NAN }
    }
    #[inline(always)]
    fn sigmoid(self) -> f64 {
        double::sigmoid(self)
    }
    #[inline(always)]
    fn softplus(self) -> f64 {
        double::softplus(self)
    }
    #[inline(always)]
    fn tanh(self) -> f64 {
        double::tanh(self)
    }
    #[inline(always)]
    fn erf(self) -> f64 {
        normal::erf(self)
    }
    #[inline(always)]
    fn erfc(self) -> f64 {
        normal::erfc(self)
    }
    #[inline(always)]
    fn log_normal_cdf(self) -> f64 {
        normal::log_normal_cdf(self)
    }
    #[inline(always)]
    fn inverse_mills(self) -> f64 {
        normal::inverse_mills(self)
    }
    #[inline(always)]
    fn lgamma(self) -> f64 {
        gamma::lgamma_f64(self)
    }
    #[inline(always)]
    fn polygamma(self, order: u32) -> f64 {
        match order {
            0 => gamma::digamma::<f64, 8>(self),
            _ => gamma::polygamma::<f64, 8>(order, self),
        }
    }
    #[inline(always)]
    fn cos_sin_turns(self) -> (f64, f64) {
        let angle = self * std::f64::consts::TAU;
        (angle.cos(), angle.sin())
    }
}
