//! Hold rows of numbers of one kind, with what is known about them.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::Arc;

use hmcvi_graph::DataSet;

use super::cells::Cells;
use super::error::DataError;
use super::kind::{Kind, Stored};
use super::labels::Labels;
use super::observation::DATA;
use super::remark::{self, Remark};
use super::summary::{self, Summary};

/// Rows of numbers: bytes, such as pixels, numbers, or sparse with memory in proportion to those that are not zero.
///
/// All values are finite. Tables with a shape are images, pixel row after pixel row. Copies share their values.
#[derive(Clone, Debug, PartialEq)]
pub struct Table {
    pub(super) cells: Arc<Cells>,
    pub(super) names: Option<Vec<String>>,
    pub(super) kind: Kind,
    pub(super) stored: Stored,
    pub(super) shape: Option<(usize, usize)>,
    pub(super) groups: Option<Vec<usize>>,
    pub(super) labels: Option<Labels>,
    pub(super) rows_in_file: Option<Vec<u32>>,
}

/// Rows of a batch that this process computes.
pub(crate) struct Share(Cells);

impl Share {
    /// They, as [`Table::data_set`] has all.
    pub(crate) fn data_set(&self) -> (&'static str, DataSet<'_>) {
        (DATA, self.0.data_set())
    }
}

impl Table {
    /// A dense table of `values`, row after row. Its kind follows from the values; see [`Table::taken_as`].
    ///
    /// # Errors
    /// [`DataError::Field`] if there are no values, the last row is incomplete, or a value is not finite.
    pub fn dense(columns: usize, values: Vec<f32>) -> Result<Table, DataError> {
        Table::raw(Cells::dense("table", columns, values)?, Stored::Float).taken_as(None)
    }

    /// A sparse table: row `i` has `values[starts[i]..starts[i + 1]]` in the columns `indices[starts[i]..starts[i + 1]]`.
    ///
    /// # Errors
    /// [`DataError::Field`] if these do not fit each other, a value is given twice, or one is not finite.
    pub fn sparse(
        columns: usize,
        starts: &[usize],
        indices: &[u32],
        values: &[f32],
    ) -> Result<Table, DataError> {
        Table::raw(Cells::sparse("table", columns, starts, indices, values)?, Stored::Float).taken_as(None)
    }

    /// A table whose kind is still to be chosen.
    pub(super) fn raw(cells: Cells, stored: Stored) -> Table {
        let kind = if cells.are_bytes() { Kind::Byte } else { Kind::Real };
        let (names, shape, groups, labels, rows_in_file) = (None, None, None, None, None);
        Table { cells: Arc::new(cells), names, kind, stored, shape, groups, labels, rows_in_file }
    }

    /// Names the columns.
    ///
    /// # Errors
    /// [`DataError::Field`] if there is not one name for each column, or one is given twice.
    pub fn with_names(self, names: Vec<String>) -> Result<Table, DataError> {
        if names.len() != self.columns() {
            let expected = format!("{}, one for each column", self.columns());
            return Err(DataError::field("table", "number of names", names.len(), expected));
        }
        let mut known = BTreeSet::new();
        if let Some(twice) = names.iter().find(|name| !known.insert(name.as_str())) {
            let expected = "names that differ";
            return Err(DataError::field("table", "name of a column", format!("`{twice}` twice"), expected));
        }
        Ok(Table { names: Some(names), ..self })
    }

    /// Takes each row for an image of `height` x `width` pixels.
    ///
    /// # Errors
    /// [`DataError::Field`] if that is not the number of columns.
    pub fn with_shape(self, height: usize, width: usize) -> Result<Table, DataError> {
        if height.checked_mul(width) != Some(self.columns()) {
            let (found, expected) = (format!("{height} x {width}"), format!("{} pixels", self.columns()));
            return Err(DataError::field("table", "size of an image", found, expected));
        }
        Ok(Table { shape: Some((height, width)), ..self })
    }

    /// Labels the rows.
    ///
    /// # Errors
    /// [`DataError::Field`] if there is not one label for each row.
    pub fn with_labels(self, labels: Labels) -> Result<Table, DataError> {
        self.labelled("table", Some(labels))
    }

    /// As [`Table::with_labels`], with the name of their file for errors.
    pub(super) fn labelled(self, file: &str, labels: Option<Labels>) -> Result<Table, DataError> {
        labels.as_ref().map_or(Ok(()), |labels| labels.check(file, self.len(), self.noun()))?;
        Ok(Table { labels, ..self })
    }

    /// Number of rows.
    pub fn len(&self) -> usize {
        self.cells.rows()
    }

    /// Whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Number of columns, such as pixels.
    pub fn columns(&self) -> usize {
        self.cells.columns
    }

    /// The names of the columns, where they have names.
    pub fn names(&self) -> Option<&[String]> {
        self.names.as_deref()
    }

    /// What the values are taken for.
    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// The type of the values where they came from.
    pub fn stored(&self) -> Stored {
        self.stored
    }

    /// Height and width, where rows are images.
    pub fn shape(&self) -> Option<(usize, usize)> {
        self.shape
    }

    /// How many columns belong together, one group after the other, where each row has a 1 in one column of each group
    /// and zeros elsewhere; see [`Dataset::one_hot`](super::Dataset::one_hot).
    pub fn groups(&self) -> Option<&[usize]> {
        self.groups.as_deref()
    }

