//! Write expressions of the columns of a row: picked, summed by segments and groups, and from left to right.

use crate::error::ShapeError;
use crate::expr::Expr;
use crate::op::Op;
use crate::rowwise::{Columns, RowOp};
use crate::shape::Shape;

/// Above all logarithms, and finite in f32.
const LARGE: f64 = 1e30;

impl<'g> Expr<'g> {
    /// Columns picked by their places, in any order and any number of times: column `j` of the result is column
    /// `places[j]`. Equal lists are kept once.
    #[track_caller]
    pub fn gather_cols(self, places: &[usize]) -> Self {
        let list = self.columns("gather_cols", places, self.cols());
        self.gather_list(list)
    }

    /// Sums of columns with the same place: column `k` of the result, which has `cols` of them, is the sum of all
    /// columns `j` with `places[j] = k`; zero where there are none. The adjoint of [`gather_cols`](Self::gather_cols).
    #[track_caller]
    pub fn segment_sum_cols(self, places: &[usize], cols: usize) -> Self {
        if places.len() != self.cols() {
            let why = format!("{} places were given, one for each column is needed", places.len());
            ShapeError::new("segment_sum_cols", &[self.shape()], why).raise();
        }
        let list = self.columns("segment_sum_cols", places, cols);
        self.segment_sum_list(list, cols)
    }

    /// Sums from left to right: column `j` of the result is the sum of columns `0..=j`.
    pub fn cumsum_cols(self) -> Self {
        self.cumsum_list(self.cols(), false)
    }

    /// Sums from right to left: column `j` of the result is the sum of the columns from `j` on.
    pub fn reverse_cumsum_cols(self) -> Self {
        self.cumsum_list(self.cols(), true)
    }

    /// Sums from left to right within every `group` neighbouring columns.
    #[track_caller]
    pub fn cumsum_groups(self, group: usize) -> Self {
        self.groups("cumsum_groups", group);
        self.cumsum_list(group, false)
    }

    /// `log Σ exp` of every `group` neighbouring columns, without overflow: `[rows, groups·group]` to `[rows, groups]`.
    #[track_caller]
    pub fn log_sum_exp_groups(self, group: usize) -> Self {
        let groups = self.groups("log_sum_exp_groups", group);
        self.row_op(RowOp::LogSumExp { group }, &[], groups)
    }

    /// `log Σ exp` of several values element by element, without overflow; single rows and columns repeat.
    ///
    /// # Panics
    /// If there are no values, or their shapes do not fit each other.
    #[track_caller]
    pub fn log_sum_exp_of(values: &[Self]) -> Self {
        let most = values.iter().copied().reduce(|a, b| a.max(b)).expect("at least one value");
        // The result does not depend on what is taken out of the sum, which has to be finite: infinite values give
        // infinite results.
        let most = most.max(-LARGE).min(LARGE).stop_gradient();
        let sum = values.iter().map(|value| (*value - most).exp()).reduce(|a, b| a + b);
        sum.map_or(most, |sum| most + sum.log())
    }

    /// Sum of every `group` neighbouring columns: `[rows, groups·group]` to `[rows, groups]`.
    #[track_caller]
    pub fn sum_groups(self, group: usize) -> Self {
        let groups = self.groups("sum_groups", group);
        let places: Vec<usize> = (0..self.cols()).map(|j| j / group).collect();
        self.segment_sum_cols(&places, groups)
    }

    /// Every column `count` times in a row: `[rows, cols]` to `[rows, cols·count]`, the adjoint of
    /// [`sum_groups`](Self::sum_groups).
    #[track_caller]
    pub fn repeat_cols(self, count: usize) -> Self {
        let places: Vec<usize> = (0..self.cols() * count).map(|j| j / count).collect();
        self.gather_cols(&places)
    }

    pub(crate) fn gather_list(self, list: Columns) -> Self {
        let cols = list.len();
        self.row_op(RowOp::Gather(list), &[], cols)
    }

    pub(crate) fn cumsum_list(self, group: usize, reverse: bool) -> Self {
        self.row_op(RowOp::Cumsum { group, reverse }, &[], self.cols())
    }

    pub(crate) fn segment_sum_list(self, list: Columns, cols: usize) -> Self {
        self.row_op(RowOp::SegmentSum(list), &[], cols)
    }

    /// A function of the rows of this and other arguments; single rows repeat.
    #[track_caller]
    pub(crate) fn row_op(self, op: RowOp, others: &[Self], cols: usize) -> Self {
        let args = [&[self], others].concat();
        let one = |x: &Self| Shape { rows: x.shape().rows, cols: 1 };
        let rows = args.iter().map(one).try_fold(Shape::SCALAR, |a, b| a.broadcast(b));
        match rows {
            Some(Shape { rows, .. }) => self.graph.add(Op::Rowwise(op), &args, Shape { rows, cols }),
            None => {
                let shapes: Vec<Shape> = args.iter().map(|x| x.shape()).collect();
                ShapeError::new(op.name(), &shapes, "the arguments need the same rows or single ones").raise()
            }
        }
    }

    #[track_caller]
    fn columns(self, name: &'static str, places: &[usize], cols: usize) -> Columns {
        let beyond = places.iter().find(|place| **place >= cols);
        if places.is_empty() || beyond.is_some() {
            let why = match beyond {
                Some(place) => format!("place {place} was asked for, of {cols} columns"),
                None => "no places were given".into(),
            };
            ShapeError::new(name, &[self.shape()], why).raise();
        }
        let list: Vec<u32> = places.iter().map(|place| *place as u32).collect();
        self.graph.list(list)
    }

    #[track_caller]
    fn groups(self, name: &'static str, group: usize) -> usize {
        if group == 0 || !self.cols().is_multiple_of(group) {
            let why = format!("the columns cannot be divided into groups of {group}");
            ShapeError::new(name, &[self.shape()], why).raise();
        }
        self.cols() / group
    }
}
