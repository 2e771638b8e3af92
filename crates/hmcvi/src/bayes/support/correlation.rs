//! Cholesky factors of correlation matrices, from canonical partial correlations.

use hmcvi_graph::Expr;

use super::{Constrained, sums};
use crate::bayes::{Dims, Var};

/// Elements below the diagonal of a square matrix.
pub(super) fn below_diagonal(size: usize) -> usize {
    size * size.saturating_sub(1) / 2
}

/// With `z = tanh y` row by row, `Lᵢⱼ = zᵢⱼ √(1 - Σ_{k<j} Lᵢₖ²)` below the diagonal and `Lᵢᵢ = √(1 - Σ_{k<i} Lᵢₖ²)`.
///
/// What is left under the root is `Π_{k<j} (1 - zᵢₖ²)`, here in logarithms.
pub(super) fn cholesky<'g>(raw: Expr<'g>, dims: Dims, [groups, size]: [usize; 2]) -> Constrained<'g> {
    let width = size - 1;
    // Row, column and group of a place in `groups` matrices with so many columns, and the number below the diagonal.
    let below = |at: usize, columns: usize| {
        let (row, column) = (at / columns % size, at % columns);
        let number = at / columns / size * below_diagonal(size) + below_diagonal(row) + column;
        (column < row).then_some(number)
    };
    let places = |columns: usize| -> Vec<Option<usize>> {
        (0..groups * size * columns).map(|at| below(at, columns)).collect()
    };
    // log(1 - tanh² y) = log 4 σ(2y) σ(-2y)
    let twice = raw * 2.0;
    let log_rest = twice.log_sigmoid() + (-twice).log_sigmoid() + 4f64.ln();
    let log_left = sums::before(sums::pick(log_rest, &places(width)), [groups * size, width]);
    let all = places(size);
    let is_diagonal = |at: usize| f64::from(u8::from(at / size % size == at % size));
    let diagonal: Vec<f64> = (0..all.len()).map(is_diagonal).collect();
    let diagonal = raw.graph().constant_matrix(1, diagonal.len(), &diagonal);
    let value = (sums::pick(raw.tanh(), &all) + diagonal) * (log_left * 0.5).exp();
    let strictly: Vec<usize> = (0..all.len()).filter(|at| all[*at].is_some()).collect();
    let log_slope = log_rest + log_left.gather_cols(&strictly) * 0.5;
    Constrained { value: Var::new(value, dims), log_jacobian: Some(log_slope.sum_cols()) }
}
