//! Write `.npy` files of bytes and other numbers.

use std::io::{self, Write};
use std::path::Path;

use super::array;
use super::file;
use super::npy_header::Header;
use crate::data::error::{DataError, name};

mod sealed {
    pub trait Sealed: Copy {
        const DESCR: &'static str;
        fn put(self, out: &mut Vec<u8>);
    }
}

/// A type that `.npy` files are written with: `u8`, `u32`, `i64`, `f32` or `f64`.
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
npy_value!(u8 => "|u1", u32 => "<u4", i64 => "<i8", f32 => "<f4", f64 => "<f8");

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
