//! Positive definite matrices and their Cholesky factors, from real numbers with a logarithmic diagonal.

use hmcvi_graph::Expr;

use super::{Constrained, sums};
use crate::bayes::{Dims, Var};

/// Real numbers of one factor with so many rows and columns.
fn free(rows: usize, columns: usize) -> usize {
    columns * (columns + 1) / 2 + (rows - columns) * columns
}

/// Number of an element of a factor among its real numbers, which fill its rows one after the other.
fn number(row: usize, column: usize, columns: usize) -> usize {
    match row < columns {
        true => row * (row + 1) / 2 + column,
        false => columns * (columns + 1) / 2 + (row - columns) * columns + column,
    }
}

/// Rows of a factor with these dimensions.
fn rows_of(dims: Dims) -> usize {
    dims.sizes()[dims.sizes().len() - 2]
}

/// The lower triangle is filled row by row, the diagonal with exponentials.
pub(super) fn cholesky<'g>(raw: Expr<'g>, dims: Dims, [groups, columns]: [usize; 2]) -> Constrained<'g> {
    let rows = rows_of(dims);
    let own = free(rows, columns);
    let (graph, size) = (raw.graph(), groups * rows * columns);
    let place = |at: usize| {
        let (group, row, column) = (at / (rows * columns), at / columns % rows, at % columns);
        (column <= row).then(|| group * own + number(row, column, columns))
    };
    let places: Vec<Option<usize>> = (0..size).map(place).collect();
    let filled = sums::pick(raw, &places);
    let on_diagonal = |at: usize| at / columns % rows == at % columns;
    let mask: Vec<f64> = (0..size).map(|at| f64::from(u8::from(on_diagonal(at)))).collect();
    let mask = graph.constant_matrix(1, size, &mask);
    // Elements elsewhere do not meet the exponential, which could overflow.
    let logs = mask.select(filled, 0.0);
    let value = Var::new(mask.select(logs.exp(), filled), dims);
    Constrained { value, log_jacobian: Some(logs.sum_cols()) }
}

/// `LLᵀ` of such a factor; the logarithm of the Jacobian is `K log 2 + Σₖ (K - k + 2) log Lₖₖ` for `k` from 1.
pub(super) fn matrix<'g>(raw: Expr<'g>, dims: Dims, [groups, size]: [usize; 2]) -> Constrained<'g> {
    let factor = cholesky(raw, dims, [groups, size]).value.expr();
    let own = free(size, size);
    let diagonal: Vec<usize> =
        (0..groups * size).map(|at| at / size * own + number(at % size, at % size, size)).collect();
    let weights: Vec<f64> = (0..groups * size).map(|at| (size - at % size + 1) as f64).collect();
    let weights = raw.graph().constant_matrix(1, weights.len(), &weights);
    let log_jacobian = (raw.gather_cols(&diagonal) * weights).sum_cols() + (groups * size) as f64 * 2f64.ln();
    let parts: Vec<Expr<'g>> = (0..groups)
        .map(|g| {
            let own = factor.slice_cols(g * size * size, size * size);
            own.row_matmul(own.row_transpose(size, size), [size, size, size])
        })
        .collect();
    let value = Var::new(Expr::concat_cols(&parts), dims);
    Constrained { value, log_jacobian: Some(log_jacobian) }
}
