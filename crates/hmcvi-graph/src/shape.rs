//! Describe matrices `[rows, cols]` whose rows are the batch, and say which shapes fit together.

use std::fmt;

/// Number of rows of an expression.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Rows {
    /// One row per data point; the number is known when a program runs.
    Batch,
    /// A fixed number: 1 for row vectors and scalars, more for weight matrices.
    Fixed(usize),
}

/// Shape of an expression.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Shape {
    /// Rows: the batch or a fixed number.
    pub rows: Rows,
    /// Columns, always fixed.
    pub cols: usize,
}

impl Shape {
    /// One value.
    pub const SCALAR: Shape = Shape::fixed(1, 1);

    /// `[rows, cols]` with a fixed number of rows.
    pub const fn fixed(rows: usize, cols: usize) -> Self {
        Shape { rows: Rows::Fixed(rows), cols }
    }

    /// `[N, cols]`, one row per data point.
    pub const fn batch(cols: usize) -> Self {
        Shape { rows: Rows::Batch, cols }
    }

    /// Whether there is one row per data point.
    pub fn is_batch(self) -> bool {
        self.rows == Rows::Batch
    }

    /// Rows when fixed, 1 for the batch: the factor by which the batch size is multiplied.
    pub(crate) fn fixed_rows(self) -> usize {
        match self.rows {
            Rows::Batch => 1,
            Rows::Fixed(n) => n,
        }
    }

    /// Values per batch row, or values in all for a fixed shape.
    pub(crate) fn elements(self) -> usize {
        self.fixed_rows() * self.cols
    }

    /// The shape of an element-wise result: single rows and single columns repeat.
    pub fn broadcast(self, other: Shape) -> Option<Shape> {
        let rows = match (self.rows, other.rows) {
            (a, b) if a == b => a,
            (Rows::Fixed(1), b) => b,
            (a, Rows::Fixed(1)) => a,
            _ => return None,
        };
        let cols = match (self.cols, other.cols) {
            (a, b) if a == b => a,
            (1, b) => b,
            (a, 1) => a,
            _ => return None,
        };
        Some(Shape { rows, cols })
    }
}

impl fmt::Display for Rows {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Rows::Batch => f.write_str("N"),
            Rows::Fixed(n) => n.fmt(f),
        }
    }
}

impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "[{}, {}]", self.rows, self.cols)
    }
}
