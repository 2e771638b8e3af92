//! Store the values of a table: all of them, or those that are not zero.

use std::borrow::Cow;
use std::ops::Range;

use hmcvi_graph::{DataSet, SparseRows};

use super::super::error::DataError;
use super::super::file::MOST_BYTES;

/// Values of rows that are `columns` long. All are finite, and no zero is negative.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Cells {
    pub(super) columns: usize,
    store: Store,
}

#[derive(Clone, Debug, PartialEq)]
enum Store {
    /// Row after row.
    Dense(Vec<f32>),
    /// The values that are not zero.
    Sparse(SparseRows),
}

/// Rows and columns that a sparse file may declare beyond sixteen for each of its values: tables of counts have rows
/// without any, but memory is needed for each.
const EMPTY: u64 = 1 << 14;

/// Checks numbers of rows and columns that a sparse file with `entries` values declares.
pub(super) fn check_sparse(file: &str, rows: u64, columns: u64, entries: u64) -> Result<(), DataError> {
    let most = EMPTY.saturating_add(entries.saturating_mul(16)).min(u64::from(u32::MAX));
    for (field, found) in [("number of rows", rows), ("number of columns", columns)] {
        if found == 0 || found > most {
            let expected = format!("from 1 to {most}, as there are {entries} values");
            return Err(DataError::field(file, field, found, expected));
        }
    }
    Ok(())
}

/// Checks that `count` values of `size` bytes stay within the limit for one array.
pub(super) fn check_memory(file: &str, count: u64, size: u64) -> Result<(), DataError> {
    let found = count.saturating_mul(size);
    if found <= MOST_BYTES {
        return Ok(());
    }
    let (field, why) = ("the table in memory", "the limit of this library for one array");
    Err(DataError::TooLarge { file: file.to_owned(), field, found, limit: MOST_BYTES, why })
}

/// A value that is neither NaN nor infinite, or why it is not; adding zero makes a negative zero positive.
fn finite(file: &str, row: usize, column: usize, value: f32) -> Result<f32, DataError> {
    if value.is_finite() {
        return Ok(value + 0.0);
    }
    let field = format!("row {row}, column {column} (counted from 0)");
    let found = if value.is_nan() { "NaN".to_owned() } else { value.to_string() };
    let expected = "a finite number that single precision can hold; fill in or leave out missing values";
    Err(DataError::field(file, field, found, expected))
}

impl Cells {
    pub(super) fn dense(file: &str, columns: usize, mut values: Vec<f32>) -> Result<Cells, DataError> {
        if columns == 0 || values.is_empty() || !values.len().is_multiple_of(columns) {
            let expected = format!("a multiple of the number of columns, {columns}, and at least 1");
            return Err(DataError::field(file, "number of values", values.len(), expected));
        }
        for (at, value) in values.iter_mut().enumerate() {
            *value = finite(file, at / columns, at % columns, *value)?;
        }
        Ok(Cells { columns, store: Store::Dense(values) })
    }

    /// Compressed sparse rows, in any order within a row. Zeros are left out.
    pub(super) fn sparse(
        file: &str,
        width: usize,
        starts: &[usize],
        columns: &[u32],
        values: &[f32],
    ) -> Result<Cells, DataError> {
        check_starts(file, starts, columns.len(), values.len())?;
        let mut kept = Kept { starts: vec![0], columns: Vec::new(), values: Vec::new() };
        let mut entries: Vec<(u32, f32)> = Vec::new();
        for (row, bounds) in starts.windows(2).enumerate() {
            let range = bounds[0]..bounds[1];
            entries.clear();
            entries.extend(columns[range.clone()].iter().copied().zip(values[range].iter().copied()));
            kept.push(file, row, width, &mut entries)?;
        }
        let sparse = SparseRows::new(width, kept.starts, kept.columns, kept.values)
            .map_err(|error| DataError::field(file, "sparse table", error, "ascending columns"))?;
        Ok(Cells { columns: width, store: Store::Sparse(sparse) })
    }

    pub(super) fn rows(&self) -> usize {
        match &self.store {
            Store::Dense(values) => values.len() / self.columns,
            Store::Sparse(sparse) => sparse.rows(),
        }
    }

    pub(super) fn is_sparse(&self) -> bool {
        matches!(self.store, Store::Sparse(_))
    }

    /// Bytes of memory.
    pub(super) fn bytes(&self) -> usize {
        match &self.store {
            Store::Dense(values) => size_of_val(&values[..]),
            Store::Sparse(sparse) => {
                (sparse.rows() + 1) * size_of::<usize>() + sparse.len() * size_of::<(u32, f32)>()
            }
        }
    }

