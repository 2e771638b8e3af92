//! Compute cheap operands of sums over rows again where they are needed, instead of keeping them until then.
//!
//! A gradient is summed over rows long after the values that it is made from were computed. What is kept for so long
//! leaves the caches; an operand that takes one operation on values that are kept anyway costs less to compute again.

use std::collections::HashMap;

use super::fuse::{CHEAP, EXPENSIVE, is_expensive};
use super::stages::{Analysis, is_given};
use crate::graph::NodeId;
use crate::op::Op;

/// Products and other heavy operations between the last other use of an operand and its sum from which on it is not kept:
/// fewer of them leave it in the caches.
const LONG: usize = 8;

/// Gives sums over rows new operands, and says for each after which value it is to be computed.
pub(super) fn recompute(analysis: &mut Analysis) {
    let mut times = Times::of(analysis);
    times.keep_for_sums(analysis);
    let mut targets = std::mem::take(&mut analysis.targets);
    let mut again: HashMap<NodeId, NodeId> = HashMap::new();
    for sum in targets.iter_mut().flat_map(|(_, sums)| sums) {
        let Some(b) = sum.b else { continue };
        for (operand, partner) in [(sum.a, b), (b, sum.a)] {
            if !times.is_worth(analysis, operand, partner) {
                continue;
            }
            let copy = *again.entry(operand).or_insert_with(|| analysis.copy(operand, partner));
            if operand == b { sum.b = Some(copy) } else { sum.a = copy }
        }
    }
    analysis.targets = targets;
}

/// When values of rows are computed, counted in heavy operations, and for how long they are needed by others than sums
/// over rows.
struct Times {
    ready: Vec<usize>,
    last: Vec<usize>,
    /// The same with sums over rows.
    there: Vec<usize>,
    /// Whether a value is kept, if only for products, rather than computed in every group that needs it.
    is_kept: Vec<bool>,
}

impl Times {
    fn of(analysis: &Analysis) -> Self {
        let count = analysis.nodes.len();
        let zeros = || vec![0; count];
        let mut times = Times { ready: zeros(), last: zeros(), there: zeros(), is_kept: vec![false; count] };
        let (mut heavy, mut cost) = (0, vec![0; count]);
        for (id, node) in analysis.nodes.iter().enumerate().filter(|(_, node)| node.shape.is_batch()) {
            let args = || node.args.iter().map(|arg| *arg as usize);
            if node.op.is_elementwise() {
                times.ready[id] = args().map(|arg| times.ready[arg]).max().unwrap_or(0);
                let own = if is_expensive(&node.op) { EXPENSIVE } else { 1 };
                let total: usize = own + args().map(|arg| cost[arg]).sum::<usize>();
                times.is_kept[id] = total > CHEAP;
                cost[id] = if times.is_kept[id] { 1 } else { total };
            } else {
                heavy += 1;
                (times.ready[id], times.is_kept[id], cost[id]) = (heavy, true, 1);
                if matches!(node.op, Op::MatMul(_)) {
                    args().for_each(|arg| times.is_kept[arg] = true);
                }
            }
        }
        // What is computed in the groups that need it reads its arguments there.
        for (id, node) in analysis.nodes.iter().enumerate().rev().filter(|(_, node)| node.shape.is_batch()) {
            let last = if times.is_kept[id] { times.ready[id] } else { times.ready[id].max(times.last[id]) };
            node.args.iter().for_each(|arg| times.last[*arg as usize] = times.last[*arg as usize].max(last));
        }
        times.there.clone_from(&times.last);
        times
    }

    /// Notes how long operands of sums are there that cannot be computed again.
    fn keep_for_sums(&mut self, analysis: &Analysis) {
        let mut until = Vec::new();
        for sum in analysis.targets.iter().flat_map(|(_, sums)| sums) {
            let Some(b) = sum.b else { continue };
            for (operand, partner) in [(sum.a, b), (b, sum.a)] {
                if !self.is_worth(analysis, operand, partner) {
                    until.push((operand as usize, self.ready[partner as usize]));
                }
            }
        }
        until.into_iter().for_each(|(id, then)| self.there[id] = self.there[id].max(then));
    }

    /// Whether an operand should be computed again when its partner is ready: it is cheap, nothing else needs it any
    /// more, and what it is made from is still there.
    fn is_worth(&self, analysis: &Analysis, operand: NodeId, partner: NodeId) -> bool {
        let (id, then) = (operand as usize, self.ready[partner as usize]);
        let node = &analysis.nodes[id];
        let is_there = |arg: &NodeId| {
            let of = &analysis.nodes[*arg as usize];
            let is_kept = self.is_kept[*arg as usize] && self.there[*arg as usize] >= then;
            !of.shape.is_batch() || is_given(&of.op) || is_kept
        };
        let is_cheap = node.op.is_elementwise() && !is_expensive(&node.op) && !is_given(&node.op);
        let is_late = self.last[id].max(self.ready[id]) + LONG < then;
        is_cheap && is_late && node.op != Op::StopGradient && node.args.iter().all(is_there)
    }
}

impl Analysis {
    /// The same value once more, to be computed after another one.
    fn copy(&mut self, id: NodeId, after: NodeId) -> NodeId {
        let copy = self.nodes.len() as NodeId;
        self.nodes.push(self.nodes[id as usize].clone());
        self.level.push(self.level[id as usize]);
        self.constant.push(false);
        self.merged.push(false);
        self.after.insert(copy, after);
        copy
    }
}
