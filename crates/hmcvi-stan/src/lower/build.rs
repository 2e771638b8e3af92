//! Write steps as expressions.

use hmcvi::bayes::{Dims, Var};
use hmcvi_graph::{Expr, Graph};

use super::source::Source;
use super::{Argument, Step, density};
use crate::functions::elementwise::MAPS;
use crate::tape::Op;
use crate::value::Sizes;

/// Results of the steps that were written so far, each as one row.
pub(super) struct Rows<'g, 'p> {
    pub(super) graph: &'g Graph,
    pub(super) rows: Vec<Expr<'g>>,
    pub(super) sizes: &'p [Vec<Sizes>],
}

/// The numbers of an argument as an expression, side by side.
#[derive(Clone, Copy)]
pub(super) struct Row<'g> {
    pub(super) expr: Expr<'g>,
    pub(super) shared: bool,
    /// Numbers of each lane.
    pub(super) length: usize,
}

impl<'g> Row<'g> {
    /// The numbers of one lane.
    pub(super) fn lane(self, lane: usize) -> Expr<'g> {
        if self.shared { self.expr } else { self.expr.slice_cols(lane * self.length, self.length) }
    }

    /// The numbers for element by element functions of so many lanes with so many results: a column that repeats, or all.
    pub(super) fn spread(self, lanes: usize, length: usize) -> Expr<'g> {
        match (self.shared, self.length) {
            (true, 1) => self.expr,
            (true, own) if lanes > 1 => {
                let places: Vec<usize> = (0..lanes * own).map(|at| at % own).collect();
                self.expr.gather_cols(&places)
            }
            (false, 1) if length > 1 => self.expr.repeat_cols(length),
            _ => self.expr,
        }
    }
}

impl<'g> Rows<'g, '_> {
    /// A row by its source.
    pub(super) fn row(&self, source: &Source) -> Expr<'g> {
        match source {
            Source::Known(values) if values.len() == 1 => self.graph.constant(values[0]),
            Source::Known(values) => self.graph.constant_matrix(1, values.len(), values),
            Source::Slice { step, start, length } => {
                let row = self.rows[*step];
                if *start == 0 && *length == row.cols() { row } else { row.slice_cols(*start, *length) }
            }
            Source::Gather { step, places } => self.rows[*step].gather_cols(places),
            Source::Join { parts, order } => {
                let parts: Vec<Expr<'g>> = parts.iter().map(|part| self.row(part)).collect();
                let row = Expr::concat_cols(&parts);
                order.as_ref().map_or(row, |order| row.gather_cols(order))
            }
        }
    }

    fn argument(&self, argument: &Argument) -> Row<'g> {
        Row { expr: self.row(&argument.source), shared: argument.shared, length: argument.length }
    }

    /// Arguments of a step with one lane as variables.
    pub(super) fn variables(&self, step: &Step) -> Vec<Var<'g>> {
        let dims = |length: usize| if length == 1 { Dims::SCALAR } else { length.into() };
        let own = |a: &Argument| Var::from_expr(self.row(&a.source), dims(a.length));
        step.arguments.iter().map(own).collect()
    }

    /// The result of a step.
    pub(super) fn build(&self, step: &Step) -> Expr<'g> {
        let all: Vec<Row<'g>> = step.arguments.iter().map(|argument| self.argument(argument)).collect();
        let (lanes, length) = (step.lanes, step.length);
        let found = match step.op {
            Op::Map(id) => {
                let formula = MAPS[id as usize].expr;
                let spread: Vec<Expr<'g>> = all.iter().map(|row| row.spread(lanes, length)).collect();
                formula.map_or(self.graph.constant(f64::NAN), |f| f(&spread))
            }
            Op::Power(n) => all[0].spread(lanes, length).powi(n),
            Op::Select => {
                let [c, a, b] = [0, 1, 2].map(|i| all[i].spread(lanes, length));
                c.select(a, b)
            }
            Op::Sum => each(all[0], lanes, |x, length| x.sum_groups(length)),
            Op::LogSumExp => each(all[0], lanes, |x, length| x.log_sum_exp_groups(length)),
            Op::Product(sizes) => product(&step.arguments, &all, lanes, sizes.map(|n| n as usize)),
            Op::Density { id, part, sizes } => {
                density::build(id, part, &self.sizes[sizes as usize], &all, lanes)
            }
            Op::Cumsum => {
                let sums = all[0].expr.cumsum_groups(length);
                if all[0].shared { by_lane(lanes, |_| sums) } else { sums }
            }
            Op::Cholesky(n) => by_lane(lanes, |lane| all[0].lane(lane).cholesky(n as usize)),
            Op::Eigen(n) => by_lane(lanes, |lane| {
                let (values, vectors) = all[0].lane(lane).symmetric_eigen(n as usize);
                Expr::concat_cols(&[values, vectors])
            }),
            Op::Solve { n, transposed, .. } => by_lane(lanes, |lane| {
                all[0].lane(lane).triangular_solve(all[1].lane(lane), n as usize, transposed)
            }),
            Op::Param(_) => unreachable!("parameters are built by their declaration"),
        };
        spread_to(found, lanes * length)
    }
}

