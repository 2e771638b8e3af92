//! Write `.npz` archives: `.npy` arrays by name, as they are, without compression.

use std::io::Write;

use rawzip::{Error, ZipArchiveWriter};

use super::npy_write::{NpyValue, write_npy_to};
use crate::data::error::DataError;

/// The name that errors have for it.
const FILE: &str = ".npz output";

/// Collects arrays for an archive.
#[derive(Debug, Default)]
pub struct NpzWriter {
    arrays: Vec<(String, Vec<u8>)>,
}

impl NpzWriter {
    /// Nothing yet.
    pub fn new() -> Self {
        NpzWriter::default()
    }

    /// Adds an array.
    ///
    /// # Errors
    /// If the number of values is not the product of the shape.
    pub fn array<T: NpyValue>(&mut self, name: &str, shape: &[usize], values: &[T]) -> Result<(), DataError> {
        let mut bytes = Vec::new();
        write_npy_to(&mut bytes, shape, values)?;
        self.arrays.push((format!("{name}.npy"), bytes));
        Ok(())
    }

    /// The archive.
    ///
    /// # Errors
    /// If it has more or longer names than an archive can have.
    pub fn finish(self) -> Result<Vec<u8>, DataError> {
        self.archive().map_err(|e| DataError::io(FILE, "write", std::io::Error::other(e)))
    }

    fn archive(self) -> Result<Vec<u8>, Error> {
        let mut archive = ZipArchiveWriter::new(Vec::new());
        for (name, bytes) in &self.arrays {
            let (mut entry, config) = archive.new_file(name.as_str()).start()?;
            let mut writer = config.wrap(&mut entry);
            writer.write_all(bytes)?;
            let (_, output) = writer.finish()?;
            entry.finish(output)?;
        }
        archive.finish()
    }
}

#[cfg(test)]
mod tests {
    use super::super::npy::NumberArray;
    use super::super::npz::Npz;
    use super::*;

    #[test]
    fn what_is_written_is_read_again() {
        let mut writer = NpzWriter::new();
        writer.array("mu", &[1, 2], &[0.5, -1.5]).expect("two values");
        writer.array("theta", &[1, 2, 3], &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]).expect("six values");
        writer.array("wrong", &[2], &[1.0]).expect_err("two values are not one");
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("draws.npz");
        std::fs::write(&file, writer.finish().expect("an archive")).expect("written");
        let archive = Npz::open(&file).expect("an archive");
        assert_eq!(archive.names(), ["mu", "theta"]);
        let stream = archive.stream("theta").expect("whole").expect("there");
        let (theta, _) = NumberArray::read_flat(stream).expect("numbers");
        assert_eq!(theta, [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
    }
}
