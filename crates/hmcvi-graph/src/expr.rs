//! Write expressions the way mathematics is written.

use std::fmt;
use std::ops::{Add, Div, Mul, Neg, Sub};

use crate::error::ShapeError;
use crate::graph::{Graph, Node, NodeId};
use crate::op::{Binary, Op, Transpose, Unary};
use crate::shape::{Rows, Shape};

/// A matrix-valued expression: a light, copyable handle to a node of a [`Graph`].
///
/// Element-wise operations repeat single rows and single columns as needed. Shapes that do not
/// fit are reported as a panic at the line that builds the expression, with the operation and the
/// shapes (see [`ShapeError`]).
#[derive(Clone, Copy)]
pub struct Expr<'g> {
    pub(crate) graph: &'g Graph,
    pub(crate) id: NodeId,
}

macro_rules! unary {
    ($($(#[$doc:meta])* $name:ident => $op:ident;)*) => {$(
        $(#[$doc])*
        pub fn $name(self) -> Self {
            self.unary(Unary::$op)
        }
    )*};
}

macro_rules! binary {
    ($($(#[$doc:meta])* $name:ident => $op:ident;)*) => {$(
        $(#[$doc])*
        #[track_caller]
        pub fn $name(self, other: impl Operand<'g>) -> Self {
            self.binary(Binary::$op, other.expr(self.graph))
        }
    )*};
}

impl<'g> Expr<'g> {
    /// The graph this expression belongs to.
    pub fn graph(self) -> &'g Graph {
        self.graph
    }

    /// Shape of the value.
    pub fn shape(self) -> Shape {
        self.graph.shape(self.id)
    }

    /// Number of columns of the value.
    pub fn cols(self) -> usize {
        self.shape().cols
    }

    unary! {
        /// `|x|`; its derivative at 0 is taken as 0.
        abs => Abs;
        /// `√x`
        sqrt => Sqrt;
        /// `eˣ`
        exp => Exp;
        /// Natural logarithm.
        log => Log;
        /// `log(1 + x)`, accurate for small `x`.
        log1p => Log1p;
        /// `eˣ - 1`, accurate for small `x`.
        expm1 => Expm1;
        /// Sine. In f32, angles beyond 1e15 give NaN: neighbouring numbers there are many turns apart.
        sin => Sin;
        /// Cosine; see [`sin`](Self::sin).
        cos => Cos;
        /// Arctangent.
        atan => Atan;
        /// `1 / (1 + e⁻ˣ)`
        sigmoid => Sigmoid;
        /// `log(1 + eˣ)`, without overflow.
        softplus => Softplus;
        /// Hyperbolic tangent.
        tanh => Tanh;
        /// The error function.
        erf => Erf;
        /// `1 - erf x`, accurate in its tail.
        erfc => Erfc;
        /// Logarithm of the standard normal distribution function, `log Φ(x)`, accurate in both tails.
        log_normal_cdf => LogNormalCdf;
        /// `φ(x) / Φ(x)`, the derivative of [`log_normal_cdf`](Self::log_normal_cdf): the inverse Mills ratio at `-x`.
        inverse_mills => InverseMills;
        /// `log Γ(x)` for `x ≥ 0`, NaN below. Its error is absolute near the zeros 1 and 2.
        lgamma => Lgamma;
    }

    /// Digamma, the derivative of [`lgamma`](Self::lgamma), for `x ≥ 0`; NaN below. Its error is absolute near the
    /// zero 1.46.
    pub fn digamma(self) -> Self {
        self.polygamma(0)
    }

    /// The derivative of order `order` of [`digamma`](Self::digamma): 0 is digamma itself, 1 trigamma.
    pub fn polygamma(self, order: u32) -> Self {
        self.unary(Unary::Polygamma(order))
    }

    binary! {
        /// The smaller of two values.
        min => Min;
        /// The larger of two values.
        max => Max;
        /// 1 where `self < other`, else 0.
        less => Less;
        /// 1 where `self <= other`, else 0.
        less_equal => LessEqual;
        /// 1 where `self == other`, else 0.
        equal => Equal;
    }

    /// 1 where `self > other`, else 0.
    #[track_caller]
    pub fn greater(self, other: impl Operand<'g>) -> Self {
        other.expr(self.graph).binary(Binary::Less, self)
    }

    /// 1 where `self >= other`, else 0.
    #[track_caller]
    pub fn greater_equal(self, other: impl Operand<'g>) -> Self {
        other.expr(self.graph).binary(Binary::LessEqual, self)
    }

    /// 1 where the value is an ordinary number, 0 where it is infinite or not a number.
    pub fn is_finite(self) -> Self {
        self.abs().less_equal(f64::from(f32::MAX))
    }

    /// `1 / x`
    pub fn reciprocal(self) -> Self {
        self.graph.constant(1.0).binary(Binary::Div, self)
    }

    /// `x²`
    pub fn square(self) -> Self {
        self * self
    }

    /// `xⁿ` for any `x`, by products; `1/x⁻ⁿ` for negative `n`.
    pub fn powi(self, n: i32) -> Self {
        if n < 0 {
            return self.power(n.unsigned_abs()).reciprocal();
        }
        self.power(n.unsigned_abs())
    }

    /// By squaring, so that the largest exponent takes 62 products.
    fn power(self, n: u32) -> Self {
        match n {
            0 => self.graph.constant(1.0).broadcast_to(self.shape()),
            1 => self,
            n if n.is_multiple_of(2) => self.power(n / 2).square(),
            n => self * self.power(n - 1),
        }
    }

    /// `xᵖ` for a number `p`: for any `x` where `p` is an integer ([`powi`](Self::powi)), else for `x ≥ 0` and NaN below.
    pub fn powf(self, p: f64) -> Self {
        if p.fract() == 0.0 && p.abs() <= f64::from(i32::MAX) {
            return self.powi(p as i32);
        }
        if p == 0.5 {
            return self.sqrt();
        }
        self.binary(Binary::Pow, self.graph.constant(p))
    }

    /// `self` to the power of `other`, for `self ≥ 0`; NaN below, except where `other` is an integer known now, as in
    /// [`powf`](Self::powf).
    #[track_caller]
    pub fn pow(self, other: impl Operand<'g>) -> Self {
        let other = other.expr(self.graph);
        match other.as_constant() {
            Some(p) => self.powf(p),
            None => self.binary(Binary::Pow, other),
        }
    }

    /// The standard normal distribution function, `Φ(x)`, accurate in its left tail.
    pub fn normal_cdf(self) -> Self {
        0.5 * (-std::f64::consts::FRAC_1_SQRT_2 * self).erfc()
    }

    /// `max(x, 0)`, with derivative 0 at 0.
    pub fn relu(self) -> Self {
        self.max(0.0)
    }

    /// `log(1 / (1 + e⁻ˣ))`, without overflow.
    pub fn log_sigmoid(self) -> Self {
        -(-self).softplus()
    }

    /// `a` where this is not zero, else `b`. No derivative flows to this condition.
    #[track_caller]
    pub fn select(self, a: impl Operand<'g>, b: impl Operand<'g>) -> Self {
        let (a, b) = (a.expr(self.graph), b.expr(self.graph));
        let shapes = [self.shape(), a.shape(), b.shape()];
        match shapes[0].broadcast(shapes[1]).and_then(|s| s.broadcast(shapes[2])) {
            Some(shape) => self.graph.add(Op::Select, &[self, a, b], shape),
            None => ShapeError::new("select", &shapes, REPEAT).raise(),
        }
    }

    /// Matrix product `self · w`.
    #[track_caller]
    pub fn matmul(self, w: Self) -> Self {
        self.product(Transpose::None, w)
    }

    /// Matrix product with the transpose, `self · wᵀ`.
    #[track_caller]
    pub fn matmul_transposed(self, w: Self) -> Self {
        self.product(Transpose::Right, w)
    }

    /// `selfᵀ · other`, a sum over rows: `[N, a]` and `[N, b]` give `[a, b]`.
    #[track_caller]
    pub fn transposed_matmul(self, other: Self) -> Self {
        self.product(Transpose::Left, other)
    }

    /// Sum of every row, `[rows, 1]`.
    pub fn sum_cols(self) -> Self {
        self.graph.add(Op::SumCols, &[self], Shape { rows: self.shape().rows, cols: 1 })
    }

    /// Sum of every column, `[1, cols]`. Over the batch this is the only way, with
    /// [`Expr::transposed_matmul`], in which rows meet.
    pub fn sum_rows(self) -> Self {
        self.graph.add(Op::SumRows, &[self], Shape::fixed(1, self.cols()))
    }

    /// Sum of all values, `[1, 1]`.
    pub fn sum(self) -> Self {
        self.sum_cols().sum_rows()
    }

    /// Mean over the rows, `[1, cols]`.
    pub fn mean_rows(self) -> Self {
        let rows = match self.shape().rows {
            Rows::Batch => self.graph.batch_size(),
            Rows::Fixed(n) => self.graph.constant(n as f64),
        };
        self.sum_rows() / rows
    }

    /// `log Σ exp` of every row, `[rows, 1]`, without overflow.
    pub fn log_sum_exp(self) -> Self {
        self.graph.add(Op::LogSumExp, &[self], Shape { rows: self.shape().rows, cols: 1 })
    }

    /// `cols` columns from column `start` on.
    #[track_caller]
    pub fn slice_cols(self, start: usize, cols: usize) -> Self {
        let shape = self.shape();
        if cols == 0 || start + cols > shape.cols {
            let why = format!("columns {start}..{} were asked for", start + cols);
            ShapeError::new("slice_cols", &[shape], why).raise();
        }
        self.graph.add(Op::SliceCols(start), &[self], Shape { rows: shape.rows, cols })
    }

    /// `rows` rows from row `start` on, of an expression with a fixed number of rows.
    #[track_caller]
    pub fn slice_rows(self, start: usize, rows: usize) -> Self {
        let shape = self.shape();
        if shape.is_batch() || rows == 0 || start + rows > shape.fixed_rows() {
            let why = format!("rows {start}..{} were asked for", start + rows);
            ShapeError::new("slice_rows", &[shape], why).raise();
        }
        self.graph.add(Op::SliceRows(start), &[self], Shape::fixed(rows, shape.cols))
    }

    /// The parts side by side. Single rows repeat.
    #[track_caller]
    pub fn concat_cols(parts: &[Self]) -> Self {
        let shapes: Vec<Shape> = parts.iter().map(|p| p.shape()).collect();
        let rows = shapes.iter().map(|s| s.rows).try_fold(Rows::Fixed(1), |a, b| {
            Shape { rows: a, cols: 1 }.broadcast(Shape { rows: b, cols: 1 }).map(|s| s.rows)
        });
        let Some((rows, first)) = rows.zip(parts.first()) else {
            ShapeError::new("concat_cols", &shapes, "all parts need the same rows").raise()
        };
        let parts: Vec<Self> = parts.iter().map(|p| p.broadcast_to(Shape { rows, cols: p.cols() })).collect();
        let cols = shapes.iter().map(|s| s.cols).sum();
        first.graph.add(Op::ConcatCols, &parts, Shape { rows, cols })
    }

    /// The parts one below the other; all need fixed rows and the same number of columns.
    #[track_caller]
    pub fn concat_rows(parts: &[Self]) -> Self {
        let shapes: Vec<Shape> = parts.iter().map(|p| p.shape()).collect();
        let fits = |s: &Shape| !s.is_batch() && s.cols == shapes[0].cols;
        if parts.is_empty() || !shapes.iter().all(fits) {
            let why = "all parts need fixed rows and the same columns";
            ShapeError::new("concat_rows", &shapes, why).raise();
        }
        let rows = shapes.iter().map(|s| s.fixed_rows()).sum();
        parts[0].graph.add(Op::ConcatRows, parts, Shape::fixed(rows, shapes[0].cols))
    }

    /// The value repeated to `shape`.
    #[track_caller]
    pub fn broadcast_to(self, shape: Shape) -> Self {
        if self.shape() == shape {
            return self;
        }
        if self.shape().broadcast(shape) != Some(shape) {
            ShapeError::new("broadcast", &[self.shape(), shape], REPEAT).raise();
        }
        self.graph.add(Op::Unary(Unary::Broadcast), &[self], shape)
    }

    /// The same value, taken as a constant by derivatives.
    pub fn stop_gradient(self) -> Self {
        self.graph.add(Op::StopGradient, &[self], self.shape())
    }

    fn unary(self, f: Unary) -> Self {
        self.graph.add(Op::Unary(f), &[self], self.shape())
    }

    #[track_caller]
    fn binary(self, f: Binary, other: Self) -> Self {
        let shapes = [self.shape(), other.shape()];
        match shapes[0].broadcast(shapes[1]) {
            Some(shape) => self.graph.add(Op::Binary(f), &[self, other], shape),
            None => ShapeError::new(f.name(), &shapes, REPEAT).raise(),
        }
    }

    #[track_caller]
    fn product(self, transpose: Transpose, other: Self) -> Self {
        let (a, b) = (self.shape(), other.shape());
        let op = Op::MatMul(transpose);
        let fixed = |rows| Rows::Fixed(rows);
        let (shape, fits, why) = match transpose {
            Transpose::None => (
                Shape { rows: a.rows, cols: b.cols },
                b.rows == fixed(a.cols),
                "columns of the left must equal fixed rows of the right",
            ),
            Transpose::Right => (
                Shape { rows: a.rows, cols: b.fixed_rows() },
                !b.is_batch() && a.cols == b.cols,
                "the right needs fixed rows and the columns of the left",
            ),
            Transpose::Left => (Shape::fixed(a.cols, b.cols), a.rows == b.rows, "both need the same rows"),
        };
        if !fits {
            ShapeError::new(op.name(), &[a, b], why).raise();
        }
        self.graph.add(op, &[self, other], shape)
    }

    /// The number, if this is one known now.
    pub(crate) fn as_constant(self) -> Option<f64> {
        match self.node().op {
            Op::Scalar(bits) => Some(f64::from_bits(bits)),
            _ => None,
        }
    }

    pub(crate) fn node(self) -> Node {
        self.graph.node(self.id)
    }

    pub(crate) fn arg(self, i: usize) -> Self {
        Expr { graph: self.graph, id: self.node().args[i] }
    }
}

const REPEAT: &str = "rows and columns must be equal or 1";

/// What can stand beside an expression: another expression or a number.
pub trait Operand<'g> {
    /// The operand as an expression of `graph`.
    fn expr(self, graph: &'g Graph) -> Expr<'g>;
}

impl<'g> Operand<'g> for Expr<'g> {
    fn expr(self, graph: &'g Graph) -> Expr<'g> {
        debug_assert!(std::ptr::eq(self.graph, graph), "operands belong to different graphs");
        self
    }
}

impl<'g> Operand<'g> for f64 {
    fn expr(self, graph: &'g Graph) -> Expr<'g> {
        graph.constant(self)
    }
}

macro_rules! operators {
    ($($trait:ident $method:ident;)*) => {$(
        impl<'g, R: Operand<'g>> $trait<R> for Expr<'g> {
            type Output = Expr<'g>;
            #[track_caller]
            fn $method(self, right: R) -> Expr<'g> {
                self.binary(Binary::$trait, right.expr(self.graph))
            }
        }

        impl<'g> $trait<Expr<'g>> for f64 {
            type Output = Expr<'g>;
            #[track_caller]
            fn $method(self, right: Expr<'g>) -> Expr<'g> {
                right.graph.constant(self).binary(Binary::$trait, right)
            }
        }
    )*};
}

operators! {
    Add add;
    Sub sub;
    Mul mul;
    Div div;
}

impl<'g> Neg for Expr<'g> {
    type Output = Expr<'g>;
    fn neg(self) -> Expr<'g> {
        self.unary(Unary::Neg)
    }
}

impl PartialEq for Expr<'_> {
    /// Whether both are the same expression of the same graph.
    fn eq(&self, other: &Self) -> bool {
        self.id == other.id && std::ptr::eq(self.graph, other.graph)
    }
}

impl Eq for Expr<'_> {}

impl fmt::Debug for Expr<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let node = self.node();
        write!(f, "%{} = {}{:?} {}", self.id, node.op.name(), node.args, node.shape)
    }
}
