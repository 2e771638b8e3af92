//! Bend coordinates, so that a chain begins with more than a Gaussian: how wide one of them is depends on the others, and
//! each may lean to a side or have long tails.
//!
//! In hierarchical models the width of many variables is itself a variable: a funnel, which no Gaussian fits. Two
//! triangular layers give each coordinate a log scale that is linear in those before it, then in those behind it; a
//! sinh-arcsinh transform (Jones and Pewsey, 2009) of each follows. All of it begins as the identity.

use hmcvi_graph::{Expr, Shape};

use crate::nn::{Initial, Parameters};

/// Log scales beyond this are cut: a wild place must not become infinite.
const MOST: f64 = 12.0;

/// Bent coordinates, and `log |det|`, `[N, 1]`.
pub(super) fn bend<'g>(parameters: &Parameters<'g>, e: Expr<'g>) -> (Expr<'g>, Expr<'g>) {
    let before = |row: usize, column: usize| column < row;
    let behind = |row: usize, column: usize| column > row;
    let (e, first) = scale(parameters, "map.before", e, before);
    let (e, second) = scale(parameters, "map.behind", e, behind);
    let (e, third) = lean(parameters, e);
    (e, (first + second + third).sum_cols().broadcast_to(Shape::batch(1)))
}

/// Each coordinate times the exponential of a linear function of those that `sees` allows, with log scales.
fn scale<'g>(
    parameters: &Parameters<'g>,
    name: &str,
    e: Expr<'g>,
    sees: impl Fn(usize, usize) -> bool,
) -> (Expr<'g>, Expr<'g>) {
    let (graph, d) = (parameters.graph(), e.cols());
    let mask: Vec<f64> = (0..d * d).map(|k| f64::from(u8::from(sees(k / d, k % d)))).collect();
    let weights = parameters.get(name, d, d, Initial::Constant(0.0)) * graph.constant_matrix(d, d, &mask);
    let log_scale = e.matmul_transposed(weights).max(-MOST).min(MOST);
    (e * log_scale.exp(), log_scale)
}

/// `sinh(e^tail · arsinh e + lean)`, with the logarithm of its derivative.
fn lean<'g>(parameters: &Parameters<'g>, e: Expr<'g>) -> (Expr<'g>, Expr<'g>) {
    let d = e.cols();
    let lean = parameters.get("map.lean", 1, d, Initial::Constant(0.0));
    let tail = parameters.get("map.tail", 1, d, Initial::Constant(0.0));
    let root = (e.square() + 1.0).sqrt();
    // Without cancellation on either side.
    let size = (e.abs() + root).log();
    let w = (tail.exp() * e.less(0.0).select(-size, size) + lean).max(-MOST).min(MOST);
    let (up, down) = (w.exp() * 0.5, (-w).exp() * 0.5);
    (up - down, (up + down).log() + tail - root.log())
}
