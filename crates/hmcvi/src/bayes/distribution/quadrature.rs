//! Write incomplete gamma and beta functions of what depends on parameters, as sums over fixed points.
//!
//! Integrals over `u` in `(0, 1)` and over `r` in `(0, ∞)` become trapezoid sums over `s` by `u = 1 / (1 + e^{-π sinh s})`
//! and `r = e^{π/2 sinh s}`, which are exact to rounding for integrands without inner peaks narrower than the spacing:
//! for shapes up to 500.

use std::sync::LazyLock;

use hmcvi_graph::Expr;

use crate::bayes::{Dims, Var};

/// Spacing of the points, and how far they go to both sides.
const SPACING: f64 = 1.0 / 128.0;
const ENDS: f64 = 4.5;

/// Points with the logarithms of their weights.
struct Points {
    log_u: Vec<f64>,
    u: Vec<f64>,
    /// `1 - u`
    rest: Vec<f64>,
    /// Weights in `∫ f(u) du / u`.
    log_weight: Vec<f64>,
    r: Vec<f64>,
    /// Weights in `∫ f(r) dr`.
    log_weight_r: Vec<f64>,
}

static POINTS: LazyLock<Points> = LazyLock::new(|| {
    let count = (ENDS / SPACING) as i32;
    let s: Vec<f64> = (-count..=count).map(|k| f64::from(k) * SPACING).collect();
    let all = |f: &dyn Fn(f64) -> f64| s.iter().map(|s| f(*s)).collect::<Vec<f64>>();
    let log_sigmoid = |x: f64| if x > 0.0 { -(-x).exp().ln_1p() } else { x - x.exp().ln_1p() };
    let v = |s: f64| std::f64::consts::PI * s.sinh();
    let log_step = |s: f64| (SPACING * std::f64::consts::PI * s.cosh()).ln();
    Points {
        log_u: all(&|s| log_sigmoid(v(s))),
        u: all(&|s| log_sigmoid(v(s)).exp()),
        rest: all(&|s| log_sigmoid(-v(s)).exp()),
        log_weight: all(&|s| log_step(s) + log_sigmoid(-v(s))),
        // Beyond e³⁰⁰ the integrands are 0 whatever their arguments.
        r: all(&|s| (0.5 * v(s)).min(300.0).exp()),
        log_weight_r: all(&|s| (0.5 * v(s)).min(300.0) + log_step(s) - std::f64::consts::LN_2),
    }
});

/// Values of some lanes, beside the points.
struct Lanes {
    lanes: usize,
}

impl Lanes {
    fn of(all: &[Var<'_>]) -> Self {
        Lanes { lanes: all.iter().map(|var| var.expr().cols()).max().unwrap_or(1) }
    }

    /// Each value once for each point.
    fn spread<'g>(&self, x: Var<'g>) -> Expr<'g> {
        if x.expr().cols() == 1 { x.expr() } else { x.expr().repeat_cols(POINTS.u.len()) }
    }

    /// The points once for each lane.
    fn points<'g>(&self, like: Var<'g>, values: &[f64]) -> Expr<'g> {
        like.graph().constant_matrix(1, self.lanes * values.len(), &values.repeat(self.lanes))
    }

    /// `log Σ exp` over the points.
    fn sum<'g>(&self, logs: Expr<'g>) -> Var<'g> {
        let dims = if self.lanes == 1 { Dims::SCALAR } else { self.lanes.into() };
        Var::new(logs.log_sum_exp_groups(POINTS.u.len()), dims)
    }
}

/// `[log P, log Q]` of the regularised incomplete gamma function `P(a, x)` and `Q = 1 - P`, for `x > 0`.
pub(super) fn log_gamma<'g>(a: Var<'g>, x: Var<'g>) -> [Var<'g>; 2] {
    let lanes = Lanes::of(&[a, x]);
    let (wide_a, wide_x) = (lanes.spread(a), lanes.spread(x));
    let point = |values: &[f64]| lanes.points(x, values);
    let own = a * x.log() - a.lgamma();
    // ∫₀ˣ tᵃ⁻¹ e⁻ᵗ dt with t = x u.
    let below =
        lanes.sum(wide_a * point(&POINTS.log_u) - wide_x * point(&POINTS.u) + point(&POINTS.log_weight));
    // ∫ₓ tᵃ⁻¹ e⁻ᵗ dt with t = x + r.
    let log_t = (wide_x + point(&POINTS.r)).log();
    let logs = (wide_a - 1.0) * log_t - point(&POINTS.r) + point(&POINTS.log_weight_r);
    [own + below, lanes.sum(logs) - x - a.lgamma()]
}

