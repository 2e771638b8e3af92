//! Bound the evidence by several draws of a family for every row: `log (1/K) Σ wₖ`, the more draws the tighter; or by the
//! mean of their own bounds.
//!
//! A draw's weight is the exponential of its own bound with sampled entropies. Draws whose simulation went wrong have the
//! weight 0, which leaves it a bound; a mean leaves them out.

mod gradient;

use std::sync::Arc;

use hmcvi_graph::{Expr, Shape};
use serde::{Deserialize, Serialize};

use super::{BeginError, Draw, Entropies, Family, FirstLook, Measure, Target};
use crate::dist::Gaussian;

/// The log weight of a draw that does not count: far below all others, and finite.
const NO_WEIGHT: f64 = -1e30;

/// What several draws are for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Combine {
    /// `log (1/K) Σ wₖ`, a tighter bound.
    #[default]
    Importance,
    /// The mean of the draws' own bounds: the bound of a single draw, with less noise.
    Mean,
}

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
    /// Whether they begin at one place.
    pub shared_start: bool,
    /// The bound that they form.
    pub combine: Combine,
    /// Estimate of the bound's derivative.
    pub gradient: WeightGradient,
}

impl Family for Several {
    fn gaussian<'g>(&self, target: &Target<'_, 'g>) -> Gaussian<'g> {
        self.family.gaussian(target)
    }

    fn draw_with<'g>(&self, target: &Target<'_, 'g>, entropies: Entropies) -> Draw<'g> {
        // A weight among others has to be one, and others account for how its draws move.
        let alone = entropies == Entropies::ClosedForm;
        let doubly = alone && self.gradient == WeightGradient::DoublyReparameterised;
        let combine = if alone { self.combine } else { Combine::Importance };
        let form = match combine {
            _ if doubly => Entropies::Held,
            Combine::Importance => Entropies::Sampled,
            Combine::Mean => Entropies::ClosedForm,
        };
        let draws = match self.shared_start {
            true => self.family.draws_from_one_start(target, form, self.draws),
            false => (0..self.draws).map(|_| self.family.draw_with(target, form)).collect(),
        };
        let all = Weighted::new(draws, combine, None);
        let loss = if doubly { all.doubly_reparameterised_loss() } else { all.held_loss() };
        Draw { loss: Some(loss), ..all.together() }
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

impl Combine {
    /// The bound by some draws, `[N, 1]`, and each one's share of it, `[N, K]`. Each stands for a part of all draws, whose
    /// logarithm is given, `[N, K]`.
    fn weigh<'g>(self, draws: &[&Draw<'g>], log_parts: Expr<'g>) -> (Expr<'g>, Expr<'g>) {
        let columns = |of: &dyn Fn(&Draw<'g>) -> Expr<'g>| {
            let all = draws.iter().map(|draw| of(draw).broadcast_to(Shape::batch(1)));
            Expr::concat_cols(&all.collect::<Vec<_>>())
        };
        match self {
            Combine::Importance => {
                let weights = columns(&|draw| draw.dropped.select(NO_WEIGHT, draw.bound)) + log_parts;
                let sum = weights.log_sum_exp();
                (sum, (weights - sum).exp())
            }
            Combine::Mean => {
                let bounds = columns(&|draw| draw.dropped.select(0.0, draw.bound));
                let parts = columns(&Draw::counts) * log_parts.exp();
                let sum = parts.sum_cols();
                let shares = parts / sum.greater(0.0).select(sum, 1.0);
                ((shares * bounds).sum_cols(), shares)
            }
        }
    }
}

/// Draws with what each of them weighs.
pub(super) struct Weighted<'g> {
    draws: Vec<Draw<'g>>,
    combine: Combine,
    /// Logarithm of the part of all draws that each of them stands for, where these are learnt, `[N, K]`.
    log_parts: Option<Expr<'g>>,
    /// The bound by all of them, `[N, 1]`.
    bound: Expr<'g>,
    /// Each draw's share of the weights, `[N, K]`.
    shares: Expr<'g>,
}

impl<'g> Weighted<'g> {
    pub(super) fn new(draws: Vec<Draw<'g>>, combine: Combine, log_parts: Option<Expr<'g>>) -> Self {
        let equal = equal_parts(&draws[0], draws.len());
        let all: Vec<_> = draws.iter().collect();
        let (bound, shares) = combine.weigh(&all, log_parts.unwrap_or(equal));
        Weighted { draws, combine, log_parts, bound, shares }
    }

    /// Draws that stand for parts that are learnt, as a draw of their own.
    pub(super) fn stratified(draws: Vec<Draw<'g>>, log_parts: Expr<'g>, entropies: Entropies) -> Draw<'g> {
        let combine = match entropies {
            Entropies::ClosedForm => Combine::Mean,
            Entropies::Sampled | Entropies::Held => Combine::Importance,
        };
        let all = Weighted::new(draws, combine, Some(log_parts));
        Draw { loss: Some(all.held_loss()), ..all.together() }
    }

    /// The part of all draws that one stands for.
    fn part(&self, draw: usize) -> Expr<'g> {
        let equal = self.bound.graph().constant(1.0 / self.draws.len() as f64);
        self.log_parts.map_or(equal, |parts| parts.slice_cols(draw, 1).exp())
    }

    fn share(&self, draw: usize) -> Expr<'g> {
        self.shares.slice_cols(draw, 1)
    }

    /// The mean of a value, each draw with its part or, in a mean of bounds, its share.
    fn mean(&self, value: impl Fn(&Draw<'g>) -> Expr<'g>) -> Expr<'g> {
        let of = |(at, draw)| match self.combine {
            Combine::Importance => self.part(at) * value(draw),
            Combine::Mean => self.share(at) * value(draw),
        };
        self.draws.iter().enumerate().map(of).reduce(|a, b| a + b).expect("there is a draw")
    }

    /// 1 where all draws have a 1.
    fn all(&self, flag: impl Fn(&Draw<'g>) -> Expr<'g>) -> Expr<'g> {
        self.draws.iter().map(flag).reduce(|a, b| a.min(b)).expect("there is a draw")
    }

    /// Terms of the bound: the means of the draws' own, and what they gain together.
    fn terms(&self) -> Vec<(&'static str, Expr<'g>)> {
        let of = |at: usize| {
            let mean = self.mean(|draw| draw.dropped.select(0.0, draw.terms[at].1));
            (self.draws[0].terms[at].0, mean)
        };
        let mut terms: Vec<_> = (0..self.draws[0].terms.len()).map(of).collect();
        let alone = terms.iter().map(|(_, term)| *term).reduce(|a, b| a + b).expect("bounds have terms");
        if self.combine == Combine::Importance {
            terms.push(("several_draws", self.bound - alone));
        }
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
            log_decisions: None,
            variables: self.variables(),
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

/// `log 1/K` for each of `K` draws.
fn equal_parts<'g>(of: &Draw<'g>, draws: usize) -> Expr<'g> {
    let part = of.bound.graph().constant(-(draws as f64).ln());
    part.broadcast_to(Shape::fixed(1, draws))
}
