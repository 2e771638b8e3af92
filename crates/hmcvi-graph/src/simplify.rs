//! Rewrite an operation into a simpler one while the graph is built.
//!
//! Rules are local: they look at an operation and its arguments. Together with the arena, which
//! stores equal expressions once, they keep derivatives as small as if written by hand. A product
//! with the number 0 becomes 0 even where the other factor might be infinite: zeros arise from
//! derivatives that do not exist, not from data. The square of a root is what it is the root of, which others see to be
//! positive.

use crate::expr::Expr;
use crate::graph::Graph;
use crate::op::{Binary, Op, Transpose, Unary};
use crate::real::{binary, unary};
use crate::rowwise::{Columns, RowOp};
use crate::shape::{Rows, Shape};

mod gathered;

/// A simpler expression of the same shape, if a rule applies.
pub(crate) fn rewrite<'g>(graph: &'g Graph, op: &Op, args: &[Expr<'g>], shape: Shape) -> Option<Expr<'g>> {
    match (op, args) {
        (Op::Unary(f), &[x]) => rewrite_unary(graph, *f, x, shape),
        (Op::Binary(f), &[a, b]) => rewrite_binary(graph, *f, a, b, shape),
        (Op::Select, &[c, a, b]) => rewrite_select(c, a, b, shape),
        (Op::MatMul(t), &[a, b]) => rewrite_product(*t, a, b, shape),
        (Op::SumCols | Op::SumRows | Op::LogSumExp, &[x]) => rewrite_sum(op, x, shape),
        (Op::SliceCols(start), &[x]) => rewrite_slice(Axis::Cols, *start, x, shape),
        (Op::SliceRows(start), &[x]) => rewrite_slice(Axis::Rows, *start, x, shape),
        (Op::ConcatCols, parts) => rewrite_concat(Axis::Cols, parts),
        (Op::ConcatRows, parts) => rewrite_concat(Axis::Rows, parts),
        (Op::Rowwise(op), args) => rewrite_rowwise(op, args, shape),
        (Op::StopGradient, &[x]) => is_leaf(x).then_some(x),
        _ => None,
    }
}

/// The number that the whole expression is filled with, if it is known.
fn filled(x: Expr<'_>) -> Option<f64> {
    match x.node().op {
        Op::Scalar(bits) => Some(f64::from_bits(bits)),
        Op::Unary(Unary::Broadcast) => filled(x.arg(0)),
        _ => None,
    }
}

fn is_leaf(x: Expr<'_>) -> bool {
    let op = x.node().op;
    let is_draw = matches!(op, Op::Draw(..) | Op::StepDraw(..));
    is_draw || matches!(op, Op::Scalar(_) | Op::Constant(_) | Op::BatchSize | Op::StopGradient)
}

fn is_op(x: Expr<'_>, op: &Op) -> bool {
    x.node().op == *op
}

fn is_neg(x: Expr<'_>) -> bool {
    is_op(x, &Op::Unary(Unary::Neg))
}

fn constant<'g>(graph: &'g Graph, value: f64, shape: Shape) -> Expr<'g> {
    graph.constant(value).broadcast_to(shape)
}

/// Takes a broadcast out of an argument of an element-wise operation: the others repeat it anyway,
/// or the result is repeated instead.
fn without_broadcast<'g>(op: &Op, args: &[Expr<'g>], shape: Shape) -> Option<Expr<'g>> {
    let i = args.iter().position(|x| is_op(*x, &Op::Unary(Unary::Broadcast)))?;
    let mut args = args.to_vec();
    args[i] = args[i].arg(0);
    let mut shapes = args.iter().map(|a| a.shape());
    let small = shapes.next()?;
    // Single rows and columns of the remaining arguments always fit each other.
    let small = shapes.try_fold(small, |s, a| s.broadcast(a))?;
    Some(args[0].graph.add(op.clone(), &args, small).broadcast_to(shape))
}

