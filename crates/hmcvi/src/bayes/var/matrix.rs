//! Write products and factors of matrices, known or to be inferred.

use super::Var;
use crate::bayes::Dims;

impl<'g> Var<'g> {
    /// A matrix times a vector, `Σⱼ Xᵢⱼ bⱼ`, or times another matrix.
    #[must_use]
    pub fn times(self, other: Var<'g>) -> Self {
        let Some((rows, depth)) = self.dims.matrix() else {
            return self.wrong(format!("`times` needs a matrix, not {}", self.dims), other.dims);
        };
        let (columns, dims) = match *other.dims.sizes() {
            [_, columns] => (columns, Dims::from((rows, columns))),
            _ => (1, Dims::from(rows)),
        };
        if other.dims.is_scalar() || other.dims.sizes().len() > 2 || other.dims.sizes()[0] != depth {
            let problem = format!(
                "a matrix {} can be multiplied by a vector of {depth} elements or a matrix of {depth} rows, not by {}",
                self.dims, other.dims
            );
            return self.wrong(problem, dims);
        }
        match self.matrix {
            Some(matrix) if columns == 1 => Var::new(other.expr.matmul_transposed(matrix), dims),
            _ => Var::new(self.expr.row_matmul(other.expr, [rows, depth, columns]), dims),
        }
    }

    /// The transpose of a matrix.
    #[must_use]
    pub fn transposed(self) -> Self {
        match self.dims.matrix() {
            Some((rows, columns)) => {
                Var::new(self.expr.row_transpose(rows, columns), Dims::from((columns, rows)))
            }
            None => self.wrong(format!("`transposed` needs a matrix, not {}", self.dims), self.dims),
        }
    }

    /// A matrix with each row multiplied by the element of a vector: `diag(s) · M`. With standard deviations `s` and the
    /// Cholesky factor of correlations it is that of covariances.
    #[must_use]
    pub fn scale_rows(self, scales: Var<'g>) -> Self {
        match self.dims.matrix() {
            Some((rows, columns)) if scales.dims == rows.into() => {
                Var::new(self.expr * scales.expr.repeat_cols(columns), self.dims)
            }
            _ => {
                let problem = format!(
                    "`scale_rows` needs a matrix and a number for each row, not {} and {}",
                    self.dims, scales.dims
                );
                self.wrong(problem, self.dims)
            }
        }
    }

    /// The Cholesky factor `L` of a positive definite matrix `LLᵀ`.
    #[must_use]
    pub fn cholesky(self) -> Self {
        match self.dims.matrix() {
            Some((rows, columns)) if rows == columns => Var::new(self.expr.cholesky(rows), self.dims),
            _ => self.wrong(format!("`cholesky` needs a square matrix, not {}", self.dims), self.dims),
        }
    }
}
