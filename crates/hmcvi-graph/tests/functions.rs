//! Check functions of the normal distribution, of angles and of powers against tabulated values, in both precisions.
#![allow(missing_docs, reason = "tests are named for what they guard")]

mod common;

use common::{Draws, Point, assert_close, evaluate};
use hmcvi_graph::{CpuOptions, Expr, Graph, Real, Run, Shape, Store};

/// `x`, then `erf x`, `erfc x`, `log Φ(x)` and `φ(x)/Φ(x)`, by mpmath with 60 digits: `erf(x)`, `erfc(x)`,
/// `log(erfc(-x/sqrt(2))/2)` (`log1p(-erfc(x/sqrt(2))/2)` from 0 on) and `exp(-x*x/2 - log Φ)/sqrt(2*pi)`.
#[rustfmt::skip]
const NORMAL: [(f64, [f64; 4]); 25] = [
    (-1000000.0, [-1.0, 2.0, -500000000014.73444, 1000000.000001]),
    (-300.0, [-1.0, 2.0, -45006.62273211866, 300.0033332592634]),
    (-40.0, [-1.0, 2.0, -804.6084420137538, 40.02496884720726]),
    (-37.5, [-1.0, 2.0, -707.6689893175072, 37.526628874883656]),
    (-12.0, [-1.0, 2.0, -75.4106730015688, 12.082214175254284]),
    (-5.5, [-0.9999999999999927, 1.9999999999999927, -17.77937635262526, 5.671410313897305]),
    (-2.0, [-0.9953222650189527, 1.9953222650189528, -3.783184333682032, 2.373215532822841]),
    (-1.0, [-0.8427007929497149, 1.8427007929497148, -1.8410216450092636, 1.525135276160981]),
    (-0.5, [-0.5204998778130465, 1.5204998778130465, -1.1759117615936185, 1.1410777703680646]),
    (-0.25, [-0.27632639016823696, 1.276326390168237, -0.9130617648111351, 0.9635539794164039]),
    (-0.001, [-0.0011283787909692365, 1.0011283787909693, -0.6939453834669652, 0.7985212895629114]),
    (-1e-12, [-1.1283791670955126e-12, 1.0000000000011284, -0.6931471805607432, 0.797884560803502]),
    (0.0, [0.0, 1.0, -std::f64::consts::LN_2, 0.7978845608028654]),
    (1e-08, [1.1283791670955126e-08, 0.9999999887162083, -0.6931471725810997, 0.7978845544366676]),
    (0.3, [0.3286267594591274, 0.6713732405408726, -0.4814101615884812, 0.6172208536127345]),
    (0.49999, [0.5204910899433182, 0.4795089100566818, -0.36895150691868606, 0.509165572096226]),
    (0.5, [0.5204998778130465, 0.4795001221869535, -0.3689464152886564, 0.5091604338370335]),
    (0.75, [0.7111556336535151, 0.28884436634648486, -0.25699426683836524, 0.389382056735927]),
    (1.0, [0.8427007929497149, 0.15729920705028513, -0.17275377902344988, 0.2875999709391784]),
    (2.0, [0.9953222650189527, 0.004677734981047266, -0.02301290932896349, 0.055247862678989956]),
    (3.5, [0.9999992569016276, 7.430983723414128e-07, -0.00023265614137680455, 0.000872885753654736]),
    (6.0, [1.0, 2.1519736712498913e-17, -9.865876455243758e-10, 6.075882855817676e-09]),
    (9.0, [1.0, 4.13703174651381e-37, -1.1285884059538405e-19, 1.0279773571668915e-18]),
    (26.0, [1.0, 5.663192408856143e-296, -2.4760633155033892e-149, 6.447259971397852e-148]),
    (37.0, [1.0, 0.0, -5.725571222524577e-300, 2.1200065515246056e-298]),
];

