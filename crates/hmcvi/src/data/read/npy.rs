//! Read `.npy` files of any real type, order of axes and order of bytes as tables.
//!
//! The format of NumPy: a magic string, a version, a dictionary with type and shape, the values.

use std::path::Path;
use std::sync::Arc;

use hmcvi_graph::Ranks;

use super::array;
use super::file::check_memory;
use super::npy_header::{Header, MAGIC};
use super::npy_number::Number;
use super::part::{Place, Readers, Rows, with_file};
use super::stream::Stream;
use crate::data::cells::Cells;
use crate::data::error::DataError;
use crate::data::hash::hexadecimal;
use crate::data::kind::{MOST_COUNT, Stored};
use crate::data::labels::Labels;
use crate::data::table::Table;

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
    numbers: Numbers,
}

/// Numbers in as few bytes as they need.
enum Numbers {
    Bytes(Vec<u8>),
    Values(Vec<f32>),
    /// Those of rows that processes share.
    Spread(Cells),
}

impl NumberArray {
    /// Reads a file; of rows that several processes share, this one its part.
    pub(super) fn read_rows(path: &Path, readers: Readers<'_>) -> Result<Self, DataError> {
        let part = match readers {
            Some(ranks) => with_file(path, |place| NumberArray::read_part(place, ranks))?,
            None => None,
        };
        part.map_or_else(|| NumberArray::read(Stream::open(path)?), Ok)
    }

    /// Reads the own part of an array whose rows follow each other as they are; nothing of others.
    pub(super) fn read_part(place: &Place<'_>, ranks: &Arc<dyn Ranks>) -> Result<Option<Self>, DataError> {
        let mut stream = place.stream();
        let header = read_header(&mut stream).ok();
        let in_order = header.filter(|header| !header.fortran_order || header.shape.len() < 2);
        let found = in_order.and_then(|header| {
            let (number, &rows) = (Number::parse(&header.descr)?, header.shape.first()?);
            let columns = usize::try_from(array::count(&header.shape[1..])?).ok()?;
            let width = columns.checked_mul(number.size)?;
            Some((header, number, columns, Rows { start: stream.given(), count: rows, width }))
        });
        let facts = found.as_ref().map(|(header, _, _, rows)| (format!("{header:?}"), *rows));
        let cells = place.read_part(ranks, facts, |first, blocks| {
            let Some((_, number, columns, _)) = &found else { unreachable!("rows were found") };
            let (columns, file, stored) = (*columns, &place.name, stored(*number));
            if matches!(stored, Stored::Bool | Stored::Byte) {
                let bytes = blocks.all()?;
                check_truths(file, stored, &bytes)?;
                let cells = if stored == Stored::Bool { Cells::truths } else { Cells::bytes };
                return Ok(cells(columns, bytes));
            }
            let count = blocks.len() / number.size;
            check_memory(file, count as u64, size_of::<f32>() as u64)?;
            let mut values = Vec::with_capacity(count);
            blocks.each(|bytes| {
                values.extend(bytes.chunks_exact(number.size).map(|bytes| number.value(bytes) as f32));
                Ok(())
            })?;
            Cells::part(file, first, columns, values)
        })?;
        Ok(cells.zip(found).map(|(cells, (header, number, ..))| NumberArray {
            shape: header.shape,
            stored: stored(number),
            numbers: Numbers::Spread(cells),
        }))
    }

    /// Reads a `.npy` file.
    pub(super) fn read(mut stream: Stream<'_>) -> Result<Self, DataError> {
        let header = read_header(&mut stream)?;
        let (number, count) = check(&header, &stream)?;
        let stored = stored(number);
        let numbers = match stored {
            Stored::Bool | Stored::Byte => {
                let bytes = stream.block("the values", count)?;
                check_truths(stream.name(), stored, &bytes)?;
                Numbers::Bytes(in_c_order(&header, bytes))
            }
            _ => Numbers::Values(values(&mut stream, &header, |value| value as f32)?),
        };
        stream.end("the values")?;
        Ok(NumberArray { shape: header.shape, stored, numbers })
    }

    /// Joins rows and their labels; each comes with the name of its file.
    pub(super) fn into_rows(self, file: &str, labels: Option<(Self, String)>) -> Result<Table, DataError> {
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
        if self.shape.contains(&0) {
            let expected = "at least one row and one column";
            return Err(DataError::field(file, "shape", array::show(&self.shape), expected));
        }
        let cells = match self.numbers {
            Numbers::Bytes(bytes) if self.stored == Stored::Bool => Cells::truths(columns, bytes),
            Numbers::Bytes(bytes) => Cells::bytes(columns, bytes),
            Numbers::Values(values) => Cells::dense(file, columns, values)?,
            Numbers::Spread(cells) => cells,
        };
        let table = Table { shape, ..Table::raw(cells, self.stored) };
        let Some((labels, file)) = labels else { return Ok(table) };
        table.labelled(&file, Some(labels.into_labels(&file)?))
    }

