//! Hold the same values in another way: as bytes, or as numbers.

use super::{Cells, ONE, Store};
use crate::data::error::DataError;
use crate::data::read::check_memory;

impl Cells {
    /// The same values as numbers; sparse ones stay so.
    pub(in crate::data) fn into_values(self, file: &str) -> Result<Cells, DataError> {
        if !self.are_bytes() {
            return Ok(self);
        }
        if let Store::Spread(spread) = self.store {
            return Ok(Cells::spread(spread.held_as(|own| own.into_values(file))?));
        }
        check_memory(file, (self.rows() * self.columns) as u64, size_of::<f32>() as u64)?;
        let store = Store::Dense(self.read(0..self.rows()).into_owned());
        Ok(Cells { store, ..self })
    }

    /// The same values as bytes, none of which is a truth. Callers have checked that they are integers from 0 to 255.
    pub(in crate::data) fn into_bytes(self, file: &str) -> Result<Cells, DataError> {
        self.held_as_bytes(file, false, |value| value as u8)
    }

    /// Truths: whether a value is not zero.
    pub(in crate::data) fn into_truths(self, file: &str) -> Result<Cells, DataError> {
        self.held_as_bytes(file, true, |value| if value == 0.0 { 0 } else { ONE })
    }

    fn held_as_bytes(self, file: &str, truths: bool, byte: fn(f32) -> u8) -> Result<Cells, DataError> {
        let columns = self.columns;
        if self.are_bytes() && self.are_truths() == truths {
            return Ok(self);
        }
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
            Store::Spread(spread) => {
                return Ok(Cells::spread(spread.held_as(|own| own.held_as_bytes(file, truths, byte))?));
            }
        };
        Ok(Cells { columns, store: Store::Bytes { bytes, truths } })
    }
}
