//! Describe data sets whose rows programs gather: bytes, numbers, and numbers that are mostly zero.

use crate::error::{RunError, SparseError};

/// A data set of a run, by rows.
///
/// Bytes are for [`Graph::gather`](crate::Graph::gather); values, all of them or those that are not zero, for
/// [`Graph::gather_values`](crate::Graph::gather_values).
#[derive(Clone, Copy, Debug)]
pub enum DataSet<'d> {
    /// A byte per value, such as pixels.
    Bytes(&'d [u8]),
    /// Every value.
    Values(&'d [f32]),
    /// The values that are not zero.
    Sparse(&'d SparseRows),
}

/// A matrix of which only the values that are not zero are kept, row by row (CSR).
#[derive(Clone, Debug, PartialEq)]
pub struct SparseRows {
    cols: usize,
    starts: Vec<usize>,
    columns: Vec<u32>,
    values: Vec<f32>,
}

impl SparseRows {
    /// Row `i` has the values `starts[i]..starts[i + 1]`, in ascending `columns`.
    pub fn new(
        cols: usize,
        starts: Vec<usize>,
        columns: Vec<u32>,
        values: Vec<f32>,
    ) -> Result<Self, SparseError> {
        if columns.len() != values.len() {
            return Err(SparseError::Lengths { columns: columns.len(), values: values.len() });
        }
        let (first, last) = (starts.first().copied(), starts.last().copied());
        if first != Some(0) || last != Some(values.len()) {
            return Err(SparseError::Ends { first, last, values: values.len() });
        }
        for (row, pair) in starts.windows(2).enumerate() {
            let of_row = columns.get(pair[0]..pair[1]).ok_or(SparseError::Starts { row })?;
            if let Some(&column) = of_row.iter().find(|&&column| column as usize >= cols) {
                return Err(SparseError::Column { row, column, cols });
            }
            if !of_row.is_sorted_by(|a, b| a < b) {
                return Err(SparseError::Order { row });
            }
        }
        Ok(SparseRows { cols, starts, columns, values })
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.starts.len() - 1
    }

    /// Number of columns.
    pub fn cols(&self) -> usize {
        self.cols
    }

    /// Number of values that are kept.
    pub fn len(&self) -> usize {
        self.values.len()
    }

    /// Whether all values are zero.
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// Columns and values of a row.
    ///
    /// # Panics
    /// If there is no such row.
    pub fn row(&self, row: usize) -> (&[u32], &[f32]) {
        let range = self.starts[row]..self.starts[row + 1];
        (&self.columns[range.clone()], &self.values[range])
    }

    /// A matrix of some of the rows, in the order in which they are given.
    ///
    /// # Panics
    /// If there is no such row.
    pub fn pick(&self, rows: &[u32]) -> SparseRows {
        let (mut starts, mut columns, mut values) = (vec![0], Vec::new(), Vec::new());
        for &row in rows {
            let of_row = self.row(row as usize);
            columns.extend_from_slice(of_row.0);
            values.extend_from_slice(of_row.1);
            starts.push(values.len());
        }
        SparseRows { cols: self.cols, starts, columns, values }
    }

    #[cfg(feature = "cuda")]
    pub(crate) fn parts(&self) -> (&[usize], &[u32], &[f32]) {
        (&self.starts, &self.columns, &self.values)
    }
}

/// What the values of a data set are.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum DataKind {
    Bytes,
    Values,
}

impl DataKind {
    pub(crate) fn name(self) -> &'static str {
        match self {
            DataKind::Bytes => "bytes",
            DataKind::Values => "f32 values",
        }
    }
}

/// How large a data set is, wherever it is kept.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Extent {
    Bytes(usize),
    Values(usize),
    Sparse { rows: usize, cols: usize },
}

impl DataSet<'_> {
    pub(crate) fn extent(self) -> Extent {
        match self {
            DataSet::Bytes(bytes) => Extent::Bytes(bytes.len()),
            DataSet::Values(values) => Extent::Values(values.len()),
            DataSet::Sparse(rows) => Extent::Sparse { rows: rows.rows(), cols: rows.cols() },
        }
    }
}

/// A data set that a program reads, and the index that picks its rows.
pub(crate) struct Gathered {
    pub(crate) name: std::sync::Arc<str>,
    pub(crate) cols: usize,
    pub(crate) kind: DataKind,
    /// Place of the index among the program's.
    pub(crate) index: usize,
}

impl Gathered {
    /// Rows of the data set that is given, which must be of the program's kind and columns.
    pub(crate) fn rows(&self, given: Extent) -> Result<usize, RunError> {
        let name = || self.name.to_string();
        let found = if matches!(given, Extent::Bytes(_)) { DataKind::Bytes } else { DataKind::Values };
        if found != self.kind {
            let (expected, found) = (self.kind.name(), found.name());
            return Err(RunError::DataKind { name: name(), expected, found });
        }
        match given {
            Extent::Bytes(len) | Extent::Values(len) if len % self.cols != 0 => {
                let expected = len - len % self.cols;
                Err(RunError::Size { kind: "data set", name: name(), expected, found: len })
            }
            Extent::Bytes(len) | Extent::Values(len) => Ok(len / self.cols),
            Extent::Sparse { cols, .. } if cols != self.cols => {
                Err(RunError::Columns { name: name(), expected: self.cols, found: cols })
            }
            Extent::Sparse { rows, .. } => Ok(rows),
        }
    }

    /// Requires all picked rows to be among so many; `largest` is the one that decides.
    pub(crate) fn check_index(&self, index: &str, largest: Option<u32>, rows: usize) -> Result<(), RunError> {
        match largest.filter(|&row| row as usize >= rows) {
            None => Ok(()),
            Some(row) => {
                let (index, data) = (index.to_string(), self.name.to_string());
                Err(RunError::IndexOutOfRange { index, data, row, rows })
            }
        }
    }
}
