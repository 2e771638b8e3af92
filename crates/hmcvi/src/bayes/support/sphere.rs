//! Vectors of length 1, and vectors with the sum 0.

use hmcvi_graph::Expr;

use super::Constrained;
use crate::bayes::{Dims, Var};

/// `y / |y|`; the length of `y` gets a density of its own, `exp(-|y|²/2)`.
pub(super) fn unit_vector<'g>(raw: Var<'g>, [_, size]: [usize; 2]) -> Constrained<'g> {
    let squares = raw.expr().square();
    let lengths = squares.sum_groups(size).sqrt().repeat_cols(size);
    let value = Var::new(raw.expr() / lengths, raw.dims());
    Constrained { value, log_jacobian: Some(squares.sum_cols() * -0.5) }
}

/// A fixed orthogonal map of one number fewer, whose Jacobian is 1: `wᵢ = yᵢ / √(i(i + 1))`, and element `j` is
/// `Σ_{i>j} wᵢ - j wⱼ`, where elements count from 0.
pub(super) fn sum_to_zero<'g>(raw: Expr<'g>, dims: Dims, [groups, size]: [usize; 2]) -> Constrained<'g> {
    let free = size - 1;
    let entry = |i: usize, j: usize| {
        let n = i as f64;
        let scale = 1.0 / (n * (n + 1.0)).sqrt();
        match i.cmp(&j) {
            std::cmp::Ordering::Greater => scale,
            std::cmp::Ordering::Equal => -n * scale,
            std::cmp::Ordering::Less => 0.0,
        }
    };
    let map: Vec<f64> = (0..free * size).map(|at| entry(at / size + 1, at % size)).collect();
    let map = raw.graph().constant_matrix(1, map.len(), &map);
    Constrained { value: Var::new(raw.row_matmul(map, [groups, free, size]), dims), log_jacobian: None }
}
