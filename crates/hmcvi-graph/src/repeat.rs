//! Repeat a body of expressions: a loop that carries values from step to step, and its derivative.
//!
//! The body is written once, and so are its programs, however many steps there are. The derivative is a loop in the
//! opposite direction: it has the carried values of all steps, computes the body again in each of them, and pulls back
//! through it.

use std::collections::HashMap;
use std::ops::Range;

use crate::error::ShapeError;
use crate::expr::Expr;
use crate::grad::{reduce_to, rule};
use crate::graph::{Graph, Node, NodeId};
use crate::op::{Draw, Loop, Op};
use crate::shape::{Rows, Shape};

/// A loop whose body is being written: what differs from step to step.
#[derive(Clone, Copy)]
pub struct Repeat<'g> {
    graph: &'g Graph,
    of: Loop,
}

/// A loop that was written: what is known after it.
#[derive(Clone, Copy)]
pub struct Repeated<'g> {
    of: Loop,
    end: Expr<'g>,
}

impl Graph {
    /// A loop of so many steps. It carries `[N, cols]` from step to step, beginning with `start`; `body` says what a step
    /// makes of it, and is called once, to write it down. What the body makes of values from outside alone is computed
    /// once.
    ///
    /// Values of the body have no meaning outside of it, but for what [`Repeated`] gives, and for sums over rows, which
    /// are sums over the rows of all steps. Loops do not contain loops. The derivative of a loop can be taken once.
    ///
    /// # Panics
    /// If there are no steps, or where the body gives another number of columns than `start` has.
    #[track_caller]
    pub fn repeat<'g>(
        &'g self,
        steps: usize,
        start: Expr<'g>,
        body: impl FnOnce(&Repeat<'g>, Expr<'g>) -> Expr<'g>,
    ) -> Repeated<'g> {
        let shape = Shape::batch(start.cols());
        if steps == 0 {
            ShapeError::new("repeat", &[start.shape()], "a loop has at least one step").raise();
        }
        let start = start.broadcast_to(shape);
        if self.body(start.id).is_some() {
            ShapeError::new("repeat", &[shape], "loops do not contain loops").raise();
        }
        let of = self.new_loop(steps, false);
        let next = body(&Repeat { graph: self, of }, self.add(Op::Carried(of), &[], shape));
        self.close(of, start, next)
    }

    #[track_caller]
    fn close<'g>(&'g self, of: Loop, start: Expr<'g>, next: Expr<'g>) -> Repeated<'g> {
        let (expected, found) = (start.shape(), next.shape());
        if found.broadcast(expected) != Some(expected) {
            let why = "a step has to give as many columns as the loop begins with";
            ShapeError::new("repeat", &[expected, found], why).raise();
        }
        let end = self.add(Op::Repeat(of), &[start, next.broadcast_to(expected)], expected);
        Repeated { of, end }
    }
}

impl<'g> Repeat<'g> {
    /// Number of steps.
    pub fn steps(&self) -> usize {
        self.of.steps as usize
    }

    /// Block `t` of the columns in step `t`, `[N, cols / steps]`. The values come from outside of the loop, and have one
    /// row or those of the batch.
    ///
    /// # Panics
    /// If they have other rows, or columns that are no multiple of the number of steps.
    #[track_caller]
    pub fn pick(&self, values: Expr<'g>) -> Expr<'g> {
        let shape = values.shape();
        let op = match shape.rows {
            Rows::Batch => Op::PickCols(self.of),
            Rows::Fixed(1) => Op::PickRow(self.of),
            Rows::Fixed(_) => {
                ShapeError::new("pick", &[shape], "one row or those of the batch are needed").raise()
            }
        };
        if !shape.cols.is_multiple_of(self.steps()) {
            let why = format!("{} steps need as many blocks of columns", self.steps());
            ShapeError::new("pick", &[shape], why).raise();
        }
        self.graph.add(op, &[values], Shape::batch(shape.cols / self.steps()))
    }

    /// The number of each step, from 0, `[N, 1]`.
    pub fn step(&self) -> Expr<'g> {
        let numbers: Vec<f64> = (0..self.steps()).map(|t| t as f64).collect();
        self.pick(self.graph.constant_matrix(1, self.steps(), &numbers))
    }

    /// Standard normal draws of every step, `[N, cols]`: those of [`Graph::normal`] with the first stream in the first
    /// step, and with one that is so much greater in each step.
    ///
    /// # Panics
    /// If the streams do not go so far.
    pub fn normal(&self, streams: Range<u16>, each: u16, cols: usize) -> Expr<'g> {
        self.draw(Draw::Normal, streams, each, cols)
    }

    /// Uniform draws of every step, with streams as for [`normal`](Self::normal).
    ///
    /// # Panics
    /// If the streams do not go so far.
    pub fn uniform(&self, streams: Range<u16>, each: u16, cols: usize) -> Expr<'g> {
        self.draw(Draw::Uniform, streams, each, cols)
    }

    fn draw(&self, draw: Draw, streams: Range<u16>, each: u16, cols: usize) -> Expr<'g> {
        let last = usize::from(streams.start) + (self.steps() - 1) * usize::from(each);
        assert!(last < usize::from(streams.end), "a loop of {} steps has streams {streams:?}", self.steps());
        self.graph.add(Op::StepDraw(draw, streams.start, each, self.of), &[], Shape::batch(cols))
    }
}

impl<'g> Repeated<'g> {
    /// The carried value after the last step.
    pub fn end(&self) -> Expr<'g> {
        self.end
    }

    /// A value of the body in all steps, side by side: `[N, steps·cols]`.
    pub fn stack(&self, value: Expr<'g>) -> Expr<'g> {
        let (value, steps) = (self.whole(value), self.of.steps as usize);
        if self.is_outside(value) {
            return Expr::concat_cols(&vec![value; steps]);
        }
        value.graph.add(Op::Stack(self.of), &[value, self.end], Shape::batch(steps * value.cols()))
    }

    /// The sum over all steps of a value of the body, `[N, cols]`.
    pub fn sum(&self, value: Expr<'g>) -> Expr<'g> {
        let value = self.whole(value);
        if self.is_outside(value) {
            return value * f64::from(self.of.steps);
        }
        value.graph.add(Op::SumSteps(self.of), &[value, self.end], value.shape())
    }

    fn whole(&self, value: Expr<'g>) -> Expr<'g> {
        value.broadcast_to(Shape::batch(value.cols()))
    }

    fn is_outside(&self, value: Expr<'g>) -> bool {
        value.graph.body(value.id) != Some(self.of.number)
    }
}

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
    let carried = Repeated { of: forward, end }.stack_of_carried(shape);
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

impl<'g> Repeated<'g> {
    fn stack_of_carried(&self, shape: Shape) -> Expr<'g> {
        let graph = self.end.graph;
        self.stack(graph.add(Op::Carried(self.of), &[], shape))
    }
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