    /// The values as the engine takes them.
    pub(super) fn data_set(&self) -> DataSet<'_> {
        match &self.store {
            Store::Dense(values) => DataSet::Values(values),
            Store::Sparse(sparse) => DataSet::Sparse(sparse),
        }
    }

    /// The values of a row that are not zero, with their columns in ascending order.
    pub(super) fn non_zeros(&self, row: usize) -> impl Iterator<Item = (usize, f32)> + '_ {
        let (dense, columns, values) = match &self.store {
            Store::Dense(values) => (&values[row * self.columns..][..self.columns], &[][..], &[][..]),
            Store::Sparse(sparse) => {
                let (columns, values) = sparse.row(row);
                (&[][..], columns, values)
            }
        };
        let dense = dense.iter().copied().enumerate().filter(|(_, value)| *value != 0.0);
        dense.chain(columns.iter().map(|&column| column as usize).zip(values.iter().copied()))
    }

    /// Puts all values of a row into `out`.
    pub(super) fn write(&self, row: usize, out: &mut [f32]) {
        match &self.store {
            Store::Dense(values) => out.copy_from_slice(&values[row * self.columns..][..self.columns]),
            Store::Sparse(_) => {
                out.fill(0.0);
                self.non_zeros(row).for_each(|(column, value)| out[column] = value);
            }
        }
    }

    /// All values of the rows in `range`, which exist.
    pub(super) fn read(&self, range: Range<usize>) -> Cow<'_, [f32]> {
        match &self.store {
            Store::Dense(values) => {
                Cow::Borrowed(&values[range.start * self.columns..range.end * self.columns])
            }
            Store::Sparse(_) => {
                let mut all = vec![0.0; range.len() * self.columns];
                for (row, out) in range.zip(all.chunks_mut(self.columns)) {
                    self.write(row, out);
                }
                Cow::Owned(all)
            }
        }
    }

    /// A copy of the rows with the numbers in `order`, which exist.
    pub(super) fn select(&self, order: impl Iterator<Item = usize>) -> Cells {
        let columns = self.columns;
        match &self.store {
            Store::Dense(values) => {
                let rows = order.flat_map(|row| values[row * columns..][..columns].iter().copied());
                Cells { columns, store: Store::Dense(rows.collect()) }
            }
            Store::Sparse(sparse) => {
                let rows: Vec<u32> = order.map(|row| row as u32).collect();
                Cells { columns, store: Store::Sparse(sparse.pick(&rows)) }
            }
        }
    }

    /// Replaces every value of a dense table.
    pub(super) fn replace(&mut self, value: impl Fn(f32) -> f32) {
        if let Store::Dense(values) = &mut self.store {
            values.iter_mut().for_each(|found| *found = value(*found));
        }
    }
}

/// The values of sparse rows that are kept, while they come.
struct Kept {
    starts: Vec<usize>,
    columns: Vec<u32>,
    values: Vec<f32>,
}

impl Kept {
    /// Checks a row, sorts it and adds it.
    fn push(
        &mut self,
        file: &str,
        row: usize,
        width: usize,
        entries: &mut [(u32, f32)],
    ) -> Result<(), DataError> {
        entries.sort_by_key(|&(column, _)| column);
        if let Some(&(last, _)) = entries.last().filter(|(last, _)| *last as usize >= width) {
            let expected = format!("less than the number of columns, {width}");
            return Err(DataError::field(file, format!("column of a value in row {row}"), last, expected));
        }
        if let Some(twice) = entries.windows(2).find(|pair| pair[0].0 == pair[1].0) {
            let field = format!("row {row}, column {} (counted from 0)", twice[0].0);
            return Err(DataError::field(file, field, "given twice", "one value for each row and column"));
        }
        for (column, value) in entries.iter_mut() {
            *value = finite(file, row, *column as usize, *value)?;
        }
        for &(column, value) in entries.iter().filter(|(_, value)| *value != 0.0) {
            self.columns.push(column);
            self.values.push(value);
        }
        self.starts.push(self.values.len());
        Ok(())
    }
}

fn check_starts(file: &str, starts: &[usize], columns: usize, values: usize) -> Result<(), DataError> {
    if columns != values {
        let expected = format!("{values}, one for each value");
        return Err(DataError::field(file, "number of column indices", columns, expected));
    }
    let ends = starts.len() > 1 && starts[0] == 0 && starts.last() == Some(&values);
    if !ends || starts.windows(2).any(|pair| pair[0] > pair[1]) {
        let expected = format!("ascending numbers from 0 to the number of values, {values}");
        return Err(DataError::field(file, "starts of the rows", "something else", expected));
    }
    Ok(())
}
