//! Distributions of which one is chosen at random, with the choice summed out.

use std::mem::discriminant;

use hmcvi_graph::Expr;

use super::{Density, Distribution, check_argument};
use crate::bayes::support::Support;
use crate::bayes::{Arg, Dims, Var};

/// A mixture with the probabilities of its components along the last dimension: a vector for all values, or one for each.
pub fn mixture<'g>(
    weights: Var<'g>,
    components: impl IntoIterator<Item = Distribution<'g>>,
) -> Distribution<'g> {
    Distribution::new(Mixture {
        name: "mixture",
        weights,
        allowed: Support::Simplex,
        log_weights: |weights, _| weights.log(),
        components: components.into_iter().collect(),
    })
}

/// A mixture with the logarithms of its weights up to a constant.
pub fn mixture_logit<'g>(
    logits: Var<'g>,
    components: impl IntoIterator<Item = Distribution<'g>>,
) -> Distribution<'g> {
    Distribution::new(Mixture {
        name: "mixture_logit",
        weights: logits,
        allowed: Support::Real,
        log_weights: |logits, size| logits - logits.log_sum_exp_groups(size).repeat_cols(size),
        components: components.into_iter().collect(),
    })
}

struct Mixture<'g> {
    name: &'static str,
    weights: Var<'g>,
    allowed: Support<'g>,
    /// From the weights and the number of components.
    log_weights: fn(Expr<'g>, usize) -> Expr<'g>,
    components: Vec<Distribution<'g>>,
}

impl<'g> Mixture<'g> {
    /// The components, which must have weights and describe the same things.
    fn fit(&self) -> Result<(), String> {
        let (size, weights) = (self.components.len(), self.weights.dims());
        let Some(first) = self.components.first() else {
            return Err(format!("{} has no components", self.name));
        };
        if weights.sizes().last() != Some(&size) {
            return Err(format!("{} has {size} components, but its weights are {weights}", self.name));
        }
        for other in &self.components {
            let (own, other) = (first.support(), other.support());
            if discriminant(&own) != discriminant(&other) {
                return Err(format!("one component of {} describes {own}, another {other}", self.name));
            }
        }
        check_argument(self.name, "weights", Arg::Var(self.weights), self.allowed)
    }
}

impl<'g> Density<'g> for Mixture<'g> {
    fn name(&self) -> &'static str {
        self.name
    }

    fn support(&self) -> Support<'g> {
        self.components.first().map_or(Support::Real, Distribution::support)
    }

    fn together(&self) -> usize {
        self.components.first().map_or(0, |first| first.density.together())
    }

    fn dims(&self) -> Result<Dims, String> {
        self.fit()?;
        self.components.iter().try_fold(Dims::SCALAR, |dims, component| {
            let own = component.dims()?;
            dims.meet(own).ok_or_else(|| format!("the components of {} are {dims} and {own}", self.name))
        })
    }

    fn check(&self, seen: Var<'g>) -> Result<(), String> {
        self.components.iter().try_for_each(|component| component.check(seen))
    }

    /// `log Σₖ wₖ pₖ(x)`
    fn log_prob(&self, x: Var<'g>) -> Var<'g> {
        if let Err(problem) = self.fit() {
            return x.wrong(problem, x.dims());
        }
        let parts: Vec<Var<'g>> = self.components.iter().map(|component| component.log_prob(x)).collect();
        let (dims, size) = (parts[0].dims(), parts.len());
        if let Some(other) = parts.iter().find(|part| part.dims() != dims) {
            let problem = format!("the components of {} describe {dims} and {}", self.name, other.dims());
            return x.wrong(problem, dims);
        }
        // Weights of each value, or of all of them.
        let count = match self.weights.dims().split(1) {
            Some((own, _)) if own == dims => dims.elements(),
            Some((own, _)) if own.is_scalar() => 1,
            _ => {
                let problem = format!("{} has weights {} for {dims}", self.name, self.weights.dims());
                return x.wrong(problem, dims);
            }
        };
        let log_weights = (self.log_weights)(self.weights.expr(), size);
        let weighted = |(k, part): (usize, &Var<'g>)| {
            let own: Vec<usize> = (0..count).map(|i| i * size + k).collect();
            part.expr() + log_weights.gather_cols(&own)
        };
        let parts: Vec<Expr<'g>> = parts.iter().enumerate().map(weighted).collect();
        Var::new(Expr::log_sum_exp_of(&parts), dims)
    }
}