/// Results of lanes one after the other.
pub(super) fn by_lane<'g>(lanes: usize, f: impl Fn(usize) -> Expr<'g>) -> Expr<'g> {
    Expr::concat_cols(&(0..lanes).map(f).collect::<Vec<_>>())
}

/// Repeats a single column where all results are the same.
pub(super) fn spread_to(x: Expr<'_>, columns: usize) -> Expr<'_> {
    if x.cols() == columns {
        return x;
    }
    x.broadcast_to(hmcvi_graph::Shape { cols: columns, ..x.shape() })
}

/// A number for each lane.
fn each<'g>(x: Row<'g>, lanes: usize, f: impl Fn(Expr<'g>, usize) -> Expr<'g>) -> Expr<'g> {
    let found = f(x.expr, x.length);
    if x.shared { spread_to(found, lanes) } else { found }
}

/// Products of matrices `[n, m]` and `[m, k]`, with all lanes in one product where one side is the same for all.
fn product<'g>(sources: &[Argument], all: &[Row<'g>], lanes: usize, [n, m, k]: [usize; 3]) -> Expr<'g> {
    let (a, b) = (all[0], all[1]);
    let matrix = |i: usize, rows: usize, cols: usize| match &sources[i].source {
        Source::Known(values) => Some(all[i].expr.graph().constant_matrix(rows, cols, values)),
        _ => None,
    };
    if lanes == 1 || (a.shared && b.shared) {
        let one = match (matrix(0, n, m), matrix(1, m, k)) {
            (Some(left), _) if k == 1 => b.expr.matmul_transposed(left),
            (_, Some(right)) if n == 1 => a.expr.matmul(right),
            _ => a.expr.row_matmul(b.expr, [n, m, k]),
        };
        return match lanes {
            1 => one,
            _ => by_lane(lanes, |_| one),
        };
    }
    if b.shared {
        return match matrix(0, lanes * n, m) {
            Some(left) if k == 1 => b.expr.matmul_transposed(left),
            _ => a.expr.row_matmul(b.expr, [lanes * n, m, k]),
        };
    }
    if a.shared && k == 1 {
        return match matrix(1, lanes, m) {
            // Numbers for each lane: the products of the vectors of all lanes with the rows.
            Some(right) if n == 1 => a.expr.matmul_transposed(right),
            _ => b.expr.row_matmul(a.expr.row_transpose(n, m), [lanes, m, n]),
        };
    }
    if n == 1 && k == 1 {
        return (a.expr * b.expr).sum_groups(m);
    }
    by_lane(lanes, |lane| a.lane(lane).row_matmul(b.lane(lane), [n, m, k]))
}
