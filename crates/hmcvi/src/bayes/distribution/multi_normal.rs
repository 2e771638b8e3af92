//! Gaussian vectors with covariances.

use super::real::LOG_PI;
use super::{Density, Distribution, check_argument};
use crate::bayes::support::Support;
use crate::bayes::{Arg, Dims, Var};
use crate::dist::HALF_LOG_TWO_PI;

/// Gaussian vectors with a mean and the Cholesky factor `L` of their covariance `LLᵀ`.
pub fn multi_normal_cholesky<'g>(mean: impl Into<Arg<'g>>, factor: Var<'g>) -> Distribution<'g> {
    gaussian("multi_normal_cholesky", mean, factor)
}

/// Gaussian vectors with a mean and a covariance.
pub fn multi_normal<'g>(mean: impl Into<Arg<'g>>, covariance: Var<'g>) -> Distribution<'g> {
    gaussian("multi_normal", mean, covariance.cholesky())
}

/// Gaussian vectors with a mean and a precision matrix, the inverse of their covariance.
pub fn multi_normal_prec<'g>(mean: impl Into<Arg<'g>>, precision: Var<'g>) -> Distribution<'g> {
    let (mean, factor) = (mean.into(), precision.cholesky());
    Distribution::new(MultiNormal {
        name: "multi_normal_prec",
        mean,
        factor,
        is_precision: true,
        freedom: None,
    })
}

/// Vectors with Student's t distribution: degrees of freedom, a location, and a scale matrix.
pub fn multi_student_t<'g>(
    freedom: impl Into<Arg<'g>>,
    location: impl Into<Arg<'g>>,
    scale: Var<'g>,
) -> Distribution<'g> {
    let (mean, factor, freedom) = (location.into(), scale.cholesky(), Some(freedom.into()));
    Distribution::new(MultiNormal { name: "multi_student_t", mean, factor, is_precision: false, freedom })
}

fn gaussian<'g>(name: &'static str, mean: impl Into<Arg<'g>>, factor: Var<'g>) -> Distribution<'g> {
    Distribution::new(MultiNormal { name, mean: mean.into(), factor, is_precision: false, freedom: None })
}

struct MultiNormal<'g> {
    name: &'static str,
    mean: Arg<'g>,
    /// That of the covariance or of its inverse.
    factor: Var<'g>,
    is_precision: bool,
    /// Degrees of freedom, where the tails are not Gaussian.
    freedom: Option<Arg<'g>>,
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
        if let Some(freedom) = self.freedom {
            check_argument(self.name, "freedom", freedom, Support::POSITIVE)?;
        }
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
        let noise = match self.is_precision {
            false => factor.triangular_solve(columns, size, false),
            true => factor.row_transpose(size, size).row_matmul(columns, [size, size, count]),
        };
        let vectors: Vec<usize> = (0..count * size).map(|at| at % count).collect();
        let squares = noise.square().segment_sum_cols(&vectors, count);
        let diagonal: Vec<usize> = (0..size).map(|k| k * (size + 1)).collect();
        let log_det = factor.gather_cols(&diagonal).log().sum_cols();
        let log_det = if self.is_precision { -log_det } else { log_det };
        let size = size as f64;
        let Some(freedom) = self.freedom else {
            return Var::new(squares * -0.5 - log_det - size * HALF_LOG_TWO_PI, dims);
        };
        let freedom = freedom.var(x.graph()).expr();
        let half = (freedom + size) * 0.5;
        let constant = half.lgamma() - (freedom * 0.5).lgamma() - freedom.log() * (0.5 * size);
        let log_prob = constant - 0.5 * size * LOG_PI - log_det - half * (squares / freedom).log1p();
        Var::new(log_prob, dims)
    }
}