fn rewrite_unary<'g>(graph: &'g Graph, f: Unary, x: Expr<'g>, shape: Shape) -> Option<Expr<'g>> {
    let broadcast = Op::Unary(Unary::Broadcast);
    if f == Unary::Broadcast {
        return is_op(x, &broadcast).then(|| x.arg(0).broadcast_to(shape));
    }
    if let Some(value) = x.as_constant() {
        return Some(graph.constant(unary(f, value)));
    }
    if is_op(x, &broadcast) {
        let inner = x.arg(0);
        return Some(graph.add(Op::Unary(f), &[inner], inner.shape()).broadcast_to(shape));
    }
    match f {
        Unary::Neg if is_neg(x) => Some(x.arg(0)),
        Unary::Neg if is_op(x, &Op::Binary(Binary::Sub)) => Some(x.arg(1) - x.arg(0)),
        Unary::Log if is_op(x, &Op::Unary(Unary::Exp)) => Some(x.arg(0)),
        _ => None,
    }
}

fn rewrite_binary<'g>(
    graph: &'g Graph,
    f: Binary,
    a: Expr<'g>,
    b: Expr<'g>,
    shape: Shape,
) -> Option<Expr<'g>> {
    if let (Some(x), Some(y)) = (filled(a), filled(b)) {
        return Some(constant(graph, binary(f, x, y), shape));
    }
    if let Some(smaller) = without_broadcast(&Op::Binary(f), &[a, b], shape) {
        return Some(smaller);
    }
    let repeat = |x: Expr<'g>| Some(x.broadcast_to(shape));
    match (f, filled(a), filled(b)) {
        (Binary::Add, Some(0.0), _) => repeat(b),
        (Binary::Add | Binary::Sub, _, Some(0.0)) => repeat(a),
        (Binary::Sub, Some(0.0), _) => repeat(-b),
        (Binary::Mul, Some(0.0), _) | (Binary::Mul, _, Some(0.0)) => Some(constant(graph, 0.0, shape)),
        (Binary::Div, Some(0.0), None) => Some(constant(graph, 0.0, shape)),
        (Binary::Mul, Some(1.0), _) => repeat(b),
        (Binary::Mul | Binary::Div, _, Some(1.0)) => repeat(a),
        (Binary::Mul, Some(-1.0), _) => repeat(-b),
        (Binary::Mul | Binary::Div, _, Some(-1.0)) => repeat(-a),
        (Binary::Mul, Some(x), None) if let Some((y, rest)) = scaled(b) => {
            Some((graph.constant(x * y) * rest).broadcast_to(shape))
        }
        // Recurrences of variances take roots of what they square again.
        (Binary::Mul, ..) if a == b && is_op(a, &Op::Unary(Unary::Sqrt)) => Some(a.arg(0)),
        (Binary::Mul, None, Some(x)) if let Some((y, rest)) = scaled(a) => {
            Some((graph.constant(x * y) * rest).broadcast_to(shape))
        }
        (Binary::Sub, ..) if a == b => Some(constant(graph, 0.0, shape)),
        (Binary::Add, ..) if a == b => Some(a * 2.0),
        (Binary::Add, ..) if is_neg(b) => Some(a - b.arg(0)),
        (Binary::Add, ..) if is_neg(a) => Some(b - a.arg(0)),
        (Binary::Sub, ..) if is_neg(b) => Some(a + b.arg(0)),
        (Binary::Mul | Binary::Div, ..) if is_neg(a) && is_neg(b) => {
            Some(graph.add(Op::Binary(f), &[a.arg(0), b.arg(0)], shape))
        }
        (Binary::Mul | Binary::Div, ..) if is_neg(a) => {
            Some(-graph.add(Op::Binary(f), &[a.arg(0), b], shape))
        }
        (Binary::Mul, ..) if is_neg(b) => Some(-graph.add(Op::Binary(f), &[a, b.arg(0)], shape)),
        (Binary::Add, ..) => add_concats(a, b, Axis::Cols).or_else(|| add_concats(a, b, Axis::Rows)),
        _ => None,
    }
}

