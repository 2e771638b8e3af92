//! Check first and second derivatives of every operation against differences, and far from zero against formulas.
#![allow(missing_docs, reason = "tests are named for what they guard")]

mod common;

use common::{Draws, Function, Point, assert_close, check, differences, evaluate, len};
use hmcvi_graph::{Expr, Graph, Real, Rows, Shape};
use proptest::prelude::any;

/// Cases of every operation.
const CASES: u32 = 64;
/// Largest error allowed, relative to the larger of 1 and the derivative.
const LIMIT: f64 = 1e-6;

/// How values of a variable are drawn: never within 0.02 of a place where the operation has a kink.
type Domain = fn(&mut Draws) -> f64;

const ANY: Domain = |draws| draws.uniform(-2.0, 2.0);
const POSITIVE: Domain = |draws| draws.uniform(0.4, 2.5);
const ABOVE_MINUS_ONE: Domain = |draws| draws.uniform(-0.6, 2.0);
const NOT_ZERO: Domain = |draws| POSITIVE(draws) * [-1.0, 1.0][draws.below(2)];
/// Two combs whose values differ by at least 0.05, and lie on both sides of each other.
const COMB: Domain = |draws| 0.5 * draws.below(5) as f64 - 1.0 + draws.uniform(-0.1, 0.1);
const OTHER_COMB: Domain = |draws| COMB(draws) + 0.25;
/// A condition: zero or not.
const FLAG: Domain = |draws| draws.below(2) as f64;

/// A variable's shape, and how its values are drawn.
type Variable = (Shape, Domain);

/// Compares the gradient of `f = Σ w·y + ½ v·y²`, with random weights `w` and `v` of every value of
/// `y`, with differences of `f`; and the gradient of a random weighting of that gradient with
/// differences of it.
#[track_caller]
fn check_both_derivatives(
    variables: &[Variable],
    rows: usize,
    seed: u64,
    build: impl for<'g> Fn(&[Expr<'g>]) -> Expr<'g>,
) {
    let graph = Graph::new();
    let mut draws = Draws(seed);
    let mut point = Point::new(rows);
    let names: Vec<String> = (0..variables.len()).map(|i| format!("x{i}")).collect();
    let mut x = Vec::new();
    for (name, (shape, domain)) in names.iter().zip(variables) {
        let values = (0..len(*shape, rows)).map(|_| domain(&mut draws)).collect();
        x.push(match shape.rows {
            Rows::Fixed(_) if draws.below(2) == 1 => point.parameter(&graph, name, *shape, values),
            _ => point.input(&graph, name, *shape, values),
        });
    }
    let mut weights = |name: String, shape: Shape| {
        let values = draws.vector(len(shape, rows), -1.0, 1.0);
        point.input(&graph, &name, shape, values)
    };
    let y = build(&x);
    let (w, v) = (weights("w".into(), y.shape()), weights("v".into(), y.shape()));
    let f = (w * y + v * y.square() * 0.5).sum();
    let gradient = graph.grad(f, &x);
    let weighted = gradient.iter().enumerate().map(|(i, g)| (weights(format!("u{i}"), g.shape()) * *g).sum());
    let h = weighted.reduce(|a, b| a + b).expect("there are variables");
    let second = graph.grad(h, &x);

    let mut value = Function::new(&[f], rows);
    let mut first = Function::new(&[&gradient[..], &[h]].concat(), rows);
    let (found, found_again) = (first.call(&point), evaluate(&second, &point));
    for (i, name) in names.iter().enumerate() {
        assert_eq!(gradient[i].shape(), x[i].shape());
        assert_eq!(second[i].shape(), x[i].shape());
        let expected = differences(&mut value, 0, &point, name);
        assert_close(&format!("first derivative by {name}"), &found[i], &expected, LIMIT);
        let expected = differences(&mut first, x.len(), &point, name);
        assert_close(&format!("second derivative by {name}"), &found_again[i], &expected, LIMIT);
    }
}

