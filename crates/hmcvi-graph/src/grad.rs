//! Differentiate expressions into expressions, by one rule per operation.

use std::collections::HashMap;
use std::f64::consts::FRAC_2_SQRT_PI;

use crate::error::ShapeError;
use crate::expr::Expr;
use crate::graph::{Graph, Node, NodeId};
use crate::op::{Binary, Op, Transpose, Unary};
use crate::repeat_grad::{self, Wanted};
use crate::rowwise::RowOp;
use crate::shape::{Rows, Shape};

impl Graph {
    /// Derivatives of a scalar expression with respect to each of `wrt`, as expressions of the
    /// shapes of `wrt` that can be differentiated again.
    ///
    /// `wrt` may be any expressions, not only inputs: each is taken as a variable of its own.
    #[track_caller]
    pub fn grad<'g>(&'g self, scalar: Expr<'g>, wrt: &[Expr<'g>]) -> Vec<Expr<'g>> {
        if scalar.shape() != Shape::SCALAR {
            ShapeError::new("grad", &[scalar.shape()], "a derivative is taken of one number").raise();
        }
        self.pull_back(scalar, self.constant(1.0), wrt)
    }

    /// Per-row derivative of an energy `[N, 1]` with respect to `z`: row `i` of the result is the
    /// derivative of row `i` of the energy. `force = -graph.row_grad(energy, z)`.
    #[track_caller]
    pub fn row_grad<'g>(&'g self, energy: Expr<'g>, z: Expr<'g>) -> Expr<'g> {
        let (shape, of) = (energy.shape(), z.shape());
        if shape.cols != 1 || shape.rows != of.rows {
            let why = "the energy needs one column and the rows of the variable";
            ShapeError::new("row_grad", &[shape, of], why).raise();
        }
        self.pull_back(energy, self.constant(1.0).broadcast_to(shape), &[z])[0]
    }

    /// The derivative of `Σ seed·y` with respect to each of `wrt`, for a weight of every value of
    /// `y`: a vector-Jacobian product.
    #[track_caller]
    pub fn pull_back<'g>(&'g self, y: Expr<'g>, seed: Expr<'g>, wrt: &[Expr<'g>]) -> Vec<Expr<'g>> {
        let seed = seed.broadcast_to(y.shape());
        let first = wrt.iter().map(|w| w.id).min().unwrap_or(y.id);
        let reaches = self.reaches(first, y.id, wrt);
        let mut adjoints: HashMap<NodeId, Expr<'g>> = HashMap::from([(y.id, seed)]);
        let mut slices = self.often_sliced(first, y.id, &reaches);
        let of_body = self.body(y.id);
        let mut results: HashMap<u32, Vec<(Expr<'g>, Expr<'g>)>> = HashMap::new();
        if let Some(variable) = wrt.iter().find(|w| of_body.is_none() && self.body(w.id).is_some()) {
            let why = "a derivative was taken from outside of a loop with respect to a value of its body";
            ShapeError::new("pull_back", &[y.shape(), variable.shape()], why).raise();
        }
        // Arguments precede their users, so going down the ids visits every user before its arguments.
        for id in (first..=y.id).rev() {
            if let Some(slices) = slices.remove(&id).filter(|slices| !slices.is_empty()) {
                let part = join_slices(slices, Expr { graph: self, id });
                adjoints.entry(id).and_modify(|sum| *sum = *sum + part).or_insert(part);
            }
            if !reaches[(id - first) as usize] {
                continue;
            }
            let node = Expr { graph: self, id };
            if let Some(Op::Repeat(of)) = self.loop_end(id) {
                let wanted = Wanted {
                    end: adjoints.get(&id).copied(),
                    results: results.remove(&of.number).unwrap_or_default(),
                };
                if wanted.end.is_some() || !wanted.results.is_empty() {
                    let is_wanted = |id: NodeId| id >= first && id <= y.id && reaches[(id - first) as usize];
                    for (arg, part) in repeat_grad::pull_back(node, wanted, &is_wanted) {
                        if is_wanted(arg) {
                            adjoints.entry(arg).and_modify(|sum| *sum = *sum + part).or_insert(part);
                        }
                    }
                }
                continue;
            }
            let Some(&adjoint) = adjoints.get(&id) else { continue };
            let Node { op, args, .. } = node.node();
            if let Op::Stack(of) | Op::SumSteps(of) = op {
                results.entry(of.number).or_default().push((node, adjoint));
                continue;
            }
            if let Some(arg) =
                args.iter().find(|arg| self.body(**arg) != of_body && self.body(**arg).is_some())
            {
                let why = "sums over the rows of all steps of a loop have no derivative by way of the loop; sum up over steps \
                           first";
                ShapeError::new(op.name(), &[self.shape(*arg)], why).raise();
            }
            if let Op::SliceCols(start) = op
                && let Some(slices) = slices.get_mut(&args[0])
            {
                slices.push((start, adjoint));
                continue;
            }
            for (i, &arg) in args.iter().enumerate() {
                if arg < first || !reaches[(arg - first) as usize] {
                    continue;
                }
                if let Some(part) = rule(node, i, adjoint) {
                    let part = reduce_to(part, self.shape(arg));
                    adjoints.entry(arg).and_modify(|sum| *sum = *sum + part).or_insert(part);
                }
            }
        }
        let zero = |w: &Expr<'g>| self.constant(0.0).broadcast_to(w.shape());
        wrt.iter().map(|w| adjoints.get(&w.id).copied().unwrap_or_else(|| zero(w))).collect()
    }

    /// Values of which many columns are used one by one; adding up a row for each would take the square of their number.
    fn often_sliced<'g>(
        &'g self,
        first: NodeId,
        last: NodeId,
        reaches: &[bool],
    ) -> HashMap<NodeId, Vec<(usize, Expr<'g>)>> {
        let mut counts: HashMap<NodeId, usize> = HashMap::new();
        for id in (first..=last).filter(|id| reaches[(id - first) as usize]) {
            if let Some(of) = self.sliced(id).filter(|of| *of >= first) {
                *counts.entry(of).or_default() += 1;
            }
        }
        counts.into_iter().filter(|(_, count)| *count > MANY_SLICES).map(|(of, _)| (of, Vec::new())).collect()
    }

    /// For every id from `first` to `last`: does it depend on one of `wrt`?
    fn reaches(&self, first: NodeId, last: NodeId, wrt: &[Expr<'_>]) -> Vec<bool> {
        let mut reaches = vec![false; (last.max(first) - first + 1) as usize];
        for variable in wrt.iter().filter(|w| w.id <= last) {
            reaches[(variable.id - first) as usize] = true;
        }
        for id in first..=last {
            let by_args = |args: &[NodeId]| args.iter().any(|&a| a >= first && reaches[(a - first) as usize]);
            if self.with_args(id, by_args) {
                reaches[(id - first) as usize] = true;
            }
        }
        reaches
    }
}

