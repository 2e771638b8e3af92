//! Take derivatives of derivatives: by formulas, by differences, and of rows.
#![allow(missing_docs, reason = "tests are named for what they guard")]

mod common;

use common::{Draws, Function, Point, assert_close, differences, evaluate};
use hmcvi_graph::{Expr, Graph, Shape};

/// Derivatives of functions of one variable by applying `row_grad` again and again.
#[test]
fn third_and_fourth_derivatives_have_their_formulas() {
    type Formula = fn(f64) -> [f64; 4];
    type Build = for<'g> fn(Expr<'g>) -> Expr<'g>;
    let functions: [(&str, Build, Formula); 8] = [
        // f = exp(-x²): f' = -2x f, f'' = (4x² - 2) f, f''' = (12x - 8x³) f, f'''' = (16x⁴ - 48x² + 12) f
        (
            "exp(-x²)",
            |x| (-x.square()).exp(),
            |x| {
                let s = x * x;
                let p = [-2.0 * x, 4.0 * s - 2.0, (12.0 - 8.0 * s) * x, 16.0 * s * s - 48.0 * s + 12.0];
                p.map(|p| p * (-s).exp())
            },
        ),
        // σ' = σ(1-σ), σ'' = σ'(1-2σ), σ''' = σ'(1 - 6σ'); softplus' = σ
        (
            "softplus",
            |x| x.softplus(),
            |x| {
                let s = 1.0 / (1.0 + (-x).exp());
                let t = s * (1.0 - s);
                [s, t, t * (1.0 - 2.0 * s), t * (1.0 - 6.0 * t)]
            },
        ),
        // With t = tanh x, d = 1 - t²: d, -2td, (6t² - 2)d, (16t - 24t³)d
        (
            "tanh",
            |x| x.tanh(),
            |x| {
                let t = x.tanh();
                [1.0, -2.0 * t, 6.0 * t * t - 2.0, 16.0 * t - 24.0 * t * t * t].map(|p| p * (1.0 - t * t))
            },
        ),
        // With u = 1 + x: 1/u, -1/u², 2/u³, -6/u⁴
        (
            "log1p",
            |x| x.log1p(),
            |x| {
                let u = 1.0 / (1.0 + x);
                [u, -u.powi(2), 2.0 * u.powi(3), -6.0 * u.powi(4)]
            },
        ),
        // ½ x^-½, -¼ x^-3/2, ⅜ x^-5/2, -15/16 x^-7/2
        (
            "sqrt",
            |x| x.sqrt(),
            |x| {
                let p = |power: f64| x.powf(power);
                [0.5 * p(-0.5), -0.25 * p(-1.5), 0.375 * p(-2.5), -0.9375 * p(-3.5)]
            },
        ),
        // -1/x², 2/x³, -6/x⁴, 24/x⁵
        (
            "reciprocal",
            |x| x.reciprocal(),
            |x| [-x.powi(-2), 2.0 * x.powi(-3), -6.0 * x.powi(-4), 24.0 * x.powi(-5)],
        ),
        // log(e^x + e^2x) = x + log(1 + e^x): 1 + σ, then as softplus
        (
            "log_sum_exp",
            |x| Expr::concat_cols(&[x, x * 2.0]).log_sum_exp(),
            |x| {
                let s = 1.0 / (1.0 + (-x).exp());
                let t = s * (1.0 - s);
                [1.0 + s, t, t * (1.0 - 2.0 * s), t * (1.0 - 6.0 * t)]
            },
        ),
        // f = exp(e^x), with e = e^x: e f, (e² + e) f, (e³ + 3e² + e) f, (e⁴ + 6e³ + 7e² + e) f
        (
            "exp(exp x)",
            |x| x.exp().exp(),
            |x| {
                let e = x.exp();
                [e, e * (1.0 + e), e * (1.0 + e * (3.0 + e)), e * (1.0 + e * (7.0 + e * (6.0 + e)))]
                    .map(|p| p * e.exp())
            },
        ),
    ];
    let points = [0.3, 0.7, 1.1, 1.5];
    for (name, build, formula) in functions {
        let graph = Graph::new();
        let mut point = Point::new(points.len());
        let x = point.input(&graph, "x", Shape::batch(1), points.to_vec());
        let mut derivative = build(x);
        let mut all = Vec::new();
        for _ in 0..4 {
            derivative = graph.row_grad(derivative, x);
            all.push(derivative);
        }
        for (order, found) in evaluate(&all, &point).into_iter().enumerate() {
            let expected = points.map(|x| formula(x)[order]);
            assert_close(&format!("derivative {} of {name}", order + 1), &found, &expected, 1e-12);
        }
    }
}