/// Base, exponent and power, by mpmath's `mpf(x)**mpf(y)` with 40 digits.
const POWERS: [(f64, f64, f64); 10] = [
    (0.001, 2.5, 3.162277660168379e-08),
    (0.5, -3.3, 9.849155306759329),
    (0.9999, 10000.0, 0.36786104643297046),
    (1.5, 150.25, 2.8688753114000966e+26),
    (2.0, -100.5, 5.578088954947358e-31),
    (3.7, 0.1, 1.1397777439653138),
    (10.0, 30.5, 3.1622776601683795e+30),
    (1e-30, 1.2, 1.0000000000000031e-36),
    (123.456, -7.7, 7.858796579754891e-17),
    (100000000.0, -1.0, 1e-08),
];

type Function<T> = fn(T) -> T;

fn normal<T: Real>() -> [Function<T>; 4] {
    [T::erf, T::erfc, T::log_normal_cdf, T::inverse_mills]
}

#[test]
fn normal_functions_in_f64_have_their_tabulated_values() {
    for (x, row) in NORMAL {
        for (i, (function, expected)) in normal::<f64>().into_iter().zip(row).enumerate() {
            let found = function(x);
            // Below the normal numbers there are fewer digits.
            let error = (found - expected).abs() / expected.abs().max(f64::MIN_POSITIVE);
            assert!(error < 2e-15, "function {i} of {x} is {found:e}, not {expected:e}: error {error:e}");
        }
    }
}

/// As a probit likelihood needs them: far out, the logarithm and its first two derivatives are still right.
#[test]
fn tails_of_log_normal_cdf_have_exact_derivatives() {
    let graph = Graph::new();
    let mut point = Point::new(3);
    let x = point.input(&graph, "x", Shape::batch(1), vec![-40.0, -37.5, -12.0]);
    let y = x.log_normal_cdf();
    let first = graph.row_grad(y, x);
    let second = graph.row_grad(first, x);
    let found = evaluate(&[y, first, second], &point);
    // The second derivative is -h(x + h), by mpmath with 60 digits.
    let expected = [
        [-804.6084420137538, -707.6689893175072, -75.4106730015688],
        [40.02496884720726, 37.526628874883656, 12.082214175254284],
        [-0.9993773316214086, -0.9992919051145792, -0.9933292736641541],
    ];
    for (i, (found, expected)) in found.iter().zip(expected).enumerate() {
        for (found, expected) in found.iter().zip(expected) {
            // x + h has lost the digits that h shares with -x: 40/0.025 units of rounding.
            let limit = [1e-15, 1e-15, 2e-12][i];
            let error = (found - expected).abs() / expected.abs();
            assert!(error < limit, "derivative {i}: {found:e}, not {expected:e}: error {error:e}");
        }
    }
}

#[test]
fn powers_have_their_tabulated_values() {
    for (x, y, expected) in POWERS {
        let found = Real::pow(x, y);
        assert!((found / expected - 1.0).abs() < 1e-15, "{x}^{y} is {found:e}, not {expected:e}");
    }
}

/// Error of an f32 result in units of its last place.
fn ulps(found: f32, expected: f64) -> f64 {
    let nearest = expected as f32;
    if nearest.is_infinite() || expected.is_nan() {
        return if found == nearest || (found.is_nan() && expected.is_nan()) { 0.0 } else { f64::INFINITY };
    }
    let exponent = ((nearest.to_bits() >> 23) & 0xff).max(1) as i32;
    let error = (f64::from(found) - expected).abs() / 2f64.powi(exponent - 150);
    if error.is_nan() { f64::INFINITY } else { error }
}

/// Distance between the bit patterns that a sweep visits: a prime, so that all low bits occur.
const STRIDE: usize = 1009;

/// Requires the largest error of a function in f32 over all arguments inside to stay below a limit.
#[track_caller]
fn check_f32(inside: fn(f32) -> bool, found: Function<f32>, expected: Function<f64>, limit: f64) {
    let (mut worst, mut at) = (0.0, 0.0);
    let arguments = (0..=u32::MAX).step_by(STRIDE).map(f32::from_bits);
    for x in arguments.filter(|x| !x.is_nan() && inside(*x)) {
        let error = ulps(found(x), expected(x.into()));
        if error > worst {
            (worst, at) = (error, x);
        }
    }
    assert!(worst <= limit, "error {worst} ulp at {at:e}: {:e}", found(at));
    assert!(worst > 0.4, "a rounded result is off by up to half a unit: nothing was measured");
}