/// Slices of a value from which on their adjoints are put side by side instead of being added up.
const MANY_SLICES: usize = 16;

/// The adjoint of a value of which slices have adjoints: those that do not overlap side by side, and the sum of what that
/// gives.
fn join_slices<'g>(mut slices: Vec<(usize, Expr<'g>)>, x: Expr<'g>) -> Expr<'g> {
    slices.sort_by_key(|(start, _)| *start);
    let zeros = |cols| x.graph.constant(0.0).broadcast_to(Shape { rows: x.shape().rows, cols });
    let mut rows: Vec<(usize, Vec<Expr<'g>>)> = Vec::new();
    for (start, adjoint) in slices {
        let row = rows.iter_mut().find(|(end, _)| *end <= start);
        let (end, parts) = match row {
            Some(row) => row,
            None => {
                rows.push((0, Vec::new()));
                let last = rows.len() - 1;
                &mut rows[last]
            }
        };
        if start > *end {
            parts.push(zeros(start - *end));
        }
        parts.push(adjoint);
        *end = start + adjoint.cols();
    }
    let whole = rows.into_iter().map(|(end, mut parts)| {
        if end < x.cols() {
            parts.push(zeros(x.cols() - end));
        }
        Expr::concat_cols(&parts)
    });
    whole.reduce(|a, b| a + b).unwrap_or_else(|| zeros(x.cols()))
}

/// Sums over the rows and columns that an element-wise operation repeated.
pub(crate) fn reduce_to(x: Expr<'_>, shape: Shape) -> Expr<'_> {
    let mut x = x;
    if shape.cols == 1 {
        x = x.sum_cols();
    }
    if shape.rows == Rows::Fixed(1) {
        x = x.sum_rows();
    }
    x.broadcast_to(shape)
}

/// Contribution of `y` to the adjoint of its argument `i`, before sums over repeated rows and
/// columns; `None` where no derivative flows.
pub(crate) fn rule<'g>(y: Expr<'g>, i: usize, adjoint: Expr<'g>) -> Option<Expr<'g>> {
    let x = y.arg(i);
    let other = || y.arg(1 - i);
    Some(match y.node().op {
        Op::Unary(f) => unary_rule(f, x, y, adjoint),
        Op::Binary(f) => binary_rule(f, y, i, adjoint)?,
        Op::Select => match i {
            0 => return None,
            1 => y.arg(0).select(adjoint, 0.0),
            _ => y.arg(0).select(0.0, adjoint),
        },
        Op::MatMul(Transpose::None) if i == 0 => adjoint.matmul_transposed(other()),
        Op::MatMul(Transpose::None) => other().transposed_matmul(adjoint),
        Op::MatMul(Transpose::Right) if i == 0 => adjoint.matmul(other()),
        Op::MatMul(Transpose::Right) => adjoint.transposed_matmul(other()),
        Op::MatMul(Transpose::Left) if i == 0 => other().matmul_transposed(adjoint),
        Op::MatMul(Transpose::Left) => other().matmul(adjoint),
        Op::SumCols | Op::SumRows => adjoint.broadcast_to(x.shape()),
        Op::LogSumExp => adjoint * (x - y).exp(),
        Op::SliceCols(start) => {
            let zeros = |cols| x.graph.constant(0.0).broadcast_to(Shape { rows: x.shape().rows, cols });
            let after = x.cols() - start - adjoint.cols();
            let sides = [(start > 0).then(|| zeros(start)), Some(adjoint), (after > 0).then(|| zeros(after))];
            Expr::concat_cols(&sides.into_iter().flatten().collect::<Vec<_>>())
        }
        Op::SliceRows(start) => {
            let zeros = |rows| x.graph.constant(0.0).broadcast_to(Shape::fixed(rows, x.cols()));
            let after = x.shape().fixed_rows() - start - adjoint.shape().fixed_rows();
            let sides = [(start > 0).then(|| zeros(start)), Some(adjoint), (after > 0).then(|| zeros(after))];
            Expr::concat_rows(&sides.into_iter().flatten().collect::<Vec<_>>())
        }
        Op::ConcatCols => {
            let start = (0..i).map(|k| y.arg(k).cols()).sum();
            adjoint.slice_cols(start, x.cols())
        }
        Op::ConcatRows => {
            let start = (0..i).map(|k| y.arg(k).shape().fixed_rows()).sum();
            adjoint.slice_rows(start, x.shape().fixed_rows())
        }
        Op::Rowwise(op) => row_rule(&op, y, i, adjoint),
        Op::StopGradient => return None,
        Op::Wide(_) => unreachable!("passes are made by compilers, after all derivatives"),
        Op::Repeat(_) | Op::Stack(_) | Op::SumSteps(_) | Op::PickRow(_) | Op::PickCols(_) | Op::Held(_) => {
            unreachable!("the derivative of a loop is written as a whole")
        }
        // Only derivatives of loops have these, which `repeat` refuses to differentiate again.
        Op::SumRowsOfSteps(_) => return None,
        Op::Input(_)
        | Op::Parameter(_)
        | Op::Gather { .. }
        | Op::Scalar(_)
        | Op::Constant(_)
        | Op::BatchSize
        | Op::Draw(..)
        | Op::StepDraw(..)
        | Op::Carried(_) => return None,
    })
}

fn row_rule<'g>(op: &RowOp, y: Expr<'g>, i: usize, adjoint: Expr<'g>) -> Expr<'g> {
    let x = y.arg(i);
    match *op {
        RowOp::Gather(ref list) => adjoint.segment_sum_list(list.clone(), x.cols()),
        RowOp::SegmentSum(ref list) => adjoint.gather_list(list.clone()),
        RowOp::Cumsum { group, reverse } => adjoint.cumsum_list(group, !reverse),
        RowOp::LogSumExp { group } => adjoint.repeat_cols(group) * (x - y.repeat_cols(group)).exp(),
        // With P the lower triangle of LᵀL̄, its diagonal halved, and S = L⁻ᵀ P L⁻¹: what is below the diagonal of A
        // counts for both of its places.
        RowOp::Cholesky { n } => {
            let p = y.row_product(adjoint, [n, n, n], [true, false]).lower_triangle(n, 0.5);
            let left = y.triangular_solve(p, n, true).row_transpose(n, n);
            let s = y.triangular_solve(left, n, true);
            (s + s.row_transpose(n, n)).lower_triangle(n, 0.5)
        }
        RowOp::Eigen { n } => y.eigen_adjoint(adjoint, n),
        // X = L⁻¹B gives B̄ = L⁻ᵀX̄ and L̄ = -B̄Xᵀ; X = L⁻ᵀB gives B̄ = L⁻¹X̄ and L̄ = -XB̄ᵀ.
        RowOp::Solve { n, cols, transposed } => {
            let of_b = y.arg(0).triangular_solve(adjoint, n, !transposed);
            if i == 1 {
                return of_b;
            }
            let (left, right) = if transposed { (y, of_b) } else { (of_b, y) };
            -left.row_product(right, [n, cols, n], [false, true]).lower_triangle(n, 1.0)
        }
        RowOp::Product { rows: n, depth: m, cols: k, transposed: [left, right] } => {
            let other = y.arg(1 - i);
            match (i, if i == 0 { left } else { right }) {
                (0, false) => adjoint.row_product(other, [n, k, m], [false, !right]),
                (0, true) => other.row_product(adjoint, [m, k, n], [right, true]),
                (_, false) => other.row_product(adjoint, [m, n, k], [!left, false]),
                (_, true) => adjoint.row_product(other, [k, n, m], [true, left]),
            }
        }
    }
}

fn unary_rule<'g>(f: Unary, x: Expr<'g>, y: Expr<'g>, adjoint: Expr<'g>) -> Expr<'g> {
    match f {
        Unary::Neg => -adjoint,
        Unary::Abs => x.greater(0.0).select(adjoint, x.less(0.0).select(-adjoint, 0.0)),
        Unary::Sqrt => adjoint * 0.5 / y,
        Unary::Exp => adjoint * y,
        Unary::Log => adjoint / x,
        Unary::Log1p => adjoint / (1.0 + x),
        Unary::Expm1 => adjoint * x.exp(),
        Unary::Sin => adjoint * x.cos(),
        Unary::Cos => -(adjoint * x.sin()),
        Unary::Atan => adjoint / (1.0 + x.square()),
        Unary::Sigmoid => adjoint * (y * (1.0 - y)),
        Unary::Softplus => adjoint * x.sigmoid(),
        Unary::Tanh => adjoint * (1.0 - y.square()),
        Unary::Erf => adjoint * (FRAC_2_SQRT_PI * (-x.square()).exp()),
        Unary::Erfc => -(adjoint * (FRAC_2_SQRT_PI * (-x.square()).exp())),
        Unary::LogNormalCdf => adjoint * x.inverse_mills(),
        Unary::InverseMills => -(adjoint * (y * (x + y))),
        Unary::Lgamma => adjoint * x.digamma(),
        Unary::Polygamma(order) => adjoint * x.polygamma(order + 1),
        Unary::Broadcast => adjoint,
    }
}

