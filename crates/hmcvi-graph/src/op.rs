//! Name the closed set of operations, and what each computes on single numbers.

use std::sync::Arc;

use crate::data::DataKind;
use crate::rowwise::RowOp;

/// Element-wise functions of one argument.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Unary {
    Neg,
    Abs,
    Sqrt,
    Exp,
    Log,
    Log1p,
    Expm1,
    Sin,
    Cos,
    Atan,
    Sigmoid,
    Softplus,
    Tanh,
    Erf,
    /// `1 - erf x`
    Erfc,
    /// `log Φ(x)`
    LogNormalCdf,
    /// `φ(x) / Φ(x)`, the derivative of `log Φ`.
    InverseMills,
    /// `log Γ`
    Lgamma,
    /// The derivative of this order of digamma, which is that of `log Γ`.
    Polygamma(u32),
    /// The argument itself, repeated to the node's shape.
    Broadcast,
}

/// Element-wise functions of two arguments. Comparisons give 1 or 0.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Binary {
    Add,
    Sub,
    Mul,
    Div,
    /// `aᵇ` for `a ≥ 0`
    Pow,
    Min,
    Max,
    Less,
    LessEqual,
    Equal,
}

/// Which operand of a matrix product is read transposed.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Transpose {
    /// `A·W`
    None,
    /// `A·Wᵀ`
    Right,
    /// `AᵀB`, a sum over rows
    Left,
}

/// Distribution of a random draw.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Draw {
    Normal,
    Uniform,
}

/// A loop of a graph, which carries values from step to step.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Loop {
    pub(crate) number: u32,
    pub(crate) steps: u32,
    /// Whether the last step comes first, as in derivatives.
    pub(crate) backward: bool,
}

/// One operation of a graph; its arguments are kept beside it.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Op {
    /// Values given with every run.
    Input(Arc<str>),
    /// Values kept in a store, which a program may update.
    Parameter(Arc<str>),
    /// Rows of a data set, picked by an index given with every run.
    Gather {
        data: Arc<str>,
        index: Arc<str>,
        kind: DataKind,
    },
    /// One number, as the bits of an `f64` so that it can be hashed.
    Scalar(u64),
    /// A fixed matrix, by its place in the graph's list.
    Constant(usize),
    /// The number of rows of the batch.
    BatchSize,
    Draw(Draw, u16),
    Unary(Unary),
    Binary(Binary),
    /// `condition != 0 ? a : b`
    Select,
    MatMul(Transpose),
    SumCols,
    SumRows,
    LogSumExp,
    /// Columns from here on; the node's shape says how many.
    SliceCols(usize),
    SliceRows(usize),
    ConcatCols,
    ConcatRows,
    Rowwise(RowOp),
    /// Wide values and what becomes of them; only compilers make these. Its value is all results side by side.
    Wide(Arc<WidePass>),
    StopGradient,
    /// The value that a loop carries, before a step.
    Carried(Loop),
    /// The value that a loop carries, after all steps: of what it begins with, and what a step makes of it.
    Repeat(Loop),
    /// Block `t` of the columns of one row, in step `t`.
    PickRow(Loop),
    /// Block `t` of the columns of every row, in step `t`.
    PickCols(Loop),
    /// A value of rows from outside that is the same in every step, as a value of the body: sums over rows of it are sums over
    /// steps as well.
    Held(Loop),
    /// A draw from the stream of step `t`: the first, and so many more for each step.
    StepDraw(Draw, u16, u16, Loop),
    /// A value of all steps, side by side; its second argument is the loop's end.
    Stack(Loop),
    /// The sum of a value over all steps; its second argument is the loop's end.
    SumSteps(Loop),
    /// The sum over rows of a value of every step, side by side.
    SumRowsOfSteps(Loop),
}

/// Values with many columns that are computed for a block of columns at a time, and the narrow results of all blocks.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) struct WidePass {
    pub(crate) cols: usize,
    /// Numbers, and operations whose values all have `cols` columns.
    pub(crate) nodes: Vec<WideNode>,
    pub(crate) results: Vec<WideResult>,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) struct WideNode {
    pub(crate) op: Op,
    pub(crate) args: Vec<WideArg>,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum WideArg {
    /// An argument of the pass.
    Outer(usize),
    /// A value of the pass.
    Inner(usize),
}

/// A sum over the columns of a value of a pass: a product, a sum of all or of segments.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) struct WideResult {
    pub(crate) op: Op,
    pub(crate) of: usize,
    /// The right operand of a product.
    pub(crate) operand: Option<WideArg>,
    /// Its columns among those of all results.
    pub(crate) first: usize,
    pub(crate) cols: usize,
}

