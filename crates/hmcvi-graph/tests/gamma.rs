//! Check log Γ and its derivatives against tabulated values and identities, in both precisions.
#![allow(missing_docs, reason = "tests are named for what they guard")]

mod common;

use common::{Point, assert_close, evaluate};
use hmcvi_graph::{CpuOptions, Expr, Graph, Real, Run, Shape, Store};

/// `x`, then `log Γ(x)` and the polygamma functions of orders 0 to 4, by mpmath's `loggamma` and `psi` with 40 digits.
/// SciPy's `gammaln` and `polygamma` agree to 2e-13.
#[rustfmt::skip]
const TABLE: [(f64, [f64; 6]); 22] = [
    (1e-06, [13.815509980749432, -1000000.5772140201, 1000000000001.645, -2.0000000000000003e+18, 6.000000000000001e+24, -2.4000000000000007e+31]),
    (0.001, [6.907178885383853, -1000.5755719318103, 1000001.6425331958, -2000000002.3976321, 6000000000006.469, -2.4000000000000024e+16]),
    (0.1, [2.252712651734206, -10.423754940411076, 101.43329915079275, -2001.8614573783436, 60004.51287679026, -2400015.6072031953]),
    (0.5, [0.5723649429247001, -1.9635100260214235, 4.934802200544679, -16.82879664423432, 97.40909103400244, -771.4742498266672]),
    (0.99, [0.005854806764709781, -0.5937863040555952, 1.6693041010718246, -2.4703181672880192, 6.749029266528166, -26.144238938351847]),
    (1.0, [0.0, -0.5772156649015329, 1.6449340668482264, -2.4041138063191885, 6.493939402266829, -24.88626612344088]),
    (1.25, [-0.09827183642181316, -0.22745353337626542, 1.1973291545071107, -1.3277399375369203, 2.782144009188396, -8.375388637933733]),
    (1.4616321449683622, [-0.12148629053584961, -9.241265521729427e-17, 0.9676722454476212, -0.8855263379671844, 1.5509985657339065, -3.934624930617758]),
    (1.9, [-0.03898427592308336, 0.35618416116405965, 0.6879720582426356, -0.45831281882901354, 0.5940666772243749, -1.1282354323014379]),
    (2.0, [0.0, 0.42278433509846713, 0.6449340668482264, -0.4041138063191886, 0.49393940226682914, -0.8862661234408782]),
    (2.5, [0.2846828704729192, 0.7031566406452432, 0.49035775610023485, -0.2362040516417274, 0.22390584881725206, -0.3137559995067314]),
    (3.75, [1.486815578593417, 1.1825373886117962, 0.3053398526902531, -0.09254633851589927, 0.05570526074539451, -0.04995784901655511]),
    (3.999, [1.790503493484443, 1.2558338054487181, 0.2839030179082764, -0.0800846163305817, 0.04490284967283703, -0.037542278373260185]),
    (4.0, [1.791759469228055, 1.2561176684318005, 0.2838229557371153, -0.0800397322451145, 0.04486532819275507, -0.0375006913421128]),
    (6.5, [5.662562059857142, 1.792911330399933, 0.16628453574995825, -0.0275879107068768, 0.00913366350437814, -0.004525930280322061]),
    (7.999, [8.523145786158915, 2.015508332090348, 0.1331547166131586, -0.01770426937012624, 0.004701109085959767, -0.001869784987732608]),
    (8.0, [8.525161361065415, 2.01564147795561, 0.1331370146940314, -0.017699569195767775, 0.004699239795945104, -0.0018687951506376134]),
    (10.9, [14.869714661360424, 2.3421904176164823, 0.09608000112266979, -0.009224306119450435, 0.00176983905033503, -0.0005089749311570144]),
    (15.3, [25.996606241964184, 2.69481725316415, 0.06754190254829456, -0.004560179329218318, 0.0006155400283256735, -0.0001245828234973442]),
    (100.0, [359.1342053695754, 4.600161852738087, 0.010050166663333571, -0.00010100499983335, 2.030199990001333e-06, -6.120999930011997e-08]),
    (12345.678, [103959.91990554606, 9.421020820741761, 8.100328723111207e-05, -6.561532538658235e-09, 1.0630114086479446e-12, -2.58322254970228e-16]),
    (100000000.0, [1742068066.1038346, 18.420680738952367, 1.000000005e-08, -1.00000001e-16, 2.0000000300000002e-24, -6.000000120000001e-32]),
];

/// Error relative to the value; near zeros, which `log Γ` and digamma have, relative to 1.
fn error(function: usize, found: f64, expected: f64) -> f64 {
    let size = if function < 2 { expected.abs().max(1.0) } else { expected.abs() };
    (found - expected).abs() / size
}

/// `log Γ` as number 0, then polygamma of orders from 0 on.
fn function<T: Real>(number: usize, x: T) -> T {
    match number {
        0 => x.lgamma(),
        n => x.polygamma(n as u32 - 1),
    }
}

