//! Store the values of a table: as bytes, as numbers, or those that are not zero.

mod held;

use std::borrow::Cow;
use std::ops::Range;

use hmcvi_graph::{DataSet, SparseRows};

use super::error::DataError;
use super::sparse::{self, finite};
use super::spread::Spread;

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
    /// Bytes or numbers of which every process holds some rows.
    Spread(Spread),
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

    pub(super) fn dense(file: &str, columns: usize, values: Vec<f32>) -> Result<Cells, DataError> {
        if columns == 0 || values.is_empty() || !values.len().is_multiple_of(columns) {
            let expected = format!("a multiple of the number of columns, {columns}, and at least 1");
            return Err(DataError::field(file, "number of values", values.len(), expected));
        }
        Cells::part(file, 0, columns, values)
    }

    /// Rows of a file from this one on, perhaps none. Callers have checked that the last row is complete.
    pub(super) fn part(
        file: &str,
        first: usize,
        columns: usize,
        mut values: Vec<f32>,
    ) -> Result<Cells, DataError> {
        for (at, value) in values.iter_mut().enumerate() {
            *value = finite(file, first + at / columns, at % columns, *value)?;
        }
        Ok(Cells { columns, store: Store::Dense(values) })
    }

    /// Rows of which every process holds some.
    pub(super) fn spread(spread: Spread) -> Cells {
        Cells { columns: spread.own().columns, store: Store::Spread(spread) }
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
            Store::Spread(spread) => spread.rows(),
        }
    }

    /// Whether other processes hold some of the rows.
    pub(super) fn is_spread(&self) -> bool {
        matches!(self.store, Store::Spread(_))
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
            Store::Spread(spread) => spread.memory(),
        }
    }

    /// What a byte stands for.
    pub(super) fn byte_value(&self, byte: u8) -> f32 {
        match &self.store {
            Store::Spread(spread) => spread.own().byte_value(byte),
            Store::Bytes { truths, .. } => value(*truths)(byte),
            Store::Dense(_) | Store::Sparse(_) => value(false)(byte),
        }
    }

    fn are_truths(&self) -> bool {
        self.byte_value(ONE) == 1.0
    }

    /// Whether a byte holds each value.
    pub(super) fn are_bytes(&self) -> bool {
        match &self.store {
            Store::Spread(spread) => spread.own().are_bytes(),
            store => matches!(store, Store::Bytes { .. }),
        }
    }

    /// The values, where a byte holds each and all are here.
    pub(super) fn as_bytes(&self) -> Option<&[u8]> {
        match &self.store {
            Store::Bytes { bytes, .. } => Some(bytes),
            _ => None,
        }
    }

    /// Hands out the rows in order, as bytes, in pieces of some whole rows each, where a byte holds each value.
    pub(super) fn each_bytes(&self, mut look: impl FnMut(&[u8])) {
        let Store::Spread(spread) = &self.store else { return self.as_bytes().into_iter().for_each(look) };
        let mut row = 0;
        while row < self.rows() {
            let (block, _) = spread.block(row);
            block.as_bytes().into_iter().for_each(&mut look);
            row += block.rows();
        }
    }

    /// All rows in this process.
    pub(super) fn here(&self) -> Cells {
        match &self.store {
            Store::Spread(spread) => spread.for_all(0..spread.rows()),
            _ => self.clone(),
        }
    }

    /// The rows of a batch of which every process gets a part, and this one its own; see [`Spread::for_each`].
    pub(super) fn for_each(&self, rows: &[u32], parts: &[Range<usize>]) -> Option<Cells> {
        match &self.store {
            Store::Spread(spread) => Some(spread.for_each(rows, parts)),
            _ => None,
        }
    }

    /// Bytes of memory of a row that is not sparse.
    pub(super) fn row_bytes(&self) -> usize {
        self.columns * if self.are_bytes() { 1 } else { size_of::<f32>() }
    }

    /// Puts a row that is here and not sparse there as it is in memory.
    pub(super) fn put_row(&self, row: usize, to: &mut [u8]) {
        let whole = row * self.columns..(row + 1) * self.columns;
        match &self.store {
            Store::Bytes { bytes, .. } => to.copy_from_slice(&bytes[whole]),
            Store::Dense(values) => {
                let words = to.chunks_exact_mut(size_of::<f32>());
                words.zip(&values[whole]).for_each(|(to, value)| to.copy_from_slice(&value.to_ne_bytes()));
            }
            Store::Sparse(_) | Store::Spread(_) => unreachable!("rows of dense tables are handed out"),
        }
    }

    /// Rows that are held as these are, from what [`put_row`](Self::put_row) has put.
    pub(super) fn like(&self, bytes: Vec<u8>) -> Cells {
        let store = match &self.store {
            Store::Bytes { truths, .. } => Store::Bytes { bytes, truths: *truths },
            _ => {
                let (words, _) = bytes.as_chunks();
                Store::Dense(words.iter().map(|word| f32::from_ne_bytes(*word)).collect())
            }
        };
        Cells { columns: self.columns, store }
    }

    /// The values as the engine takes them.
    ///
    /// # Panics
    /// If other processes hold some of the rows.
    pub(super) fn data_set(&self) -> DataSet<'_> {
        match &self.store {
            Store::Bytes { bytes, .. } => DataSet::Bytes(bytes),
            Store::Dense(values) => DataSet::Values(values),
            Store::Sparse(sparse) => DataSet::Sparse(sparse),
            Store::Spread(_) => panic!("rows that processes share are brought batch by batch"),
        }
    }

    /// The values of a row that are not zero, with their columns in ascending order.
    pub(super) fn non_zeros(&self, row: usize) -> impl Iterator<Item = (usize, f32)> + '_ {
        let whole = row * self.columns..(row + 1) * self.columns;
        let (mut bytes, mut dense, mut sparse) = (&[][..], &[][..], (&[][..], &[][..]));
        let (mut truths, mut brought) = (false, Vec::new());
        match &self.store {
            Store::Bytes { bytes: all, truths: held } => (bytes, truths) = (&all[whole], *held),
            Store::Dense(all) => dense = &all[whole],
            Store::Sparse(all) => sparse = all.row(row),
            Store::Spread(_) => brought = self.read(row..row + 1).into_owned(),
        }
        let bytes = bytes.iter().copied().map(value(truths));
        let all = bytes.chain(dense.iter().copied()).chain(brought);
        let all = all.enumerate().filter(|(_, value)| *value != 0.0);
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
            Store::Spread(spread) => {
                let (block, place) = spread.block(row);
                block.write(place, out);
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
            Store::Spread(spread) => Store::Spread(spread.select(order)),
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
            Store::Sparse(_) | Store::Spread(_) => {
                let (all, rows) = (&self, self.rows());
                return (all.select(0..first), all.select(first..rows));
            }
        };
        (Cells { columns, store: first }, Cells { columns, store: rest })
    }
}