/// Checks an element-wise operation on all combinations of arguments with full or single rows and
/// full or single columns, in batches and in fixed matrices, of 1 to 4 rows and columns.
#[track_caller]
fn check_broadcasts(domains: &[Domain], build: impl for<'g> Fn(&[Expr<'g>]) -> Expr<'g>) {
    let layouts = 2 * 4u32.pow(domains.len() as u32);
    for layout in 0..layouts {
        let cases = (CASES / layouts).max(1);
        check(layout.into(), cases, (1..5usize, 1..5usize, any::<u64>()), |(rows, cols, seed)| {
            let full = if layout & 1 == 0 { Rows::Batch } else { Rows::Fixed(rows) };
            let shape = |i: usize| Shape {
                rows: if layout >> (1 + 2 * i) & 1 == 0 { full } else { Rows::Fixed(1) },
                cols: if layout >> (2 + 2 * i) & 1 == 0 { cols } else { 1 },
            };
            let variables: Vec<Variable> = domains.iter().enumerate().map(|(i, d)| (shape(i), *d)).collect();
            check_both_derivatives(&variables, rows, seed, &build);
        });
    }
}

fn check_unary(domain: Domain, f: impl for<'g> Fn(Expr<'g>) -> Expr<'g>) {
    check_broadcasts(&[domain], |x| f(x[0]));
}

fn check_binary(left: Domain, right: Domain, f: impl for<'g> Fn(Expr<'g>, Expr<'g>) -> Expr<'g>) {
    check_broadcasts(&[left, right], |x| f(x[0], x[1]));
}

/// Checks a product of matrices whose shapes follow from `[rows, depth, cols]` with each at random
/// from 1 to 4, for rows of the batch and for fixed rows.
fn check_product(
    shapes: fn(Rows, usize, usize) -> [Shape; 2],
    f: impl for<'g> Fn(Expr<'g>, Expr<'g>) -> Expr<'g>,
) {
    let sizes = (1..5usize, 1..5usize, 1..5usize);
    check(0, CASES, (any::<bool>(), sizes, any::<u64>()), |(batch, (rows, depth, cols), seed)| {
        let kind = if batch { Rows::Batch } else { Rows::Fixed(rows) };
        let variables = shapes(kind, depth, cols).map(|shape| (shape, ANY));
        check_both_derivatives(&variables, rows, seed, |x| f(x[0], x[1]));
    });
}

macro_rules! operations {
    ($($name:ident: $check:expr;)*) => {$(
        #[test]
        fn $name() {
            $check;
        }
    )*};
}

