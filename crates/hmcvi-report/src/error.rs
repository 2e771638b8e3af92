//! Say why a figure could not be made.

/// A figure that could not be made.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReportError {
    /// A figure with nothing in it.
    #[error("the figure `{0}` has no points that are finite")]
    Empty(String),
    /// A drawing that failed.
    #[error("drawing failed: {0}")]
    Drawing(String),
    /// Pixels that do not make a whole number of images.
    #[error("{found} pixels do not make images of {height} x {width}")]
    Pixels {
        /// Pixels there are.
        found: usize,
        /// Height of an image.
        height: usize,
        /// Width of an image.
        width: usize,
    },
    /// Values that do not make a whole number of rows.
    #[error("{found} values do not make rows of {columns} columns")]
    Rows {
        /// Values there are.
        found: usize,
        /// Columns of a row.
        columns: usize,
    },
}
