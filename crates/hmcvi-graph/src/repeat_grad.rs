//! Differentiate a loop: a loop in the opposite direction has the carried values of all steps, computes the body again in
//! each of them, and pulls back through it.

use std::collections::HashMap;
use std::ops::Range;

use crate::error::ShapeError;
use crate::expr::Expr;
use crate::grad::{reduce_to, rule};
use crate::graph::{Graph, Node, NodeId};
use crate::op::{Loop, Op};
use crate::repeat::Repeated;
use crate::shape::{Rows, Shape};

/// What the rest of a program asks of a loop's derivative: adjoints of its end, and of values of its body in all steps.
pub(crate) struct Wanted<'g> {
    pub(crate) end: Option<Expr<'g>>,
    /// Results that were made of values of the body, with their adjoints.
    pub(crate) results: Vec<(Expr<'g>, Expr<'g>)>,
}

/// The derivative of a loop while it is being written.
struct Backward<'g, 'a> {
    graph: &'g Graph,
    of: Loop,
    /// Values of the body as they are computed again.
    again: HashMap<NodeId, Expr<'g>>,
    /// Adjoints of values of the new body.
    adjoints: HashMap<NodeId, Expr<'g>>,
    /// Adjoints of values from outside, in order: sums over rows and steps, or of one step alone.
    outside: Vec<(NodeId, Expr<'g>)>,
    /// Whether a derivative is wanted by way of a value from outside.
    reaches: &'a dyn Fn(NodeId) -> bool,
}

/// Adjoints of what a loop is made of.
#[track_caller]
pub(crate) fn pull_back<'g>(
    end: Expr<'g>,
    wanted: Wanted<'g>,
    reaches: &dyn Fn(NodeId) -> bool,
) -> Vec<(NodeId, Expr<'g>)> {
    let graph = end.graph;
    let Node { op: Op::Repeat(forward), shape, .. } = end.node() else {
        unreachable!("loops end with their own operation")
    };
    if forward.backward {
        let why = "a derivative was taken through the derivative of a loop, which is possible for loops that are written \
                   out only";
        ShapeError::new("repeat", &[shape], why).raise();
    }
    let (start, next) = (end.arg(0), end.arg(1));
    let (steps, rows) = (forward.steps as usize, Shape::batch);
    let of = graph.new_loop(steps, true);
    let carried = Repeated { of: forward, end }.stack(graph.add(Op::Carried(forward), &[], shape));
    let first = graph.len() as NodeId;
    let state = graph.add(Op::PickCols(of), &[carried], shape);
    let mut backward =
        Backward { graph, of, again: HashMap::new(), adjoints: HashMap::new(), outside: Vec::new(), reaches };
    let values = wanted.results.iter().map(|(result, _)| result.arg(0));
    backward.compute_again(forward, state, &[next].into_iter().chain(values).collect::<Vec<_>>());
    let adjoint = graph.add(Op::Carried(of), &[], shape);
    backward.give(backward.again_of(next), adjoint);
    for (result, adjoint) in &wanted.results {
        let value = result.arg(0);
        let adjoint = match result.node().op {
            Op::Stack(_) => graph.add(Op::PickCols(of), &[*adjoint], rows(value.cols())),
            _ => graph.add(Op::Held(of), &[adjoint.broadcast_to(rows(value.cols()))], rows(value.cols())),
        };
        backward.give(backward.again_of(value), adjoint);
    }
    let picked = backward.sweep(first, state);
    let zero = |shape: Shape| graph.constant(0.0).broadcast_to(shape);
    let before = backward.adjoints.get(&state.id).copied().unwrap_or_else(|| zero(shape));
    let begin = wanted.end.unwrap_or_else(|| zero(shape)).broadcast_to(shape);
    let repeated = graph.close(of, begin, before);
    let mut all = vec![(start.id, repeated.end)];
    for (id, adjoint) in backward.outside {
        let whole = match graph.shape(id).rows {
            Rows::Batch => repeated.sum(adjoint),
            Rows::Fixed(_) => adjoint,
        };
        all.push((id, whole));
    }
    all.extend(picked.into_iter().map(|(id, adjoint)| (id, repeated.stack(adjoint))));
    all
}

