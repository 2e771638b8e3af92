//! Bound the evidence by several draws of a family for every row: `log (1/K) Σ wₖ`, the more draws the tighter.
//!
//! A draw's weight is the exponential of its own bound with sampled entropies. Draws whose simulation went wrong have the
//! weight 0, which leaves it a bound.

mod gradient;

use std::sync::Arc;

use hmcvi_graph::Expr;
use serde::{Deserialize, Serialize};

use super::{BeginError, Draw, Entropies, Family, FirstLook, Measure, Target};
use crate::dist::Gaussian;

/// The log weight of a draw that does not count: far below all others, and finite.
const NO_WEIGHT: f64 = -1e30;

/// How the derivative of a bound by several draws is estimated.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum WeightGradient {
    /// The bound's own derivative.
    #[default]
    Plain,
    /// The same in the mean, with less noise for what draws are made by: how a draw moves counts with the square of its
    /// share of the weights, and the derivatives of its own density are left out, whose mean is 0 (Tucker and others,
    /// 2019).
    DoublyReparameterised,
}

/// Several draws of a family, weighted.
#[derive(Clone)]
pub struct Several {
    /// The family of every draw.
    pub family: Arc<dyn Family>,
    /// Draws for every row, `K`.
    pub draws: usize,
    /// Estimate of the bound's derivative.
    pub gradient: WeightGradient,
}

impl Family for Several {
    fn gaussian<'g>(&self, target: &Target<'_, 'g>) -> Gaussian<'g> {
        self.family.gaussian(target)
    }

    fn draw_with<'g>(&self, target: &Target<'_, 'g>, entropies: Entropies) -> Draw<'g> {
        let doubly = self.gradient == WeightGradient::DoublyReparameterised;
        let form = if doubly || entropies == Entropies::Held { Entropies::Held } else { Entropies::Sampled };
        let draws = (0..self.draws).map(|_| self.family.draw_with(target, form)).collect();
        let all = Weighted::new(draws);
        let loss = match (doubly, entropies) {
            // Whoever holds them accounts for how they move.
            (_, Entropies::Held) | (false, _) => all.held_loss(),
            (true, _) => all.doubly_reparameterised_loss(),
        };
        let variables = if entropies == Entropies::Held { all.variables() } else { Vec::new() };
        Draw { loss: Some(loss), variables, ..all.together() }
    }

    fn is_gaussian(&self) -> bool {
        false
    }

    fn steps(&self) -> (usize, usize) {
        self.family.steps()
    }

    fn begin(&self, look: &mut FirstLook<'_>) -> Result<Vec<(&'static str, f64)>, BeginError> {
        self.family.begin(look)
    }
}

/// Draws with what each of them weighs.
struct Weighted<'g> {
    draws: Vec<Draw<'g>>,
    /// `log (1/K) Σ wₖ`, `[N, 1]`.
    bound: Expr<'g>,
    /// Each draw's share of the sum of the weights, `[N, K]`.
    shares: Expr<'g>,
}

impl<'g> Weighted<'g> {
    fn new(draws: Vec<Draw<'g>>) -> Self {
        let weights: Vec<_> = draws.iter().map(|draw| draw.dropped.select(NO_WEIGHT, draw.bound)).collect();
        let weights = Expr::concat_cols(&weights);
        let sum = weights.log_sum_exp();
        Weighted { bound: sum - (draws.len() as f64).ln(), shares: (weights - sum).exp(), draws }
    }

    fn share(&self, draw: usize) -> Expr<'g> {
        self.shares.slice_cols(draw, 1)
    }

    fn mean(&self, value: impl Fn(&Draw<'g>) -> Expr<'g>) -> Expr<'g> {
        let sum = self.draws.iter().map(value).reduce(|a, b| a + b).expect("there is a draw");
        sum * (1.0 / self.draws.len() as f64)
    }

    /// 1 where all draws have a 1.
    fn all(&self, flag: impl Fn(&Draw<'g>) -> Expr<'g>) -> Expr<'g> {
        self.draws.iter().map(flag).reduce(|a, b| a.min(b)).expect("there is a draw")
    }

    /// Terms of the bound: the means of the draws' own, and what several draws gain.
    fn terms(&self) -> Vec<(&'static str, Expr<'g>)> {
        let of = |at: usize| {
            let mean = self.mean(|draw| draw.dropped.select(0.0, draw.terms[at].1));
            (self.draws[0].terms[at].0, mean)
        };
        let mut terms: Vec<_> = (0..self.draws[0].terms.len()).map(of).collect();
        let alone = terms.iter().map(|(_, term)| *term).reduce(|a, b| a + b).expect("bounds have terms");
        terms.push(("several_draws", self.bound - alone));
        terms
    }

    fn measures(&self, of: impl for<'a> Fn(&'a Draw<'g>) -> &'a [Measure<'g>]) -> Vec<Measure<'g>> {
        let mean = |at: usize| self.mean(|draw| of(draw)[at].value);
        let first = of(&self.draws[0]).iter().enumerate();
        first.map(|(at, measure)| Measure { value: mean(at), ..measure.clone() }).collect()
    }

    /// One of the draws, chosen by their weights, with the bound by all of them.
    fn together(&self) -> Draw<'g> {
        let first = &self.draws[0];
        let graph = self.bound.graph();
        let uniform = graph.uniform(graph.new_streams(1).start, 1);
        // The first draw for which the shares so far exceed a uniform number.
        let chosen = |of: &dyn Fn(&Draw<'g>) -> Expr<'g>| {
            let (last, others) = self.draws.split_last().expect("there is a draw");
            let up_to = |draw: usize| self.shares.slice_cols(0, draw + 1).sum_cols();
            let others = others.iter().enumerate().rev();
            others.fold(of(last), |rest, (at, draw)| uniform.less(up_to(at)).select(of(draw), rest))
        };
        Draw {
            start: chosen(&|draw| draw.start),
            z: chosen(&|draw| draw.z),
            terms: self.terms(),
            bound: self.bound,
            loss: None,
            unstable: None,
            variables: Vec::new(),
            path: (0..first.path.len()).map(|at| chosen(&|draw| draw.path[at])).collect(),
            diverging: first.diverging.map(|_| self.mean(|draw| draw.diverging.unwrap_or(draw.dropped))),
            dropped: self.all(|draw| draw.dropped),
            no_density: self.all(|draw| draw.no_density),
            measures: self.measures(|draw| &draw.measures),
            details: self.measures(|draw| &draw.details),
            ..first.clone()
        }
    }
}
