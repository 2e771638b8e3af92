//! Check log Γ and its derivatives against tabulated values and identities, in both precisions.
#![allow(missing_docs, reason = "tests are named for what they guard")]

mod common;

use common::{Point, assert_close, evaluate};
use hmcvi_graph::{CpuOptions, Expr, Graph, Real, Run, Shape, Store};

/// `x`, then `log Γ(x)` and the polygamma functions of orders 0 to 4, by mpmath's `loggamma` and `psi` with 40 digits.
/// SciPy's `gammaln` and `polygamma` agree to 2e-13.
#[rustfmt::skip]
const TABLE: [(f64, [f64; 6]); 22] = [
    (1e-06, [1.38155099807494324e+01, -1.00000057721402007e+06, 1.00000000000164502e+12, -2.00000000000000026e+18, 6.00000000000000097e+24, -2.40000000000000072e+31]),
    (0.001, [6.90717888538385338e+00, -1.00057557193181026e+03, 1.00000164253319579e+06, -2.00000000239763212e+09, 6.00000000000646875e+12, -2.40000000000000240e+16]),
    (0.1, [2.25271265173420598e+00, -1.04237549404110759e+01, 1.01433299150792749e+02, -2.00186145737834363e+03, 6.00045128767902570e+04, -2.40001560720319534e+06]),
    (0.5, [5.72364942924700082e-01, -1.96351002602142355e+00, 4.93480220054467900e+00, -1.68287966442343198e+01, 9.74090910340024436e+01, -7.71474249826667233e+02]),
    (0.99, [5.85480676470978133e-03, -5.93786304055595182e-01, 1.66930410107182459e+00, -2.47031816728801923e+00, 6.74902926652816593e+00, -2.61442389383518474e+01]),
    (1.0, [0.00000000000000000e+00, -5.77215664901532866e-01, 1.64493406684822641e+00, -2.40411380631918847e+00, 6.49393940226682886e+00, -2.48862661234408797e+01]),
    (1.25, [-9.82718364218131551e-02, -2.27453533376265421e-01, 1.19732915450711075e+00, -1.32773993753692032e+00, 2.78214400918839599e+00, -8.37538863793373345e+00]),
    (1.4616321449683622, [-1.21486290535849611e-01, -9.24126552172942726e-17, 9.67672245447621204e-01, -8.85526337967184385e-01, 1.55099856573390649e+00, -3.93462493061775787e+00]),
    (1.9, [-3.89842759230833585e-02, 3.56184161164059654e-01, 6.87972058242635631e-01, -4.58312818829013535e-01, 5.94066677224374895e-01, -1.12823543230143786e+00]),
    (2.0, [0.00000000000000000e+00, 4.22784335098467134e-01, 6.44934066848226406e-01, -4.04113806319188584e-01, 4.93939402266829142e-01, -8.86266123440878184e-01]),
    (2.5, [2.84682870472919181e-01, 7.03156640645243192e-01, 4.90357756100234854e-01, -2.36204051641727392e-01, 2.23905848817252062e-01, -3.13755999506731387e-01]),
    (3.75, [1.48681557859341695e+00, 1.18253738861179625e+00, 3.05339852690253100e-01, -9.25463385158992735e-02, 5.57052607453945095e-02, -4.99578490165551101e-02]),
    (3.999, [1.79050349348444304e+00, 1.25583380544871814e+00, 2.83903017908276378e-01, -8.00846163305816983e-02, 4.49028496728370308e-02, -3.75422783732601850e-02]),
    (4.0, [1.79175946922805496e+00, 1.25611766843180050e+00, 2.83822955737115301e-01, -8.00397322451145005e-02, 4.48653281927550718e-02, -3.75006913421127991e-02]),
    (6.5, [5.66256205985714178e+00, 1.79291133039993289e+00, 1.66284535749958245e-01, -2.75879107068768004e-02, 9.13366350437814015e-03, -4.52593028032206076e-03]),
    (7.999, [8.52314578615891527e+00, 2.01550833209034819e+00, 1.33154716613158614e-01, -1.77042693701262403e-02, 4.70110908595976727e-03, -1.86978498773260793e-03]),
    (8.0, [8.52516136106541467e+00, 2.01564147795561022e+00, 1.33137014694031414e-01, -1.76995691957677753e-02, 4.69923979594510412e-03, -1.86879515063761341e-03]),
    (10.9, [1.48697146613604243e+01, 2.34219041761648228e+00, 9.60800011226697892e-02, -9.22430611945043548e-03, 1.76983905033503003e-03, -5.08974931157014378e-04]),
    (15.3, [2.59966062419641837e+01, 2.69481725316415011e+00, 6.75419025482945634e-02, -4.56017932921831768e-03, 6.15540028325673545e-04, -1.24582823497344189e-04]),
    (100.0, [3.59134205369575398e+02, 4.60016185273808720e+00, 1.00501666633335714e-02, -1.01004999833349994e-04, 2.03019999000133304e-06, -6.12099993001199726e-08]),
    (12345.678, [1.03959919905546063e+05, 9.42102082074176117e+00, 8.10032872311120742e-05, -6.56153253865823480e-09, 1.06301140864794463e-12, -2.58322254970228008e-16]),
    (100000000.0, [1.74206806610383463e+09, 1.84206807389523668e+01, 1.00000000499999994e-08, -1.00000001000000005e-16, 2.00000003000000019e-24, -6.00000012000000138e-32]),
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
                t * (0.422_784_335_098_467_14 + t * (0.322_467_033_424_113_2 - t * 0.067_352_301_053_198_1));
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
