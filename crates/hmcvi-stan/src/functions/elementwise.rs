//! List the functions of numbers, each as a formula of expressions and, where it is short, of numbers.

use std::collections::HashMap;
use std::sync::LazyLock;

use hmcvi_graph::{Expr, Graph};
use libm::{erf, erfc, lgamma};

use super::special::{
    bessel, bessel_falling, bessel_falling_number, first_passage, inv_phi_of, inv_phi_of_log, lambert,
    lambert_lower, log_bessel, log_bessel_number,
};

/// A function of numbers, element by element.
pub(crate) struct MapFn {
    pub(crate) name: &'static str,
    pub(crate) arity: usize,
    number: Option<fn(&[f64]) -> f64>,
    pub(crate) expr: Option<Formula>,
    pub(crate) gives_int: bool,
}

/// A function of expressions.
pub(crate) type Formula = for<'g> fn(&[Expr<'g>]) -> Expr<'g>;

impl MapFn {
    /// The function of known numbers; where there is no formula of numbers, that of expressions is computed.
    pub(crate) fn eval(&self, x: &[f64]) -> f64 {
        match (self.number, self.expr) {
            (Some(f), _) => f(x),
            (None, Some(f)) => {
                let graph = Graph::new();
                let arguments: Vec<Expr<'_>> = x.iter().map(|x| graph.constant(*x)).collect();
                f(&arguments).known().map_or(f64::NAN, |values| values[0])
            }
            (None, None) => f64::NAN,
        }
    }
}

/// The place of a function in the table.
pub(crate) fn find(name: &str) -> Option<u16> {
    static PLACES: LazyLock<HashMap<&'static str, u16>> =
        LazyLock::new(|| MAPS.iter().enumerate().map(|(i, f)| (f.name, i as u16)).collect());
    PLACES.get(name).copied()
}

fn truth(x: bool) -> f64 {
    f64::from(u8::from(x))
}

fn log1p_exp(x: f64) -> f64 {
    if x > 0.0 { x + (-x).exp().ln_1p() } else { x.exp().ln_1p() }
}

fn log1m_exp(x: f64) -> f64 {
    if x > -std::f64::consts::LN_2 { (-x.exp_m1()).ln() } else { (-x.exp()).ln_1p() }
}

