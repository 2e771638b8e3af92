//! Distributions of models: what is sampled and what is observed.
//!
//! Scales are standard deviations, rates are inverse scales: arguments are those of Stan's distributions.

mod continuous;
mod discrete;

pub use continuous::*;
pub use discrete::*;

use super::support::Support;
use super::{Arg, Dims, Var};

/// A distribution with its arguments.
pub struct Distribution<'g> {
    density: Box<dyn Density<'g> + 'g>,
    shape: Option<Dims>,
}

/// What a distribution knows.
pub trait Density<'g> {
    /// Its name, for messages.
    fn name(&self) -> &'static str;

    /// Where its values lie.
    fn support(&self) -> Support<'g>;

    /// Dimensions of a value where nothing else is said: what the arguments are together.
    ///
    /// # Errors
    /// If the arguments do not fit each other.
    fn dims(&self) -> Result<Dims, String>;

    /// Log density of each element of `x`, or of each part that belongs together.
    fn log_prob(&self, x: Var<'g>) -> Var<'g>;
}

impl<'g> Distribution<'g> {
    /// A distribution of one's own.
    pub fn new(density: impl Density<'g> + 'g) -> Self {
        Distribution { density: Box::new(density), shape: None }
    }

    /// As many independent variables as these dimensions have elements.
    #[must_use]
    pub fn shape(self, dims: impl Into<Dims>) -> Self {
        Distribution { shape: Some(dims.into()), ..self }
    }

    /// Its name, for messages.
    pub fn name(&self) -> &'static str {
        self.density.name()
    }

    /// Where its values lie.
    pub fn support(&self) -> Support<'g> {
        self.density.support()
    }

    /// Dimensions of a value.
    ///
    /// # Errors
    /// If the arguments do not fit each other or the shape.
    pub fn dims(&self) -> Result<Dims, String> {
        let own = self.density.dims()?;
        let Some(shape) = self.shape else { return Ok(own) };
        own.meet(shape)
            .ok_or_else(|| format!("the arguments of {} are {own}, but the shape is {shape}", self.name()))
    }

    /// Log density of each element of `x`, or of each part that belongs together.
    pub fn log_prob(&self, x: Var<'g>) -> Var<'g> {
        self.density.log_prob(x)
    }
}

/// Independent variables, one for each element, by a formula.
struct Univariate<'g, const N: usize> {
    name: &'static str,
    arguments: [Arg<'g>; N],
    support: Support<'g>,
    log_prob: fn(Var<'g>, [Var<'g>; N]) -> Var<'g>,
}

impl<'g, const N: usize> Density<'g> for Univariate<'g, N> {
    fn name(&self) -> &'static str {
        self.name
    }

    fn support(&self) -> Support<'g> {
        self.support
    }

    fn dims(&self) -> Result<Dims, String> {
        self.arguments.iter().try_fold(Dims::SCALAR, |dims, argument| {
            let own = argument.dims();
            dims.meet(own).ok_or_else(|| format!("the arguments of {} are {dims} and {own}", self.name))
        })
    }

    fn log_prob(&self, x: Var<'g>) -> Var<'g> {
        (self.log_prob)(x, self.arguments.map(|argument| argument.var(x.graph())))
    }
}

/// Functions that make distributions of independent variables: name, arguments, support, log density.
macro_rules! univariate {
    ($($(#[$doc:meta])* $name:ident($($argument:ident),*) on $support:expr => |$x:ident| $log_prob:expr;)*) => {$(
        $(#[$doc])*
        pub fn $name<'g>($($argument: impl Into<$crate::bayes::Arg<'g>>),*) -> $crate::bayes::Distribution<'g> {
            $(let $argument: $crate::bayes::Arg<'g> = $argument.into();)*
            $crate::bayes::Distribution::new($crate::bayes::distribution::Univariate {
                name: stringify!($name),
                arguments: [$($argument),*],
                support: $support,
                log_prob: |$x, [$($argument),*]| $log_prob,
            })
        }
    )*};
}
use univariate;
