//! Read and write IDX files, the format that MNIST is distributed in.
//!
//! Two zero bytes, a byte for the type of the values, a byte for the number of axes, the length of each
//! axis as a big-endian `u32`, then the values in row-major order.

use std::io::Write;
use std::path::Path;
use std::sync::Arc;

use flate2::Compression;
use flate2::write::GzEncoder;
use hmcvi_graph::Ranks;

use super::array::{self, ByteArray};
use super::file;
use super::part::{Place, Readers, Rows, with_file};
use super::stream::Stream;
use crate::data::cells::Cells;
use crate::data::error::{DataError, name};
use crate::data::hash::{Hasher, hexadecimal};
use crate::data::labels::Labels;
use crate::data::table::Table;

/// The code of unsigned bytes.
const UNSIGNED_BYTE: u8 = 0x08;

/// How [`write_idx`] stores a file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Storage {
    /// As it is.
    #[default]
    Plain,
    /// Compressed with gzip.
    Gzip,
}

/// Reads an IDX file of unsigned bytes with one to three axes, compressed with gzip or not.
///
/// # Errors
/// If the file cannot be read, has another format or type, or is shorter or longer than its header says.
pub fn read_idx(path: &Path) -> Result<ByteArray, DataError> {
    read(Stream::open(path)?)
}

/// Reads an IDX file that is in memory, compressed with gzip or not; `file` names it in errors.
///
/// # Errors
/// As [`read_idx`].
pub fn read_idx_bytes(file: &str, bytes: &[u8]) -> Result<ByteArray, DataError> {
    read(Stream::of_bytes(file, bytes)?)
}

fn read(mut stream: Stream<'_>) -> Result<ByteArray, DataError> {
    let shape = read_shape(&mut stream)?;
    let count = array::count(&shape).ok_or_else(|| {
        DataError::field(stream.name(), "shape", array::show(&shape), "fewer than 2^64 values")
    })?;
    let bytes = stream.block("the values", count)?;
    stream.end("the values")?;
    ByteArray::new(shape, bytes)
}

/// Reads images; of those that several processes share, this one its part.
pub(super) fn read_images(
    path: &Path,
    labels: Option<Labels>,
    readers: Readers<'_>,
) -> Result<Table, DataError> {
    let part = match readers {
        Some(ranks) => with_file(path, |place| read_part(place, ranks))?,
        None => None,
    };
    let Some((shape, cells)) = part else { return read_idx(path)?.into_images(&name(path), labels) };
    match shape[..] {
        [_, height, width] => Table::of_pixels(&name(path), (height, width), cells, labels),
        _ => Ok(Table::of_pixels(&name(path), (1, cells.columns), cells, labels)?.flat()),
    }
}

/// Reads the own part of images that are not compressed.
fn read_part(place: &Place<'_>, ranks: &Arc<dyn Ranks>) -> Result<Option<(Vec<usize>, Cells)>, DataError> {
    let mut stream = place.stream();
    let shape = read_shape(&mut stream).ok().filter(|shape| shape.len() > 1);
    let width = |shape: &[usize]| usize::try_from(array::count(&shape[1..])?).ok();
    let found = shape.as_ref().and_then(|shape| {
        let rows = Rows { start: stream.given(), count: shape[0], width: width(shape)? };
        Some((format!("{shape:?}"), rows))
    });
    let columns = found.as_ref().map_or(0, |(_, rows)| rows.width);
    let cells = place.read_part(ranks, found, |_, blocks| Ok(Cells::bytes(columns, blocks.all()?)))?;
    Ok(shape.zip(cells))
}

/// Reads everything before the values.
fn read_shape(stream: &mut Stream<'_>) -> Result<Vec<usize>, DataError> {
    let magic = stream.array::<4>("the magic number")?;
    let axes = check_magic(stream.name(), magic)?;
    let mut shape = Vec::with_capacity(axes);
    for _ in 0..axes {
        let length = u32::from_be_bytes(stream.array("the header")?);
        // No loss on any platform that this library builds for: they have at least 32 bits.
        shape.push(length as usize);
    }
    Ok(shape)
}

/// Returns the number of axes.
fn check_magic(file: &str, magic: [u8; 4]) -> Result<usize, DataError> {
    let [0, 0, kind, axes] = magic else {
        let found = hexadecimal(&magic, " ");
        let expected = "00 00 08 and the number of axes (an IDX file of unsigned bytes)";
        return Err(DataError::Magic { file: file.to_owned(), found, expected });
    };
    if kind != UNSIGNED_BYTE {
        return Err(DataError::Type {
            file: file.to_owned(),
            found: kind_name(kind),
            expected: "unsigned bytes (0x08)",
            next: "scale the values to 0..255 and write them as unsigned bytes".to_owned(),
        });
    }
    if !(1..=3).contains(&axes) {
        return Err(DataError::field(file, "number of axes", axes, "1, 2 or 3"));
    }
    Ok(usize::from(axes))
}

fn kind_name(kind: u8) -> String {
    let name = match kind {
        0x09 => "signed byte",
        0x0B => "16-bit integer",
        0x0C => "32-bit integer",
        0x0D => "32-bit float",
        0x0E => "64-bit float",
        _ => "unknown",
    };
    format!("{name} (0x{kind:02x})")
}

/// Writes an IDX file of unsigned bytes.
///
/// # Errors
/// If the array has no axis or more than three, an axis is longer than a `u32` can say, or the file cannot
/// be written.
pub fn write_idx(path: &Path, array: &ByteArray, storage: Storage) -> Result<(), DataError> {
    let header = header(&name(path), array.shape())?;
    file::write(path, |file| match storage {
        Storage::Plain => file.write_all(&header).and_then(|()| file.write_all(array.bytes())),
        Storage::Gzip => {
            let mut encoder = GzEncoder::new(file, Compression::best());
            encoder.write_all(&header)?;
            encoder.write_all(array.bytes())?;
            encoder.finish().map(drop)
        }
    })
}

/// The hash of the IDX file (not compressed) that holds these bytes.
pub(crate) fn sha256_of(shape: &[usize], bytes: &[u8]) -> Result<String, DataError> {
    sha256_with(shape, |hasher| hasher.update(bytes))
}

/// The same with bytes that come in pieces.
pub(super) fn sha256_with(shape: &[usize], feed: impl FnOnce(&mut Hasher)) -> Result<String, DataError> {
    let mut hasher = Hasher::default();
    hasher.update(&header("IDX file", shape)?);
    feed(&mut hasher);
    Ok(hasher.finish())
}

fn header(file: &str, shape: &[usize]) -> Result<Vec<u8>, DataError> {
    let axes = match u8::try_from(shape.len()) {
        Ok(axes @ 1..=3) => axes,
        _ => return Err(DataError::field(file, "number of axes", shape.len(), "1, 2 or 3")),
    };
    let mut header = vec![0, 0, UNSIGNED_BYTE, axes];
    for &length in shape {
        let length = u32::try_from(length)
            .map_err(|_| DataError::field(file, "length of an axis", length, "less than 2^32"))?;
        header.extend(length.to_be_bytes());
    }
    Ok(header)
}