operations! {
    neg: check_unary(ANY, |x| -x);
    abs: check_unary(NOT_ZERO, |x| x.abs());
    sqrt: check_unary(POSITIVE, |x| x.sqrt());
    exp: check_unary(ANY, |x| x.exp());
    log: check_unary(POSITIVE, |x| x.log());
    log1p: check_unary(ABOVE_MINUS_ONE, |x| x.log1p());
    sigmoid: check_unary(ANY, |x| x.sigmoid());
    softplus: check_unary(ANY, |x| x.softplus());
    log_sigmoid: check_unary(ANY, |x| x.log_sigmoid());
    tanh: check_unary(ANY, |x| x.tanh());
    expm1: check_unary(ANY, |x| x.expm1());
    sin: check_unary(ANY, |x| (2.0 * x).sin());
    cos: check_unary(ANY, |x| (2.0 * x).cos());
    atan: check_unary(ANY, |x| x.atan());
    erf: check_unary(ANY, |x| x.erf());
    erfc: check_unary(ANY, |x| x.erfc());
    normal_cdf: check_unary(ANY, |x| x.normal_cdf());
    log_normal_cdf: check_unary(ANY, |x| (3.0 * x).log_normal_cdf());
    inverse_mills: check_unary(ANY, |x| (3.0 * x).inverse_mills());
    powi: check_unary(NOT_ZERO, |x| 0.1 * x.powi(5) + x.powi(-2));
    powf: check_unary(POSITIVE, |x| x.powf(2.7) + x.powf(-0.4));
    lgamma: check_unary(POSITIVE, |x| x.lgamma());
    digamma: check_unary(POSITIVE, |x| x.digamma());
    trigamma: check_unary(POSITIVE, |x| x.polygamma(1) * 0.1);
    tetragamma: check_unary(POSITIVE, |x| x.polygamma(2) * 0.01);
    polygamma_of_high_order: check_unary(POSITIVE, |x| (x + 3.0).polygamma(5));
    relu: check_unary(NOT_ZERO, |x| x.relu());
    square: check_unary(ANY, |x| x.square());
    reciprocal: check_unary(NOT_ZERO, |x| x.reciprocal());
    is_finite: check_unary(ANY, |x| x.is_finite() + x);

    add: check_binary(ANY, ANY, |a, b| a + b);
    pow: check_binary(POSITIVE, ANY, |a, b| a.pow(b));
    sub: check_binary(ANY, ANY, |a, b| a - b);
    mul: check_binary(ANY, ANY, |a, b| a * b);
    div: check_binary(ANY, NOT_ZERO, |a, b| a / b);
    min: check_binary(COMB, OTHER_COMB, |a, b| a.min(b));
    max: check_binary(COMB, OTHER_COMB, |a, b| a.max(b));
    // Alone a comparison has derivative 0; beside its arguments it scales theirs.
    less: check_binary(COMB, OTHER_COMB, |a, b| a.less(b));
    less_equal: check_binary(COMB, OTHER_COMB, |a, b| a.less_equal(b));
    equal: check_binary(COMB, OTHER_COMB, |a, b| a.equal(b));
    greater: check_binary(COMB, OTHER_COMB, |a, b| a.greater(b));
    greater_equal: check_binary(COMB, OTHER_COMB, |a, b| a.greater_equal(b));
    comparison_as_factor: check_binary(COMB, OTHER_COMB, |a, b| a.less(b) * a * b);
    select: check_broadcasts(&[COMB, ANY, ANY], |x| x[0].less(0.25).select(x[1], x[2].exp()));
    select_by_comparison: check_broadcasts(&[COMB, OTHER_COMB], |x| x[0].less(x[1]).select(x[1], x[0] * x[1]));

    matmul: check_product(
        |rows, depth, cols| [Shape { rows, cols: depth }, Shape::fixed(depth, cols)],
        |a, w| a.matmul(w)
    );
    matmul_transposed: check_product(
        |rows, depth, cols| [Shape { rows, cols: depth }, Shape::fixed(cols, depth)],
        |a, w| a.matmul_transposed(w)
    );
    transposed_matmul: check_product(
        |rows, depth, cols| [Shape { rows, cols: depth }, Shape { rows, cols }],
        |a, b| a.transposed_matmul(b)
    );

    sum_cols: check_unary(ANY, |x| x.sum_cols());
    sum_rows: check_unary(ANY, |x| x.sum_rows());
    sum: check_unary(ANY, |x| x.sum());
    mean_rows: check_unary(ANY, |x| x.mean_rows());
    log_sum_exp: check_unary(ANY, |x| x.log_sum_exp());
    shared_argument: check_unary(ANY, |x| x * x.exp() - x.tanh() / (x.square() + 1.0));
    gram_matrix: check_unary(ANY, |x| x.transposed_matmul(x));
}

/// The derivative by a condition is 0, also where the condition is an argument of its own.
#[test]
fn select_passes_no_derivative_to_its_condition() {
    check_broadcasts(&[ANY, ANY], |x| {
        let condition = x[0].graph().constant_matrix(1, 1, &[1.0]);
        condition.select(x[0], x[1])
    });
    let graph = Graph::new();
    let mut point = Point::new(4);
    let mut draws = Draws(1);
    let c = point.input(&graph, "c", Shape::batch(3), (0..12).map(|_| FLAG(&mut draws)).collect());
    let a = point.input(&graph, "a", Shape::batch(3), draws.vector(12, -1.0, 1.0));
    let b = point.input(&graph, "b", Shape::fixed(1, 3), draws.vector(3, -1.0, 1.0));
    let gradient = graph.grad(c.select(a.square(), b.square()).sum(), &[c, a, b]);
    let found = evaluate(&[&gradient[..], &[c, a, b]].concat(), &point);
    let (c, a, b) = (&found[3], &found[4], &found[5]);
    assert_eq!(found[0], vec![0.0; 12]);
    // d/da = 2a where c = 1
    let by_a: Vec<f64> = a.iter().zip(c).map(|(a, c)| 2.0 * a * c).collect();
    // d/db = 2b times the number of rows where c = 0
    let by_b: Vec<f64> =
        (0..3).map(|j| 2.0 * b[j] * (0..4).map(|i| 1.0 - c[3 * i + j]).sum::<f64>()).collect();
    assert_close("by a", &found[1], &by_a, 1e-14);
    assert_close("by b", &found[2], &by_b, 1e-14);
}

