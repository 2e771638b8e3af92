//! Distributions of positive definite matrices.

use std::f64::consts::LN_2;

use hmcvi_graph::Expr;

use super::real::LOG_PI;
use super::{Density, Distribution, check_argument, lkj};
use crate::bayes::support::Support;
use crate::bayes::{Arg, Dims, Var};

/// Correlation matrices of so many variables, with a density in proportion to their determinant to the power of
/// `concentration - 1`.
pub fn lkj_corr<'g>(size: usize, concentration: impl Into<Arg<'g>>) -> Distribution<'g> {
    let (argument, name) = (concentration.into(), "lkj_corr");
    Distribution::new(Matrices { name, size, argument, scale: None, log_prob: log_lkj })
}

/// Sums of so many squares of Gaussian vectors, with degrees of freedom and the scale matrix, their covariance.
pub fn wishart<'g>(freedom: impl Into<Arg<'g>>, scale: Var<'g>) -> Distribution<'g> {
    of_scale("wishart", freedom.into(), scale, log_wishart)
}

/// Matrices whose inverses have a [`wishart`] distribution, with degrees of freedom and the inverse of its scale.
pub fn inv_wishart<'g>(freedom: impl Into<Arg<'g>>, scale: Var<'g>) -> Distribution<'g> {
    of_scale("inv_wishart", freedom.into(), scale, log_inv_wishart)
}

fn of_scale<'g>(
    name: &'static str,
    argument: Arg<'g>,
    scale: Var<'g>,
    log_prob: LogProb,
) -> Distribution<'g> {
    let size = scale.dims().matrix().map_or(1, |(rows, _)| rows);
    Distribution::new(Matrices { name, size, argument, scale: Some(scale), log_prob })
}

/// From the argument, the scale, and the factor of the value.
type LogProb = for<'g> fn(Var<'g>, Option<Var<'g>>, Factor<'g>) -> Expr<'g>;

/// A Cholesky factor.
#[derive(Clone, Copy)]
struct Factor<'g> {
    lower: Expr<'g>,
    size: usize,
}

impl<'g> Factor<'g> {
    fn of(value: Var<'g>, size: usize) -> Self {
        Factor { lower: value.expr().cholesky(size), size }
    }

    /// Half the logarithm of the determinant.
    fn half_log_det(self) -> Expr<'g> {
        let diagonal: Vec<usize> = (0..self.size).map(|k| k * (self.size + 1)).collect();
        self.lower.gather_cols(&diagonal).log().sum_cols()
    }

    /// The trace of the inverse times what has the factor `other`.
    fn trace_of_inverse_times(self, other: Factor<'g>) -> Expr<'g> {
        self.lower.triangular_solve(other.lower, self.size, false).square().sum_cols()
    }
}

struct Matrices<'g> {
    name: &'static str,
    size: usize,
    argument: Arg<'g>,
    scale: Option<Var<'g>>,
    log_prob: LogProb,
}

impl<'g> Density<'g> for Matrices<'g> {
    fn name(&self) -> &'static str {
        self.name
    }

    fn support(&self) -> Support<'g> {
        if self.scale.is_some() { Support::Covariance } else { Support::Correlation }
    }

    fn together(&self) -> usize {
        2
    }

    fn dims(&self) -> Result<Dims, String> {
        check_argument(self.name, "argument", self.argument, Support::POSITIVE)?;
        let own = Dims::from((self.size, self.size));
        match self.scale {
            Some(scale) if scale.dims() != own => {
                Err(format!("the scale of {} must be a square matrix, not {}", self.name, scale.dims()))
            }
            _ if !self.argument.dims().is_scalar() => {
                Err(format!("the argument of {} must be a scalar, not {}", self.name, self.argument.dims()))
            }
            _ => Ok(own),
        }
    }

    fn fixed(&self, x: Var<'g>) -> Option<Var<'g>> {
        let argument = self.argument.var(x.graph());
        self.scale.is_none().then(|| lkj::known_constant(self.size, argument))
    }

    fn log_prob(&self, x: Var<'g>) -> Var<'g> {
        match self.dims() {
            Ok(own) if own == x.dims() => {
                let argument = self.argument.var(x.graph());
                Var::new((self.log_prob)(argument, self.scale, Factor::of(x, self.size)), Dims::SCALAR)
            }
            Ok(own) => x.wrong(format!("{} is for {own}, not {}", self.name, x.dims()), Dims::SCALAR),
            Err(problem) => x.wrong(problem, Dims::SCALAR),
        }
    }
}

/// `(η - 1) log det R - log c`
fn log_lkj<'g>(eta: Var<'g>, _: Option<Var<'g>>, x: Factor<'g>) -> Expr<'g> {
    (eta - 1.0).expr() * x.half_log_det() * 2.0 - lkj::log_constant(x.size, eta).expr()
}

/// `½ (ν - K - 1) log det W - ½ tr S⁻¹W - ½ ν log det S - ½ νK log 2 - log Γ_K(ν/2)`
fn log_wishart<'g>(freedom: Var<'g>, scale: Option<Var<'g>>, x: Factor<'g>) -> Expr<'g> {
    let (nu, size) = (freedom.expr(), x.size as f64);
    let scale = Factor::of(scale.unwrap_or(freedom), x.size);
    let main = (nu - (size + 1.0)) * x.half_log_det() - scale.trace_of_inverse_times(x) * 0.5;
    main - nu * scale.half_log_det() - nu * (0.5 * size * LN_2) - log_multivariate_gamma(nu * 0.5, x.size)
}

/// `-½ (ν + K + 1) log det W - ½ tr SW⁻¹ + ν (½ log det S - ½ K log 2) - log Γ_K(ν/2)`
fn log_inv_wishart<'g>(freedom: Var<'g>, scale: Option<Var<'g>>, x: Factor<'g>) -> Expr<'g> {
    let (nu, size) = (freedom.expr(), x.size as f64);
    let scale = Factor::of(scale.unwrap_or(freedom), x.size);
    let main = -(nu + (size + 1.0)) * x.half_log_det() - x.trace_of_inverse_times(scale) * 0.5;
    main + nu * (scale.half_log_det() - 0.5 * size * LN_2) - log_multivariate_gamma(nu * 0.5, x.size)
}

/// `K (K - 1)/4 log π + Σⱼ log Γ(a - j/2)` for `j` from 0 to `K - 1`.
fn log_multivariate_gamma(a: Expr<'_>, size: usize) -> Expr<'_> {
    let constant = a.graph().constant((size * (size - 1)) as f64 / 4.0 * LOG_PI);
    (0..size).map(|j| (a - 0.5 * j as f64).lgamma()).fold(constant, |sum, term| sum + term)
}
