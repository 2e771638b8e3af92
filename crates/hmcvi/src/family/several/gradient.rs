//! Estimate the derivative of `log (1/K) Σ wₖ`.
//!
//! Let `hₖ` be what draw `k` is made of, and `w̃ₖ` its share of the weights. The bound's derivative is `Σ w̃ₖ ∇log wₖ`: by
//! parameters directly, by those of the density of `hₖ`, and by way of `hₖ`. The second has, as a score function, the same
//! mean as `-(w̃ₖ - w̃ₖ²)` times the third; together they are `w̃ₖ²` times the way by `hₖ`.

use hmcvi_graph::{Expr, Shape};

use super::Weighted;
use crate::family::{Draw, Variable};

impl<'g> Weighted<'g> {
    /// What training makes small, where every draw counts with its share. Unstable draws teach what they teach alone.
    pub(super) fn held_loss(&self) -> Expr<'g> {
        let count = self.draws.len() as f64;
        let of = |(at, draw): (usize, &Draw<'g>)| {
            let loss = draw.loss.unwrap_or(-draw.bound);
            let counted = draw.dropped.select(0.0, self.share(at).stop_gradient() * loss);
            draw.unstable.map_or(counted, |unstable| unstable.select(loss * (1.0 / count), counted))
        };
        let sum = self.draws.iter().enumerate().map(of).reduce(|a, b| a + b);
        sum.expect("there is a draw").broadcast_to(Shape::batch(1))
    }

    /// The same, and how held draws move: with the square of their share.
    pub(super) fn doubly_reparameterised_loss(&self) -> Expr<'g> {
        let loss = self.held_loss();
        let graph = loss.graph();
        let rows = graph.batch_size();
        // As training divides by the number of rows, this is a part of its own derivative, and computed once.
        let held: Vec<Expr<'g>> = self.variables().iter().map(|variable| variable.held).collect();
        let mut slopes = graph.grad(loss.sum_rows() / rows, &held).into_iter();
        let moves = self.draws.iter().enumerate().flat_map(|(at, draw)| {
            let share = self.share(at).stop_gradient();
            let share = draw.unstable.map_or(share, |unstable| unstable.select(1.0, share));
            let own: Vec<_> = slopes.by_ref().take(draw.variables.len()).zip(&draw.variables).collect();
            own.into_iter().map(move |(slope, variable)| {
                ((slope * rows * share).stop_gradient() * variable.free).sum_cols()
            })
        });
        moves.fold(loss, |sum, term| sum + term)
    }

    /// All that the draws are made of.
    pub(super) fn variables(&self) -> Vec<Variable<'g>> {
        self.draws.iter().flat_map(|draw| draw.variables.iter().copied()).collect()
    }
}
