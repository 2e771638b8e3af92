//! Read `.npy` files of any real type, order of axes and order of bytes as tables.

use std::path::Path;

use super::super::array;
use super::super::arrays::Array;
use super::super::error::DataError;
use super::super::npy::read_header;
use super::super::npy_header::Header;
use super::super::npy_number::Number;
use super::super::stream::Stream;
use super::Table;
use super::cells::{Cells, check_memory};
use super::kind::{MOST_COUNT, Stored};
use super::labels::Labels;

/// Reads a `.npy` file of floating-point numbers, integers or truth values (also one compressed with gzip).
///
/// # Errors
/// If the file cannot be read, has another format or type, is shorter or longer than its header says, or has values
/// that are not finite.
pub fn read_npy(path: &Path) -> Result<Table, DataError> {
    read(Stream::open(path)?)
}

/// Reads a `.npy` file that is in memory; `file` names it in errors.
///
/// # Errors
/// As [`read_npy`].
pub fn read_npy_bytes(file: &str, bytes: &[u8]) -> Result<Table, DataError> {
    read(Stream::of_bytes(file, bytes)?)
}

fn read(stream: Stream<'_>) -> Result<Table, DataError> {
    let file = stream.name().to_owned();
    NumberArray::read(stream)?.into_rows(&file, None)?.taken_as(None)
}

/// Numbers with their shape, the last axis running fastest.
pub(super) struct NumberArray {
    shape: Vec<usize>,
    stored: Stored,
    values: Vec<f32>,
}

impl Array for NumberArray {
    type Rows = Table;

    fn read(stream: Stream<'_>) -> Result<Self, DataError> {
        let file = stream.name().to_owned();
        let (shape, number, values) = read_values(stream, |value| value as f32)?;
        let stored = stored(number);
        if let Some(value) = values.iter().find(|&&value| stored == Stored::Bool && value > 1.0) {
            return Err(DataError::field(file, "a truth value", value, "0 or 1"));
        }
        Ok(NumberArray { shape, stored, values })
    }

    fn into_rows(self, file: &str, labels: Option<(Self, String)>) -> Result<Table, DataError> {
        let (columns, shape) = match self.shape[..] {
            [_] => (1, None),
            [_, columns] => (columns, None),
            [_, height, width] | [_, 1, height, width] | [_, height, width, 1] => {
                (height.saturating_mul(width), Some((height, width)))
            }
            _ => {
                let expected =
                    "[rows], [rows, columns], [images, height, width] or [images, 1, height, width]";
                return Err(DataError::field(file, "shape", array::show(&self.shape), expected));
            }
        };
        if self.values.is_empty() {
            let expected = "at least one row and one column";
            return Err(DataError::field(file, "shape", array::show(&self.shape), expected));
        }
        let mut table = Table::raw(Cells::dense(file, columns, self.values)?, self.stored);
        table.shape = shape;
        let Some((labels, file)) = labels else { return Ok(table) };
        let labels = labels.into_labels(&file)?;
        labels.check(&file, table.len())?;
        table.with_labels(labels)
    }
}

impl NumberArray {
    /// The values of an array of any shape, and their type.
    pub(super) fn read_flat(stream: Stream<'_>) -> Result<(Vec<f32>, Stored), DataError> {
        NumberArray::read(stream).map(|array| (array.values, array.stored))
    }

    fn into_labels(self, file: &str) -> Result<Labels, DataError> {
        if !matches!(self.shape[..], [_] | [_, 1]) {
            return Err(DataError::field(file, "shape", array::show(&self.shape), "[rows]"));
        }
        let whole = |value: &f32| value.fract() == 0.0 && value.abs() <= MOST_COUNT;
        if let Some(other) = self.values.iter().find(|value| !whole(value)) {
            return Err(DataError::field(file, "a label", other, "an integer"));
        }
        Ok(Labels::numbers(self.values.iter().map(|&value| value as i64).collect()))
    }
}

fn stored(number: Number) -> Stored {
    match (number.letter, number.size) {
        (b'b', _) => Stored::Bool,
        (b'u', 1) => Stored::Byte,
        (b'f', _) => Stored::Float,
        _ => Stored::Integer,
    }
}

/// Values that are read and converted at a time, so that a file is never in memory as a whole.
const BLOCK: u64 = 8 << 10;

/// Reads a whole `.npy` file: its shape, its type and its values, converted and with the last axis running fastest.
pub(super) fn read_values<T: Copy>(
    mut stream: Stream<'_>,
    convert: impl Fn(f64) -> T,
) -> Result<(Vec<usize>, Number, Vec<T>), DataError> {
    let header = read_header(&mut stream)?;
    let (number, count) = check(&header, &stream)?;
    check_memory(stream.name(), count, size_of::<T>() as u64)?;
    let mut values = Vec::new();
    let mut left = count;
    while left > 0 {
        let block = stream.block("the values", left.min(BLOCK) * number.size as u64)?;
        values.extend(block.chunks(number.size).map(|bytes| convert(number.value(bytes))));
        left -= left.min(BLOCK);
    }
    stream.end("the values")?;
    values.shrink_to_fit();
    let values = if header.fortran_order { in_c_order(&header.shape, &values) } else { values };
    Ok((header.shape, number, values))
}

fn check(header: &Header, stream: &Stream<'_>) -> Result<(Number, u64), DataError> {
    let file = stream.name();
    let number = Number::parse(&header.descr).ok_or_else(|| DataError::Type {
        file: file.to_owned(),
        found: format!("`{}`", header.descr),
        expected: "float16, float32, float64, an integer type or bool",
        next: "convert them, for example with x.astype('float32')".to_owned(),
    })?;
    let count = array::count(&header.shape).ok_or_else(|| {
        DataError::field(file, "shape", array::show(&header.shape), "fewer than 2^64 values")
    })?;
    stream.check("the values", count.saturating_mul(number.size as u64))?;
    Ok((number, count))
}

/// Puts values whose first axis runs fastest into the order in which the last one does.
fn in_c_order<T: Copy>(shape: &[usize], values: &[T]) -> Vec<T> {
    let strides: Vec<usize> = (0..shape.len()).map(|axis| shape[..axis].iter().product()).collect();
    let (mut index, mut at) = (vec![0; shape.len()], 0);
    let mut next = || {
        let value = values[at];
        for axis in (0..shape.len()).rev() {
            (index[axis], at) = (index[axis] + 1, at + strides[axis]);
            if index[axis] < shape[axis] {
                break;
            }
            (index[axis], at) = (0, at - strides[axis] * shape[axis]);
        }
        value
    };
    (0..values.len()).map(|_| next()).collect()
}