/// `log I(x; a, b)` of the regularised incomplete beta function, given `x` and `1 - x`.
fn log_lower_beta<'g>(a: Var<'g>, b: Var<'g>, [x, rest]: [Var<'g>; 2]) -> Var<'g> {
    let lanes = Lanes::of(&[a, b, x]);
    let [wide_a, wide_b, wide_x, wide_rest] = [a, b, x, rest].map(|var| lanes.spread(var));
    let point = |values: &[f64]| lanes.points(x, values);
    let log_other = (wide_rest + wide_x * point(&POINTS.rest)).log();
    let logs = wide_a * point(&POINTS.log_u) + (wide_b - 1.0) * log_other + point(&POINTS.log_weight);
    a * x.log() - a.lgamma() - b.lgamma() + (a + b).lgamma() + lanes.sum(logs)
}

/// `[log I, log (1 - I)]`
pub(super) fn log_beta<'g>(a: Var<'g>, b: Var<'g>, [x, rest]: [Var<'g>; 2]) -> [Var<'g>; 2] {
    [log_lower_beta(a, b, [x, rest]), log_lower_beta(b, a, [rest, x])]
}

/// `[log F, log (1 - F)]` of Student's t distribution with `n` degrees of freedom.
pub(super) fn log_student<'g>(n: Var<'g>, z: Var<'g>) -> [Var<'g>; 2] {
    let lanes = Lanes::of(&[n, z]);
    let near = z.square().less(4.0);
    // In the middle: F = ½ + z f(0) ∫₀¹ (1 + z²u²/n)^{-(n+1)/2} du.
    let (wide_n, wide_z) = (lanes.spread(n), lanes.spread(near.select(z, 1.0)));
    let point = |values: &[f64]| lanes.points(z, values);
    let squares: Vec<f64> = POINTS.u.iter().map(|u| u * u).collect();
    let bend = (wide_z.square() / wide_n * point(&squares)).log1p();
    let logs = point(&POINTS.log_u) + point(&POINTS.log_weight) - 0.5 * (wide_n + 1.0) * bend;
    let log_f0 = (n * 0.5 + 0.5).lgamma() - (n * 0.5).lgamma() - (n.log() + std::f64::consts::PI.ln()) * 0.5;
    let part = near.select(z, 0.0) * (log_f0 + lanes.sum(logs)).exp();
    let middle = [(part + 0.5).log(), (-part + 0.5).log()];
    // In the tails: ½ I(n / (n + z²); n/2, ½).
    let far = near.select(4.0, z.square());
    let whole = far + n;
    let half = Var::new(z.graph().constant(0.5), Dims::SCALAR);
    let log_tail = log_lower_beta(n * 0.5, half, [n / whole, far / whole]) - std::f64::consts::LN_2;
    let log_body = (-(log_tail.exp())).log1p();
    let left = z.less(0.0);
    let tails = [left.select(log_tail, log_body), left.select(log_body, log_tail)];
    [near.select(middle[0], tails[0]), near.select(middle[1], tails[1])]
}