#[test]
fn slice_cols() {
    check(0, CASES, (any::<bool>(), 1..4usize, 1..6usize, any::<u64>()), |(batch, rows, cols, seed)| {
        let shape = Shape { rows: if batch { Rows::Batch } else { Rows::Fixed(rows) }, cols };
        let start = seed as usize % cols;
        let count = 1 + (seed >> 32) as usize % (cols - start);
        // A second slice that may overlap the first, so that two adjoints meet.
        check_both_derivatives(&[(shape, ANY)], rows, seed, |x| {
            let (a, b) = (x[0].slice_cols(start, count), x[0].slice_cols(0, count));
            a * b + x[0].slice_cols(cols - 1, 1)
        });
    });
}

#[test]
fn slice_rows() {
    check(0, CASES, (1..6usize, 1..4usize, any::<u64>()), |(rows, cols, seed)| {
        let start = seed as usize % rows;
        let count = 1 + (seed >> 32) as usize % (rows - start);
        check_both_derivatives(&[(Shape::fixed(rows, cols), ANY)], 1, seed, |x| {
            let (a, b) = (x[0].slice_rows(start, count), x[0].slice_rows(0, count));
            a * b + x[0].slice_rows(rows - 1, 1)
        });
    });
}

#[test]
fn concat_cols() {
    let sizes = (1..4usize, [1..4usize, 1..4, 1..4], 0..16u32);
    check(0, CASES, (sizes, any::<u64>()), |((rows, cols, layout), seed)| {
        let full = if layout & 1 == 0 { Rows::Batch } else { Rows::Fixed(rows) };
        let kind = |i: usize| if layout >> (i + 1) & 1 == 0 { full } else { Rows::Fixed(1) };
        let variables: Vec<Variable> =
            (0..3).map(|i| (Shape { rows: kind(i), cols: cols[i] }, ANY)).collect();
        check_both_derivatives(&variables, rows, seed, |x| {
            Expr::concat_cols(&[x[0], x[1].exp(), x[2], x[0]])
        });
    });
}

#[test]
fn concat_rows() {
    check(0, CASES, ([1..4usize, 1..4, 1..4], 1..4usize, any::<u64>()), |(rows, cols, seed)| {
        let variables = rows.map(|rows| (Shape::fixed(rows, cols), ANY));
        check_both_derivatives(&variables, 1, seed, |x| Expr::concat_rows(&[x[0], x[1].exp(), x[2], x[0]]));
    });
}

/// `concat(a, b)·W` is rewritten into `a·W_a + b·W_b`, and its transpose into stacked sums.
#[test]
fn products_of_concatenations() {
    let sizes = (1..4usize, 1..4usize, 1..4usize, 1..4usize);
    check(0, CASES, (any::<bool>(), sizes, any::<u64>()), |(batch, (rows, a, b, cols), seed)| {
        let kind = if batch { Rows::Batch } else { Rows::Fixed(rows) };
        let shapes =
            [Shape { rows: kind, cols: a }, Shape { rows: kind, cols: b }, Shape::fixed(a + b, cols)];
        check_both_derivatives(&shapes.map(|shape| (shape, ANY)), rows, seed, |x| {
            Expr::concat_cols(&[x[0], x[1]]).matmul(x[2]).tanh()
        });
        check_both_derivatives(&[(shapes[0], ANY), (shapes[1], ANY)], rows, seed, |x| {
            Expr::concat_cols(&[x[0], x[1]]).transposed_matmul(x[0])
        });
    });
}

#[test]
fn broadcast_to() {
    for layout in 0..8 {
        check(layout, CASES / 8, (1..5usize, 1..5usize, any::<u64>()), |(rows, cols, seed)| {
            let full = if layout & 1 == 0 { Rows::Batch } else { Rows::Fixed(rows) };
            let small = Shape {
                rows: if layout & 2 == 0 { full } else { Rows::Fixed(1) },
                cols: if layout & 4 == 0 { cols } else { 1 },
            };
            check_both_derivatives(&[(small, ANY)], rows, seed, |x| {
                x[0].broadcast_to(Shape { rows: full, cols })
            });
        });
    }
}

