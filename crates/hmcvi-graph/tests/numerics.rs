//! Measure the f32 functions against f64 over all of their domain, and the distribution of random draws.
#![allow(missing_docs, reason = "tests are named for what they guard")]

mod common;

use common::{Draws, Point, evaluate};
use hmcvi_graph::random::{self, Key};
use hmcvi_graph::{CpuOptions, Expr, Graph, Real, Run, Shape, Store};

/// Distance between the bit patterns that a sweep visits: a prime, so that all low bits occur, and
/// about 11 million arguments in all (5 million for the functions of positive numbers).
const STRIDE: usize = 401;

/// Every `STRIDE`-th number of all bit patterns, and the neighbourhood of some.
fn sweep(centres: &'static [f32]) -> impl Iterator<Item = f32> {
    let near = |x: &f32| {
        let bits = x.to_bits();
        (bits.saturating_sub(2000)..bits.saturating_add(2000)).map(f32::from_bits)
    };
    (0..=u32::MAX)
        .step_by(STRIDE)
        .map(f32::from_bits)
        .chain(centres.iter().flat_map(near))
        .filter(|x| !x.is_nan())
}

/// Error of an f32 result in units of its last place. Below the normal numbers the unit is the
/// smallest number there is.
fn ulps(found: f32, expected: f64) -> f64 {
    let nearest = expected as f32;
    if nearest.is_infinite() || expected.is_nan() {
        let same = found == nearest || (found.is_nan() && expected.is_nan());
        // The largest number is a unit away from infinity.
        let almost = nearest.is_infinite() && found == f32::MAX.copysign(nearest);
        return if same {
            0.0
        } else if almost {
            1.0
        } else {
            f64::INFINITY
        };
    }
    let exponent = ((nearest.to_bits() >> 23) & 0xff).max(1) as i32;
    let unit = 2f64.powi(exponent - 127 - 23);
    let error = (f64::from(found) - expected).abs() / unit;
    // Not-a-number is an error without bounds.
    if error.is_nan() { f64::INFINITY } else { error }
}

/// Requires the largest error of a function over a sweep to stay below the limit.
#[track_caller]
fn check_function(
    centres: &'static [f32],
    inside: impl Fn(f32) -> bool,
    found: fn(f32) -> f32,
    expected: fn(f64) -> f64,
    limit: f64,
) {
    let (mut worst, mut at) = (0.0, 0.0);
    for x in sweep(centres).filter(|x| inside(*x)) {
        let error = ulps(found(x), expected(x.into()));
        if error > worst {
            (worst, at) = (error, x);
        }
    }
    assert!(limit <= 4.0 && worst <= limit, "error {worst} ulp at {at:e}: {:e}", found(at));
    assert!(worst > 0.4, "a rounded result is off by up to half a unit: nothing was measured");
}

// Each limit is the largest error that was measured, rounded up. It was measured with a stride of 7
// (600 million arguments) for exp, log, log1p and sigmoid, of 13 for softplus, of 257 for tanh. The functions
// are written with fused multiply-adds, which give the same bits on every machine.

#[test]
fn exp_is_accurate() {
    // 1.0039 at -48.865627
    check_function(&[0.0, 88.72, -87.33, -103.97], |_| true, Real::exp, f64::exp, 1.01);
}

#[test]
fn log_is_accurate() {
    // 0.8214 at 5.133e-40
    check_function(&[1.0, f32::MIN_POSITIVE], |x| x > 0.0, Real::log, f64::ln, 0.83);
}

#[test]
fn log1p_is_accurate() {
    // 1.4375 at -8.9406996e-8
    check_function(&[-1.0, 1.0, 6e-8, -6e-8], |x| x > -1.0, Real::log1p, f64::ln_1p, 1.45);
}

#[test]
fn sigmoid_is_accurate() {
    let expected = |x: f64| if x < 0.0 { x.exp() / (1.0 + x.exp()) } else { 1.0 / (1.0 + (-x).exp()) };
    // 2.7534 at -1.9701892
    check_function(&[0.0, -87.33, -103.97, 17.0], |_| true, Real::sigmoid, expected, 2.8);
}