impl Op {
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Op::Input(_) => "input",
            Op::Parameter(_) => "parameter",
            Op::Gather { .. } => "gather",
            Op::Scalar(_) => "scalar",
            Op::Constant(_) => "constant",
            Op::BatchSize => "batch_size",
            Op::Draw(Draw::Normal, _) => "normal",
            Op::Draw(Draw::Uniform, _) => "uniform",
            Op::Unary(f) => f.name(),
            Op::Binary(f) => f.name(),
            Op::Select => "select",
            Op::MatMul(Transpose::None) => "matmul",
            Op::MatMul(Transpose::Right) => "matmul_transposed",
            Op::MatMul(Transpose::Left) => "transposed_matmul",
            Op::SumCols => "sum_cols",
            Op::SumRows => "sum_rows",
            Op::LogSumExp => "log_sum_exp",
            Op::SliceCols(_) => "slice_cols",
            Op::SliceRows(_) => "slice_rows",
            Op::ConcatCols => "concat_cols",
            Op::ConcatRows => "concat_rows",
            Op::Rowwise(op) => op.name(),
            Op::Wide(_) => "wide_pass",
            Op::StopGradient => "stop_gradient",
            Op::Carried(_) => "carried",
            Op::Repeat(_) => "repeat",
            Op::PickRow(_) | Op::PickCols(_) => "pick",
            Op::Held(_) => "held",
            Op::StepDraw(Draw::Normal, ..) => "step_normal",
            Op::StepDraw(Draw::Uniform, ..) => "step_uniform",
            Op::Stack(_) => "stack",
            Op::SumSteps(_) => "sum_steps",
            Op::SumRowsOfSteps(_) => "sum_rows_of_steps",
        }
    }

    /// Whether row `i`, column `j` of the value needs only row `i`, column `j` of the arguments.
    pub(crate) fn is_elementwise(&self) -> bool {
        let draws = matches!(self, Op::Draw(..) | Op::Gather { .. } | Op::StepDraw(..) | Op::PickRow(_));
        draws || matches!(self, Op::Unary(_) | Op::Binary(_) | Op::Select)
    }

    /// The loop whose body a value of this operation belongs to, whatever its arguments are.
    pub(crate) fn opens(&self) -> Option<Loop> {
        match *self {
            Op::Carried(of) | Op::PickRow(of) | Op::PickCols(of) | Op::Held(of) => Some(of),
            Op::StepDraw(_, _, _, of) => Some(of),
            _ => None,
        }
    }

    /// The loop that this is a result of.
    pub(crate) fn ends(&self) -> Option<Loop> {
        match *self {
            Op::Repeat(of) | Op::Stack(of) | Op::SumSteps(of) => Some(of),
            _ => None,
        }
    }

    /// Whether this is a sum over rows, and over the steps of the loop that its arguments belong to.
    pub(crate) fn is_sum_over_rows(&self) -> bool {
        matches!(self, Op::SumRows | Op::MatMul(Transpose::Left) | Op::SumRowsOfSteps(_))
    }
}

impl Unary {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Unary::Neg => "neg",
            Unary::Abs => "abs",
            Unary::Sqrt => "sqrt",
            Unary::Exp => "exp",
            Unary::Log => "log",
            Unary::Log1p => "log1p",
            Unary::Expm1 => "expm1",
            Unary::Sin => "sin",
            Unary::Cos => "cos",
            Unary::Atan => "atan",
            Unary::Sigmoid => "sigmoid",
            Unary::Softplus => "softplus",
            Unary::Tanh => "tanh",
            Unary::Erf => "erf",
            Unary::Erfc => "erfc",
            Unary::LogNormalCdf => "log_normal_cdf",
            Unary::InverseMills => "inverse_mills",
            Unary::Lgamma => "lgamma",
            Unary::Polygamma(_) => "polygamma",
            Unary::Broadcast => "broadcast",
        }
    }

    /// Whether computing it again costs much more than reading it from memory.
    pub(crate) fn is_expensive(self) -> bool {
        !matches!(self, Unary::Neg | Unary::Abs | Unary::Sqrt | Unary::Broadcast)
    }
}

impl Binary {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Binary::Add => "add",
            Binary::Sub => "sub",
            Binary::Mul => "mul",
            Binary::Div => "div",
            Binary::Pow => "pow",
            Binary::Min => "min",
            Binary::Max => "max",
            Binary::Less => "less",
            Binary::LessEqual => "less_equal",
            Binary::Equal => "equal",
        }
    }

    /// Whether computing it again costs much more than reading it from memory.
    pub(crate) fn is_expensive(self) -> bool {
        self == Binary::Pow
    }

    pub(crate) fn is_commutative(self) -> bool {
        use Binary::*;
        matches!(self, Add | Mul | Equal)
    }
}