/// `(c, y)` if this is `c·y` with a number `c`.
fn scaled(x: Expr<'_>) -> Option<(f64, Expr<'_>)> {
    if !is_op(x, &Op::Binary(Binary::Mul)) {
        return None;
    }
    let (a, b) = (x.arg(0), x.arg(1));
    a.as_constant().map(|c| (c, b)).or_else(|| b.as_constant().map(|c| (c, a)))
}

/// `[a, b] + [c, d] = [a + c, b + d]`: the derivatives of slices join without zeros.
fn add_concats<'g>(a: Expr<'g>, b: Expr<'g>, axis: Axis) -> Option<Expr<'g>> {
    let (pa, pb) = (parts(a, axis)?, parts(b, axis)?);
    let split = |p: &[Expr<'g>]| p.iter().map(|x| axis.len(x.shape())).collect::<Vec<_>>();
    if a.shape() != b.shape() {
        return None;
    }
    let (cuts, other) = (split(&pa), split(&pb));
    if cuts == other {
        let sums: Vec<_> = pa.iter().zip(&pb).map(|(&x, &y)| x + y).collect();
        return Some(axis.concat(&sums));
    }
    // Cut both at every boundary, if that only cuts zeros.
    let ends = |c: &[usize]| {
        c.iter()
            .scan(0, |s, n| {
                *s += n;
                Some(*s)
            })
            .collect::<Vec<_>>()
    };
    let mut all = [ends(&cuts), ends(&other)].concat();
    all.sort_unstable();
    all.dedup();
    let cut = |p: &[Expr<'g>]| -> Option<Vec<Expr<'g>>> {
        let (mut pieces, mut start) = (Vec::new(), 0);
        for part in p {
            let end = start + axis.len(part.shape());
            let inside: Vec<usize> = all.iter().copied().filter(|&e| e > start && e <= end).collect();
            if inside.len() > 1 && filled(*part).is_none() {
                return None;
            }
            let mut from = start;
            for to in inside {
                pieces.push(axis.slice(*part, from - start, to - from));
                from = to;
            }
            start = end;
        }
        Some(pieces)
    };
    let sums: Vec<_> = cut(&pa)?.into_iter().zip(cut(&pb)?).map(|(x, y)| x + y).collect();
    Some(axis.concat(&sums))
}

fn rewrite_select<'g>(c: Expr<'g>, a: Expr<'g>, b: Expr<'g>, shape: Shape) -> Option<Expr<'g>> {
    if a == b {
        return Some(a.broadcast_to(shape));
    }
    match filled(c) {
        Some(0.0) => return Some(b.broadcast_to(shape)),
        Some(_) => return Some(a.broadcast_to(shape)),
        None => {}
    }
    without_broadcast(&Op::Select, &[c, a, b], shape)
}

fn rewrite_product<'g>(t: Transpose, a: Expr<'g>, b: Expr<'g>, shape: Shape) -> Option<Expr<'g>> {
    let graph = a.graph;
    if filled(a) == Some(0.0) || filled(b) == Some(0.0) {
        return Some(constant(graph, 0.0, shape));
    }
    let product = |a: Expr<'g>, b: Expr<'g>| match t {
        Transpose::None => a.matmul(b),
        Transpose::Right => a.matmul_transposed(b),
        Transpose::Left => a.transposed_matmul(b),
    };
    if is_neg(a) {
        return Some(-product(a.arg(0), b));
    }
    if is_neg(b) {
        return Some(-product(a, b.arg(0)));
    }
    match t {
        // A product over a single column is an outer product: broadcasting does it.
        Transpose::None if a.cols() == 1 => Some(a * b),
        // Repeated rows are multiplied once.
        Transpose::None | Transpose::Right if is_repeated_row(a) => {
            let row = Shape::fixed(1, a.cols());
            Some(product(a.arg(0).broadcast_to(row), b).broadcast_to(shape))
        }
        // concat(a, b)·W = a·W_a + b·W_b: what does not change between uses is computed once.
        Transpose::None => {
            let mut start = 0;
            few_parts(a)?
                .into_iter()
                .map(|part| {
                    let rows = part.cols();
                    start += rows;
                    part.matmul(b.slice_rows(start - rows, rows))
                })
                .reduce(|x, y| x + y)
        }
        Transpose::Right => None,
        Transpose::Left if a.cols() == 1 => Some((a * b).sum_rows()),
        Transpose::Left => {
            let sums: Vec<_> = few_parts(a)?.into_iter().map(|part| part.transposed_matmul(b)).collect();
            Some(Expr::concat_rows(&sums))
        }
    }
}

