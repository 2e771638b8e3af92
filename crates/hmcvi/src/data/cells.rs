//! Store the values of a table: as bytes, as numbers, or those that are not zero.

use std::borrow::Cow;
use std::ops::Range;

use hmcvi_graph::{DataSet, SparseRows};

use super::error::DataError;
use super::read::check_memory;
use super::sparse::{self, finite};

/// Values of rows that are `columns` long. All are finite, and no zero is negative.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Cells {
    pub(super) columns: usize,
    store: Store,
}

#[derive(Clone, Debug, PartialEq)]
enum Store {
    /// A byte for each value, row after row. Where they are truths, they are 0 and 255, which stands for 1.
    Bytes { bytes: Vec<u8>, truths: bool },
    /// Row after row.
    Dense(Vec<f32>),
    /// The values that are not zero.
    Sparse(SparseRows),
}

/// The byte of a 1 where bytes are truths: white among black pixels.
pub(super) const ONE: u8 = 255;

/// What a byte stands for.
fn value(truths: bool) -> impl Fn(u8) -> f32 + Copy {
    move |byte| if truths { f32::from(byte != 0) } else { f32::from(byte) }
}

impl Default for Cells {
    /// Nothing, in place of what is about to be replaced.
    fn default() -> Self {
        Cells::bytes(1, Vec::new())
    }
}

impl Cells {
    /// Callers have checked that there are columns and that the last row is complete.
    pub(super) fn bytes(columns: usize, bytes: Vec<u8>) -> Cells {
        Cells { columns, store: Store::Bytes { bytes, truths: false } }
    }

