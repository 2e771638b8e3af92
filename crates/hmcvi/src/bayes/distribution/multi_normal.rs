//! Gaussian vectors with covariances.

use super::{Density, Distribution, check_argument};
use crate::bayes::support::Support;
use crate::bayes::{Arg, Dims, Var};
use crate::dist::HALF_LOG_TWO_PI;

/// Gaussian vectors with a mean and the Cholesky factor `L` of their covariance `LLᵀ`.
pub fn multi_normal_cholesky<'g>(mean: impl Into<Arg<'g>>, factor: Var<'g>) -> Distribution<'g> {
    Distribution::new(MultiNormal { name: "multi_normal_cholesky", mean: mean.into(), factor })
}

/// Gaussian vectors with a mean and a covariance.
pub fn multi_normal<'g>(mean: impl Into<Arg<'g>>, covariance: Var<'g>) -> Distribution<'g> {
    Distribution::new(MultiNormal { name: "multi_normal", mean: mean.into(), factor: covariance.cholesky() })
}

struct MultiNormal<'g> {
    name: &'static str,
    mean: Arg<'g>,
    factor: Var<'g>,
}

impl<'g> MultiNormal<'g> {
    /// Elements of a vector.
    fn size(&self) -> Result<usize, String> {
        match self.factor.dims().matrix() {
            Some((rows, columns)) if rows == columns => Ok(rows),
            _ => Err(format!("{} needs a square matrix, not {}", self.name, self.factor.dims())),
        }
    }
}

impl<'g> Density<'g> for MultiNormal<'g> {
    fn name(&self) -> &'static str {
        self.name
    }

    fn support(&self) -> Support<'g> {
        Support::Real
    }

    fn together(&self) -> usize {
        1
    }

    fn dims(&self) -> Result<Dims, String> {
        let size = self.size()?;
        check_argument(self.name, "mean", self.mean, Support::Real)?;
        let diagonal =
            |factor: Vec<f64>| factor.into_iter().step_by(size + 1).find(|d| d.is_nan() || *d <= 0.0);
        if let Some(wrong) = self.factor.known().and_then(diagonal) {
            return Err(format!(
                "the factor of {} has {wrong} on its diagonal; expected numbers above 0",
                self.name
            ));
        }
        let mean = self.mean.dims();
        match mean.split(1) {
            None => Ok(size.into()),
            Some((_, own)) if own == size.into() => Ok(mean),
            Some(_) => {
                Err(format!("the mean of {} is {mean}, but the matrix is {size} by {size}", self.name))
            }
        }
    }

    fn log_prob(&self, x: Var<'g>) -> Var<'g> {
        let (size, dims) = match (self.size(), x.dims().split(1)) {
            (Ok(size), Some((dims, own))) if own == size.into() => (size, dims),
            (size, _) => {
                let problem = size.map_or_else(
                    |problem| problem,
                    |size| format!("{} describes vectors of {size} elements, not {}", self.name, x.dims()),
                );
                return x.wrong(problem, x.dims());
            }
        };
        let mean = match self.mean.var(x.graph()).repeated(x.dims()) {
            Ok(mean) => mean,
            Err(problem) => return x.wrong(format!("{}: {problem}", self.name), dims),
        };
        let count = dims.elements();
        let factor = self.factor.expr();
        // One system with a column for each vector.
        let columns = (x - mean).expr().row_transpose(count, size);
        let noise = factor.triangular_solve(columns, size, false);
        let vectors: Vec<usize> = (0..count * size).map(|at| at % count).collect();
        let squares = noise.square().segment_sum_cols(&vectors, count);
        let diagonal: Vec<usize> = (0..size).map(|k| k * (size + 1)).collect();
        let log_det = factor.gather_cols(&diagonal).log().sum_cols();
        Var::new(squares * -0.5 - log_det - size as f64 * HALF_LOG_TWO_PI, dims)
    }
}
