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

/// The product of the factor with its transpose, from partial correlations column by column.
///
/// Of `z` in column `k` the logarithm of the Jacobian has `(K - k + 1)/2 · log(1 - z²)`, one half of it `K - k - 1` times
/// from the matrix and a whole one from `tanh`.
pub(super) fn matrix<'g>(raw: Expr<'g>, dims: Dims, [groups, size]: [usize; 2]) -> Constrained<'g> {
    let own = below_diagonal(size);
    if own == 0 {
        let one = raw.graph().constant(1.0).broadcast_to(hmcvi_graph::Shape::fixed(1, groups));
        return Constrained { value: Var::new(one, dims), log_jacobian: None };
    }
    // The place by columns of each element below the diagonal, row by row.
    let by_columns = |row: usize, column: usize| column * (2 * size - column - 1) / 2 + row - column - 1;
    let places: Vec<usize> =
        (1..size).flat_map(|row| (0..row).map(move |column| by_columns(row, column))).collect();
    let columns: Vec<usize> = (1..size).flat_map(|row| 0..row).collect();
    let all: Vec<usize> = (0..groups).flat_map(|g| places.iter().map(move |p| g * own + p)).collect();
    let rows = raw.gather_cols(&all);
    let factor = cholesky(rows, dims, [groups, size]).value.expr();
    let twice = rows * 2.0;
    let log_rest = twice.log_sigmoid() + (-twice).log_sigmoid() + 4f64.ln();
    let weights: Vec<f64> =
        (0..groups * own).map(|at| 0.5 * (size - columns[at % own] - 2) as f64 + 1.0).collect();
    let weights = raw.graph().constant_matrix(1, weights.len(), &weights);
    let parts: Vec<Expr<'g>> = (0..groups)
        .map(|g| {
            let own = factor.slice_cols(g * size * size, size * size);
            own.row_matmul(own.row_transpose(size, size), [size, size, size])
        })
        .collect();
    let value = Var::new(Expr::concat_cols(&parts), dims);
    Constrained { value, log_jacobian: Some((log_rest * weights).sum_cols()) }
}