/// The derivative of `x·stop(eˣ)` is that of `x·c` with `c = eˣ` held fixed, to any order.
#[test]
fn stop_gradient() {
    check_unary(ANY, |x| x.square() + x.stop_gradient() - x.stop_gradient());
    check(0, CASES, (any::<bool>(), 1..4usize, 1..4usize, any::<u64>()), |(batch, rows, cols, seed)| {
        let shape = Shape { rows: if batch { Rows::Batch } else { Rows::Fixed(rows) }, cols };
        let graph = Graph::new();
        let mut point = Point::new(rows);
        let values = Draws(seed).vector(len(shape, rows), -1.0, 1.0);
        let x = point.input(&graph, "x", shape, values.clone());
        let first = graph.grad((x.square() * x.exp().stop_gradient()).sum(), &[x])[0];
        let second = graph.grad(first.sum(), &[x])[0];
        let found = evaluate(&[first, second, graph.grad(second.sum(), &[x])[0]], &point);
        // d/dx x²c = 2xc, d²/dx² = 2c, d³/dx³ = 0
        let expected: Vec<f64> = values.iter().map(|x| 2.0 * x * x.exp()).collect();
        assert_close("first", &found[0], &expected, 1e-14);
        let expected: Vec<f64> = values.iter().map(|x| 2.0 * x.exp()).collect();
        assert_close("second", &found[1], &expected, 1e-14);
        assert_eq!(found[2], vec![0.0; values.len()]);
    });
}

/// Equal arguments give their derivative to the second, so that `relu` has slope 0 at 0, and `|x|`
/// has slope 0 at 0.
#[test]
fn derivatives_at_kinks_are_as_documented() {
    let graph = Graph::new();
    let x = graph.batch_input("x", 1);
    let mut point = Point::new(1);
    point.inputs.push(("x".into(), vec![0.0]));
    let slopes = [x.relu(), x.abs(), x.max(x * 3.0), x.min(x * 3.0)].map(|y| graph.row_grad(y, x));
    assert_eq!(evaluate(&slopes, &point), [[0.0], [0.0], [3.0], [3.0]]);
}

/// A value and its first two derivatives at `x`, in the precision of the engine.
fn orders<T: Real>(build: impl for<'g> Fn(Expr<'g>) -> Expr<'g>, x: f64) -> [f64; 3] {
    let graph = Graph::new();
    let mut point = Point::new(1);
    let variable = point.input(&graph, "x", Shape::batch(1), vec![T::from_f64(x)]);
    let y = build(variable);
    let first = graph.row_grad(y, variable);
    let found = evaluate(&[y, first, graph.row_grad(first, variable)], &point);
    [0, 1, 2].map(|i| found[i][0].to_f64())
}

/// Far from 0 the functions that are written to be stable give what they should: no overflow, no
/// loss of small results. Only `1 - σ` is rounded to a unit in the last place of 1, and only it.
fn check_stability<T: Real>(epsilon: f64) {
    type Build = for<'g> fn(Expr<'g>) -> Expr<'g>;
    let sigmoid = |x: f64| if x < 0.0 { x.exp() / (1.0 + x.exp()) } else { 1.0 / (1.0 + (-x).exp()) };
    let softplus = |x: f64| x.max(0.0) + (-x.abs()).exp().ln_1p();
    // σ(1-σ) = σ(x)σ(-x)
    let slope = |x: f64| sigmoid(x) * sigmoid(-x);
    for x in [-1e4, -80.0, 80.0, 1e4] {
        let curvature = slope(x) * (sigmoid(-x) - sigmoid(x));
        let functions: [(&str, Build, [f64; 3], bool); 4] = [
            ("softplus", |x| x.softplus(), [softplus(x), sigmoid(x), slope(x)], x > 0.0),
            ("sigmoid", |x| x.sigmoid(), [sigmoid(x), slope(x), curvature], x > 0.0),
            // -softplus(-x): derivatives σ(-x), -σ(1-σ)
            ("log_sigmoid", |x| x.log_sigmoid(), [-softplus(-x), sigmoid(-x), -slope(x)], x < 0.0),
            // log(eˣ + 1 + 1) = log 2 + softplus(x - log 2)
            (
                "log_sum_exp",
                |x| Expr::concat_cols(&[x, x * 0.0, x * 0.0]).log_sum_exp(),
                [0, 1, 2].map(|i| {
                    let t = x - 2f64.ln();
                    [2f64.ln() + softplus(t), sigmoid(t), slope(t)][i]
                }),
                x > 0.0,
            ),
        ];
        for (name, build, expected, rounds) in functions {
            for (order, (found, expected)) in orders::<T>(build, x).into_iter().zip(expected).enumerate() {
                // Values below the smallest normal number are 0 in T.
                let tiny = if size_of::<T>() == 4 { f64::from(f32::MIN_POSITIVE) } else { f64::MIN_POSITIVE };
                let limit =
                    8.0 * epsilon * expected.abs() + tiny + if rounds && order > 0 { epsilon } else { 0.0 };
                assert!(
                    (found - expected).abs() <= limit,
                    "derivative {order} of {name} at {x}: {found:e}, expected {expected:e}"
                );
            }
        }
    }
}