// Each limit is the largest error that was measured, rounded up.

#[test]
fn normal_functions_in_f32_are_accurate() {
    check_f32(|_| true, Real::erf, Real::erf, 2.4);
    check_f32(|_| true, Real::erfc, Real::erfc, 4.3);
    // Squares beyond the largest number are infinite.
    check_f32(|x| x.abs() < 1e18, Real::log_normal_cdf, Real::log_normal_cdf, 6.0);
    check_f32(|x| x.abs() < 1e37, Real::inverse_mills, Real::inverse_mills, 6.0);
}

#[test]
fn elementary_functions_in_f32_are_accurate() {
    check_f32(|x| x.abs() <= 1e15, Real::sin, f64::sin, 0.56);
    check_f32(|x| x.abs() <= 1e15, Real::cos, f64::cos, 0.53);
    check_f32(|_| true, Real::atan, f64::atan, 1.8);
    check_f32(|_| true, Real::expm1, f64::exp_m1, 1.35);
}

#[test]
fn powers_in_f32_are_accurate() {
    let mut draws = Draws(7);
    let mut worst: f64 = 0.0;
    for _ in 0..2_000_000 {
        // Bases of all sizes, and exponents that lead to results of all sizes.
        let x = draws.uniform(-87.0, 88.0).exp() as f32;
        let y = (draws.uniform(-104.0, 89.0) / f64::from(x).ln()) as f32;
        let expected = f64::from(x).powf(y.into());
        let error = ulps(Real::pow(x, y), expected);
        assert!(error.is_finite(), "{x:e}^{y:e} is {:e}, not {expected:e}", Real::pow(x, y));
        worst = worst.max(error);
    }
    assert!(worst > 0.4 && worst < 0.51, "{worst} ulp");
}

fn check_special_values<T: Real>() {
    let (inf, nan) = (f64::INFINITY, f64::NAN);
    let check = |what: &str, found: T, expected: f64| {
        let found = found.to_f64();
        let same = found == expected || (found.is_nan() && expected.is_nan());
        assert!(same, "{what} is {found}, not {expected}");
    };
    let number = T::from_f64;
    // Results at 0, ∞, -∞ and NaN.
    let table: [(&str, Function<T>, [f64; 4]); 8] = [
        ("erf", T::erf, [0.0, 1.0, -1.0, nan]),
        ("erfc", T::erfc, [1.0, 0.0, 2.0, nan]),
        ("log Φ", T::log_normal_cdf, [number(-std::f64::consts::LN_2).to_f64(), 0.0, -inf, nan]),
        ("φ/Φ", T::inverse_mills, [number((2.0 / std::f64::consts::PI).sqrt()).to_f64(), 0.0, inf, nan]),
        ("sin", T::sin, [0.0, nan, nan, nan]),
        ("cos", T::cos, [1.0, nan, nan, nan]),
        ("expm1", T::expm1, [0.0, inf, -1.0, nan]),
        ("exp", T::exp, [1.0, inf, 0.0, nan]),
    ];
    for (name, function, row) in table {
        for (x, expected) in [0.0, inf, -inf, nan].into_iter().zip(row) {
            check(&format!("{name}({x})"), function(number(x)), expected);
        }
    }
    let half_pi = number(std::f64::consts::FRAC_PI_2).to_f64();
    check("atan(∞)", number(inf).atan(), half_pi);
    check("atan(-∞)", number(-inf).atan(), -half_pi);
    for (x, y, expected) in [
        (0.0, 2.0, 0.0),
        (0.0, -2.5, inf),
        (0.0, 0.0, 1.0),
        (inf, 0.5, inf),
        (inf, -0.5, 0.0),
        (0.5, inf, 0.0),
        (2.0, inf, inf),
        (2.0, -inf, 0.0),
        (1.0, inf, 1.0),
        (nan, 0.0, 1.0),
        (nan, 1.0, nan),
        (2.0, nan, nan),
        (-2.0, 2.0, nan),
        (-2.0, 0.0, 1.0),
        (-0.0, -1.0, inf),
    ] {
        check(&format!("{x}^{y}"), number(x).pow(number(y)), expected);
    }
}