    /// Truth values, each 0 or 1.
    pub(super) fn truths(columns: usize, mut bytes: Vec<u8>) -> Cells {
        bytes.iter_mut().for_each(|byte| *byte *= ONE);
        Cells { columns, store: Store::Bytes { bytes, truths: true } }
    }

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
        let sparse = sparse::rows(file, width, starts, columns, values)?;
        Ok(Cells { columns: width, store: Store::Sparse(sparse) })
    }

    pub(super) fn rows(&self) -> usize {
        match &self.store {
            Store::Bytes { bytes, .. } => bytes.len() / self.columns,
            Store::Dense(values) => values.len() / self.columns,
            Store::Sparse(sparse) => sparse.rows(),
        }
    }

    pub(super) fn is_sparse(&self) -> bool {
        matches!(self.store, Store::Sparse(_))
    }

    /// Bytes of memory.
    pub(super) fn memory(&self) -> usize {
        match &self.store {
            Store::Bytes { bytes, .. } => bytes.len(),
            Store::Dense(values) => size_of_val(&values[..]),
            Store::Sparse(sparse) => {
                (sparse.rows() + 1) * size_of::<usize>() + sparse.len() * size_of::<(u32, f32)>()
            }
        }
    }

    /// What a byte stands for.
    pub(super) fn byte_value(&self, byte: u8) -> f32 {
        value(matches!(self.store, Store::Bytes { truths: true, .. }))(byte)
    }

    /// The values, where a byte holds each.
    pub(super) fn as_bytes(&self) -> Option<&[u8]> {
        match &self.store {
            Store::Bytes { bytes, .. } => Some(bytes),
            _ => None,
        }
    }

    /// The values as the engine takes them.
    pub(super) fn data_set(&self) -> DataSet<'_> {
        match &self.store {
            Store::Bytes { bytes, .. } => DataSet::Bytes(bytes),
            Store::Dense(values) => DataSet::Values(values),
            Store::Sparse(sparse) => DataSet::Sparse(sparse),
        }
    }

    /// The values of a row that are not zero, with their columns in ascending order.
    pub(super) fn non_zeros(&self, row: usize) -> impl Iterator<Item = (usize, f32)> + '_ {
        let whole = row * self.columns..(row + 1) * self.columns;
        let (mut bytes, mut dense, mut sparse) = (&[][..], &[][..], (&[][..], &[][..]));
        let mut truths = false;
        match &self.store {
            Store::Bytes { bytes: all, truths: held } => (bytes, truths) = (&all[whole], *held),
            Store::Dense(all) => dense = &all[whole],
            Store::Sparse(all) => sparse = all.row(row),
        }
        let bytes = bytes.iter().copied().map(value(truths));
        let all = bytes.chain(dense.iter().copied()).enumerate().filter(|(_, value)| *value != 0.0);
        all.chain(sparse.0.iter().map(|&column| column as usize).zip(sparse.1.iter().copied()))
    }

    /// Puts all values of a row into `out`.
    pub(super) fn write(&self, row: usize, out: &mut [f32]) {
        let whole = row * self.columns..(row + 1) * self.columns;
        match &self.store {
            Store::Bytes { bytes, truths } => {
                let values = bytes[whole].iter().copied().map(value(*truths));
                out.iter_mut().zip(values).for_each(|(out, value)| *out = value);
            }
            Store::Dense(values) => out.copy_from_slice(&values[whole]),
            Store::Sparse(_) => {
                out.fill(0.0);
                self.non_zeros(row).for_each(|(column, value)| out[column] = value);
            }
        }
    }

    /// All values of the rows in `range`, which exist.
    pub(super) fn read(&self, range: Range<usize>) -> Cow<'_, [f32]> {
        if let Store::Dense(values) = &self.store {
            return Cow::Borrowed(&values[range.start * self.columns..range.end * self.columns]);
        }
        let mut all = vec![0.0; range.len() * self.columns];
        for (row, out) in range.zip(all.chunks_mut(self.columns)) {
            self.write(row, out);
        }
        Cow::Owned(all)
    }

    /// A copy of the rows with the numbers in `order`, which exist.
    pub(super) fn select(&self, order: impl Iterator<Item = usize>) -> Cells {
        let columns = self.columns;
        let store = match &self.store {
            Store::Bytes { bytes, truths } => {
                let rows = order.flat_map(|row| bytes[row * columns..][..columns].iter().copied());
                Store::Bytes { bytes: rows.collect(), truths: *truths }
            }
            Store::Dense(values) => {
                let rows = order.flat_map(|row| values[row * columns..][..columns].iter().copied());
                Store::Dense(rows.collect())
            }
            Store::Sparse(sparse) => {
                Store::Sparse(sparse.pick(&order.map(|row| row as u32).collect::<Vec<_>>()))
            }
        };
        Cells { columns, store }
    }

    /// The first `first` rows, of which there are so many, and the rest. Only the rest is copied.
    pub(super) fn split_at(self, first: usize) -> (Cells, Cells) {
        let (columns, at) = (self.columns, first * self.columns);
        let (first, rest) = match self.store {
            Store::Bytes { mut bytes, truths } => {
                let rest = Store::Bytes { bytes: bytes.split_off(at), truths };
                bytes.shrink_to_fit();
                (Store::Bytes { bytes, truths }, rest)
            }
            Store::Dense(mut values) => {
                let rest = values.split_off(at);
                values.shrink_to_fit();
                (Store::Dense(values), Store::Dense(rest))
            }
            Store::Sparse(_) => {
                let (all, rows) = (&self, self.rows());
                return (all.select(0..first), all.select(first..rows));
            }
        };
        (Cells { columns, store: first }, Cells { columns, store: rest })
    }

    /// The same values as numbers; sparse ones stay so.
    pub(super) fn into_values(self, file: &str) -> Result<Cells, DataError> {
        if self.as_bytes().is_none() {
            return Ok(self);
        }
        check_memory(file, (self.rows() * self.columns) as u64, size_of::<f32>() as u64)?;
        let store = Store::Dense(self.read(0..self.rows()).into_owned());
        Ok(Cells { store, ..self })
    }

    /// The same values as bytes, none of which is a truth. Callers have checked that they are integers from 0 to 255.
    pub(super) fn into_bytes(self, file: &str) -> Result<Cells, DataError> {
        self.held_as_bytes(file, false, |value| value as u8)
    }

    /// Truths: whether a value is not zero.
    pub(super) fn into_truths(self, file: &str) -> Result<Cells, DataError> {
        self.held_as_bytes(file, true, |value| if value == 0.0 { 0 } else { ONE })
    }

    fn held_as_bytes(self, file: &str, truths: bool, byte: impl Fn(f32) -> u8) -> Result<Cells, DataError> {
        let columns = self.columns;
        let bytes = match self.store {
            // Black and white are the same bytes as pixels and as truths.
            Store::Bytes { bytes, truths: true } => bytes,
            Store::Bytes { mut bytes, .. } => {
                bytes.iter_mut().for_each(|held| *held = byte(f32::from(*held)));
                bytes
            }
            Store::Dense(values) => values.into_iter().map(byte).collect(),
            Store::Sparse(sparse) => {
                check_memory(file, (sparse.rows() * columns) as u64, 1)?;
                let mut bytes = vec![0; sparse.rows() * columns];
                for (row, out) in bytes.chunks_mut(columns).enumerate() {
                    let (places, values) = sparse.row(row);
                    places.iter().zip(values).for_each(|(&at, &value)| out[at as usize] = byte(value));
                }
                bytes
            }
        };
        Ok(Cells { columns, store: Store::Bytes { bytes, truths } })
    }
}