    /// A label for each row, where there are any.
    pub fn labels(&self) -> Option<&Labels> {
        self.labels.as_ref()
    }

    /// The number of each row in the file it came from, counted from 0, where they were shuffled.
    pub fn rows_in_file(&self) -> Option<&[u32]> {
        self.rows_in_file.as_deref()
    }

    /// Whether only values that are not zero are stored.
    pub fn is_sparse(&self) -> bool {
        self.cells.is_sparse()
    }

    /// Whether other processes hold some of the rows; see [`open_among`](super::open_among).
    pub fn is_spread(&self) -> bool {
        self.cells.is_spread()
    }

    /// The same table with all rows in this process.
    #[must_use]
    pub fn here(&self) -> Table {
        let cells = if self.is_spread() { Arc::new(self.cells.here()) } else { self.cells.clone() };
        Table { cells, ..self.clone() }
    }

    /// Bytes of memory that the values take in this process.
    pub fn memory(&self) -> usize {
        self.cells.memory()
    }

    /// Whether a byte holds each value: an intensity, or 0 and 255 for the 0 and 1 of binary data.
    pub fn are_bytes(&self) -> bool {
        self.cells.are_bytes()
    }

    /// All values, one row after the other, where a byte holds each and this process has all rows.
    pub fn bytes(&self) -> Option<&[u8]> {
        self.cells.as_bytes()
    }

    /// All values of the rows in `range`, one row after the other, if all of them exist.
    pub fn values(&self, range: Range<usize>) -> Option<Cow<'_, [f32]>> {
        (range.start <= range.end && range.end <= self.len()).then(|| self.cells.read(range))
    }

    /// Puts all values of the given rows into `out`, one row after the other, without taking memory.
    ///
    /// # Panics
    /// If a row does not exist, or `out` is not of `rows.len()` x [`Table::columns`] values.
    pub fn gather(&self, rows: &[u32], out: &mut [f32]) {
        assert_eq!(out.len(), rows.len() * self.columns(), "one value for each row and column");
        for (&row, out) in rows.iter().zip(out.chunks_exact_mut(self.columns())) {
            self.cells.write(row as usize, out);
        }
    }

    /// All rows for programs that use [`Observation::anew`](super::Observation::anew), without a copy.
    ///
    /// # Panics
    /// If other processes hold some of them.
    pub fn data_set(&self) -> (&'static str, DataSet<'_>) {
        (DATA, self.cells.data_set())
    }

    /// The same for a batch of which every process computes a part, where the rows are spread over processes: the own rows
    /// come from those that hold them.
    pub(crate) fn share_of_batch(&self, rows: &[u32], parts: &[Range<usize>]) -> Option<Share> {
        self.cells.for_each(rows, parts).map(Share)
    }

    /// The values of a row that are not zero, with their columns in ascending order.
    ///
    /// # Panics
    /// If there is no such row.
    pub fn non_zeros(&self, row: usize) -> impl Iterator<Item = (usize, f32)> + '_ {
        self.cells.non_zeros(row)
    }

    /// A copy of the rows in `range`, with their labels, if all of them exist.
    pub fn slice(&self, range: Range<usize>) -> Option<Table> {
        (range.start <= range.end && range.end <= self.len()).then(|| self.select(range))
    }

    /// A copy of some of the rows, with their labels, in the order in which they are given, also several times.
    ///
    /// # Panics
    /// If there is no such row.
    pub fn pick(&self, rows: &[u32]) -> Table {
        self.select(rows.iter().map(|&row| row as usize))
    }

    fn select(&self, rows: impl Iterator<Item = usize> + Clone) -> Table {
        let in_file = |all: &Vec<u32>| rows.clone().map(|row| all[row]).collect();
        Table {
            cells: Arc::new(self.cells.select(rows.clone())),
            names: self.names.clone(),
            groups: self.groups.clone(),
            labels: self.labels.as_ref().map(|labels| labels.select(rows.clone())),
            rows_in_file: self.rows_in_file.as_ref().map(in_file),
            ..*self
        }
    }

    /// Cuts the rows in two: the first `first` (or all, if there are fewer) and the rest.
    pub fn split_at(mut self, first: usize) -> (Table, Table) {
        let first = first.min(self.len());
        let labels = self.labels.as_mut().map(|labels| labels.split_off(first));
        let rows_in_file = self.rows_in_file.as_mut().map(|rows| rows.split_off(first));
        let (cells, rest) = Arc::unwrap_or_clone(self.cells).split_at(first);
        let (names, groups) = (self.names.clone(), self.groups.clone());
        let rest = Table { cells: Arc::new(rest), names, groups, labels, rows_in_file, ..self };
        (Table { cells: Arc::new(cells), ..self }, rest)
    }

    /// The rows in another order, with the numbers they had; `order` is a permutation.
    pub(super) fn in_order(&self, order: &[u32]) -> Table {
        Table { rows_in_file: Some(order.to_vec()), ..self.pick(order) }
    }

    /// Describes the values.
    pub fn summary(&self) -> Summary {
        summary::summarise(&[self])
    }

    /// Mean of all values.
    pub fn mean(&self) -> f64 {
        summary::mean(self)
    }

    /// What the values give reason to say.
    pub fn remarks(&self) -> Vec<Remark> {
        remark::on_values(&[self])
    }
}