#[test]
fn softplus_is_accurate() {
    let expected = |x: f64| x.max(0.0) + (-x.abs()).exp().ln_1p();
    // 2.0859 at 0.011817722
    check_function(&[0.0, -87.33, -103.97, 17.0], |_| true, Real::softplus, expected, 2.1);
}

#[test]
fn tanh_is_accurate() {
    // 1.3072 at -0.6365136
    check_function(&[0.625, -0.625, 9.0], |_| true, Real::tanh, f64::tanh, 1.4);
}

#[test]
fn special_values_in_f32() {
    check_special_values::<f32>();
}

#[test]
fn special_values_in_f64() {
    check_special_values::<f64>();
}

fn check_special_values<T: Real>() {
    let (inf, nan, half) = (f64::INFINITY, f64::NAN, 0.5);
    let log_2 = T::from_f64(2.0).log().to_f64();
    type Row<T> = (&'static str, fn(T) -> T, [f64; 6]);
    // Results at 0, -0, ∞, -∞, not-a-number and -2.
    let at_minus_2 = |f: fn(T) -> T| f(T::from_f64(-2.0)).to_f64();
    let table: [Row<T>; 8] = [
        ("exp", T::exp, [1.0, 1.0, inf, 0.0, nan, at_minus_2(T::exp)]),
        ("log", T::log, [-inf, -inf, inf, nan, nan, nan]),
        ("log1p", T::log1p, [0.0, -0.0, inf, nan, nan, nan]),
        ("sigmoid", T::sigmoid, [half, half, 1.0, 0.0, nan, at_minus_2(T::sigmoid)]),
        ("softplus", T::softplus, [log_2, log_2, inf, 0.0, nan, at_minus_2(T::softplus)]),
        ("tanh", T::tanh, [0.0, -0.0, 1.0, -1.0, nan, at_minus_2(T::tanh)]),
        ("sqrt", T::sqrt, [0.0, -0.0, inf, nan, nan, nan]),
        ("abs", T::abs, [0.0, 0.0, inf, inf, nan, 2.0]),
    ];
    for (name, f, expected) in table {
        for (x, expected) in [0.0, -0.0, inf, -inf, nan, -2.0].into_iter().zip(expected) {
            let found = f(T::from_f64(x)).to_f64();
            // The sign of a zero is not promised: the engine takes x + 0 for x.
            assert!(
                found == expected || (found.is_nan() && expected.is_nan()),
                "{name}({x}) = {found}, not {expected}"
            );
        }
    }
    assert_eq!(T::from_f64(-1.0).log1p().to_f64(), -inf);
    // One unit of f64 can separate log 2 computed in two ways.
    assert!((log_2 - 2f64.ln()).abs() < 1e-7);
}

/// Programs are compiled for whatever instructions the machine has; the bits stay the same.
#[test]
fn programs_compute_the_same_bits_as_the_functions() {
    type Build = for<'g> fn(Expr<'g>) -> Expr<'g>;
    type Case = (&'static str, Build, fn(f32) -> f32);
    let functions: [Case; 8] = [
        ("exp", |x| x.exp(), Real::exp),
        ("log", |x| x.log(), Real::log),
        ("log1p", |x| x.log1p(), Real::log1p),
        ("sigmoid", |x| x.sigmoid(), Real::sigmoid),
        ("softplus", |x| x.softplus(), Real::softplus),
        ("tanh", |x| x.tanh(), Real::tanh),
        ("sqrt", |x| x.sqrt(), Real::sqrt),
        ("abs", |x| x.abs(), Real::abs),
    ];
    // Every exponent and sign with some mantissas, and the special values; not a multiple of 16.
    let values: Vec<f32> = (0..u32::MAX).step_by(1_048_583).map(f32::from_bits).collect();
    let graph = Graph::new();
    let mut point = Point::new(values.len());
    let x = point.input(&graph, "x", Shape::batch(1), values.clone());
    let found = evaluate(&functions.map(|(_, build, _)| build(x)), &point);
    for ((name, _, f), found) in functions.iter().zip(found) {
        for (x, found) in values.iter().zip(found) {
            let expected = f(*x);
            let same = found.to_bits() == expected.to_bits() || (found.is_nan() && expected.is_nan());
            assert!(same, "{name}({x:e}) is {found:e} in a program, {expected:e} as a function");
        }
    }
}

#[test]
fn minimum_and_maximum_pass_on_what_is_not_a_number() {
    let graph = Graph::new();
    let mut point = Point::new(3);
    let x = point.input(&graph, "x", Shape::batch(1), vec![f32::NAN, 1.0, 2.0]);
    let y = point.input(&graph, "y", Shape::batch(1), vec![0.0, f32::NAN, 3.0]);
    let found = evaluate(&[x.min(y), x.max(y), x.is_finite()], &point);
    assert!(found[0][..2].iter().chain(&found[1][..2]).all(|v| v.is_nan()), "{found:?}");
    assert_eq!([found[0][2], found[1][2]], [2.0, 3.0]);
    assert_eq!(found[2], [0.0, 1.0, 1.0]);
}

/// Number of draws in the statistics, and rows and columns they are drawn as. The columns are no
/// multiple of the 32 that are drawn together.
const ROWS: usize = 2500;
const COLS: usize = 401;
const COUNT: usize = ROWS * COLS;

type Fill<T> = fn(Key, &mut [T]);

fn draws<T: Real>(fill: Fill<T>, key: Key) -> Vec<f64> {
    let mut all = vec![T::default(); COUNT];
    for (row, values) in all.chunks_mut(COLS).enumerate() {
        fill(Key { row: key.row + row as u32, ..key }, values);
    }
    all.into_iter().map(T::to_f64).collect()
}

const KEY: Key = Key { seed: 2026, stream: 3, step: 17, row: 0 };

fn mean(values: impl Iterator<Item = f64>) -> f64 {
    let (sum, count) = values.fold((0.0, 0.0), |(sum, count), x| (sum + x, count + 1.0));
    sum / count
}

/// Requires a statistic of `n` draws to be within four standard errors `√(variance / n)` of its
/// expectation. One in 16,000 true statistics is further away.
#[track_caller]
fn within_four_errors(what: &str, found: f64, expected: f64, variance: f64, n: usize) {
    let limit = 4.0 * (variance / n as f64).sqrt();
    assert!((found - expected).abs() <= limit, "{what} is {found}, expected {expected} ± {limit}");
}

/// Largest distance between the distribution function and the share of draws below.
fn kolmogorov(mut values: Vec<f64>, distribution: impl Fn(f64) -> f64) -> f64 {
    values.sort_unstable_by(f64::total_cmp);
    let n = values.len() as f64;
    let each = |(i, x): (usize, &f64)| {
        let p = distribution(*x);
        (p - i as f64 / n).abs().max((p - (i + 1) as f64 / n).abs())
    };
    values.iter().enumerate().map(each).fold(0.0, f64::max)
}

/// `√n D` is over 1.95 with probability `2 exp(-2·1.95²) = 0.001`.
const KOLMOGOROV: f64 = 1.95;

/// The normal distribution function. `erfc` by the continued fraction and series of Abramowitz and
/// Stegun 7.1.5 and 7.1.14, both to rounding.
fn normal_distribution(x: f64) -> f64 {
    let t = x.abs() / 2f64.sqrt();
    let erfc = if t < 2.5 {
        // erf t = 2/√π Σ (-1)ⁿ t^(2n+1) / (n! (2n+1))
        let (mut term, mut sum) = (t, t);
        for n in 1..80 {
            term *= -t * t / f64::from(n);
            sum += term / f64::from(2 * n + 1);
        }
        1.0 - sum * 2.0 / std::f64::consts::PI.sqrt()
    } else {
        // √π e^(t²) erfc t = 1 / (t + ½/(t + 1/(t + 3/2/(t + ...))))
        let fraction = (1..80).rev().fold(t, |f, n| t + 0.5 * f64::from(n) / f);
        (-t * t).exp() / (fraction * std::f64::consts::PI.sqrt())
    };
    if x > 0.0 { 1.0 - 0.5 * erfc } else { 0.5 * erfc }
}

#[test]
fn normal_distribution_function_is_right() {
    // Φ(0), Φ(1.959963984540054) = 0.975, Φ(-4) = 3.167124183311992e-5
    assert!((normal_distribution(0.0) - 0.5).abs() < 1e-15);
    assert!((normal_distribution(1.959_963_984_540_054) - 0.975).abs() < 1e-14);
    assert!((normal_distribution(-4.0) - 3.167_124_183_311_992e-5).abs() < 1e-18);
}

#[test]
fn normal_draws_are_normal() {
    let x = draws::<f32>(random::normal, KEY);
    // Moments of a normal: E x² = 1, E x³ = 0, E x⁴ = 3, E x⁶ = 15, E x⁸ = 105.
    let moment = |p: i32| mean(x.iter().map(|x| x.powi(p)));
    within_four_errors("mean", moment(1), 0.0, 1.0, COUNT);
    within_four_errors("variance", moment(2), 1.0, 3.0 - 1.0, COUNT);
    within_four_errors("skewness", moment(3), 0.0, 15.0, COUNT);
    within_four_errors("kurtosis", moment(4), 3.0, 105.0 - 9.0, COUNT);
    let distance = kolmogorov(x.clone(), normal_distribution);
    assert!(distance * (COUNT as f64).sqrt() < KOLMOGOROV, "Kolmogorov-Smirnov distance {distance}");
    // Beyond 4 there are 2·3.167e-5 of all, a count with about its own variance.
    let tail = x.iter().filter(|x| x.abs() > 4.0).count() as f64 / COUNT as f64;
    within_four_errors("tail", tail, 6.334e-5, 6.334e-5, COUNT);
}

#[test]
fn uniform_draws_are_uniform() {
    let x = draws::<f32>(random::uniform, KEY);
    assert!(x.iter().all(|x| (0.0..1.0).contains(x)));
    // Central moments: E d² = 1/12, E d³ = 0, E d⁴ = 1/80, E d⁶ = 1/448, E d⁸ = 1/2304.
    let moment = |p: i32| mean(x.iter().map(|x| (x - 0.5).powi(p)));
    within_four_errors("mean", moment(1), 0.0, 1.0 / 12.0, COUNT);
    within_four_errors("variance", moment(2), 1.0 / 12.0, 1.0 / 80.0 - 1.0 / 144.0, COUNT);
    within_four_errors("skewness", moment(3), 0.0, 1.0 / 448.0, COUNT);
    within_four_errors("kurtosis", moment(4), 1.0 / 80.0, 1.0 / 2304.0 - 1.0 / 6400.0, COUNT);
    let distance = kolmogorov(x.clone(), |x| x);
    assert!(distance * (COUNT as f64).sqrt() < KOLMOGOROV, "Kolmogorov-Smirnov distance {distance}");
}

/// Correlation of two vectors of draws, with the means and variances they should have.
fn correlation(a: &[f64], b: &[f64], mean: f64, variance: f64) -> f64 {
    let products: f64 = a.iter().zip(b).map(|(a, b)| (a - mean) * (b - mean)).sum();
    products / variance / a.len() as f64
}

#[test]
fn draws_of_different_keys_are_independent() {
    let kinds: [(Fill<f32>, f64, f64); 2] = [(random::normal, 0.0, 1.0), (random::uniform, 0.5, 1.0 / 12.0)];
    for (fill, mean, variance) in kinds {
        let x = draws::<f32>(fill, KEY);
        let squares = |x: &[f64]| -> Vec<f64> { x.iter().map(|x| (x - mean).powi(2)).collect() };
        // E (x²)² - (E x²)² of the squares: 3 - 1 for a normal, 1/80 - 1/144 for a uniform.
        let of_squares = if mean == 0.0 { 2.0 } else { 1.0 / 80.0 - 1.0 / 144.0 };
        let check = |what: &str, a: &[f64], b: &[f64]| {
            let limit = 4.0 / (a.len() as f64).sqrt();
            let found = correlation(a, b, mean, variance);
            assert!(found.abs() < limit, "correlation across {what} is {found}, over {limit}");
            let found = correlation(&squares(a), &squares(b), variance, of_squares);
            assert!(found.abs() < limit, "correlation of squares across {what} is {found}, over {limit}");
        };
        let keys = [
            ("seeds", Key { seed: KEY.seed + 1, ..KEY }),
            ("high bits of seeds", Key { seed: KEY.seed + (1 << 32), ..KEY }),
            ("streams", Key { stream: KEY.stream + 1, ..KEY }),
            ("steps", Key { step: KEY.step + 1, ..KEY }),
            ("high bits of steps", Key { step: KEY.step + (1 << 32), ..KEY }),
            ("far rows", Key { row: KEY.row + ROWS as u32, ..KEY }),
        ];
        for (what, key) in keys {
            check(what, &x, &draws::<f32>(fill, key));
        }
        check("neighbouring rows", &x[..COUNT - COLS], &x[COLS..]);
        // Columns 8 apart share a counter, and for normal draws the two of a point in the plane.
        for lag in [1, 2, 4, 8, 16, 24, 32] {
            check(&format!("columns {lag} apart"), &x[..COUNT - lag], &x[lag..]);
        }
    }
}

/// Both precisions use the same random bits.
#[test]
fn draws_agree_in_both_precisions() {
    let (narrow, wide) = (draws::<f32>(random::uniform, KEY), draws::<f64>(random::uniform, KEY));
    assert_eq!(narrow, wide);
    let (narrow, wide) = (draws::<f32>(random::normal, KEY), draws::<f64>(random::normal, KEY));
    for (narrow, wide) in narrow.iter().zip(&wide) {
        // A radius of up to 6.7 times a cosine; errors of a few units in the last place of each.
        let limit = 4.0 * f64::from(f32::EPSILON) * wide.abs().max(1.0);
        assert!((narrow - wide).abs() <= limit, "{narrow} and {wide}");
    }
}

/// Row `i` of the batch has the draws of row `row_offset + i`, in tiles and shards of any size.
fn check_programs<T: Real>() {
    let (rows, cols) = (131, 37);
    let graph = Graph::new();
    let (normal, uniform) = (graph.normal(5, cols), graph.uniform(6, cols));
    let program = graph.program().output("normal", normal).output("uniform", uniform).compile();
    let program = program.expect("the program is well formed");
    for (row_offset, step, tile_rows) in [(0, 0, 64), (1000, 3, 7), (4_294_967_000, (5 << 32) + 1, 64)] {
        let options = CpuOptions { threads: 2, tile_rows, ..CpuOptions::for_rows(rows) };
        let mut executable = program.on_cpu::<T>(options);
        let seed = 0x0123_4567_89ab_cdef;
        let run = Run { rows, seed, step, row_offset, ..Run::default() };
        executable.run(&mut Store::new(), &run).expect("nothing is missing");
        let fills: [(&str, u16, Fill<T>); 2] =
            [("normal", 5, random::normal), ("uniform", 6, random::uniform)];
        for (name, stream, fill) in fills {
            let found = executable.output(name).expect("it is an output");
            for (i, found) in found.chunks(cols).enumerate() {
                let row = u32::try_from(row_offset + i as u64).expect("rows below 2^32");
                let mut expected = vec![T::default(); cols];
                fill(Key { seed, stream, step, row }, &mut expected);
                assert_eq!(found, expected, "{name} draws of row {i}");
            }
        }
    }
}

#[test]
fn programs_draw_by_key_in_f32() {
    check_programs::<f32>();
}

#[test]
fn programs_draw_by_key_in_f64() {
    check_programs::<f64>();
}

/// The same stream with the same columns is the same draw, another stream another.
#[test]
fn streams_name_draws() {
    let graph = Graph::new();
    assert_eq!(graph.normal(1, 3), graph.normal(1, 3));
    assert_ne!(graph.normal(1, 3), graph.normal(2, 3));
    assert_ne!(graph.normal(1, 3), graph.uniform(1, 3));
    // Fewer columns are the first of more.
    let key = Key { row: Draws(1).below(100) as u32, ..KEY };
    let (mut few, mut many) = ([0f32; 5], [0f32; 70]);
    random::normal(key, &mut few);
    random::normal(key, &mut many);
    assert_eq!(few, many[..5]);
}