fn binary_rule<'g>(f: Binary, y: Expr<'g>, i: usize, adjoint: Expr<'g>) -> Option<Expr<'g>> {
    let (a, b) = (y.arg(0), y.arg(1));
    Some(match (f, i) {
        (Binary::Add, _) | (Binary::Sub, 0) => adjoint,
        (Binary::Sub, _) => -adjoint,
        (Binary::Mul, 0) => adjoint * b,
        (Binary::Mul, _) => adjoint * a,
        (Binary::Div, 0) => adjoint / b,
        (Binary::Div, _) => -(adjoint * (y / b)),
        (Binary::Pow, 0) => adjoint * (b * a.pow(b - 1.0)),
        // A power of 0 does not change with its exponent, though log 0 is infinite.
        (Binary::Pow, _) => adjoint * (y * a.greater(0.0).select(a, 1.0).log()),
        // Equal arguments give their derivative to the second, so that relu has slope 0 at 0.
        (Binary::Max, 0) => b.less(a).select(adjoint, 0.0),
        (Binary::Max, _) => b.less(a).select(0.0, adjoint),
        (Binary::Min, 0) => a.less(b).select(adjoint, 0.0),
        (Binary::Min, _) => a.less(b).select(0.0, adjoint),
        (Binary::Less | Binary::LessEqual | Binary::Equal, _) => return None,
    })
}