/// The third derivative of a composite of several variables, `Σ softplus(exp(x·w))`, against
/// differences of the second.
#[test]
fn third_derivative_of_a_composite_of_matrices() {
    let graph = Graph::new();
    let mut draws = Draws(3);
    let mut point = Point::new(3);
    let x = point.input(&graph, "x", Shape::batch(2), draws.vector(6, -0.5, 0.5));
    let w = point.parameter(&graph, "w", Shape::fixed(2, 3), draws.vector(6, -0.5, 0.5));
    let mut f = x.matmul(w).exp().softplus().sum();
    let mut orders = vec![f];
    for order in 0..3 {
        let gradient = graph.grad(f, &[x, w]);
        let u = point.input(&graph, &format!("ux{order}"), Shape::batch(2), draws.vector(6, -1.0, 1.0));
        let v = point.input(&graph, &format!("uw{order}"), Shape::fixed(2, 3), draws.vector(6, -1.0, 1.0));
        f = (u * gradient[0]).sum() + (v * gradient[1]).sum();
        orders.push(f);
    }
    for order in 0..3 {
        let gradient = graph.grad(orders[order], &[x, w]);
        let found = evaluate(&gradient, &point);
        let mut lower = Function::new(&[orders[order]], 3);
        for (name, found) in ["x", "w"].iter().zip(&found) {
            let expected = differences(&mut lower, 0, &point, name);
            assert_close(&format!("derivative {} by {name}", order + 1), found, &expected, 1e-8);
        }
    }
}

#[test]
fn hessian_times_vector_of_logistic_regression() {
    let (rows, cols) = (40, 5);
    let graph = Graph::new();
    let mut draws = Draws(4);
    let mut point = Point::new(rows);
    let x = point.input(&graph, "x", Shape::batch(cols), draws.vector(rows * cols, -1.0, 1.0));
    let labels = (0..rows).map(|_| draws.below(2) as f64).collect();
    let y = point.input(&graph, "y", Shape::batch(1), labels);
    let w = point.parameter(&graph, "w", Shape::fixed(cols, 1), draws.vector(cols, -1.0, 1.0));
    let v = point.parameter(&graph, "v", Shape::fixed(cols, 1), draws.vector(cols, -1.0, 1.0));
    let logits = x.matmul(w);
    let loss = (logits.softplus() - y * logits).mean_rows();
    let gradient = graph.grad(loss, &[w])[0];
    let along = (gradient * v).sum();
    let product = graph.grad(along, &[w])[0];
    let found = evaluate(&[product], &point).remove(0);

    let expected = differences(&mut Function::new(&[along], rows), 0, &point, "w");
    assert_close("against differences", &found, &expected, 1e-10);

    // Xᵀ diag(σ(1-σ)) X v / N
    let (x, w, v) = (point.inputs[0].1.clone(), point.values("w").clone(), point.values("v").clone());
    let dot = |row: &[f64], u: &[f64]| row.iter().zip(u).map(|(a, b)| a * b).sum::<f64>();
    let mut expected = vec![0.0; cols];
    for row in x.chunks(cols) {
        let s = 1.0 / (1.0 + (-dot(row, &w)).exp());
        for j in 0..cols {
            expected[j] += s * (1.0 - s) * dot(row, &v) * row[j] / rows as f64;
        }
    }
    assert_close("against the formula", &found, &expected, 1e-13);
}

