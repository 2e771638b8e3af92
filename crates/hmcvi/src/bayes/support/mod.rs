//! Map all real numbers to where a variable lives, with the logarithm of the Jacobian.
//!
//! The transforms are Stan's, so that unconstrained values mean the same; simplexes are broken from a stick, as in all
//! versions of Stan before 2.37.

mod check;
mod correlation;
mod covariance;
mod elementwise;
mod ordered;
mod simplex;
mod sphere;
mod sums;

use hmcvi_graph::Expr;

pub(super) use check::Bound;

use super::{Arg, Dims, Var};

/// Where the values of a variable lie.
#[derive(Clone, Copy, Debug)]
pub enum Support<'g> {
    /// All real numbers.
    Real,
    /// Numbers above a bound.
    Above(Arg<'g>),
    /// Numbers below a bound.
    Below(Arg<'g>),
    /// Numbers between two bounds.
    Between(Arg<'g>, Arg<'g>),
    /// All real numbers, made from such of size 1 around 0: `offset + multiplier · x`.
    Affine(Arg<'g>, Arg<'g>),
    /// Vectors whose elements ascend, along the last dimension.
    Ordered,
    /// Vectors of positive elements that ascend, along the last dimension.
    PositiveOrdered,
    /// Vectors of positive elements with the sum 1, along the last dimension.
    Simplex,
    /// Vectors of length 1, along the last dimension.
    UnitVector,
    /// Vectors with the sum 0, along the last dimension.
    SumToZero,
    /// Cholesky factors of correlation matrices, in the last two dimensions.
    CorrelationCholesky,
    /// Correlation matrices, in the last two dimensions.
    Correlation,
    /// Lower triangles with positive diagonals, in the last two dimensions; there may be more rows than columns.
    CovarianceCholesky,
    /// Positive definite matrices, in the last two dimensions.
    Covariance,
    /// Integers from one number to another, such as counts and classes: observed, never inferred.
    Integers {
        /// The first of them.
        from: u32,
        /// The last of them, if there is one.
        to: Option<Arg<'g>>,
    },
}

/// A variable on its support, and what the change of variables adds to the log density, `[N, 1]`.
pub(super) struct Constrained<'g> {
    pub(super) value: Var<'g>,
    pub(super) log_jacobian: Option<Expr<'g>>,
}

impl<'g> Support<'g> {
    /// All real numbers.
    pub const REAL: Support<'static> = Support::Real;
    /// Positive numbers.
    pub const POSITIVE: Support<'static> = Support::Above(Arg::Number(0.0));
    /// Positive numbers and 0.
    pub const NOT_NEGATIVE: Support<'static> = Support::Between(Arg::Number(0.0), Arg::Number(f64::INFINITY));
    /// Numbers between 0 and 1.
    pub const UNIT: Support<'static> = Support::Between(Arg::Number(0.0), Arg::Number(1.0));
    /// 0 and 1.
    pub const BINARY: Support<'static> = Support::Integers { from: 0, to: Some(Arg::Number(1.0)) };
    /// Integers from 0 on.
    pub const COUNTS: Support<'static> = Support::Integers { from: 0, to: None };

    /// Real numbers that a variable with these dimensions is made from.
    ///
    /// # Errors
    /// If no variable with these dimensions has this support.
    pub fn unconstrained(&self, dims: Dims) -> Result<usize, String> {
        let (groups, size) = self.groups(dims)?;
        self.check_bounds()?;
        let free = match self {
            Support::Integers { .. } => {
                return Err("a variable that is inferred must be continuous; sum the discrete one out".into());
            }
            Support::Simplex | Support::SumToZero => size.saturating_sub(1),
            Support::CorrelationCholesky | Support::Correlation => correlation::below_diagonal(size),
            Support::Covariance | Support::CovarianceCholesky => {
                let rows = dims.sizes()[dims.sizes().len() - 2];
                correlation::below_diagonal(size) + size + (rows - size) * size
            }
            _ => size,
        };
        Ok(groups * free)
    }

    /// Number and size of the parts of a value with these dimensions that are constrained together: elements, vectors,
    /// or square matrices with so many rows.
    fn groups(&self, dims: Dims) -> Result<(usize, usize), String> {
        let last = match self {
            Support::Ordered | Support::PositiveOrdered | Support::Simplex => 1,
            Support::UnitVector | Support::SumToZero => 1,
            Support::CorrelationCholesky | Support::Correlation => 2,
            Support::CovarianceCholesky | Support::Covariance => 2,
            _ => 0,
        };
        for bound in self.bounds().into_iter().flatten() {
            if !bound.dims().is_scalar() && bound.dims() != dims {
                return Err(format!("a bound is {}, but the values are {dims}", bound.dims()));
            }
        }
        match dims.split(last) {
            Some((groups, own)) => match *own.sizes() {
                [] => Ok((groups.elements(), 1)),
                [size] => Ok((groups.elements(), size)),
                [size, same] if size == same => Ok((groups.elements(), size)),
                [rows, size] if rows > size && matches!(self, Support::CovarianceCholesky) => {
                    Ok((groups.elements(), size))
                }
                _ => Err(format!("expected square matrices, not {dims}; `shape((K, K))` asks for one")),
            },
            None if last == 1 => Err(format!("expected {self}, not {dims}; `shape(K)` asks for K elements")),
            None => Err(format!("expected square matrices, not {dims}; `shape((K, K))` asks for one")),
        }
    }

    /// The lower and the upper bound of each element, or what it is moved and multiplied by.
    fn bounds(&self) -> [Option<Arg<'g>>; 2] {
        match *self {
            Support::Above(low) => [Some(low), None],
            Support::Below(high) => [None, Some(high)],
            Support::Between(low, high) => [Some(low), Some(high)],
            Support::Affine(offset, multiplier) => [Some(offset), Some(multiplier)],
            Support::Integers { from, to } => [Some(Arg::Number(f64::from(from))), to],
            _ => [None, None],
        }
    }

    /// The variable that belongs to real numbers `[N, unconstrained]`.
    pub(super) fn constrain(&self, raw: Expr<'g>, dims: Dims) -> Constrained<'g> {
        // `unconstrained` has refused all other dimensions.
        let (groups, size) = self.groups(dims).unwrap_or((1, dims.elements()));
        let elements = || Var::new(raw, dims);
        match *self {
            Support::Real | Support::Integers { .. } => Constrained { value: elements(), log_jacobian: None },
            Support::Above(bound) => elementwise::above(elements(), bound),
            Support::Below(bound) => elementwise::below(elements(), bound),
            Support::Between(low, high) => elementwise::between(elements(), low, high),
            Support::Affine(offset, multiplier) => elementwise::affine(elements(), offset, multiplier),
            Support::Ordered => ordered::ordered(elements(), [groups, size]),
            Support::PositiveOrdered => ordered::positive_ordered(elements(), [groups, size]),
            Support::Simplex => simplex::simplex(raw, dims, [groups, size]),
            Support::UnitVector => sphere::unit_vector(elements(), [groups, size]),
            Support::SumToZero => sphere::sum_to_zero(raw, dims, [groups, size]),
            Support::CorrelationCholesky => correlation::cholesky(raw, dims, [groups, size]),
            Support::Correlation => correlation::matrix(raw, dims, [groups, size]),
            Support::CovarianceCholesky => covariance::cholesky(raw, dims, [groups, size]),
            Support::Covariance => covariance::matrix(raw, dims, [groups, size]),
        }
    }
}