#[test]
fn special_values_in_f32() {
    check_special_values::<f32>();
}

#[test]
fn special_values_in_f64() {
    check_special_values::<f64>();
}

fn functions<'g>(x: Expr<'g>, y: Expr<'g>) -> [Expr<'g>; 9] {
    let (erf, erfc, log_cdf, mills) = (x.erf(), x.erfc(), x.log_normal_cdf(), x.inverse_mills());
    [erf, erfc, log_cdf, mills, x.sin(), x.cos(), x.expm1(), x.atan(), y.pow(x)]
}

fn check_programs<T: Real>(bits: fn(T) -> u64) {
    let (rows, cols) = (131, 7);
    let mut draws = Draws(11);
    let mut values: Vec<T> = draws.vector(rows * cols, -12.0, 12.0).into_iter().map(T::from_f64).collect();
    let bases: Vec<T> = draws.vector(rows * cols, 0.0, 5.0).into_iter().map(T::from_f64).collect();
    // What is not a number must not disturb its neighbours.
    for (i, special) in [0.0, f64::NEG_INFINITY, f64::NAN, f64::INFINITY].into_iter().enumerate() {
        values[100 * i + 3] = T::from_f64(special);
    }
    let graph = Graph::new();
    let (x, y) = (graph.batch_input("x", cols), graph.batch_input("y", cols));
    let mut program = graph.program();
    for (i, value) in functions(x, y).into_iter().enumerate() {
        program = program.output(&format!("{i}"), value);
    }
    let mut executable = program.compile().expect("well formed").on_cpu::<T>(CpuOptions::for_rows(rows));
    let run = Run { rows, inputs: &[("x", &values), ("y", &bases)], ..Run::default() };
    executable.run(&mut Store::new(), &run).expect("everything is given");
    let single: [Function<T>; 8] =
        [T::erf, T::erfc, T::log_normal_cdf, T::inverse_mills, T::sin, T::cos, T::expm1, T::atan];
    for i in 0..9 {
        let found = executable.output(&format!("{i}")).expect("an output");
        for ((x, y), found) in values.iter().zip(&bases).zip(found) {
            let expected = single.get(i).map_or_else(|| y.pow(*x), |f| f(*x));
            let same =
                bits(*found) == bits(expected) || (found.to_f64().is_nan() && expected.to_f64().is_nan());
            assert!(same, "function {i} of {x} is {found} in a program, {expected} by itself");
        }
    }
}

#[test]
fn programs_compute_the_same_bits_as_the_functions_in_f32() {
    check_programs::<f32>(|x| x.to_bits().into());
}

#[test]
fn programs_compute_the_same_bits_as_the_functions_in_f64() {
    check_programs::<f64>(f64::to_bits);
}

#[test]
fn powers_with_known_exponents_are_simple() {
    let graph = Graph::new();
    let mut point = Point::new(4);
    let x = point.input(&graph, "x", Shape::batch(1), vec![-1.5, -0.5, 0.5, 2.0]);
    assert_eq!(x.powf(2.0), x.square());
    assert_eq!(x.pow(1.0), x);
    assert_eq!(x.powf(0.5), x.sqrt());
    assert_eq!(x.powi(0), graph.constant(1.0).broadcast_to(x.shape()));
    let found = evaluate(&[x.powi(5), x.powf(-3.0), x.pow(6.0)], &point);
    for (found, n) in found.iter().zip([5, -3, 6]) {
        let expected = [-1.5, -0.5, 0.5, 2.0].map(|x: f64| x.powi(n));
        assert_close(&format!("power {n}"), found, &expected, 1e-14);
    }
    // d/dx xⁿ = n xⁿ⁻¹, for negative x, too.
    let slope = evaluate(&[graph.row_grad(x.powi(5), x), graph.row_grad(x.powi(-3), x)], &point);
    assert_close("slope", &slope[0], &[-1.5, -0.5, 0.5, 2.0].map(|x: f64| 5.0 * x.powi(4)), 1e-14);
    assert_close("slope", &slope[1], &[-1.5, -0.5, 0.5, 2.0].map(|x: f64| -3.0 * x.powi(-4)), 1e-14);
}
