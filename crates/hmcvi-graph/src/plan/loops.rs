//! Divide the rows' part of a program where it has loops: what comes before a loop, its body, and what comes after it.
//!
//! Every part is fused on its own, and what other parts need of it is kept in memory. A body is written once, with what
//! has to be done before the first step and after each of them.

use std::collections::{HashMap, HashSet};
use std::ops::Range;

use super::emit::Emitter;
use super::{Group, Instruction, Repeated, Sink, Source, Step, View};
use crate::graph::{Node, NodeId};
use crate::op::{Binary, Loop, Op};
use crate::shape::Shape;

/// The loops of some nodes, and where every node belongs.
pub(super) struct Loops {
    /// Each with the node that ends it, in an order in which loops come after those whose results they use.
    list: Vec<(Loop, NodeId)>,
    /// The number of the part that each node belongs to: loop `k` is part `2k + 1`; empty where there are no loops.
    parts: Vec<usize>,
}

/// The nodes that end loops, by the loops' numbers.
pub(super) fn ends(nodes: &[Node]) -> HashMap<u32, NodeId> {
    let end = |(id, node): (usize, &Node)| match node.op {
        Op::Repeat(of) => Some((of.number, id as NodeId)),
        _ => None,
    };
    nodes.iter().enumerate().filter_map(end).collect()
}

impl Loops {
    pub(super) fn of(nodes: &[Node]) -> Self {
        let mut ends: Vec<(u32, NodeId)> = ends(nodes).into_iter().collect();
        // A loop's results have greater numbers than its end, and so has what is made of them.
        ends.sort_unstable_by_key(|(_, end)| *end);
        if ends.is_empty() {
            return Loops { list: Vec::new(), parts: Vec::new() };
        }
        let numbers: HashMap<u32, usize> =
            ends.iter().enumerate().map(|(k, (number, _))| (*number, k)).collect();
        let list = ends.iter().map(|(_, end)| match nodes[*end as usize].op {
            Op::Repeat(of) => (of, *end),
            _ => unreachable!("loops end with their own operation"),
        });
        let list = list.collect();
        let mut parts: Vec<usize> = Vec::with_capacity(nodes.len());
        for node in nodes {
            let of_args = node.args.iter().map(|arg| parts[*arg as usize]).max().unwrap_or(0);
            let is_sum = node.op.is_sum_over_rows() && !node.shape.is_batch();
            parts.push(match (node.op.opens(), node.op.ends()) {
                (Some(of), _) => 2 * numbers[&of.number] + 1,
                (_, Some(of)) => 2 * numbers[&of.number] + 2,
                _ if is_sum => of_args.next_multiple_of(2),
                _ => of_args,
            });
        }
        Loops { list, parts }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    pub(super) fn len(&self) -> usize {
        self.list.len()
    }

    /// The loops in order.
    pub(super) fn all(&self) -> &[(Loop, NodeId)] {
        &self.list
    }

    pub(super) fn end(&self, number: usize) -> NodeId {
        self.list[number].1
    }

    /// The part that a node belongs to.
    pub(super) fn part(&self, id: NodeId) -> usize {
        self.parts.get(id as usize).copied().unwrap_or(0)
    }

    /// The loop whose body a node belongs to, by its place in the order.
    pub(super) fn body(&self, id: NodeId) -> Option<usize> {
        let part = self.part(id);
        (part % 2 == 1).then_some(part / 2)
    }
}

/// Whether a value of rows is where a loop leaves it, so that no step computes it.
pub(super) fn is_left_by_loop(op: &Op) -> bool {
    matches!(op, Op::Carried(_)) || op.ends().is_some()
}

/// What a loop leaves behind in this stage: results with the values of its body that they are made of.
pub(super) struct Results {
    pub(super) of: Loop,
    carried: (View, usize),
    start: NodeId,
    next: NodeId,
    stacks: Vec<(NodeId, NodeId)>,
    sums: Vec<(NodeId, NodeId)>,
}

impl Results {
    /// Values that have to be in memory for it.
    pub(super) fn kept(&self) -> impl Iterator<Item = NodeId> {
        let values = self.stacks.iter().chain(&self.sums).map(|(_, value)| *value);
        [self.start, self.next].into_iter().chain(values)
    }
}

impl Emitter<'_> {
    /// Gives all that the loops of a stage leave behind its place.
    pub(super) fn loop_results(&mut self, needed: &HashSet<NodeId>) -> Vec<Option<Results>> {
        let analysis = self.analysis;
        let mut left: Vec<NodeId> =
            needed.iter().copied().filter(|id| is_left_by_loop(&self.node(*id).op)).collect();
        left.sort_unstable();
        let mut all = Vec::new();
        for &(of, end) in analysis.loops.all() {
            if !needed.contains(&end) {
                all.push(None);
                continue;
            }
            let [start, next] = self.node(end).args[..] else {
                unreachable!("a loop has a start and a step")
            };
            let carried = self.keep(end);
            let mut results = Results {
                of,
                carried: (carried, self.shape(end).cols),
                start,
                next,
                stacks: Vec::new(),
                sums: Vec::new(),
            };
            for &id in &left {
                match self.node(id).op {
                    Op::Carried(its) if its == of => self.set_view(id, carried),
                    Op::Stack(its) if its == of => {
                        self.keep(id);
                        results.stacks.push((id, self.node(id).args[0]));
                    }
                    Op::SumSteps(its) if its == of => {
                        self.keep(id);
                        results.sums.push((id, self.node(id).args[0]));
                    }
                    _ => {}
                }
            }
            all.push(Some(results));
        }
        all
    }

    /// What is to be done before the first step of a loop.
    pub(super) fn before_loop(&mut self, results: &Results) -> Vec<Step> {
        let (carried, cols) = results.carried;
        let mut steps = vec![copy(cols, self.view(results.start), carried)];
        for &(id, _) in &results.sums {
            let sinks = vec![Sink::Store(0, self.view(id))];
            let (shape, sources) = (self.shape(id), vec![Source::Literal(0.0)]);
            steps.push(Step::Group(Group { shape, sources, instructions: Vec::new(), sinks }));
        }
        steps
    }

    /// What is to be done at the end of every step, and the steps that are repeated.
    pub(super) fn after_step(&mut self, results: &Results) -> Vec<Step> {
        let mut steps = Vec::new();
        for &(id, value) in &results.stacks {
            let (cols, to) = (self.shape(value).cols, self.view(id));
            steps.push(copy(cols, self.view(value), View { step: cols, ..to }));
        }
        for &(id, value) in &results.sums {
            let (shape, to) = (self.shape(value), self.view(id));
            let sources = vec![Source::Full(to), Source::Full(self.view(value))];
            let instructions = vec![Instruction::Binary(Binary::Add, 0, 1)];
            steps.push(Step::Group(Group { shape, sources, instructions, sinks: vec![Sink::Store(2, to)] }));
        }
        let (carried, cols) = results.carried;
        steps.push(copy(cols, self.view(results.next), carried));
        steps
    }
}

impl Results {
    pub(super) fn repeated(&self, range: Range<usize>) -> Repeated {
        Repeated { range, steps: self.of.steps as usize, backward: self.of.backward }
    }
}

fn copy(cols: usize, from: View, to: View) -> Step {
    let (sources, sinks) = (vec![Source::Full(from)], vec![Sink::Store(0, to)]);
    Step::Group(Group { shape: Shape::batch(cols), sources, instructions: Vec::new(), sinks })
}
