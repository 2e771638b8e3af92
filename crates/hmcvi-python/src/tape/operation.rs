//! Do what Python's operators and functions ask for, on values of a model.

use std::sync::Arc;

use hmcvi::bayes::{Dims, Var};

/// A function of one value, element by element.
pub(crate) type Function = for<'g> fn(Var<'g>) -> Var<'g>;
/// A function of two values, element by element.
pub(crate) type Binary = for<'g> fn(Var<'g>, Var<'g>) -> Var<'g>;

/// What is done with values.
#[derive(Clone)]
pub(crate) enum Operation {
    /// Element by element.
    Function(Function),
    /// Element by element with another value, after both were repeated to the same dimensions as in NumPy.
    Binary(Binary),
    /// The second where the first is not 0, else the third.
    Select,
    /// Elements at some places, with dimensions of their own.
    Gather(Arc<[usize]>, Dims),
    /// The same elements with other dimensions.
    Reshape(Dims),
    /// A matrix times a vector or a matrix.
    Times,
    /// `Σ xᵢ yᵢ`
    Dot,
    /// The transpose of a matrix.
    Transpose,
    /// `diag(s) · M`
    ScaleRows,
    /// The Cholesky factor of a matrix.
    Cholesky,
    /// The sum of all elements.
    Sum,
    /// Sums along the last dimension.
    SumLast,
    /// `log Σ exp xᵢ` over all elements.
    LogSumExp,
    /// The same along the last dimension.
    LogSumExpLast,
    /// Sums of the elements up to each.
    CumulativeSum,
    /// Scalars and vectors one after the other.
    Concat,
}

macro_rules! functions {
    ($($name:ident)*) => {
        /// The function of that name.
        pub(crate) fn function(name: &str) -> Option<Function> {
            let function: Function = match name {
                $(stringify!($name) => |x| x.$name(),)*
                "negative" => |x| -x,
                _ => return None,
            };
            Some(function)
        }
    };
}

functions! {
    abs sqrt exp log log1p square reciprocal sigmoid log_sigmoid softplus tanh expm1 sin cos atan erf erfc
    normal_cdf log_normal_cdf lgamma digamma
}

/// The function of two values of that name.
pub(crate) fn binary(name: &str) -> Option<Binary> {
    let binary: Binary = match name {
        "add" => |a, b| a + b,
        "subtract" => |a, b| a - b,
        "multiply" => |a, b| a * b,
        "divide" => |a, b| a / b,
        "power" => |a, b| a.pow(b),
        "maximum" => |a, b| a.max(b),
        "minimum" => |a, b| a.min(b),
        "less" => |a, b| a.less(b),
        _ => return None,
    };
    Some(binary)
}

impl Operation {
    pub(crate) fn apply<'g>(&self, x: &[Var<'g>]) -> Var<'g> {
        match (self, x) {
            (Operation::Function(f), &[x]) => f(x),
            (Operation::Binary(f), &[a, b]) => {
                let [a, b] = repeated([a, b]);
                f(a, b)
            }
            (Operation::Select, &[which, a, b]) => {
                let [which, a, b] = repeated([which, a, b]);
                which.select(a, b)
            }
            (Operation::Gather(places, dims), &[x]) => Var::from_expr(gathered(x, places), *dims),
            (Operation::Reshape(dims), &[x]) => x.reshape(*dims),
            (Operation::Times, &[a, b]) => a.times(b),
            (Operation::Dot, &[a, b]) => a.dot(b),
            (Operation::Transpose, &[x]) => x.transposed(),
            (Operation::ScaleRows, &[scales, matrix]) => matrix.scale_rows(scales),
            (Operation::Cholesky, &[x]) => x.cholesky(),
            (Operation::Sum, &[x]) => x.sum(),
            (Operation::SumLast, &[x]) => along_last(x, |x, size| x.expr().sum_groups(size)),
            (Operation::LogSumExp, &[x]) => x.log_sum_exp(),
            (Operation::LogSumExpLast, &[x]) => along_last(x, |x, size| x.expr().log_sum_exp_groups(size)),
            (Operation::CumulativeSum, &[x]) => Var::from_expr(x.expr().cumsum_cols(), x.dims()),
            (Operation::Concat, parts) => Var::concat(parts),
            _ => unreachable!("each operation is recorded with as many operands as it has"),
        }
    }
}

/// A column range is cheaper than a list of columns.
fn gathered<'g>(x: Var<'g>, places: &[usize]) -> hmcvi_graph::Expr<'g> {
    match places {
        [first, rest @ ..] if rest.iter().zip(first + 1..).all(|(place, next)| *place == next) => {
            x.expr().slice_cols(*first, places.len())
        }
        _ => x.expr().gather_cols(places),
    }
}

fn along_last<'g>(x: Var<'g>, f: impl FnOnce(Var<'g>, usize) -> hmcvi_graph::Expr<'g>) -> Var<'g> {
    let dims = x.dims();
    let Some((&last, before)) = dims.sizes().split_last() else { return x };
    Var::from_expr(f(x, last), Dims::new(before).unwrap_or(Dims::SCALAR))
}

/// The dimensions that NumPy gives two arrays together.
pub(crate) fn joined(a: Dims, b: Dims) -> Option<Dims> {
    let rank = a.sizes().len().max(b.sizes().len());
    let size = |of: Dims, at: usize| {
        let missing = rank - of.sizes().len();
        if at < missing { 1 } else { of.sizes()[at - missing] }
    };
    let both = (0..rank).map(|at| match (size(a, at), size(b, at)) {
        (a, b) if a == b => Some(a),
        (1, other) | (other, 1) => Some(other),
        _ => None,
    });
    Dims::new(&both.collect::<Option<Vec<usize>>>()?)
}

/// Values with the dimensions that they have together. Scalars stay what they are, as they fit everything; what has no
/// common dimensions is left to the operation to refuse.
fn repeated<const N: usize>(values: [Var<'_>; N]) -> [Var<'_>; N] {
    let together = values.iter().try_fold(Dims::SCALAR, |dims, value| joined(dims, value.dims()));
    match together {
        Some(dims) => values.map(|value| repeat(value, dims)),
        None => values,
    }
}

/// A value as often as these dimensions need it; a scalar stays what it is.
pub(super) fn repeat(value: Var<'_>, dims: Dims) -> Var<'_> {
    let own = value.dims();
    if own.is_scalar() || own == dims {
        return value;
    }
    let sizes = dims.sizes();
    let missing = sizes.len() - own.sizes().len();
    let place = |element: usize| {
        let (mut rest, mut place, mut step) = (element, 0, 1);
        for at in (0..sizes.len()).rev() {
            let position = rest % sizes[at];
            rest /= sizes[at];
            if at >= missing {
                let size = own.sizes()[at - missing];
                place += if size == 1 { 0 } else { position * step };
                step *= size;
            }
        }
        place
    };
    let places: Vec<usize> = (0..dims.elements()).map(place).collect();
    Var::from_expr(value.expr().gather_cols(&places), dims)
}
