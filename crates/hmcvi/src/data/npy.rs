//! Read `.npy` files of bytes, and write those of bytes and other numbers.
//!
//! The format of NumPy: a magic string, a version, a dictionary with type and shape, the values.

use std::io::{self, Write};
use std::path::Path;

use super::array::{self, ByteArray};
use super::error::{DataError, name};
use super::file;
use super::hash::hexadecimal;
use super::npy_header::Header;
use super::npy_other;
use super::stream::Stream;

/// The first bytes of every `.npy` file.
pub(crate) const MAGIC: &[u8; 6] = b"\x93NUMPY";

/// Reads a `.npy` file of type `uint8` or `bool` in C order (also one compressed with gzip).
///
/// # Errors
/// If the file cannot be read, has another format, type or order, or is shorter or longer than its header says.
pub fn read_npy(path: &Path) -> Result<ByteArray, DataError> {
    read(Stream::open(path)?)
}

/// Reads a `.npy` file that is in memory; `file` names it in errors.
///
/// # Errors
/// As [`read_npy`].
pub fn read_npy_bytes(file: &str, bytes: &[u8]) -> Result<ByteArray, DataError> {
    read(Stream::of_bytes(file, bytes)?)
}

pub(crate) fn read(mut stream: Stream<'_>) -> Result<ByteArray, DataError> {
    let header = read_header(&mut stream)?;
    let boolean = check(&header, &mut stream)?;
    let count = array::count(&header.shape).ok_or_else(|| {
        DataError::field(stream.name(), "shape", array::show(&header.shape), "fewer than 2^64 values")
    })?;
    let bytes = stream.block("the values", count)?;
    let file = stream.name().to_owned();
    stream.end("the values")?;
    if !boolean {
        return ByteArray::new(header.shape, bytes);
    }
    if let Some(value) = bytes.iter().find(|&&value| value > 1) {
        return Err(DataError::field(file, "a truth value", value, "0 or 1"));
    }
    Ok(ByteArray::new(header.shape, bytes)?.boolean())
}

/// Reads everything before the values.
pub(crate) fn read_header(stream: &mut Stream<'_>) -> Result<Header, DataError> {
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

/// Returns whether the values are truth values.
fn check(header: &Header, stream: &mut Stream<'_>) -> Result<bool, DataError> {
    let boolean = match header.descr.as_str() {
        "|u1" | "u1" | "<u1" | ">u1" => false,
        "|b1" | "b1" | "?" => true,
        _ => return Err(npy_other::refuse(header, stream)),
    };
    if header.fortran_order && header.shape.len() > 1 {
        return Err(DataError::Type {
            file: stream.name().to_owned(),
            found: format!("`{}` in Fortran order", header.descr),
            expected: "C order",
            next: "save with numpy.save(file, numpy.ascontiguousarray(x))".to_owned(),
        });
    }
    Ok(boolean)
}

mod sealed {
    pub trait Sealed: Copy {
        const DESCR: &'static str;
        fn put(self, out: &mut Vec<u8>);
    }
}

/// A type that `.npy` files are written with: `u8`, `u32`, `f32` or `f64`.
pub trait NpyValue: sealed::Sealed {}

macro_rules! npy_value {
    ($($type:ty => $descr:literal),*) => {$(
        impl sealed::Sealed for $type {
            const DESCR: &'static str = $descr;
            fn put(self, out: &mut Vec<u8>) {
                out.extend(self.to_le_bytes());
            }
        }
        impl NpyValue for $type {}
    )*};
}
npy_value!(u8 => "|u1", u32 => "<u4", f32 => "<f4", f64 => "<f8");

/// Writes a `.npy` file (version 1.0, C order, little-endian).
///
/// # Errors
/// If the number of values is not the product of the shape, or the file cannot be written.
pub fn write_npy<T: NpyValue>(path: &Path, shape: &[usize], values: &[T]) -> Result<(), DataError> {
    let header = header::<T>(&name(path), shape, values.len())?;
    file::write(path, |file| put(file, &header, values))
}

/// Writes the bytes of a `.npy` file to any writer.
///
/// # Errors
/// As [`write_npy`].
pub fn write_npy_to<T: NpyValue>(
    writer: &mut dyn Write,
    shape: &[usize],
    values: &[T],
) -> Result<(), DataError> {
    let file = ".npy output";
    let header = header::<T>(file, shape, values.len())?;
    put(writer, &header, values).map_err(|source| DataError::io(file, "write", source))
}

fn header<T: NpyValue>(file: &str, shape: &[usize], values: usize) -> Result<Vec<u8>, DataError> {
    if array::count(shape) != Some(values as u64) {
        let expected = format!("the product of the shape {}", array::show(shape));
        return Err(DataError::field(file, "number of values", values, expected));
    }
    Header { descr: T::DESCR.to_owned(), fortran_order: false, shape: shape.to_vec() }.print(file)
}

fn put<T: NpyValue>(writer: &mut dyn Write, header: &[u8], values: &[T]) -> io::Result<()> {
    writer.write_all(header)?;
    let mut block = Vec::new();
    for values in values.chunks(8 << 10) {
        block.clear();
        values.iter().for_each(|value| value.put(&mut block));
        writer.write_all(&block)?;
    }
    writer.flush()
}
