//! Estimate the derivative of `log (1/K) Σ wₖ`.
//!
//! Let `hₖ` be what draw `k` is made of, and `w̃ₖ` its share of the weights. The bound's derivative is `Σ w̃ₖ ∇log wₖ`: by
//! parameters directly, by those of the density of `hₖ`, and by way of `hₖ`. The second has, as a score function, the same
//! mean as `-(w̃ₖ - w̃ₖ²)` times the third; together they are `w̃ₖ²` times the way by `hₖ`. Of a mean of bounds, all shares
//! are the same and the second has the mean 0.
//!
//! Decisions that draws took have no derivative, but their probabilities have. What they add to the bound's derivative is
//! that of their log probability, times what the bound owes to the draw: it less the bound by the other draws, which does
//! not depend on the decision and takes away most of the noise.

use hmcvi_graph::{Expr, Shape};

use super::{Combine, Weighted, equal_parts};
use crate::family::{Draw, Variable};

impl<'g> Weighted<'g> {
    /// What training makes small, where every draw counts with its share. Unstable draws teach what they teach alone.
    pub(super) fn held_loss(&self) -> Expr<'g> {
        let of = |(at, draw): (usize, &Draw<'g>)| {
            let (loss, part) = (draw.loss.unwrap_or(-draw.bound), self.part(at));
            let counted = match (self.combine, self.log_parts) {
                (Combine::Importance, None) => self.share(at).stop_gradient() * loss,
                (Combine::Importance, Some(parts)) => {
                    self.share(at).stop_gradient() * (loss - parts.slice_cols(at, 1))
                }
                (Combine::Mean, _) => self.share(at) * loss,
            };
            let counted = draw.dropped.select(0.0, counted);
            draw.unstable.map_or(counted, |unstable| unstable.select(part * loss, counted))
        };
        let sum = self.draws.iter().enumerate().map(of).reduce(|a, b| a + b).expect("there is a draw");
        let decided = (0..self.draws.len()).filter_map(|draw| self.decided(draw));
        decided.fold(sum, |sum, term| sum - term).broadcast_to(Shape::batch(1))
    }

    /// What a draw's decisions teach. With no other draw there is no baseline, and they are taken as given.
    fn decided(&self, at: usize) -> Option<Expr<'g>> {
        let draw = &self.draws[at];
        let others: Vec<_> =
            self.draws.iter().enumerate().filter(|(k, _)| *k != at).map(|(_, d)| d).collect();
        let lost = others.iter().map(|other| other.dropped).reduce(|a, b| a.min(b))?;
        let log_decisions = draw.log_decisions?;
        let (baseline, _) = self.combine.weigh(&others, equal_parts(draw, others.len()));
        let gain = match self.combine {
            Combine::Importance => self.bound - baseline,
            Combine::Mean => self.share(at) * (draw.bound - baseline),
        };
        let none = lost.max(draw.dropped);
        Some(none.select(0.0, gain.stop_gradient() * log_decisions))
    }

    /// The same, and how held draws move: with the square of their share.
    pub(super) fn doubly_reparameterised_loss(&self) -> Expr<'g> {
        let loss = self.held_loss();
        let graph = loss.graph();
        let rows = graph.batch_size();
        // As training divides by the number of rows, this is a part of its own derivative, and computed once.
        let variables = self.variables();
        let held: Vec<Expr<'g>> = variables.iter().map(|variable| variable.held).collect();
        let slopes = graph.grad(loss.sum_rows() / rows, &held);
        let moved = slopes.into_iter().zip(&variables).map(|(slope, variable)| {
            let slope = variable.share.map_or(slope * rows, |share| slope * rows * share);
            (slope.stop_gradient() * variable.free).sum_cols()
        });
        moved.fold(loss, |sum, term| sum + term)
    }

    /// All that the draws are made of, each with how much of the bound is.
    pub(super) fn variables(&self) -> Vec<Variable<'g>> {
        // All of the bound is made of where all draws begin.
        let is_common = |of: &Variable<'g>| {
            self.draws.len() > 1
                && self.draws.iter().all(|draw| draw.variables.iter().any(|v| v.held == of.held))
        };
        let mut all = Vec::new();
        for (at, draw) in self.draws.iter().enumerate() {
            for variable in &draw.variables {
                if !is_common(variable) {
                    let share = self.moving_share(at);
                    let share = variable.share.map_or(share, |own| own * share);
                    all.push(Variable { share: Some(share), ..*variable });
                } else if at == 0 {
                    all.push(*variable);
                }
            }
        }
        all
    }

    /// The share with which the moves of a draw count beside that in the bound's derivative. Unstable draws teach what they
    /// teach alone.
    fn moving_share(&self, at: usize) -> Expr<'g> {
        let share = match self.combine {
            Combine::Importance => self.share(at).stop_gradient(),
            Combine::Mean => self.bound.graph().constant(1.0),
        };
        self.draws[at].unstable.map_or(share, |unstable| unstable.select(1.0, share))
    }
}