#[test]
fn tabulated_values_in_f64() {
    for (x, row) in TABLE {
        for (i, expected) in row.into_iter().enumerate() {
            let found = function(i, x);
            let error = error(i, found, expected);
            assert!(
                error < 2e-15 * 8.0,
                "function {i} of {x} is {found:e}, not {expected:e}: error {error:e}"
            );
        }
    }
}

/// Values from 1e-6 to 1e8, in steps of 1/500 of their size.
fn sweep() -> impl Iterator<Item = f64> {
    let steps = (1e14f64.ln() * 500.0) as i32;
    (0..=steps).map(|i| 1e-6 * (f64::from(i) / 500.0).exp())
}

/// Largest error in f32 over the sweep, measured and rounded up.
const ERRORS_IN_F32: [f64; 6] = [1.9e-7, 4.4e-7, 2.9e-7, 3.6e-7, 4.6e-7, 4.8e-7];

#[test]
fn f32_agrees_with_f64() {
    for (i, limit) in ERRORS_IN_F32.into_iter().enumerate() {
        let (mut worst, mut at) = (0.0, 0.0);
        for x in sweep().map(|x| x as f32) {
            let (found, expected) = (function(i, x), function(i, f64::from(x)));
            // Beyond the range of normal numbers nothing can be expected.
            if expected.abs() > f64::from(f32::MAX) || expected.abs() < f64::from(f32::MIN_POSITIVE) {
                continue;
            }
            let error = error(i, found.into(), expected);
            if error > worst {
                (worst, at) = (error, x);
            }
        }
        assert!(worst < limit && limit <= 2e-6, "function {i}: error {worst:e} at {at}");
        assert!(worst > 3e-8, "a rounded result is off by up to 6e-8: nothing was measured");
    }
}

/// In f32 the error of `log Γ` is relative to it at its zeros, too.
#[test]
fn log_gamma_in_f32_is_accurate_next_to_its_zeros() {
    for zero in [1f32, 2.0] {
        for x in (zero.to_bits() - 20_000..zero.to_bits() + 20_000).map(f32::from_bits) {
            let (found, t) = (f64::from(x.lgamma()), f64::from(x - zero));
            // log Γ(2 + t) = (1 - γ) t + Σₖ (-1)ᵏ (ζ(k) - 1) tᵏ/k from k = 2 on; log Γ(1 + t) = log Γ(2 + t) - log(1 + t)
            let series =
                t * (0.422_784_335_098_467_1 + t * (0.322_467_033_424_113_2 - t * 0.067_352_301_053_198_1));
            let expected = series - if zero == 1.0 { t.ln_1p() } else { 0.0 };
            // t is at most 0.0048, so what is left out, 0.0206 t⁴, is less than 6e-9 of it.
            assert!((found - expected).abs() <= 4e-7 * expected.abs(), "{x}: {found:e}, not {expected:e}");
        }
    }
}

#[test]
fn recurrence_and_duplication_hold() {
    for x in sweep() {
        let check = |what: &str, i: usize, found: f64, expected: f64, size: f64| {
            let error = (found - expected).abs() / size.max(if i < 2 { 1.0 } else { 0.0 });
            assert!(
                error < 2e-14,
                "{what} of function {i} at {x}: {found:e} and {expected:e}, error {error:e}"
            );
        };
        // log Γ(x + 1) = log Γ(x) + log x
        check("recurrence", 0, (x + 1.0).lgamma(), x.lgamma() + x.ln(), x.lgamma().abs());
        // log Γ(2x) = log Γ(x) + log Γ(x + ½) + (2x - 1) log 2 - ½ log π
        let (double, half) = (2.0 * x, x + 0.5);
        let log_pi = std::f64::consts::PI.ln();
        let expected = x.lgamma() + half.lgamma() + (double - 1.0) * 2f64.ln() - 0.5 * log_pi;
        check("duplication", 0, double.lgamma(), expected, expected.abs());
        let mut factorial = 1.0;
        for n in 0..9 {
            factorial *= f64::from(n.max(1));
            let sign = if n % 2 == 0 { 1.0 } else { -1.0 };
            let (i, y) = (1 + n as usize, x.polygamma(n));
            // ψₙ(x + 1) = ψₙ(x) + (-1)ⁿ n! / xⁿ⁺¹; where x is small the two cancel
            let step = sign * factorial * x.powi(-(n as i32) - 1);
            check("recurrence", i, (x + 1.0).polygamma(n), y + step, y.abs());
            // ψₙ(2x) = (ψₙ(x) + ψₙ(x + ½)) / 2ⁿ⁺¹, and log 2 more for n = 0
            let expected = (y + half.polygamma(n)) * 0.5f64.powi(n as i32 + 1);
            let expected = expected + if n == 0 { 2f64.ln() } else { 0.0 };
            check("duplication", i, double.polygamma(n), expected, expected.abs());
        }
    }
}