#[test]
fn stable_functions_are_right_far_from_zero_in_f32() {
    check_stability::<f32>(f64::from(f32::EPSILON));
}

#[test]
fn stable_functions_are_right_far_from_zero_in_f64() {
    check_stability::<f64>(f64::EPSILON);
}

/// `log Σ exp` of rows that hold ±1e4 and ±80 together: the softmax and its derivative.
#[test]
fn log_sum_exp_of_very_different_values() {
    let rows = [[1e4, -1e4, 80.0], [-1e4, -1e4, -1e4], [80.0, 80.0, -80.0], [-80.0, -1e4, -80.5]];
    let u = [0.5, -0.25, 1.0];
    let graph = Graph::new();
    let mut point = Point::new(rows.len());
    let x = point.input(&graph, "x", Shape::batch(3), rows.concat());
    let weights = point.input(&graph, "u", Shape::fixed(1, 3), u.to_vec());
    let value = x.log_sum_exp();
    let first = graph.row_grad(value, x);
    let second = graph.row_grad((first * weights).sum_cols(), x);
    let found = evaluate(&[value, first, second], &point);
    for (i, row) in rows.iter().enumerate() {
        let most = row.iter().copied().fold(f64::MIN, f64::max);
        let total: f64 = row.iter().map(|x| (x - most).exp()).sum();
        let p = row.map(|x| (x - most).exp() / total);
        let mean: f64 = p.iter().zip(u).map(|(p, u)| p * u).sum();
        // log Σ exp = most + log Σ exp(x - most); p; p_j (u_j - Σ p u)
        assert_close("value", &found[0][i..=i], &[most + total.ln()], 1e-15);
        assert_close("first", &found[1][3 * i..3 * i + 3], &p, 1e-11);
        let expected: Vec<f64> = (0..3).map(|j| p[j] * (u[j] - mean)).collect();
        assert_close("second", &found[2][3 * i..3 * i + 3], &expected, 1e-11);
    }
}

/// No path leads from `y` to `x`: the derivative is 0 and has the shape of `x`.
#[test]
fn derivatives_of_what_does_not_depend_are_zero() {
    let graph = Graph::new();
    let mut point = Point::new(2);
    let x = point.input(&graph, "x", Shape::batch(2), vec![1.0; 4]);
    let y = point.parameter(&graph, "y", Shape::fixed(3, 2), vec![1.0; 6]);
    let gradient = graph.grad(x.sum(), &[y, x]);
    assert_eq!(evaluate(&gradient, &point), [vec![0.0; 6], vec![1.0; 4]]);
}

/// `Σ seed·y` differentiated: a vector-Jacobian product.
#[test]
fn pull_back_weights_every_value() {
    let graph = Graph::new();
    let mut point = Point::new(3);
    let x = point.input(&graph, "x", Shape::batch(2), vec![0.1, 0.2, 0.3, 0.4, 0.5, 0.6]);
    let seed = point.input(&graph, "seed", Shape::batch(2), vec![1.0, -2.0, 3.0, -4.0, 5.0, -6.0]);
    let found = evaluate(&[graph.pull_back(x.exp(), seed, &[x])[0]], &point).remove(0);
    // seed·eˣ
    let expected: Vec<f64> =
        point.inputs[0].1.iter().zip(&point.inputs[1].1).map(|(x, s)| s * x.exp()).collect();
    assert_close("pull_back", &found, &expected, 1e-15);
}
