//! Repeat a body of expressions: a loop that carries values from step to step.
//!
//! The body is written once, and so are its programs, however many steps there are.

use std::ops::Range;

use crate::error::ShapeError;
use crate::expr::Expr;
use crate::graph::Graph;
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
    pub(crate) of: Loop,
    pub(crate) end: Expr<'g>,
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
    pub(crate) fn close<'g>(&'g self, of: Loop, start: Expr<'g>, next: Expr<'g>) -> Repeated<'g> {
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
