//! Bounds of each element for itself.

use super::Constrained;
use crate::bayes::{Arg, Var};

/// `low + eˣ`
pub(super) fn above<'g>(raw: Var<'g>, low: Arg<'g>) -> Constrained<'g> {
    let value = match low {
        Arg::Number(0.0) => raw.exp(),
        _ => raw.exp() + low,
    };
    Constrained { value, log_jacobian: Some(raw.sum().expr()) }
}

/// `high - eˣ`
pub(super) fn below<'g>(raw: Var<'g>, high: Arg<'g>) -> Constrained<'g> {
    Constrained { value: -raw.exp() + high, log_jacobian: Some(raw.sum().expr()) }
}

/// `low + (high - low) / (1 + e⁻ˣ)`
pub(super) fn between<'g>(raw: Var<'g>, low: Arg<'g>, high: Arg<'g>) -> Constrained<'g> {
    let graph = raw.graph();
    let (low, width) = (low.var(graph), high.var(graph) - low);
    let log_slope = raw.log_sigmoid() + (-raw).log_sigmoid() + width.log();
    Constrained { value: raw.sigmoid() * width + low, log_jacobian: Some(log_slope.sum().expr()) }
}

/// `offset + multiplier · x`
pub(super) fn affine<'g>(raw: Var<'g>, offset: Arg<'g>, multiplier: Arg<'g>) -> Constrained<'g> {
    let multiplier = multiplier.var(raw.graph());
    let log_slope = if multiplier.dims().is_scalar() {
        multiplier.log() * raw.dims().elements() as f64
    } else {
        multiplier.log().sum()
    };
    Constrained { value: raw * multiplier + offset, log_jacobian: Some(log_slope.expr()) }
}