fn check_special_values<T: Real>() {
    let (inf, nan) = (f64::INFINITY, f64::NAN);
    // Results at 0, ∞, -∞, NaN, -½ and -2.
    let table = [
        [inf, inf, nan, nan, nan, nan],
        [-inf, inf, nan, nan, nan, nan],
        [inf, 0.0, nan, nan, nan, nan],
        [-inf, 0.0, nan, nan, nan, nan],
        [inf, 0.0, nan, nan, nan, nan],
        [-inf, 0.0, nan, nan, nan, nan],
    ];
    for (i, row) in table.into_iter().enumerate() {
        for (x, expected) in [0.0, inf, -inf, nan, -0.5, -2.0].into_iter().zip(row) {
            let found = function(i, T::from_f64(x)).to_f64();
            let same = found == expected || (found.is_nan() && expected.is_nan());
            assert!(same, "function {i} of {x} is {found}, not {expected}");
        }
    }
    let huge = T::from_f64(1e36).lgamma().to_f64();
    assert!((huge / 8.189_306_e37 - 1.0).abs() < 1e-6, "{huge:e}");
}

#[test]
fn special_values_in_f32() {
    check_special_values::<f32>();
}

#[test]
fn special_values_in_f64() {
    check_special_values::<f64>();
}

/// Derivatives of `log Γ` taken one after the other are the polygamma functions of the table.
#[test]
fn derivatives_of_any_order_are_polygamma_functions() {
    // Differences of neighbouring orders are small only in relation to the values themselves.
    let points: Vec<&(f64, [f64; 6])> = TABLE.iter().filter(|(x, _)| (0.5..20.0).contains(x)).collect();
    let graph = Graph::new();
    let mut point = Point::new(points.len());
    let x = point.input(&graph, "x", Shape::batch(1), points.iter().map(|p| p.0).collect());
    let mut all = vec![x.lgamma()];
    for order in 0..5 {
        all.push(graph.row_grad(all[order], x));
        assert_eq!(all[order + 1], x.polygamma(order as u32));
    }
    for (i, found) in evaluate(&all, &point).into_iter().enumerate() {
        let expected: Vec<f64> = points.iter().map(|p| p.1[i]).collect();
        assert_close(&format!("derivative {i}"), &found, &expected, 1e-13);
    }
}

/// All of the functions, and one that has no vector code of its own.
fn functions(x: Expr<'_>) -> [Expr<'_>; 7] {
    [x.lgamma(), x.digamma(), x.polygamma(1), x.polygamma(2), x.polygamma(3), x.polygamma(4), x.polygamma(7)]
}

fn check_programs<T: Real>(bits: fn(T) -> u64) {
    let (rows, cols) = (131, 7);
    let mut values: Vec<T> = sweep().step_by(17).take(rows * cols).map(T::from_f64).collect();
    assert_eq!(values.len(), rows * cols);
    // What is not in the domain must not disturb its neighbours.
    for (i, special) in [0.0, -1.0, f64::NAN, f64::INFINITY].into_iter().enumerate() {
        values[100 * i + 3] = T::from_f64(special);
    }
    let graph = Graph::new();
    let x = graph.batch_input("x", cols);
    let mut program = graph.program();
    for (i, value) in functions(x).into_iter().enumerate() {
        program = program.output(&format!("{i}"), value);
    }
    let program = program.compile().expect("well formed");
    for (threads, tile_rows) in [(1, 80), (2, 80), (3, 7), (2, 1)] {
        let options = CpuOptions { threads, tile_rows, ..CpuOptions::for_rows(rows) };
        let mut executable = program.on_cpu::<T>(options);
        let run = Run { rows, inputs: &[("x", &values)], ..Run::default() };
        executable.run(&mut Store::new(), &run).expect("everything is given");
        for (i, number) in [0, 1, 2, 3, 4, 5, 8].into_iter().enumerate() {
            let found = executable.output(&format!("{i}")).expect("an output");
            for (x, found) in values.iter().zip(found) {
                let expected = function(number, *x);
                let same =
                    bits(*found) == bits(expected) || (found.to_f64().is_nan() && expected.to_f64().is_nan());
                assert!(same, "function {i} of {x} is {found} in a program, {expected} by itself");
            }
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
fn listings_name_the_order() {
    let graph = Graph::new();
    let x = graph.batch_input("x", 2);
    let program = graph.program().output("y", x.lgamma() + x.polygamma(2)).compile().expect("well formed");
    let listing = program.to_string();
    for part in ["v0 = lgamma(x)", "v1 = polygamma[2](x)"] {
        assert!(listing.contains(part), "`{part}` is not in the listing:\n{listing}");
    }
    assert!(program.graphviz().contains("polygamma 2"), "{}", program.graphviz());
}

#[test]
fn functions_of_numbers_are_numbers() {
    let graph = Graph::new();
    // log Γ(5) = log 24, and ψ₁(1) = π²/6
    let y = graph.constant(5.0).lgamma() + graph.constant(1.0).polygamma(1);
    let program = graph.program().output("y", y).compile().expect("well formed");
    assert_eq!(program.cost().element_ops_per_row, 0);
    let found = evaluate(&[y], &Point::<f64>::new(1));
    assert_close("sum", &found[0], &[24f64.ln() + std::f64::consts::PI.powi(2) / 6.0], 1e-14);
}
