//! Write models with values that know their dimensions.

use std::ops::{Add, Div, Mul, Neg, Range, Sub};
use std::rc::Rc;

use hmcvi_graph::{Expr, Graph};

use super::Dims;

/// A value of a model: a number or an array of numbers, known or to be inferred. Light and copyable.
///
/// Arithmetic is element by element; scalars meet all elements. What does not fit is reported by
/// [`Model::bind`](super::Model::bind) with the name of the variable that it was meant for.
#[derive(Clone, Copy, Debug)]
pub struct Var<'g> {
    /// All elements side by side, `[N or 1, elements]`.
    pub(super) expr: Expr<'g>,
    pub(super) dims: Dims,
    /// Data with two dimensions as a matrix `[rows, columns]`.
    pub(super) matrix: Option<Expr<'g>>,
}

/// Positions in a vector, such as the group of each observation.
#[derive(Clone, Debug)]
pub struct Index(pub(super) Rc<[u32]>);

impl Index {
    /// These positions, from 0.
    pub fn new(positions: impl IntoIterator<Item = usize>) -> Self {
        Index(positions.into_iter().map(|p| u32::try_from(p).unwrap_or(u32::MAX)).collect())
    }

    /// Number of positions.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// A number or a value: what distributions and arithmetic take.
#[derive(Clone, Copy, Debug)]
pub enum Arg<'g> {
    /// A number.
    Number(f64),
    /// A value.
    Var(Var<'g>),
}

impl From<f64> for Arg<'_> {
    fn from(number: f64) -> Self {
        Arg::Number(number)
    }
}

impl<'g> From<Var<'g>> for Arg<'g> {
    fn from(var: Var<'g>) -> Self {
        Arg::Var(var)
    }
}

