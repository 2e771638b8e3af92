//! Hold the f64 functions against the standard library's over all of their domain.
#![allow(missing_docs, reason = "tests are named for what they guard")]

use hmcvi_graph::Real;

/// Distance between the bit patterns that a sweep visits: odd, so that all low bits occur; 1.5 million arguments.
const STRIDE: usize = 0x0000_0b5a_1d3f_92c7;

/// Numbers of all sizes, many of usual ones, and the neighbourhood of some.
fn sweep(centres: &'static [f64]) -> impl Iterator<Item = f64> {
    let near = |x: &f64| {
        let bits = x.to_bits();
        (bits.saturating_sub(2000)..bits.saturating_add(2000)).map(f64::from_bits)
    };
    let usual = (-2_000_000..2_000_000).map(|i| f64::from(i) * 1.234_567_891_234e-5);
    (0..=u64::MAX)
        .step_by(STRIDE)
        .map(f64::from_bits)
        .chain(usual)
        .chain(centres.iter().flat_map(near))
        .filter(|x| !x.is_nan())
}

/// Units in the last place between two numbers.
fn ulps(a: f64, b: f64) -> u64 {
    let place = |x: f64| if x < 0.0 { -((x.to_bits() & !(1 << 63)) as i64) } else { x.to_bits() as i64 };
    match (a.is_nan(), b.is_nan()) {
        (true, true) => 0,
        (false, false) => place(a).abs_diff(place(b)),
        _ => u64::MAX,
    }
}

/// Requires a function to be near another over a sweep, but not the same: then nothing was compared.
#[track_caller]
fn check(centres: &'static [f64], found: fn(f64) -> f64, expected: fn(f64) -> f64, limit: u64) {
    let error = |x: &f64| ulps(found(*x), expected(*x));
    let worst = sweep(centres).max_by_key(error).expect("arguments");
    let most = error(&worst);
    assert!(most <= limit, "{most} units at {worst:e}: {:e}, not {:e}", found(worst), expected(worst));
    assert!(most > 0);
}

// The standard library's functions are off by up to one unit themselves.

#[test]
fn exponentials_are_those_of_the_standard_library() {
    check(&[0.0, 709.78, -708.4, -745.13], Real::exp, f64::exp, 1);
    check(&[0.0, 1e-16, 709.78, -37.0, 0.35, -0.35], Real::expm1, f64::exp_m1, 2);
}

#[test]
fn logarithms_are_those_of_the_standard_library() {
    check(
        &[1.0, f64::MIN_POSITIVE, std::f64::consts::SQRT_2, std::f64::consts::FRAC_1_SQRT_2],
        Real::log,
        f64::ln,
        1,
    );
    check(&[-1.0, 1.0, 1e-16, -1e-16], Real::log1p, f64::ln_1p, 2);
}

#[test]
fn sigmoids_are_those_of_the_standard_library() {
    check(
        &[0.0],
        Real::sigmoid,
        |x| if x < 0.0 { x.exp() / (1.0 + x.exp()) } else { 1.0 / (1.0 + (-x).exp()) },
        3,
    );
    check(&[0.0, -36.0, 36.0], Real::softplus, |x| x.max(0.0) + (-x.abs()).exp().ln_1p(), 3);
    check(&[0.0, 19.0, -19.0], Real::tanh, f64::tanh, 3);
}