/// Owen's function `T(z, a) = 1/2π ∫₀ᵃ exp(-z²(1 + t²)/2) / (1 + t²) dt`.
pub(super) fn owens_t<'g>(z: Var<'g>, a: Var<'g>) -> Var<'g> {
    let lanes = Lanes::of(&[z, a]);
    let (wide_z, wide_a) = (lanes.spread(z), lanes.spread(a));
    let squares: Vec<f64> = POINTS.u.iter().map(|u| u * u).collect();
    let square = wide_a.square() * lanes.points(z, &squares);
    let measure: Vec<f64> = POINTS.log_u.iter().zip(&POINTS.log_weight).map(|(u, w)| u + w).collect();
    let logs = wide_z.square() * (square + 1.0) * -0.5 - square.log1p() + lanes.points(z, &measure);
    a * lanes.sum(logs).exp() * (0.5 * std::f64::consts::FRAC_1_PI)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bayes::distribution::incomplete;
    use hmcvi_graph::{CpuOptions, Graph, Run, Shape, Store};

    fn value<'g>(graph: &'g Graph, x: Var<'g>) -> f64 {
        let output = x.expr().broadcast_to(Shape::batch(1));
        let program = graph.program().output("x", output).compile().expect("a program");
        let mut executable = program.on_cpu::<f64>(CpuOptions::for_rows(1));
        executable.evaluate(&Store::new(), &Run { rows: 1, ..Run::default() }).expect("it runs");
        executable.output("x").expect("an output")[0]
    }

    /// The series and fractions of `incomplete` are another way to the same numbers.
    #[test]
    fn sums_over_points_agree_with_series() {
        let near = |what: &str, found: f64, expected: f64| {
            let error = (found - expected.ln()).abs();
            assert!(error < 1e-10 * expected.ln().abs().max(1.0), "{what}: {found} {}", expected.ln());
        };
        for (a, b) in [(0.3, 0.6), (1.0, 2.5), (7.5, 3.0), (90.0, 60.0), (400.0, 300.0)] {
            for share in [0.05, 0.4, 1.1, 3.0] {
                let graph = Graph::new();
                let number = |x: f64| Var::new(graph.constant(x), Dims::SCALAR);
                let x = a * share;
                let [p, q] = incomplete::gamma(a, x);
                let found = log_gamma(number(a), number(x));
                if p > 1e-250 {
                    near(&format!("P({a}, {x})"), value(&graph, found[0]), p);
                }
                if q > 1e-12 {
                    near(&format!("Q({a}, {x})"), value(&graph, found[1]), q);
                }
                let u = share / 4.0;
                let found = log_beta(number(a), number(b), [number(u), number(1.0 - u)]);
                let both = incomplete::beta(a, b, [u, 1.0 - u]);
                for side in [0, 1] {
                    if both[side] > 1e-12 {
                        near(&format!("I({u}; {a}, {b}) {side}"), value(&graph, found[side]), both[side]);
                    }
                }
            }
        }
    }

    /// Derivatives by the shape, against differences of the series.
    #[test]
    fn derivatives_by_shapes_are_those_of_series() {
        for (a, x) in [(0.6, 0.3), (2.5, 1.9), (7.0, 11.0)] {
            let graph = Graph::new();
            let shape = graph.batch_input("a", 1);
            let x_of = Var::new(graph.constant(x), Dims::SCALAR);
            let logs = log_gamma(Var::new(shape, Dims::SCALAR), x_of);
            let beta = log_beta(
                Var::new(shape, Dims::SCALAR),
                x_of,
                [0.3, 0.7].map(|u| Var::new(graph.constant(u), Dims::SCALAR)),
            );
            let of = |side: usize, a: f64| incomplete::gamma(a, x)[side].ln();
            let of_beta = |side: usize, a: f64| incomplete::beta(a, x, [0.3, 0.7])[side].ln();
            let slope = |f: &dyn Fn(f64) -> f64| {
                let h = 1e-3 * a;
                let d = |h: f64| (f(a + h) - f(a - h)) / (2.0 * h);
                (4.0 * d(h / 2.0) - d(h)) / 3.0
            };
            for side in [0, 1] {
                for (found, expected) in
                    [(logs[side], slope(&|a| of(side, a))), (beta[side], slope(&|a| of_beta(side, a)))]
                {
                    let gradient = graph.row_grad(found.expr(), shape);
                    let program = graph.program().output("d", gradient).compile().expect("a program");
                    let mut executable = program.on_cpu::<f64>(CpuOptions::for_rows(1));
                    let run = Run { rows: 1, inputs: &[("a", &[a])], ..Run::default() };
                    executable.evaluate(&Store::new(), &run).expect("it runs");
                    let own = executable.output("d").expect("an output")[0];
                    assert!(
                        (own - expected).abs() < 1e-8 * expected.abs().max(1.0),
                        "{a} {x}: {own} {expected}"
                    );
                }
            }
        }
    }

    /// `F(x) = ½ + atan(x)/π` for one degree of freedom, and `T(0, a) = atan(a) / 2π`.
    #[test]
    fn closed_forms_are_met() {
        let graph = Graph::new();
        let number = |x: f64| Var::new(graph.constant(x), Dims::SCALAR);
        for z in [-30.0, -2.1, -1.9, 0.0, 0.5, 1.99, 2.01, 8.0] {
            let found = value(&graph, log_student(number(1.0), number(z))[0]).exp();
            let expected = 0.5 + f64::atan(z) * std::f64::consts::FRAC_1_PI;
            assert!((found - expected).abs() < 1e-13, "{z}: {found} {expected}");
            let t = value(&graph, owens_t(number(0.0), number(z)));
            assert!((t - f64::atan(z) / std::f64::consts::TAU).abs() < 1e-13, "{z}: {t}");
        }
    }
}
