//! Describe independent numbers by one formula.

use hmcvi_graph::Shape;

use super::{Density, check_argument};
use crate::bayes::support::Support;
use crate::bayes::{Arg, Dims, Var};

/// Independent variables, one for each element, by a formula.
pub(super) struct Univariate<'g, const N: usize> {
    pub(super) name: &'static str,
    pub(super) names: [&'static str; N],
    pub(super) arguments: [Arg<'g>; N],
    pub(super) allowed: [Support<'g>; N],
    pub(super) support: Support<'g>,
    pub(super) log_prob: fn(Var<'g>, [Var<'g>; N]) -> Var<'g>,
    /// What of the log density does not depend on anything that is inferred, where the formula has no such summands.
    pub(super) fixed: fn(Var<'g>, [Var<'g>; N]) -> Option<Var<'g>>,
}

impl<'g, const N: usize> Density<'g> for Univariate<'g, N> {
    fn name(&self) -> &'static str {
        self.name
    }

    fn support(&self) -> Support<'g> {
        self.support
    }

    fn dims(&self) -> Result<Dims, String> {
        for ((name, argument), allowed) in self.names.iter().zip(self.arguments).zip(self.allowed) {
            check_argument(self.name, name, argument, allowed)?;
        }
        self.arguments.iter().try_fold(Dims::SCALAR, |dims, argument| {
            let own = argument.dims();
            dims.meet(own).ok_or_else(|| format!("the arguments of {} are {dims} and {own}", self.name))
        })
    }

    fn fixed(&self, x: Var<'g>) -> Option<Var<'g>> {
        (self.fixed)(x, self.arguments.map(|argument| argument.var(x.graph())))
    }

    fn log_prob(&self, x: Var<'g>) -> Var<'g> {
        match self.dims() {
            Err(problem) => return x.wrong(problem, x.dims()),
            Ok(own) if own.meet(x.dims()).is_none() => {
                let problem = format!("{} describes {own}, but the values are {}", self.name, x.dims());
                return x.wrong(problem, x.dims());
            }
            Ok(_) => {}
        }
        let log_prob = (self.log_prob)(x, self.arguments.map(|argument| argument.var(x.graph())));
        if log_prob.dims() == x.dims() || !log_prob.dims().is_scalar() {
            return log_prob;
        }
        // A formula without `x` still counts once for each element.
        let shape = Shape { cols: x.dims().elements(), ..log_prob.expr().shape() };
        Var::new(log_prob.expr().broadcast_to(shape), x.dims())
    }
}

/// Functions that make distributions of independent variables: name, arguments with what they may be, support, log density.
macro_rules! univariate {
    (@fixed [$($argument:ident),*]) => { |_, _| None };
    (@fixed [$($argument:ident),*] |$x:ident| $fixed:expr) => {
        |$x, [$($argument),*]| {
            $(let _ = $argument;)*
            $fixed
        }
    };
    ($(
        $(#[$doc:meta])*
        $name:ident($($argument:ident: $allowed:ident),*) on $support:expr => |$x:ident| $log_prob:expr
            $(, fixed |$y:ident| $fixed:expr)?;
    )*) => {$(
        $(#[$doc])*
        pub fn $name<'g>($($argument: impl Into<$crate::bayes::Arg<'g>>),*) -> $crate::bayes::Distribution<'g> {
            $(let $argument: $crate::bayes::Arg<'g> = $argument.into();)*
            $crate::bayes::Distribution::new($crate::bayes::distribution::univariate::Univariate {
                name: stringify!($name),
                names: [$(stringify!($argument)),*],
                arguments: [$($argument),*],
                allowed: [$($crate::bayes::Support::$allowed),*],
                support: $support,
                log_prob: |$x, [$($argument),*]| $log_prob,
                fixed: $crate::bayes::distribution::univariate::univariate!(@fixed [$($argument),*] $(|$y| $fixed)?),
            })
        }
    )*};
}
pub(super) use univariate;