/// The penalty `Σ (dL/dw)²` needs a finished sum over rows before its own derivative goes over the
/// rows again.
#[test]
fn gradient_norm_penalty_takes_two_row_stages() {
    let rows = 70;
    let graph = Graph::new();
    let mut draws = Draws(5);
    let mut point = Point::new(rows);
    let x = point.input(&graph, "x", Shape::batch(3), draws.vector(3 * rows, -1.0, 1.0));
    let w = point.parameter(&graph, "w", Shape::fixed(3, 4), draws.vector(12, -1.0, 1.0));
    let b = point.parameter(&graph, "b", Shape::fixed(1, 4), draws.vector(4, -1.0, 1.0));
    let u = point.parameter(&graph, "u", Shape::fixed(4, 1), draws.vector(4, -1.0, 1.0));
    let energy = (x.matmul(w) + b).tanh().matmul(u).softplus();
    let loss = energy.mean_rows();
    let gradient = graph.grad(loss, &[w, b, u]);
    let penalty = gradient.iter().map(|g| g.square().sum()).reduce(|a, b| a + b).expect("three of them");
    let objective = loss + penalty * 0.5;
    let wrt = [x, w, b, u];
    let mut second = Function::new(&graph.grad(objective, &wrt), rows);
    assert!(second.listing().contains("row stage 1"), "{}", second.listing());
    assert!(!second.listing().contains("row stage 2"), "{}", second.listing());
    let found = second.call(&point);
    let mut value = Function::new(&[objective], rows);
    for (name, found) in ["x", "w", "b", "u"].iter().zip(&found) {
        let expected = differences(&mut value, 0, &point, name);
        assert_close(name, found, &expected, 1e-9);
    }
}

/// Row `i` of the energy depends on row `i` of `z` alone, so the gradient of the sum over rows has
/// the same rows.
#[test]
fn row_grad_is_the_gradient_of_the_sum() {
    let graph = Graph::new();
    let mut draws = Draws(6);
    let mut point = Point::new(9);
    let z = point.input(&graph, "z", Shape::batch(3), draws.vector(27, -1.0, 1.0));
    let w = point.parameter(&graph, "w", Shape::fixed(3, 4), draws.vector(12, -1.0, 1.0));
    let energy = z.matmul(w).softplus().sum_cols() + z.square().sum_cols() * 0.5;
    let [by_row, by_sum] = [graph.row_grad(energy, z), graph.grad(energy.sum(), &[z])[0]];
    let found = evaluate(&[by_row, by_sum], &point);
    assert_close("rows", &found[0], &found[1], 1e-15);
    let expected = differences(&mut Function::new(&[energy.sum()], 9), 0, &point, "z");
    assert_close("differences", &found[0], &expected, 1e-10);
}

/// `wrt` may be an expression in the middle: it is then taken as a variable of its own.
#[test]
fn row_grad_of_an_intermediate_expression() {
    let (graph, other) = (Graph::new(), Graph::new());
    let mut draws = Draws(7);
    let mut point = Point::new(5);
    let x = point.input(&graph, "x", Shape::batch(2), draws.vector(10, -1.0, 1.0));
    let w = point.parameter(&graph, "w", Shape::fixed(2, 3), draws.vector(6, -1.0, 1.0));
    let h = x.matmul(w).tanh();
    // x enters beside h; the derivative by h leaves that path out.
    fn energy<'g>(h: Expr<'g>, x: Expr<'g>) -> Expr<'g> {
        (h.exp() * h).sum_cols() * x.sum_cols() + x.square().sum_cols()
    }
    let first = graph.row_grad(energy(h, x), h);
    let found = evaluate(&[first, h], &point);

    let mut free = Point::new(5);
    let free_h = free.input(&other, "h", Shape::batch(3), found[1].clone());
    let free_x = free.input(&other, "x", Shape::batch(2), point.inputs[0].1.clone());
    let mut total = Function::new(&[energy(free_h, free_x).sum()], 5);
    let expected = differences(&mut total, 0, &free, "h");
    assert_close("derivative by the intermediate", &found[0], &expected, 1e-9);
}
