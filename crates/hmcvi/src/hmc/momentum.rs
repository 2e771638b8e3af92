//! Update the momentum, in full or in part.

use hmcvi_graph::Expr;

/// `u = α·v + √(1 - α²)·v_sampled` (`eq:partialMomentumUpdate`), which keeps the covariance `M`.
pub fn partial_update<'g>(alpha: Expr<'g>, v: Expr<'g>, sampled: Expr<'g>) -> Expr<'g> {
    alpha * v + (1.0 - alpha.square()).sqrt() * sampled
}
