//! Vectors whose elements ascend: each is the one before plus an exponential.

use super::{Constrained, sums};
use crate::bayes::Var;

/// `x₁ = y₁`, `xₖ = xₖ₋₁ + exp yₖ`
pub(super) fn ordered<'g>(raw: Var<'g>, [groups, size]: [usize; 2]) -> Constrained<'g> {
    let (graph, y) = (raw.graph(), raw.expr());
    let mask: Vec<f64> = (0..groups * size).map(|at| f64::from(u8::from(at % size == 0))).collect();
    let first = graph.constant_matrix(1, mask.len(), &mask);
    // The first elements do not meet the exponential, which could overflow.
    let log_step = first.select(0.0, y);
    let step = first.select(y, log_step.exp());
    let value = Var::new(sums::up_to(step, [groups, size]), raw.dims());
    Constrained { value, log_jacobian: Some(log_step.sum_cols()) }
}

/// `x₁ = exp y₁`, `xₖ = xₖ₋₁ + exp yₖ`
pub(super) fn positive_ordered<'g>(raw: Var<'g>, groups: [usize; 2]) -> Constrained<'g> {
    let value = Var::new(sums::up_to(raw.expr().exp(), groups), raw.dims());
    Constrained { value, log_jacobian: Some(raw.expr().sum_cols()) }
}
