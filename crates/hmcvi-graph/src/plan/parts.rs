//! Write the steps of a row stage, part by part: without loops there is one.

use std::collections::HashSet;

use super::emit::Emitter;
use super::fuse::Members;
use super::loops::{Results, is_left_by_loop};
use super::stages::{Summand, is_given};
use super::{Pack, Repeated, Step, View};
use crate::graph::NodeId;
use crate::shape::Shape;

/// A part of a row stage: what comes before or after loops, or the body of one.
struct Part<'a> {
    members: Members<'a>,
    finals: Vec<(NodeId, View)>,
    sums: Vec<(usize, Summand)>,
}

impl<'a> Emitter<'a> {
    /// Packed operands and steps of a row stage, and which of them are repeated; no steps if nothing is to be done for
    /// rows.
    pub(super) fn row_stage(&mut self, level: usize) -> (Vec<Pack>, Vec<Step>, Vec<Repeated>) {
        let analysis = self.analysis;
        let finals: Vec<(NodeId, View)> = self
            .finals(Shape::is_batch)
            .into_iter()
            .filter(|(id, _)| analysis.level[*id as usize] == level)
            .collect();
        let sums: Vec<(usize, Summand)> = analysis
            .targets
            .iter()
            .enumerate()
            .filter(|(_, (id, _))| analysis.level[*id as usize] == level + 1)
            .flat_map(|(t, (_, summands))| summands.iter().map(move |s| (t, *s)))
            .collect();
        let needed = self.needed_rows(&finals, &sums);
        self.tile_views.clear();
        self.summed.clear();
        let loops = self.loop_results(&needed);
        let parts = self.parts(&needed, &finals, &sums, &loops);
        let (mut steps, mut repeated) = (Vec::new(), Vec::new());
        for (number, part) in parts.into_iter().enumerate() {
            let results = loops.get(number / 2).and_then(Option::as_ref).filter(|_| number % 2 == 1);
            steps.extend(results.map(|results| self.before_loop(results)).into_iter().flatten());
            let begin = steps.len();
            let own = self.steps(&part.members, &part.finals, &part.sums);
            steps.extend(own.into_iter().map(|(_, step)| step));
            if let Some(results) = results {
                steps.extend(self.after_step(results));
                repeated.push(results.repeated(begin..steps.len()));
            }
        }
        self.pack_of.clear();
        (std::mem::take(&mut self.packs), steps, repeated)
    }

    /// Values of rows that a stage computes, or that its loops leave behind.
    fn needed_rows(&self, finals: &[(NodeId, View)], sums: &[(usize, Summand)]) -> HashSet<NodeId> {
        let loops = &self.analysis.loops;
        let operands = sums.iter().flat_map(|(_, s)| [Some(s.a), s.b]).flatten();
        let mut todo: Vec<NodeId> = finals.iter().map(|(id, _)| *id).chain(operands).collect();
        let mut needed = HashSet::new();
        while let Some(id) = todo.pop() {
            let node = self.node(id);
            if node.shape.is_batch() && !is_given(&node.op) && needed.insert(id) {
                todo.extend(&node.args);
                todo.extend(loops.body(id).map(|body| loops.end(body)));
            }
        }
        needed
    }

    /// The parts of a stage in order: one, and two more for every loop.
    fn parts(
        &self,
        needed: &HashSet<NodeId>,
        finals: &[(NodeId, View)],
        sums: &[(usize, Summand)],
        loops: &[Option<Results>],
    ) -> Vec<Part<'a>> {
        let analysis = self.analysis;
        let of = |id: NodeId| analysis.loops.part(id);
        let mut members: Vec<NodeId> = needed.iter().copied().collect();
        members.retain(|id| !is_left_by_loop(&self.node(*id).op));
        members.sort_unstable();
        let products = sums.iter().filter_map(|(_, s)| s.b.map(|b| [s.a, b])).flatten();
        let mut kept: HashSet<NodeId> = products.filter(|id| needed.contains(id)).collect();
        kept.extend(loops.iter().flatten().flat_map(Results::kept));
        for &id in members.iter().filter(|_| !loops.is_empty()) {
            let others = self.node(id).args.iter().filter(|arg| of(**arg) != of(id));
            kept.extend(others.filter(|arg| needed.contains(arg)));
        }
        let part = |number: usize| {
            let here = |id: &NodeId| of(*id) == number;
            let finals: Vec<_> = finals.iter().copied().filter(|(id, _)| here(id)).collect();
            let sums = sums.iter().copied().filter(|(_, s)| of(s.a).max(s.b.map_or(0, of)) == number);
            let members = Members {
                nodes: &analysis.nodes,
                sums: HashSet::new(),
                kept: kept.iter().copied().filter(here).collect(),
                after: &analysis.after,
                copied: finals.iter().map(|(id, _)| *id).filter(|id| needed.contains(id)).collect(),
                members: members.iter().copied().filter(here).collect(),
            };
            Part { members, finals, sums: sums.collect() }
        };
        (0..=2 * loops.len()).map(part).collect()
    }
}
