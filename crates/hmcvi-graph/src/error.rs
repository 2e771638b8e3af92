//! Say what went wrong, with the operation, the names and the shapes.

use std::panic::Location;

use crate::shape::Shape;

/// Shapes that do not fit an operation.
///
/// Building an expression from shapes that do not fit is a mistake in the program text, so the
/// operators raise this error as a panic at the line that builds the expression.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{operation}: {} do not fit: {why}", list(.shapes))]
pub struct ShapeError {
    /// The operation that was asked for.
    pub operation: &'static str,
    /// Shapes of its operands.
    pub shapes: Vec<Shape>,
    /// What would have fitted.
    pub why: String,
}

impl ShapeError {
    pub(crate) fn new(operation: &'static str, shapes: &[Shape], why: impl Into<String>) -> Self {
        ShapeError { operation, shapes: shapes.to_vec(), why: why.into() }
    }

    /// Panics with this error, naming the line that called the public operation.
    #[track_caller]
    pub(crate) fn raise(self) -> ! {
        panic!("{self} (at {})", Location::caller())
    }
}

fn list(shapes: &[Shape]) -> String {
    let shapes: Vec<String> = shapes.iter().map(Shape::to_string).collect();
    format!("shape{} {}", if shapes.len() == 1 { "" } else { "s" }, shapes.join(" and "))
}

/// A program that cannot be compiled.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CompileError {
    /// Two outputs have the same name.
    #[error("two outputs are called `{0}`; each output needs a name of its own")]
    DuplicateOutput(String),
    /// One parameter is updated twice.
    #[error("parameter `{0}` is updated twice in one program")]
    DuplicateUpdate(String),
    /// The target of an update is not a parameter.
    #[error("an update needs a parameter as its target, not the result of `{0}`")]
    NotAParameter(&'static str),
    /// The new value of a parameter has another shape.
    #[error("parameter `{name}` has shape {expected} but its update has shape {found}")]
    UpdateShape {
        /// The parameter.
        name: String,
        /// Its shape.
        expected: Shape,
        /// Shape of the update.
        found: Shape,
    },
    /// A value of a loop's body has a value in every step, and none of them is that of an output.
    #[error(
        "the output `{0}` is a value of a loop's body; stack it, sum it up over the steps, or carry it to the end"
    )]
    InsideLoop(String),
    /// Nothing is to be computed.
    #[error("the program has no output and no update")]
    Empty,
}

/// A run that cannot start, or a store or file that does not fit.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RunError {
    /// A run names no values for an input, index or data set.
    #[error("{kind} `{name}` was not given")]
    Missing {
        /// What it is: input, index, data set or parameter.
        kind: &'static str,
        /// Its name.
        name: String,
    },
    /// A program that updates parameters was given a store that it may not change.
    #[error("the program updates parameters; `run` it with a store that it may change")]
    Updates,
    /// Values of the wrong number.
    #[error("{kind} `{name}` has {found} values, {expected} are needed")]
    Size {
        /// What it is.
        kind: &'static str,
        /// Its name.
        name: String,
        /// Values needed.
        expected: usize,
        /// Values given.
        found: usize,
    },
    /// An index that points outside its data set.
    #[error("index `{index}` asks for row {row} of data set `{data}`, which has {rows} rows")]
    IndexOutOfRange {
        /// Name of the index.
        index: String,
        /// Name of the data set.
        data: String,
        /// The row asked for.
        row: u32,
        /// Rows there are.
        rows: usize,
    },
    /// A data set of bytes where values are needed, or the other way round.
    #[error("data set `{name}` holds {found}, {expected} are needed")]
    DataKind {
        /// The data set.
        name: String,
        /// What the program gathers.
        expected: &'static str,
        /// What was given.
        found: &'static str,
    },
    /// A sparse data set with another number of columns.
    #[error("data set `{name}` has {found} columns, {expected} are needed")]
    Columns {
        /// The data set.
        name: String,
        /// Columns needed.
        expected: usize,
        /// Columns given.
        found: usize,
    },
    /// More rows than the program was prepared for, or none.
    #[error("a run has {found} rows; this program was prepared for 1 to {most}")]
    Rows {
        /// Rows asked for.
        found: usize,
        /// Most rows possible.
        most: usize,
    },
    /// A tensor whose shape is not the one asked for.
    #[error("tensor `{name}` has shape [{}, {}], [{}, {}] is needed", found[0], found[1], expected[0], expected[1])]
    TensorShape {
        /// The tensor.
        name: String,
        /// Shape needed.
        expected: [usize; 2],
        /// Shape found.
        found: [usize; 2],
    },
    /// A tensor whose name has another meaning in files.
    #[error(
        "a tensor cannot be called `{0}`, which is where the safetensors format keeps text; give it another name"
    )]
    ReservedName(String),
    /// A tensor file that cannot be read.
    #[error("cannot read tensors: {0}")]
    Format(String),
}

/// Sparse rows that do not fit together.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SparseError {
    /// Not one column per value.
    #[error("{columns} columns are given for {values} values")]
    Lengths {
        /// Columns given.
        columns: usize,
        /// Values given.
        values: usize,
    },
    /// Starts of rows that do not go from the first value to the end.
    #[error("the starts of rows go from {} to {}, 0 to {values} is needed", shown(*first), shown(*last))]
    Ends {
        /// The first start.
        first: Option<usize>,
        /// The last start.
        last: Option<usize>,
        /// Values given.
        values: usize,
    },
    /// A row that ends before it starts, or after the last value.
    #[error("row {row} does not lie within the values: the starts of rows must ascend")]
    Starts {
        /// The row.
        row: usize,
    },
    /// A column that the matrix does not have.
    #[error("row {row} has a value in column {column}; there are {cols} columns")]
    Column {
        /// The row.
        row: usize,
        /// The column.
        column: u32,
        /// Columns there are.
        cols: usize,
    },
    /// Columns out of order, or one of them twice.
    #[error("the columns of row {row} must ascend, without repetition")]
    Order {
        /// The row.
        row: usize,
    },
}

fn shown(start: Option<usize>) -> String {
    start.map_or("nothing".into(), |start| start.to_string())
}
