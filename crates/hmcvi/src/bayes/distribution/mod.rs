//! Distributions of models: what is sampled and what is observed.
//!
//! Names and arguments are those of Stan's distributions: scales are standard deviations, rates are inverse scales, and
//! classes count from 1. Another distribution is one more entry in the list of its family, or one more file that
//! implements [`Density`].

mod classes;
mod counts;
pub mod cumulative;
mod dirichlet;
mod incomplete;
mod lkj;
mod matrices;
mod mixture;
mod multi_normal;
mod multinomial;
mod ordered_logistic;
mod positive;
mod quadrature;
mod real;
mod unit;
mod univariate;

pub use classes::*;
pub use counts::*;
pub use dirichlet::*;
pub use lkj::*;
pub use matrices::*;
pub use mixture::*;
pub use multi_normal::*;
pub use multinomial::*;
pub use ordered_logistic::*;
pub use positive::*;
pub use real::*;
pub use unit::*;

use super::support::{Bound, Support};
use super::{Arg, Dims, Var};

/// A distribution with its arguments.
pub struct Distribution<'g> {
    density: Box<dyn Density<'g> + 'g>,
    shape: Option<Dims>,
    support: Option<Support<'g>>,
}

/// What a distribution knows.
pub trait Density<'g> {
    /// Its name, for messages.
    fn name(&self) -> &'static str;

    /// Where its values lie.
    fn support(&self) -> Support<'g>;

    /// Dimensions of a value where nothing else is said: what the arguments are together. A scalar fits all dimensions.
    ///
    /// # Errors
    /// If the arguments do not fit each other, or known ones are not allowed.
    fn dims(&self) -> Result<Dims, String>;

    /// The last so many dimensions belong together: none in distributions of numbers, one in those of vectors, two in
    /// those of matrices.
    fn together(&self) -> usize {
        0
    }

    /// Checks values as far as they are known.
    ///
    /// # Errors
    /// Names the first value that cannot come from the distribution.
    fn check(&self, seen: Var<'g>) -> Result<(), String> {
        self.support().check(Arg::Var(seen), Bound::Included)
    }

    /// Log density of each element of `x`, or of each part that belongs together.
    fn log_prob(&self, x: Var<'g>) -> Var<'g>;

    /// What of the log density does not depend on anything that is inferred; nothing is said where summands of the
    /// formula show it.
    fn fixed(&self, _x: Var<'g>) -> Option<Var<'g>> {
        None
    }
}

impl<'g> Distribution<'g> {
    /// A distribution of one's own.
    pub fn new(density: impl Density<'g> + 'g) -> Self {
        Distribution { density: Box::new(density), shape: None, support: None }
    }

    /// As many independent variables as these dimensions have elements; for distributions of vectors and matrices, whose
    /// last dimensions belong together, as these dimensions have parts.
    #[must_use]
    pub fn shape(self, dims: impl Into<Dims>) -> Self {
        Distribution { shape: Some(dims.into()), ..self }
    }

    /// The same density elsewhere, without what would make it integrate to 1 there: `normal(0.0, 1.0).on(Support::Ordered)`,
    /// as when a Stan program declares a variable with bounds.
    #[must_use]
    pub fn on(self, support: Support<'g>) -> Self {
        Distribution { support: Some(support), ..self }
    }

    /// Its name, for messages.
    pub fn name(&self) -> &'static str {
        self.density.name()
    }

    /// Where its values lie.
    pub fn support(&self) -> Support<'g> {
        self.support.unwrap_or_else(|| self.density.support())
    }

    /// Dimensions of a value.
    ///
    /// # Errors
    /// If the arguments do not fit each other or the shape, or known ones are not allowed.
    pub fn dims(&self) -> Result<Dims, String> {
        let own = self.density.dims()?;
        let Some(shape) = self.shape else { return Ok(own) };
        match self.describes(own, shape) {
            true => Ok(shape),
            false => Err(format!("the arguments of {} are for {own}, but the shape is {shape}", self.name())),
        }
    }

    /// Checks that data can come from the distribution.
    ///
    /// # Errors
    /// If their dimensions are others, or known values are not possible.
    pub fn check(&self, seen: Var<'g>) -> Result<(), String> {
        let dims = self.dims()?;
        if !self.describes(dims, seen.dims()) {
            return Err(format!("{} describes {dims}, but the data are {}", self.name(), seen.dims()));
        }
        self.density.check(seen).map_err(|problem| format!("{} cannot give {problem}", self.name()))
    }

    /// Checks arguments and values as far as they are known, whatever their dimensions.
    ///
    /// # Errors
    /// Names the first of them that is not possible.
    pub fn check_values(&self, seen: Var<'g>) -> Result<(), String> {
        self.density.dims()?;
        self.density.check(seen).map_err(|problem| format!("{} cannot give {problem}", self.name()))
    }

    /// Whether dimensions of the distribution stand for those of values.
    fn describes(&self, own: Dims, values: Dims) -> bool {
        let last = self.density.together();
        match (own.split(last), values.split(last)) {
            (Some((own_parts, own)), Some((parts, value))) => {
                own == value && (own_parts.is_scalar() || own_parts == parts)
            }
            // Arguments that are scalars say nothing of the size.
            (None, Some(_)) => own.is_scalar(),
            _ => false,
        }
    }

    /// Log density of each element of `x`, or of each part that belongs together.
    pub fn log_prob(&self, x: Var<'g>) -> Var<'g> {
        self.density.log_prob(x)
    }

    /// The same without summands that do not depend on anything that is inferred, as Stan's `~` has it.
    pub fn log_prob_without_constants(&self, x: Var<'g>) -> Var<'g> {
        let log_prob = self.log_prob(x);
        if let Some(fixed) = self.density.fixed(x) {
            return log_prob - fixed;
        }
        let rest = log_prob.expr().without_fixed_summands();
        Var::new(
            rest.broadcast_to(hmcvi_graph::Shape { cols: log_prob.expr().cols(), ..rest.shape() }),
            log_prob.dims(),
        )
    }
}

/// An argument of a message: what is wrong with a known one.
fn check_argument<'g>(
    name: &str,
    argument: &str,
    value: Arg<'g>,
    allowed: Support<'g>,
) -> Result<(), String> {
    let problem = allowed.check(value, Bound::Excluded);
    problem.map_err(|problem| format!("the argument `{argument}` of {name} is {problem}"))
}