/// Parts side by side, if there are not so many that a product for each would take longer than one of them all.
fn few_parts(x: Expr<'_>) -> Option<Vec<Expr<'_>>> {
    parts(x, Axis::Cols).filter(|parts| parts.len() <= 16)
}

fn is_repeated_row(x: Expr<'_>) -> bool {
    is_op(x, &Op::Unary(Unary::Broadcast))
        && x.shape().rows != Rows::Fixed(1)
        && x.arg(0).shape().rows == Rows::Fixed(1)
}

fn rewrite_sum<'g>(op: &Op, x: Expr<'g>, shape: Shape) -> Option<Expr<'g>> {
    if x.shape() == shape {
        return Some(x);
    }
    if *op == Op::LogSumExp || !is_op(x, &Op::Unary(Unary::Broadcast)) {
        return None;
    }
    let inner = x.arg(0);
    let (count, one) = match op {
        Op::SumCols => (x.graph.constant(x.cols() as f64), inner.cols() == 1),
        _ => match x.shape().rows {
            Rows::Batch => (x.graph.batch_size(), !inner.shape().is_batch()),
            Rows::Fixed(n) => (x.graph.constant(n as f64), inner.shape().fixed_rows() == 1),
        },
    };
    one.then(|| (inner * count).broadcast_to(shape))
}

fn rewrite_rowwise<'g>(op: &RowOp, args: &[Expr<'g>], shape: Shape) -> Option<Expr<'g>> {
    let graph = args[0].graph;
    let is_zero = |(i, x): (usize, &Expr<'g>)| op.is_zero_with(i) && filled(*x) == Some(0.0);
    if args.iter().enumerate().any(is_zero) {
        return Some(constant(graph, 0.0, shape));
    }
    let x = args[0];
    let simpler = match op {
        RowOp::Gather(list) => rewrite_gather(list, x, shape),
        RowOp::SegmentSum(list) if shape.cols == x.cols() && counts_from(list) == Some(0) => Some(x),
        RowOp::SegmentSum(_) if shape.cols == 1 => Some(x.sum_cols()),
        RowOp::LogSumExp { .. } if x.cols() == 1 => Some(x),
        RowOp::Cumsum { group: 1, .. } => Some(x),
        RowOp::LogSumExp { group: 1 } => Some(x),
        RowOp::LogSumExp { .. } if shape.cols == 1 => Some(x.log_sum_exp()),
        _ => None,
    };
    // Rows repeat by themselves, and where all do, so does the result.
    simpler.or_else(|| {
        let i = args.iter().position(|x| is_repeated_row(*x) && x.arg(0).cols() == x.cols())?;
        let mut args = args.to_vec();
        args[i] = args[i].arg(0);
        Some(args[0].row_op(op.clone(), &args[1..], shape.cols).broadcast_to(shape))
    })
}

fn rewrite_gather<'g>(list: &Columns, x: Expr<'g>, shape: Shape) -> Option<Expr<'g>> {
    if x.cols() == 1 {
        return Some(x.broadcast_to(shape));
    }
    if let Some(value) = filled(x) {
        return Some(constant(x.graph, value, shape));
    }
    if let Some(start) = counts_from(list) {
        return Some(x.slice_cols(start, shape.cols));
    }
    if list.iter().all(|place| *place == list[0]) {
        return Some(x.slice_cols(list[0] as usize, 1).broadcast_to(shape));
    }
    match x.node().op {
        Op::Rowwise(RowOp::Gather(inner)) => {
            let both = list.iter().map(|place| inner[*place as usize]).collect();
            Some(x.arg(0).gather_list(x.graph.list(both)))
        }
        Op::Unary(Unary::Broadcast) if x.arg(0).cols() == 1 => Some(x.arg(0).broadcast_to(shape)),
        _ => gathered::inside(list, x),
    }
}

