//! Hold rows of numbers of one kind, with what is known about them.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::ops::Range;

use hmcvi_graph::DataSet;

use super::super::error::DataError;
use super::super::hash::Hasher;
use super::super::images::Images;
use super::super::remark::Remark;
use super::super::splitting::Rows;
use super::cells::Cells;
use super::kind::{Kind, Stored};
use super::labels::Labels;
use super::summary::{self, Summary};
use super::tables::take_as;

/// Rows of numbers: dense, or sparse with memory in proportion to the values that are not zero.
///
/// All values are finite. Tables with a shape are images, row after row.
#[derive(Clone, Debug, PartialEq)]
pub struct Table {
    cells: Cells,
    names: Option<Vec<String>>,
    pub(super) kind: Kind,
    stored: Stored,
    pub(super) shape: Option<(usize, usize)>,
    labels: Option<Labels>,
    rows_in_file: Option<Vec<u32>>,
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
        Table { cells, names: None, kind: Kind::Real, stored, shape: None, labels: None, rows_in_file: None }
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
        labels.check("table", self.len())?;
        Ok(Table { labels: Some(labels), ..self })
    }

    /// Takes the values for `kind`; without one, for what their type and values suggest.
    ///
    /// # Errors
    /// [`DataError::Field`] with the first value that `kind` does not allow.
    pub fn taken_as(mut self, kind: Option<Kind>) -> Result<Table, DataError> {
        take_as("table", &mut [&mut self], kind)?;
        Ok(self)
    }

    /// Number of rows.
    pub fn len(&self) -> usize {
        self.cells.rows()
    }

    /// Whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Number of columns.
    pub fn columns(&self) -> usize {
        self.cells.columns
    }

    /// The names of the columns, where they have names.
    pub fn names(&self) -> Option<&[String]> {
        self.names.as_deref()
    }

    /// The name of a column as messages show it.
    pub(super) fn column(&self, column: usize) -> String {
        self.names.as_ref().map_or_else(|| column.to_string(), |names| format!("`{}`", names[column]))
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

    /// Bytes of memory that the values take.
    pub fn bytes(&self) -> usize {
        self.cells.bytes()
    }

    /// All values of the rows in `range`, one row after the other, if all of them exist.
    pub fn rows(&self, range: Range<usize>) -> Option<Cow<'_, [f32]>> {
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

    /// All rows as the engine takes them, without a copy.
    pub fn data_set(&self) -> DataSet<'_> {
        self.cells.data_set()
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

    fn select(&self, rows: impl Iterator<Item = usize> + Clone) -> Table {
        let in_file = |all: &Vec<u32>| rows.clone().map(|row| all[row]).collect();
        Table {
            cells: self.cells.select(rows.clone()),
            names: self.names.clone(),
            labels: self.labels.as_ref().map(|labels| labels.select(rows.clone())),
            rows_in_file: self.rows_in_file.as_ref().map(in_file),
            ..*self
        }
    }

    /// Replaces every value of a dense table.
    pub(super) fn replace(&mut self, value: impl Fn(f32) -> f32) {
        self.cells.replace(value);
    }

    /// SHA-256 of the content, which depends on neither the format of the file nor the way it is stored in memory.
    ///
    /// The bytes hashed are: rows, columns, height and width (0 without a shape); for each row the number of its values
    /// that are not zero, and the column and the value of each, as four bytes; 1 or 0 for whether there are labels; the
    /// number of their names, each name with its length; the labels. Other numbers count as eight bytes. The lowest
    /// byte comes first. Names of columns do not count.
    pub fn sha256(&self) -> String {
        let mut hasher = Hasher::default();
        self.feed(&mut hasher);
        hasher.finish()
    }

    pub(super) fn feed(&self, hasher: &mut Hasher) {
        let (height, width) = self.shape.unwrap_or_default();
        for number in [self.len(), self.columns(), height, width] {
            hasher.number(number);
        }
        let mut row_bytes = Vec::new();
        for row in 0..self.len() {
            row_bytes.clear();
            for (column, value) in self.non_zeros(row) {
                row_bytes.extend((column as u32).to_le_bytes());
                row_bytes.extend(value.to_le_bytes());
            }
            hasher.number(row_bytes.len() / 8);
            hasher.update(&row_bytes);
        }
        hasher.number(usize::from(self.labels.is_some()));
        self.labels.iter().for_each(|labels| labels.feed(hasher));
    }

    /// Describes the values.
    pub fn summary(&self) -> Summary {
        summary::summarise(&[self])
    }

    /// What the values give reason to say.
    pub fn remarks(&self) -> Vec<Remark> {
        summary::remarks(&[self])
    }
}

impl Rows for Table {
    const NOUN: &'static str = "row";

    fn count(&self) -> usize {
        self.len()
    }

    fn cut(self, first: usize) -> (Self, Self) {
        (self.select(0..first), self.select(first..self.len()))
    }

    fn in_order(&self, order: &[u32]) -> Self {
        let rows = order.iter().map(|&row| row as usize);
        Table { rows_in_file: Some(order.to_vec()), ..self.select(rows) }
    }

    fn classes(&self) -> Option<BTreeSet<i64>> {
        self.labels.as_ref().map(|labels| labels.values().iter().copied().collect())
    }
}

impl Images {
    /// The images as a table whose kind is still to be chosen.
    pub(super) fn to_table(&self) -> Result<Table, DataError> {
        let values = self.bytes().iter().map(|&byte| f32::from(byte)).collect();
        let table = Table::raw(Cells::dense("images", self.pixels(), values)?, Stored::Byte);
        let labels = self.labels().map(|labels| labels.iter().map(|&label| i64::from(label)).collect());
        let labels = labels.map(Labels::numbers);
        let rows_in_file = self.rows_in_file().map(<[u32]>::to_vec);
        Ok(Table { labels, rows_in_file, ..table.with_shape(self.height(), self.width())? })
    }
}
