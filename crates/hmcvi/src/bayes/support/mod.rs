//! Map all real numbers to where a variable lives, with the logarithm of the Jacobian.
//!
//! The transforms are Stan's, so that unconstrained values mean the same.

mod elementwise;

use hmcvi_graph::Expr;

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
    /// Integers, such as counts and classes: observed, never inferred.
    Discrete,
}

/// A variable on its support, and what the change of variables adds to the log density, `[N, 1]`.
pub(super) struct Constrained<'g> {
    pub(super) value: Var<'g>,
    pub(super) log_jacobian: Option<Expr<'g>>,
}

impl<'g> Support<'g> {
    /// Positive numbers.
    pub const POSITIVE: Support<'static> = Support::Above(Arg::Number(0.0));
    /// Numbers between 0 and 1.
    pub const UNIT: Support<'static> = Support::Between(Arg::Number(0.0), Arg::Number(1.0));

    /// Real numbers that a variable with these dimensions is made from.
    ///
    /// # Errors
    /// If no variable with these dimensions has this support.
    pub fn unconstrained(&self, dims: Dims) -> Result<usize, String> {
        match self {
            Support::Discrete => {
                Err("a variable that is inferred must be continuous; sum the discrete one out".into())
            }
            _ => Ok(dims.elements()),
        }
    }

    /// The variable that belongs to real numbers `[N, unconstrained]`.
    pub(super) fn constrain(&self, raw: Expr<'g>, dims: Dims) -> Constrained<'g> {
        let raw = Var::new(raw, dims);
        match *self {
            Support::Real | Support::Discrete => Constrained { value: raw, log_jacobian: None },
            Support::Above(bound) => elementwise::above(raw, bound),
            Support::Below(bound) => elementwise::below(raw, bound),
            Support::Between(low, high) => elementwise::between(raw, low, high),
        }
    }
}