/// The first of consecutive numbers.
fn counts_from(list: &[u32]) -> Option<usize> {
    list.windows(2).all(|pair| pair[1] == pair[0] + 1).then_some(list[0] as usize)
}

/// Rows or columns, so that slices and concatenations share their rules.
#[derive(Clone, Copy, PartialEq)]
enum Axis {
    Rows,
    Cols,
}

impl Axis {
    fn len(self, shape: Shape) -> usize {
        match self {
            Axis::Rows => shape.fixed_rows(),
            Axis::Cols => shape.cols,
        }
    }

    fn slice<'g>(self, x: Expr<'g>, start: usize, len: usize) -> Expr<'g> {
        match self {
            Axis::Rows => x.slice_rows(start, len),
            Axis::Cols => x.slice_cols(start, len),
        }
    }

    fn concat<'g>(self, parts: &[Expr<'g>]) -> Expr<'g> {
        match self {
            Axis::Rows => Expr::concat_rows(parts),
            Axis::Cols => Expr::concat_cols(parts),
        }
    }

    fn slice_start(self, op: &Op) -> Option<usize> {
        match (self, op) {
            (Axis::Rows, Op::SliceRows(start)) | (Axis::Cols, Op::SliceCols(start)) => Some(*start),
            _ => None,
        }
    }
}

fn parts<'g>(x: Expr<'g>, axis: Axis) -> Option<Vec<Expr<'g>>> {
    let node = x.node();
    let op = if axis == Axis::Rows { Op::ConcatRows } else { Op::ConcatCols };
    (node.op == op).then(|| node.args.iter().map(|&id| Expr { graph: x.graph, id }).collect())
}

fn rewrite_slice<'g>(axis: Axis, start: usize, x: Expr<'g>, shape: Shape) -> Option<Expr<'g>> {
    if x.shape() == shape {
        return Some(x);
    }
    if let Some(value) = filled(x) {
        return Some(constant(x.graph, value, shape));
    }
    if let Some(inner) = axis.slice_start(&x.node().op) {
        return Some(axis.slice(x.arg(0), inner + start, axis.len(shape)));
    }
    let mut offset = 0;
    for part in parts(x, axis)? {
        let len = axis.len(part.shape());
        if start >= offset && start + axis.len(shape) <= offset + len {
            return Some(axis.slice(part, start - offset, axis.len(shape)));
        }
        offset += len;
    }
    None
}

fn rewrite_concat<'g>(axis: Axis, args: &[Expr<'g>]) -> Option<Expr<'g>> {
    if let [only] = args {
        return Some(*only);
    }
    // Nested concatenations flatten, neighbouring slices of one value and equal fillings join.
    let mut all: Vec<Expr<'g>> = Vec::with_capacity(args.len());
    for &arg in args {
        for part in parts(arg, axis).unwrap_or_else(|| vec![arg]) {
            match all.last().and_then(|last| join(axis, *last, part)) {
                Some(joined) => *all.last_mut()? = joined,
                None => all.push(part),
            }
        }
    }
    (all != args).then(|| axis.concat(&all))
}

fn join<'g>(axis: Axis, a: Expr<'g>, b: Expr<'g>) -> Option<Expr<'g>> {
    let len = axis.len(a.shape()) + axis.len(b.shape());
    if let (Some(x), Some(y)) = (filled(a), filled(b)) {
        let shape = match axis {
            Axis::Rows => Shape::fixed(len, a.cols()),
            Axis::Cols => Shape { rows: a.shape().rows, cols: len },
        };
        return (x.to_bits() == y.to_bits()).then(|| constant(a.graph, x, shape));
    }
    let (start, next) = (axis.slice_start(&a.node().op)?, axis.slice_start(&b.node().op)?);
    (a.arg(0) == b.arg(0) && next == start + axis.len(a.shape())).then(|| axis.slice(a.arg(0), start, len))
}
