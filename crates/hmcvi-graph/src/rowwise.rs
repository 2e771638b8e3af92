//! Name the functions of whole rows: row `i` of the value needs row `i` of the arguments, but all of its columns.

use std::sync::Arc;

/// Places of columns, one list for all nodes that use it.
pub(crate) type Columns = Arc<[u32]>;

/// A function of whole rows. Matrices lie in their row one row after the other.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) enum RowOp {
    /// Column `j` is column `list[j]` of the argument.
    Gather(Columns),
    /// Column `k` is the sum of the argument's columns `j` with `list[j] = k`.
    SegmentSum(Columns),
    /// Column `j` is the sum of the columns up to `j`, or from `j` on, of its group of so many neighbouring columns.
    Cumsum { group: usize, reverse: bool },
    /// `log Σ exp` of each so many columns.
    LogSumExp { group: usize },
    /// The lower triangle `L` of `A = LLᵀ`, of which the lower triangle is read; zeros above.
    Cholesky { n: usize },
    /// `L⁻¹B` or `L⁻ᵀB`, for the lower triangle `L` of the first argument and `B` with so many columns.
    Solve { n: usize, cols: usize, transposed: bool },
    /// A diagonal matrix of the eigenvalues of a symmetric `[n, n]` matrix, ascending, and then its eigenvectors in the
    /// columns of another.
    Eigen { n: usize },
    /// The product of two matrices, each of which may be read transposed: `[rows, depth]` and `[depth, cols]` as they
    /// are multiplied.
    Product { rows: usize, depth: usize, cols: usize, transposed: [bool; 2] },
}

impl RowOp {
    pub(crate) fn name(&self) -> &'static str {
        match self {
            RowOp::Gather(_) => "gather_cols",
            RowOp::SegmentSum(_) => "segment_sum_cols",
            RowOp::Cumsum { reverse: false, .. } => "cumsum_cols",
            RowOp::Cumsum { reverse: true, .. } => "reverse_cumsum_cols",
            RowOp::LogSumExp { .. } => "log_sum_exp_groups",
            RowOp::Cholesky { .. } => "cholesky",
            RowOp::Eigen { .. } => "eigen",
            RowOp::Solve { transposed: false, .. } => "triangular_solve",
            RowOp::Solve { transposed: true, .. } => "transposed_triangular_solve",
            RowOp::Product { .. } => "row_matmul",
        }
    }

    /// Whether the value is 0 where one of the arguments is; the first of two, which is divided by, does not count.
    pub(crate) fn is_zero_with(&self, argument: usize) -> bool {
        match self {
            RowOp::LogSumExp { .. } | RowOp::Cholesky { .. } | RowOp::Eigen { .. } => false,
            RowOp::Solve { .. } => argument == 1,
            _ => true,
        }
    }

    /// Operations on one row with so many columns of the first argument.
    pub(crate) fn operations(&self, cols: usize) -> usize {
        match self {
            RowOp::Gather(list) | RowOp::SegmentSum(list) => list.len(),
            RowOp::Cumsum { .. } => cols,
            RowOp::LogSumExp { .. } => 3 * cols,
            RowOp::Cholesky { n } => n * n * n / 3 + n * n,
            RowOp::Eigen { n } => 30 * n * n * n,
            RowOp::Solve { n, cols, .. } => n * n * cols,
            RowOp::Product { rows, depth, cols, .. } => 2 * rows * depth * cols,
        }
    }
}
