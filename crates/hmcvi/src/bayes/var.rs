//! Write models with values that know their dimensions.

mod functions;
mod matrix;

use std::ops::Range;
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

    /// The elements, if they are known without inferring anything.
    pub fn known(self) -> Option<Vec<f64>> {
        match self {
            Arg::Number(number) => Some(vec![number]),
            Arg::Var(var) => var.known(),
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

impl<'g> Var<'g> {
    /// A value with its elements side by side in the columns of an expression.
    pub(super) fn new(expr: Expr<'g>, dims: Dims) -> Self {
        debug_assert_eq!(expr.cols(), dims.elements());
        Var { expr, dims, matrix: None }
    }

    /// A value of an expression whose columns are its elements, row by row.
    pub fn from_expr(expr: Expr<'g>, dims: impl Into<Dims>) -> Self {
        let dims = dims.into();
        match expr.cols() == dims.elements() {
            true => Var::new(expr, dims),
            false => {
                let zero = Var::new(expr.graph().constant(0.0), Dims::SCALAR);
                zero.wrong(format!("{} columns are not the elements of {dims}", expr.cols()), dims)
            }
        }
    }

    /// The elements side by side, `[N or 1, elements]`.
    pub fn expr(self) -> Expr<'g> {
        self.expr
    }

    /// The elements, if they are known without inferring anything.
    pub fn known(self) -> Option<Vec<f64>> {
        self.expr.known()
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

    /// The parts at these positions of the first dimension, in their order and any number of times: the effect of each
    /// observation's group, say.
    #[must_use]
    pub fn pick(self, index: &Index) -> Self {
        let sizes = self.dims.sizes();
        let Some(&first) = sizes.first() else {
            return self.wrong("a scalar has no positions to pick from", self.dims);
        };
        let mut picked = sizes.to_vec();
        picked[0] = index.len();
        let dims = Dims::new(&picked).unwrap_or(Dims::SCALAR);
        if let Some(beyond) = index.0.iter().find(|&&position| position as usize >= first) {
            let problem = format!("there is no position {beyond} (from 0) in {}", self.dims);
            return self.wrong(problem, dims);
        }
        if index.is_empty() {
            return self.wrong("no positions to pick were given", dims);
        }
        let step = self.dims.elements() / first;
        let part = |&position: &u32| (0..step).map(move |j| position as usize * step + j);
        let places: Vec<usize> = index.0.iter().flat_map(part).collect();
        Var::new(self.expr.gather_cols(&places), dims)
    }

    /// The same as often as these dimensions, whose last ones are its own, have parts.
    ///
    /// # Errors
    /// If its dimensions are not the last of them.
    pub(super) fn repeated(self, dims: Dims) -> Result<Self, String> {
        if self.dims.is_scalar() {
            let shape = hmcvi_graph::Shape { cols: dims.elements(), ..self.expr.shape() };
            return Ok(Var::new(self.expr.broadcast_to(shape), dims));
        }
        match dims.split(self.dims.sizes().len()) {
            Some((_, own)) if own == self.dims => {
                let size = own.elements();
                let places: Vec<usize> = (0..dims.elements()).map(|at| at % size).collect();
                Ok(if dims == own { self } else { Var::new(self.expr.gather_cols(&places), dims) })
            }
            _ => Err(format!("{} cannot stand for {dims}", self.dims)),
        }
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
}
