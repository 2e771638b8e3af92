//! Distributions of classes, which count from 1 and are observed.

use hmcvi_graph::Expr;

use super::{Density, Distribution, check_argument};
use crate::bayes::support::Support;
use crate::bayes::{Arg, Dims, Var};

/// Classes with their probabilities, along the last dimension.
pub fn categorical<'g>(probabilities: Var<'g>) -> Distribution<'g> {
    Distribution::new(Categorical {
        name: "categorical",
        weights: probabilities,
        allowed: Support::Simplex,
        log_prob: |probabilities, _, places| probabilities.gather_cols(places).log(),
    })
}

/// Classes with the logarithms of their probabilities up to a constant, along the last dimension.
pub fn categorical_logit<'g>(logits: Var<'g>) -> Distribution<'g> {
    Distribution::new(Categorical {
        name: "categorical_logit",
        weights: logits,
        allowed: Support::Real,
        log_prob: |logits, classes, places| logits.gather_cols(places) - logits.log_sum_exp_groups(classes),
    })
}

struct Categorical<'g> {
    name: &'static str,
    weights: Var<'g>,
    allowed: Support<'g>,
    /// From the weights, the number of classes and the places of the observed ones among the weights.
    log_prob: fn(Expr<'g>, usize, &[usize]) -> Expr<'g>,
}

impl<'g> Categorical<'g> {
    /// Dimensions of values, and the number of classes.
    fn sizes(&self) -> Result<(Dims, usize), String> {
        match self.weights.dims().split(1) {
            Some((dims, classes)) => Ok((dims, classes.elements())),
            None => Err(format!("{} needs a vector with a number for each class, not a scalar", self.name)),
        }
    }
}

impl<'g> Density<'g> for Categorical<'g> {
    fn name(&self) -> &'static str {
        self.name
    }

    fn support(&self) -> Support<'g> {
        classes(self.sizes().map_or(1, |(_, classes)| classes))
    }

    fn dims(&self) -> Result<Dims, String> {
        check_argument(self.name, "weights", Arg::Var(self.weights), self.allowed)?;
        Ok(self.sizes()?.0)
    }

    fn log_prob(&self, x: Var<'g>) -> Var<'g> {
        let (dims, classes) = match self.sizes() {
            Ok((dims, classes)) if dims.is_scalar() || dims == x.dims() => (dims, classes),
            Ok((dims, _)) => {
                return x.wrong(format!("{} describes {dims}, not {}", self.name, x.dims()), x.dims());
            }
            Err(problem) => return x.wrong(problem, x.dims()),
        };
        let seen = match positions(x, classes) {
            Ok(seen) => seen,
            Err(problem) => return x.wrong(format!("{}: {problem}", self.name), x.dims()),
        };
        let own = |i: usize| if dims.is_scalar() { 0 } else { i * classes };
        let places: Vec<usize> = seen.iter().enumerate().map(|(i, class)| own(i) + class).collect();
        Var::new((self.log_prob)(self.weights.expr(), classes, &places), x.dims())
    }
}

/// Integers from 1 to the number of classes.
pub(super) fn classes<'g>(number: usize) -> Support<'g> {
    Support::Integers { from: 1, to: Some(Arg::Number(number as f64)) }
}

/// Observed classes, from 0.
pub(super) fn positions(x: Var<'_>, number: usize) -> Result<Vec<usize>, String> {
    let seen = x.known().ok_or("classes must be data: a variable that is inferred cannot be one")?;
    let position = |class: &f64| {
        let known = class.fract() == 0.0 && *class >= 1.0 && *class <= number as f64;
        known.then(|| *class as usize - 1).ok_or_else(|| format!("{class} is no class from 1 to {number}"))
    };
    seen.iter().map(position).collect()
}
