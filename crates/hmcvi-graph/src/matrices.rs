//! Write expressions of small matrices, one in each row: products, Cholesky factors, triangular systems.
//!
//! A matrix lies in its row one row after the other: entry `(i, j)` of a matrix with `n` columns is column `i·n + j`.

use crate::error::ShapeError;
use crate::expr::Expr;
use crate::rowwise::RowOp;

impl<'g> Expr<'g> {
    /// The product of two matrices in every row: `[n, m]` here times `[m, k]` in `other`, for `[n, m, k]`. An argument
    /// with a single row is the same for all.
    #[track_caller]
    pub fn row_matmul(self, other: Self, [n, m, k]: [usize; 3]) -> Self {
        self.fits("row_matmul", [n, m]);
        other.fits("row_matmul", [m, k]);
        self.row_product(other, [n, m, k], [false, false])
    }

    /// The transpose of an `[n, m]` matrix in every row.
    #[track_caller]
    pub fn row_transpose(self, n: usize, m: usize) -> Self {
        self.fits("row_transpose", [n, m]);
        let places: Vec<usize> = (0..n * m).map(|j| j % n * m + j / n).collect();
        self.gather_cols(&places)
    }

    /// The Cholesky factor `L` of a positive definite `[n, n]` matrix `A = LLᵀ` in every row, with zeros above its
    /// diagonal; NaN where the matrix is not positive definite. Of `A` the lower triangle is read, so derivatives by
    /// what is above it are 0.
    #[track_caller]
    pub fn cholesky(self, n: usize) -> Self {
        self.fits("cholesky", [n, n]);
        self.row_op(RowOp::Cholesky { n }, &[], n * n)
    }

    /// `L⁻¹B`, or `L⁻ᵀB` if `transposed`, in every row: for the lower triangle `L` of the `[n, n]` matrix here, and
    /// `b` with as many columns as there are values for `n` rows. Single rows are the same for all.
    #[track_caller]
    pub fn triangular_solve(self, b: Self, n: usize, transposed: bool) -> Self {
        self.fits("triangular_solve", [n, n]);
        let cols = b.cols() / n;
        b.fits("triangular_solve", [n, cols]);
        self.row_op(RowOp::Solve { n, cols, transposed }, &[b], n * cols)
    }

    /// The eigenvalues `[n]` of a symmetric `[n, n]` matrix in every row, ascending, and its eigenvectors `[n, n]` in
    /// columns of length 1, whose signs are arbitrary. Of a matrix that is not symmetric, half the sum with its
    /// transpose is taken. Derivatives of eigenvectors need eigenvalues that differ.
    #[track_caller]
    pub fn symmetric_eigen(self, n: usize) -> (Self, Self) {
        self.fits("symmetric_eigen", [n, n]);
        let both = (0.5 * (self + self.row_transpose(n, n))).row_op(RowOp::Eigen { n }, &[], 2 * n * n);
        (both.gather_cols(&diagonal(n)), both.slice_cols(n * n, n * n))
    }

    /// `V (Λ̄ + F ∘ VᵀV̄) Vᵀ` with `Fᵢⱼ = 1 / (λⱼ - λᵢ)` and without a diagonal, for the adjoints of both matrices.
    pub(crate) fn eigen_adjoint(self, adjoint: Self, n: usize) -> Self {
        let (values, vectors) = (self.gather_cols(&diagonal(n)), self.slice_cols(n * n, n * n));
        let (of_values, of_vectors) = (adjoint.slice_cols(0, n * n), adjoint.slice_cols(n * n, n * n));
        let ones: Vec<f64> = (0..n * n).map(|at| f64::from(u8::from(at / n == at % n))).collect();
        let identity = self.graph.constant_matrix(1, n * n, &ones);
        let across: Vec<usize> = (0..n * n).map(|at| at % n).collect();
        let gaps = values.gather_cols(&across) - values.repeat_cols(n) + identity;
        let turned = vectors.row_product(of_vectors, [n, n, n], [true, false]) / gaps;
        let inner = identity * of_values + (1.0 - identity) * turned;
        let left = vectors.row_matmul(inner, [n, n, n]);
        left.row_product(vectors, [n, n, n], [false, true])
    }

    /// A product of matrices that may be read transposed, `[rows, depth, cols]` as they are multiplied.
    pub(crate) fn row_product(
        self,
        other: Self,
        [rows, depth, cols]: [usize; 3],
        transposed: [bool; 2],
    ) -> Self {
        self.row_op(RowOp::Product { rows, depth, cols, transposed }, &[other], rows * cols)
    }

    /// What is below the diagonal of an `[n, n]` matrix in every row, with the diagonal multiplied by a factor.
    pub(crate) fn lower_triangle(self, n: usize, diagonal: f64) -> Self {
        let entry = |at: usize| match (at / n).cmp(&(at % n)) {
            std::cmp::Ordering::Less => 0.0,
            std::cmp::Ordering::Equal => diagonal,
            std::cmp::Ordering::Greater => 1.0,
        };
        let mask: Vec<f64> = (0..n * n).map(entry).collect();
        self * self.graph.constant_matrix(1, mask.len(), &mask)
    }

    #[track_caller]
    fn fits(self, name: &'static str, [n, m]: [usize; 2]) {
        if n * m == 0 || self.cols() != n * m {
            let why = format!("a row does not hold a matrix of {n} rows and {m} columns");
            ShapeError::new(name, &[self.shape()], why).raise();
        }
    }
}

/// Places of the diagonal of an `[n, n]` matrix.
fn diagonal(n: usize) -> Vec<usize> {
    (0..n).map(|i| i * (n + 1)).collect()
}
