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
    /// A tensor file that cannot be read.
    #[error("cannot read tensors: {0}")]
    Format(String),
}