/// `log(1 - eˣ)` for `x < 0`; each side keeps its derivative finite where the other is chosen.
pub(super) fn log1m_exp_of(x: Expr<'_>) -> Expr<'_> {
    let small = x.greater(-std::f64::consts::LN_2);
    let near = -small.select(x, -1.0).expm1();
    let far = -small.select(-1.0, x).exp();
    small.select(near.log(), far.log1p())
}

/// `log(eᵃ + eᵇ)`
fn log_add<'g>(a: Expr<'g>, b: Expr<'g>) -> Expr<'g> {
    // Equal infinities have no difference.
    let d = (a - b).abs();
    a.max(b) + (-d.equal(d).select(d, 0.0)).exp().log1p()
}

fn log_add_numbers(a: f64, b: f64) -> f64 {
    let high = a.max(b);
    if high.is_infinite() { high } else { high + (-(a - b).abs()).exp().ln_1p() }
}

fn lbeta(a: f64, b: f64) -> f64 {
    lgamma(a) + lgamma(b) - lgamma(a + b)
}

/// `log Γ(n + 1) - log Γ(k + 1) - log Γ(n - k + 1)`
fn lchoose(n: f64, k: f64) -> f64 {
    lgamma(n + 1.0) - lgamma(k + 1.0) - lgamma(n - k + 1.0)
}

/// Functions with their formulas: of numbers and expressions; `formula` has one of expressions alone, `known` one of
/// numbers alone. Results are real, or integers where it says so.
macro_rules! maps {
    ($($name:ident($($x:ident),*) $kind:ident: $number:expr, $expr:expr;)*) => {
        /// All functions of numbers.
        pub(crate) static MAPS: &[MapFn] = &[$(MapFn {
            name: stringify!($name),
            arity: [$(stringify!($x)),*].len(),
            number: maps!(@number $kind [$($x),*] $number),
            expr: maps!(@expr $kind [$($x),*] $expr),
            gives_int: maps!(@int $kind),
        }),*];
    };
    (@number formula [$($x:ident),*] $number:expr) => { None };
    (@number $kind:ident [$($x:ident),*] $number:expr) => {
        Some(|all| {
            let [$($x),*] = *all else { return f64::NAN };
            $number
        })
    };
    (@expr known [$($x:ident),*] $expr:expr) => { None };
    (@expr known_int [$($x:ident),*] $expr:expr) => { None };
    (@expr $kind:ident [$($x:ident),*] $expr:expr) => {
        Some(|all| {
            let [$($x),*] = *all else { unreachable!("arguments are counted before") };
            $expr
        })
    };
    (@int int) => { true };
    (@int known_int) => { true };
    (@int $kind:ident) => { false };
}

/// Places of the first functions of the table.
pub(crate) const ADD: u16 = 0;
pub(crate) const SUB: u16 = 1;
pub(crate) const MUL: u16 = 2;
pub(crate) const DIV: u16 = 3;
pub(crate) const NEG: u16 = 4;

maps! {
    add(a, b) real: a + b, a + b;
    subtract(a, b) real: a - b, a - b;
    elt_multiply(a, b) real: a * b, a * b;
    elt_divide(a, b) real: a / b, a / b;
    minus(x) real: -x, -x;
    pow(a, b) real: a.powf(b), a.pow(b);
    logical_eq(a, b) int: truth(a == b), a.equal(b);
    logical_neq(a, b) int: truth(a != b), 1.0 - a.equal(b);
    logical_lt(a, b) int: truth(a < b), a.less(b);
    logical_lte(a, b) int: truth(a <= b), a.less_equal(b);
    logical_gt(a, b) int: truth(a > b), a.greater(b);
    logical_gte(a, b) int: truth(a >= b), a.greater_equal(b);
    logical_negation(x) int: truth(x == 0.0), x.equal(0.0);
    logical_and(a, b) int: truth(a != 0.0 && b != 0.0), (1.0 - a.equal(0.0)) * (1.0 - b.equal(0.0));
    logical_or(a, b) int: truth(a != 0.0 || b != 0.0), 1.0 - a.equal(0.0) * b.equal(0.0);
    abs(x) real: x.abs(), x.abs();
    fabs(x) real: x.abs(), x.abs();
    exp(x) real: x.exp(), x.exp();
    exp2(x) real: x.exp2(), (x * std::f64::consts::LN_2).exp();
    expm1(x) real: x.exp_m1(), x.expm1();
    log(x) real: x.ln(), x.log();
    log2(x) real: x.log2(), x.log() * std::f64::consts::LOG2_E;
    log10(x) real: x.log10(), x.log() * std::f64::consts::LOG10_E;
    log1p(x) real: x.ln_1p(), x.log1p();
    log1m(x) real: (-x).ln_1p(), (-x).log1p();
    log1p_exp(x) real: log1p_exp(x), x.softplus();
    log1m_exp(x) real: log1m_exp(x), log1m_exp_of(x);
    log1m_inv_logit(x) real: -log1p_exp(x), (-x).log_sigmoid();
    log_inv_logit(x) real: -log1p_exp(-x), x.log_sigmoid();
    inv_logit(x) real: 1.0 / (1.0 + (-x).exp()), x.sigmoid();
    logit(x) real: (x / (1.0 - x)).ln(), x.log() - (-x).log1p();
    inv_cloglog(x) real: -(-x.exp()).exp_m1(), -(-x.exp()).expm1();
    cloglog(x) real: (-(-x).ln_1p()).ln(), (-(-x).log1p()).log();
    sqrt(x) real: x.sqrt(), x.sqrt();
    cbrt(x) real: x.cbrt(), x.less(0.0).select(-(-x.less(0.0).select(x, -1.0)).pow(1.0 / 3.0), x.less(0.0).select(1.0, x).pow(1.0 / 3.0));
    square(x) real: x * x, x.square();
    inv(x) real: 1.0 / x, x.reciprocal();
    inv_sqrt(x) real: 1.0 / x.sqrt(), x.sqrt().reciprocal();
    inv_square(x) real: 1.0 / (x * x), x.square().reciprocal();
    sin(x) real: x.sin(), x.sin();
    cos(x) real: x.cos(), x.cos();
    tan(x) real: x.tan(), x.sin() / x.cos();
    asin(x) real: x.asin(), (x / (1.0 - x.square()).sqrt()).atan();
    acos(x) real: x.acos(), std::f64::consts::FRAC_PI_2 - (x / (1.0 - x.square()).sqrt()).atan();
    atan(x) real: x.atan(), x.atan();
    sinh(x) real: x.sinh(), 0.5 * (x.expm1() - (-x).expm1());
    cosh(x) real: x.cosh(), 0.5 * (x.exp() + (-x).exp());
    tanh(x) real: x.tanh(), x.tanh();
    asinh(x) real: x.asinh(), x.less(0.0).select(-1.0, 1.0) * (x.abs() + (x.square() + 1.0).sqrt()).log();
    acosh(x) real: x.acosh(), (x + (x.square() - 1.0).sqrt()).log();
    atanh(x) real: x.atanh(), 0.5 * (x.log1p() - (-x).log1p());
    atan2(y, x) real: y.atan2(x), 2.0 * (y / ((x.square() + y.square()).sqrt() + x)).atan();
    hypot(a, b) real: a.hypot(b), (a.square() + b.square()).sqrt();
    erf(x) real: erf(x), x.erf();
    erfc(x) real: erfc(x), x.erfc();
    Phi(x) real: 0.5 * erfc(-x * std::f64::consts::FRAC_1_SQRT_2), x.normal_cdf();
    Phi_approx(x) real: 1.0 / (1.0 + (-x * (0.07056 * x * x + 1.5976)).exp()), (x * (x.square() * 0.07056 + 1.5976)).sigmoid();
    std_normal_log_cdf(x) formula: 0.0, x.log_normal_cdf();
    inv_Phi(x) real: super::known::inv_phi(x), inv_phi_of(x);
    std_normal_qf(x) real: super::known::inv_phi(x), inv_phi_of(x);
    std_normal_log_qf(x) formula: 0.0, inv_phi_of_log(x);
    inv_erfc(x) real: -super::known::inv_phi(0.5 * x) * std::f64::consts::FRAC_1_SQRT_2, inv_phi_of(x * 0.5) * -std::f64::consts::FRAC_1_SQRT_2;
    lambert_w0(x) formula: 0.0, lambert(x);
    lambert_wm1(x) formula: 0.0, lambert_lower(x);
    lgamma(x) real: lgamma(x), x.lgamma();
    tgamma(x) real: libm::tgamma(x), x.lgamma().exp();
    digamma(x) formula: 0.0, x.digamma();
    trigamma(x) formula: 0.0, x.polygamma(1);
    lbeta(a, b) real: lbeta(a, b), a.lgamma() + b.lgamma() - (a + b).lgamma();
    beta(a, b) real: lbeta(a, b).exp(), (a.lgamma() + b.lgamma() - (a + b).lgamma()).exp();
    lchoose(n, k) real: lchoose(n, k), (n + 1.0).lgamma() - (k + 1.0).lgamma() - (n - k + 1.0).lgamma();
    binomial_coefficient_log(n, k) real: lchoose(n, k), (n + 1.0).lgamma() - (k + 1.0).lgamma() - (n - k + 1.0).lgamma();
    choose(n, k) known_int: lchoose(n, k).exp().round(), 0.0;
    log_falling_factorial(x, n) real: lgamma(x + 1.0) - lgamma(x - n + 1.0), (x + 1.0).lgamma() - (x - n + 1.0).lgamma();
    log_rising_factorial(x, n) real: lgamma(x + n) - lgamma(x), (x + n).lgamma() - x.lgamma();
    falling_factorial(x, n) real: (lgamma(x + 1.0) - lgamma(x - n + 1.0)).exp(), ((x + 1.0).lgamma() - (x - n + 1.0).lgamma()).exp();
    rising_factorial(x, n) real: (lgamma(x + n) - lgamma(x)).exp(), ((x + n).lgamma() - x.lgamma()).exp();
    multiply_log(a, b) real: if a == 0.0 && b == 0.0 { 0.0 } else { a * b.ln() }, a * (a.abs() + b.abs()).select(b, 1.0).log();
    lmultiply(a, b) real: if a == 0.0 && b == 0.0 { 0.0 } else { a * b.ln() }, a * (a.abs() + b.abs()).select(b, 1.0).log();
    binary_log_loss(y, p) real: if y == 0.0 { -(-p).ln_1p() } else { -p.ln() }, y.equal(0.0).select(-(-p).log1p(), -p.log());
    modified_bessel_first_kind(v, x) real: log_bessel_number(v, x).exp(), log_bessel(v, x).exp();
    log_modified_bessel_first_kind(v, x) real: log_bessel_number(v, x), log_bessel(v, x);
    modified_bessel_second_kind(v, x) real: bessel_falling_number(v, x), bessel_falling(v, x);
    bessel_first_kind(n, x) real: libm::jn(n as i32, x), bessel(n, x);
    bessel_second_kind(n, x) known: libm::yn(n as i32, x), 0.0;
    wiener_of_one(y, a, t, b, d) formula: 0.0, first_passage(y, a, t, b, d);
    ldexp(x, n) real: x * n.exp2(), x * (n * std::f64::consts::LN_2).exp();
    fmin(a, b) real: a.min(b), a.min(b);
    fmax(a, b) real: a.max(b), a.max(b);
    fdim(a, b) real: (a - b).max(0.0), (a - b).max(0.0);
    fma(a, b, c) real: a * b + c, a * b + c;
    fmod(a, b) known: a % b, 0.0;
    log_sum_exp_of_two(a, b) real: log_add_numbers(a, b), log_add(a, b);
    log_diff_exp(a, b) real: if a == b { f64::NEG_INFINITY } else { a + log1m_exp(b - a) }, a + log1m_exp_of(b - a);
    log_inv_logit_diff(a, b) real: a + log1m_exp(b - a) - log1p_exp(a) - log1p_exp(b), a + log1m_exp_of(b - a) - a.softplus() - b.softplus();
    log_mix(p, a, b) real: log_add_numbers(p.ln() + a, (-p).ln_1p() + b), log_add(p.log() + a, (-p).log1p() + b);
    step(x) int: truth(x >= 0.0), 1.0 - x.less(0.0);
    int_step(x) int: truth(x > 0.0), x.greater(0.0);
    is_inf(x) int: truth(x.is_infinite()), x.abs().equal(f64::INFINITY);
    is_nan(x) int: truth(x.is_nan()), 1.0 - x.equal(x);
    floor(x) known: x.floor(), 0.0;
    ceil(x) known: x.ceil(), 0.0;
    round(x) known: x.round(), 0.0;
    trunc(x) known: x.trunc(), 0.0;
    to_int(x) known_int: x.trunc(), 0.0;
}