    /// The values of an array of any shape, and their type.
    pub(super) fn read_flat(stream: Stream<'_>) -> Result<(Vec<f32>, Stored), DataError> {
        let array = NumberArray::read(stream)?;
        let values = match array.numbers {
            Numbers::Bytes(bytes) => bytes.into_iter().map(f32::from).collect(),
            Numbers::Values(values) => values,
            Numbers::Spread(_) => unreachable!("it was read as a whole"),
        };
        Ok((values, array.stored))
    }

    fn into_labels(self, file: &str) -> Result<Labels, DataError> {
        if !matches!(self.shape[..], [_] | [_, 1]) {
            return Err(DataError::field(file, "shape", array::show(&self.shape), "[rows]"));
        }
        let values = match self.numbers {
            Numbers::Bytes(bytes) => return Ok(bytes.into()),
            Numbers::Values(values) => values,
            Numbers::Spread(_) => unreachable!("labels are read as a whole"),
        };
        let whole = |value: &f32| value.fract() == 0.0 && value.abs() <= MOST_COUNT;
        if let Some(other) = values.iter().find(|value| !whole(value)) {
            return Err(DataError::field(file, "a label", other, "an integer"));
        }
        Ok(Labels::numbers(values.iter().map(|&value| value as i64).collect()))
    }
}

fn check_truths(file: &str, stored: Stored, bytes: &[u8]) -> Result<(), DataError> {
    match bytes.iter().find(|&&value| stored == Stored::Bool && value > 1) {
        Some(value) => Err(DataError::field(file, "a truth value", value, "0 or 1")),
        None => Ok(()),
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

/// Reads a whole `.npy` file: its values, converted and with the last axis running fastest.
pub(super) fn read_values<T: Copy>(
    mut stream: Stream<'_>,
    convert: impl Fn(f64) -> T,
) -> Result<Vec<T>, DataError> {
    let header = read_header(&mut stream)?;
    let values = values(&mut stream, &header, convert)?;
    stream.end("the values")?;
    Ok(values)
}

fn values<T: Copy>(
    stream: &mut Stream<'_>,
    header: &Header,
    convert: impl Fn(f64) -> T,
) -> Result<Vec<T>, DataError> {
    let (number, count) = check(header, stream)?;
    check_memory(stream.name(), count, size_of::<T>() as u64)?;
    let mut values = Vec::new();
    let mut left = count;
    while left > 0 {
        let block = stream.block("the values", left.min(BLOCK) * number.size as u64)?;
        values.extend(block.chunks(number.size).map(|bytes| convert(number.value(bytes))));
        left -= left.min(BLOCK);
    }
    values.shrink_to_fit();
    Ok(in_c_order(header, values))
}

/// Reads everything before the values.
pub(super) fn read_header(stream: &mut Stream<'_>) -> Result<Header, DataError> {
    let magic = stream.array::<6>("the magic number")?;
    if &magic != MAGIC {
        let found = hexadecimal(&magic, " ");
        let expected = "93 4e 55 4d 50 59 (a .npy file)";
        return Err(DataError::Magic { file: stream.name().to_owned(), found, expected });
    }
    let [major, minor] = stream.array("the version")?;
    let length = match major {
        1 => u64::from(u16::from_le_bytes(stream.array("the header")?)),
        2 | 3 => u64::from(u32::from_le_bytes(stream.array("the header")?)),
        _ => {
            let found = format!("{major}.{minor}");
            return Err(DataError::field(stream.name(), "version", found, "1.0, 2.0 or 3.0"));
        }
    };
    let text = stream.block("the header", length)?;
    Header::parse(stream.name(), &text)
}

fn check(header: &Header, stream: &Stream<'_>) -> Result<(Number, u64), DataError> {
    let file = stream.name();
    let number = Number::parse(&header.descr).ok_or_else(|| DataError::Type {
        file: file.to_owned(),
        found: format!("`{}`", header.descr),
        expected: "float16, float32, float64, an integer type or bool",
        next: "only real numbers can be read".to_owned(),
    })?;
    let count = array::count(&header.shape).ok_or_else(|| {
        DataError::field(file, "shape", array::show(&header.shape), "fewer than 2^64 values")
    })?;
    stream.check("the values", count.saturating_mul(number.size as u64))?;
    Ok((number, count))
}

/// Puts values whose first axis runs fastest into the order in which the last one does.
fn in_c_order<T: Copy>(header: &Header, values: Vec<T>) -> Vec<T> {
    let shape = &header.shape;
    if !header.fortran_order || shape.len() < 2 {
        return values;
    }
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
