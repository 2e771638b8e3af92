//! Distributions of probabilities with the sum 1.

use super::{Density, Distribution, check_argument};
use crate::bayes::support::Support;
use crate::bayes::{Arg, Dims, Var};

/// Dirichlet with a concentration for each element, or one for all: `dirichlet(1.0).shape(3)`.
pub fn dirichlet<'g>(concentration: impl Into<Arg<'g>>) -> Distribution<'g> {
    Distribution::new(Dirichlet { concentration: concentration.into() })
}

struct Dirichlet<'g> {
    concentration: Arg<'g>,
}

impl<'g> Density<'g> for Dirichlet<'g> {
    fn name(&self) -> &'static str {
        "dirichlet"
    }

    fn support(&self) -> Support<'g> {
        Support::Simplex
    }

    fn together(&self) -> usize {
        1
    }

    fn dims(&self) -> Result<Dims, String> {
        check_argument(self.name(), "concentration", self.concentration, Support::POSITIVE)?;
        Ok(self.concentration.dims())
    }

    fn log_prob(&self, x: Var<'g>) -> Var<'g> {
        let Some((dims, own)) = x.dims().split(1) else {
            return x.wrong("dirichlet describes vectors, not a scalar", x.dims());
        };
        let a = match self.concentration.var(x.graph()).repeated(x.dims()) {
            Ok(a) => a,
            Err(problem) => return x.wrong(format!("dirichlet: {problem}"), dims),
        };
        let size = own.elements();
        let total = a.expr().sum_groups(size).lgamma();
        let constant = total - a.lgamma().expr().sum_groups(size);
        Var::new((a - 1.0).times_log(x).expr().sum_groups(size) + constant, dims)
    }
}