impl<'g> Backward<'g, '_> {
    /// Writes the body again, for the carried value of its step.
    fn compute_again(&mut self, forward: Loop, state: Expr<'g>, values: &[Expr<'g>]) {
        let is_inside = |id: NodeId| self.graph.body(id) == Some(forward.number);
        let mut todo: Vec<NodeId> = values.iter().map(|value| value.id).filter(|id| is_inside(*id)).collect();
        let mut needed = Vec::new();
        while let Some(id) = todo.pop() {
            if self.again.insert(id, state).is_none() {
                needed.push(id);
                self.graph.with_args(id, |args| todo.extend(args.iter().filter(|arg| is_inside(**arg))));
            }
        }
        needed.sort_unstable();
        for id in needed {
            let Node { op, args, shape } = self.graph.node(id);
            let op = match op {
                Op::Carried(_) => continue,
                Op::PickRow(_) => Op::PickRow(self.of),
                Op::PickCols(_) => Op::PickCols(self.of),
                Op::StepDraw(draw, first, each, _) => Op::StepDraw(draw, first, each, self.of),
                other => other,
            };
            let args: Vec<Expr<'g>> =
                args.into_iter().map(|id| self.again_of(Expr { graph: self.graph, id })).collect();
            self.again.insert(id, self.graph.add(op, &args, shape));
        }
    }

    fn again_of(&self, value: Expr<'g>) -> Expr<'g> {
        self.again.get(&value.id).copied().unwrap_or(value)
    }

    fn is_inside(&self, id: NodeId) -> bool {
        self.graph.body(id) == Some(self.of.number)
    }

    /// Adds to the adjoint of a value.
    fn give(&mut self, value: Expr<'g>, part: Expr<'g>) {
        if self.is_inside(value.id) {
            self.adjoints.entry(value.id).and_modify(|sum| *sum = *sum + part).or_insert(part);
        } else if (self.reaches)(value.id) {
            match self.outside.iter_mut().find(|(id, _)| *id == value.id) {
                Some((_, sum)) => *sum = *sum + part,
                None => self.outside.push((value.id, part)),
            }
        }
    }

    /// Pulls back through the body; returns adjoints of what was picked from the rows of the batch, step by step.
    fn sweep(&mut self, first: NodeId, state: Expr<'g>) -> Vec<(NodeId, Expr<'g>)> {
        let last = self.graph.len() as NodeId;
        let reached = self.reached(first..last, state);
        let mut picked = Vec::new();
        for id in (first..last).rev().filter(|id| reached[(id - first) as usize] && *id != state.id) {
            let Some(&adjoint) = self.adjoints.get(&id) else { continue };
            let node = Expr { graph: self.graph, id };
            let Node { op, args, .. } = node.node();
            match op {
                Op::PickCols(_) => picked.push((args[0], adjoint)),
                Op::PickRow(_) => {
                    let of_steps = Op::SumRowsOfSteps(self.of);
                    let shape = self.graph.shape(args[0]);
                    let sum = self.graph.add(of_steps, &[adjoint], shape);
                    self.give(node.arg(0), sum);
                }
                _ => {
                    for (i, &arg) in args.iter().enumerate() {
                        let wanted =
                            if arg >= first { reached[(arg - first) as usize] } else { (self.reaches)(arg) };
                        // The body was written by the same rules as before, of the same values from outside.
                        assert!(
                            arg < first || !wanted || self.is_inside(arg),
                            "a loop's body is the same again"
                        );
                        if let Some(part) = wanted.then(|| rule(node, i, adjoint)).flatten() {
                            let part = reduce_to(part, self.graph.shape(arg));
                            self.give(node.arg(i), part);
                        }
                    }
                }
            }
        }
        picked
    }

    /// Which values of the new body depend on the carried value, or on values from outside whose derivative is wanted.
    fn reached(&self, ids: Range<NodeId>, state: Expr<'g>) -> Vec<bool> {
        let mut reached = vec![false; ids.len()];
        for id in ids.clone() {
            let of = |arg: NodeId| match arg.checked_sub(ids.start) {
                Some(at) => reached[at as usize],
                None => (self.reaches)(arg),
            };
            let by_args = |args: &[NodeId]| args.iter().any(|arg| of(*arg));
            reached[(id - ids.start) as usize] = id == state.id || self.graph.with_args(id, by_args);
        }
        reached
    }
}