impl<'g> Arg<'g> {
    /// The value in a graph.
    pub fn var(self, graph: &'g Graph) -> Var<'g> {
        match self {
            Arg::Number(number) => Var::new(graph.constant(number), Dims::SCALAR),
            Arg::Var(var) => var,
        }
    }

    /// Its dimensions.
    pub fn dims(self) -> Dims {
        match self {
            Arg::Number(_) => Dims::SCALAR,
            Arg::Var(var) => var.dims,
        }
    }
}

macro_rules! functions {
    ($($(#[$doc:meta])* $name:ident;)*) => {$(
        $(#[$doc])*
        #[must_use]
        pub fn $name(self) -> Self {
            Var::new(self.expr.$name(), self.dims)
        }
    )*};
}

impl<'g> Var<'g> {
    /// A value with its elements side by side in the columns of an expression.
    pub(super) fn new(expr: Expr<'g>, dims: Dims) -> Self {
        debug_assert_eq!(expr.cols(), dims.elements());
        Var { expr, dims, matrix: None }
    }

    /// The elements side by side, `[N or 1, elements]`.
    pub fn expr(self) -> Expr<'g> {
        self.expr
    }

    /// Dimensions.
    pub fn dims(self) -> Dims {
        self.dims
    }

    /// The graph that it belongs to.
    pub fn graph(self) -> &'g Graph {
        self.expr.graph()
    }

    /// Reports what is wrong; the value that comes instead means nothing.
    pub(super) fn wrong(self, problem: impl Into<String>, dims: Dims) -> Self {
        self.graph().note_problem(|| problem.into());
        let zero = self.graph().constant(0.0);
        Var::new(zero.broadcast_to(hmcvi_graph::Shape::fixed(1, dims.elements().max(1))), dims)
    }

    functions! {
        /// `|x|`
        abs;
        /// `√x`
        sqrt;
        /// `eˣ`
        exp;
        /// Natural logarithm.
        log;
        /// `log(1 + x)`
        log1p;
        /// `x²`
        square;
        /// `1 / x`
        reciprocal;
        /// `1 / (1 + e⁻ˣ)`
        sigmoid;
        /// `log(1 / (1 + e⁻ˣ))`
        log_sigmoid;
        /// `log(1 + eˣ)`
        softplus;
        /// Hyperbolic tangent.
        tanh;
        /// `log Γ(x)`
        lgamma;
    }

    /// Sum of all elements.
    #[must_use]
    pub fn sum(self) -> Self {
        if self.expr.cols() == 1 {
            return Var::new(self.expr, Dims::SCALAR);
        }
        Var::new(self.expr.sum_cols(), Dims::SCALAR)
    }

    /// Mean of all elements.
    #[must_use]
    pub fn mean(self) -> Self {
        self.sum() / self.dims.elements() as f64
    }

    /// `Σ xᵢ yᵢ`
    #[must_use]
    pub fn dot(self, other: Var<'g>) -> Self {
        (self * other).sum()
    }

    /// `log Σ exp xᵢ` over all elements.
    #[must_use]
    pub fn log_sum_exp(self) -> Self {
        Var::new(self.expr.log_sum_exp(), Dims::SCALAR)
    }

    /// The part at a position of the first dimension, from 0: an element of a vector, a row of a matrix.
    #[must_use]
    pub fn at(self, position: usize) -> Self {
        let sizes = self.dims.sizes();
        let rest = Dims::new(sizes.get(1..).unwrap_or_default()).unwrap_or(Dims::SCALAR);
        let Some(&first) = sizes.first().filter(|&&first| position < first) else {
            return self.wrong(format!("there is no position {position} (from 0) in {}", self.dims), rest);
        };
        debug_assert!(position < first);
        Var::new(self.expr.slice_cols(position * rest.elements(), rest.elements()), rest)
    }

    /// The parts at some positions of the first dimension, one after the other.
    #[must_use]
    pub fn slice(self, positions: Range<usize>) -> Self {
        let sizes = self.dims.sizes();
        let Some(&first) = sizes.first() else {
            return self.wrong("a scalar has no positions", self.dims);
        };
        let mut cut = sizes.to_vec();
        cut[0] = positions.len();
        let dims = Dims::new(&cut).unwrap_or(Dims::SCALAR);
        if positions.is_empty() || positions.end > first {
            return self
                .wrong(format!("there are no positions {positions:?} (from 0) in {}", self.dims), dims);
        }
        let step = self.dims.elements() / first;
        Var::new(self.expr.slice_cols(positions.start * step, positions.len() * step), dims)
    }

    /// The same elements with other dimensions.
    #[must_use]
    pub fn reshape(self, dims: impl Into<Dims>) -> Self {
        let dims = dims.into();
        match dims.elements() == self.dims.elements() {
            true => Var::new(self.expr, dims),
            false => self.wrong(format!("{} cannot be taken for {dims}", self.dims), dims),
        }
    }

    /// Scalars and vectors one after the other.
    ///
    /// # Panics
    /// If there are no parts.
    #[must_use]
    pub fn concat(parts: &[Var<'g>]) -> Self {
        let elements: usize = parts.iter().map(|part| part.dims.elements()).sum();
        let expressions: Vec<Expr<'g>> = parts.iter().map(|part| part.expr).collect();
        Var::new(Expr::concat_cols(&expressions), elements.into())
    }

    /// A matrix of data times a vector, `Σⱼ Xᵢⱼ bⱼ`.
    #[must_use]
    pub fn times(self, vector: Var<'g>) -> Self {
        let Some((rows, columns)) = self.dims.matrix() else {
            return self.wrong(format!("`times` needs a matrix, not {}", self.dims), vector.dims);
        };
        if vector.dims != columns.into() {
            return self.wrong(
                format!(
                    "a matrix {} times a vector needs {columns} elements, not {}",
                    self.dims, vector.dims
                ),
                rows.into(),
            );
        }
        match self.matrix {
            Some(matrix) => Var::new(vector.expr.matmul_transposed(matrix), rows.into()),
            None => {
                let row = |i: usize| self.at(i).dot(vector);
                Var::concat(&(0..rows).map(row).collect::<Vec<_>>())
            }
        }
    }

    /// The larger of two values, element by element.
    #[must_use]
    pub fn max(self, other: impl Into<Arg<'g>>) -> Self {
        self.meet("max", other.into(), |a, b| a.max(b))
    }

    /// The smaller of two values, element by element.
    #[must_use]
    pub fn min(self, other: impl Into<Arg<'g>>) -> Self {
        self.meet("min", other.into(), |a, b| a.min(b))
    }

    /// 1 where this is less than the other, else 0.
    #[must_use]
    pub fn less(self, other: impl Into<Arg<'g>>) -> Self {
        self.meet("less", other.into(), |a, b| a.less(b))
    }

    /// `a` where this is not zero, else `b`.
    #[must_use]
    pub fn select(self, a: impl Into<Arg<'g>>, b: impl Into<Arg<'g>>) -> Self {
        let (a, b) = (a.into().var(self.graph()), b.into().var(self.graph()));
        match self.dims.meet(a.dims).and_then(|dims| dims.meet(b.dims)) {
            Some(dims) => Var::new(self.expr.select(a.expr, b.expr), dims),
            None => self.wrong(
                format!(
                    "`select` needs equal dimensions or scalars, not {}, {} and {}",
                    self.dims, a.dims, b.dims
                ),
                self.dims,
            ),
        }
    }

    /// Element by element with another value.
    fn meet(self, name: &str, other: Arg<'g>, f: impl FnOnce(Expr<'g>, Expr<'g>) -> Expr<'g>) -> Self {
        let other = other.var(self.graph());
        match self.dims.meet(other.dims) {
            Some(dims) => Var::new(f(self.expr, other.expr), dims),
            None => self.wrong(
                format!("`{name}` needs equal dimensions or a scalar, not {} and {}", self.dims, other.dims),
                self.dims,
            ),
        }
    }
}

macro_rules! operators {
    ($($trait:ident $method:ident $sign:literal;)*) => {$(
        impl<'g, R: Into<Arg<'g>>> $trait<R> for Var<'g> {
            type Output = Var<'g>;
            fn $method(self, right: R) -> Var<'g> {
                self.meet($sign, right.into(), |a, b| a.$method(b))
            }
        }

        impl<'g> $trait<Var<'g>> for f64 {
            type Output = Var<'g>;
            fn $method(self, right: Var<'g>) -> Var<'g> {
                Arg::Number(self).var(right.graph()).$method(right)
            }
        }
    )*};
}

operators! {
    Add add "+";
    Sub sub "-";
    Mul mul "*";
    Div div "/";
}

impl<'g> Neg for Var<'g> {
    type Output = Var<'g>;
    fn neg(self) -> Var<'g> {
        Var::new(-self.expr, self.dims)
    }
}
