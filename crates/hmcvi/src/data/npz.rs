//! Read the arrays of an `.npz` file, NumPy's archive of `.npy` files, by their names.

use std::fs::File;
use std::io::{BufReader, Read, Seek};
use std::marker::PhantomData;
use std::path::Path;

use zip::ZipArchive;
use zip::result::ZipError;

use super::arrays::{Array, Arrays};
use super::error::{DataError, name};
use super::file;
use super::stream::{Stream, most_decompressed};

/// An open `.npz` file.
pub(crate) struct Npz<R> {
    file: String,
    archive: ZipArchive<R>,
    length: u64,
}

impl Npz<BufReader<File>> {
    pub(crate) fn open(path: &Path) -> Result<Self, DataError> {
        let (file, length) = file::open(path)?;
        Npz::new(name(path), BufReader::new(file), length)
    }
}

impl<R: Read + Seek> Npz<R> {
    /// Reads the list of entries. Entries are never written to disk; an archive with a name that could lead
    /// out of a folder is refused all the same, because no honest program makes one.
    fn new(file: String, reader: R, length: u64) -> Result<Self, DataError> {
        let archive = ZipArchive::new(reader).map_err(|error| failed(&file, error))?;
        for index in 0..archive.len() {
            match archive.name_for_index(index) {
                Some(Ok(entry)) if is_safe_entry(&entry) => {}
                Some(Ok(entry)) => {
                    return Err(DataError::UnsafeName { file, entry: entry.escape_debug().to_string() });
                }
                Some(Err(error)) => return Err(failed(&file, error)),
                None => {}
            }
        }
        Ok(Npz { file, archive, length })
    }

    /// The names of all arrays; of other entries, their own.
    pub(crate) fn names(&self) -> Vec<String> {
        let entries = self.archive.file_names().flatten().filter(|entry| !entry.ends_with('/'));
        entries.map(|entry| entry.strip_suffix(".npy").unwrap_or(&entry).to_owned()).collect()
    }

    /// The bytes of the array called `array`, if there is one.
    pub(crate) fn stream(&mut self, array: &str) -> Result<Option<Stream<'_>>, DataError> {
        let name = format!("{}[{array}]", self.file);
        let entry = match self.archive.by_name(&format!("{array}.npy")) {
            Ok(entry) => entry,
            Err(ZipError::FileNotFound) => return Ok(None),
            Err(error) => return Err(failed(&name, error)),
        };
        // The sizes that the archive declares are claims; its own length is not.
        let most = entry.size().min(most_decompressed(self.length));
        Ok(Some(Stream::of_reader(name, entry, most, true)))
    }
}

/// The arrays of an archive, each read as an `A`.
pub(crate) struct NpzArrays<A> {
    pub(crate) npz: Npz<BufReader<File>>,
    kind: PhantomData<A>,
}

impl<A> NpzArrays<A> {
    pub(crate) fn open(path: &Path) -> Result<Self, DataError> {
        Ok(NpzArrays { npz: Npz::open(path)?, kind: PhantomData })
    }
}

impl<A: Array> Arrays for NpzArrays<A> {
    type Array = A;

    fn place(&self) -> &str {
        &self.npz.file
    }

    fn file(&self, array: &str) -> String {
        format!("{}[{array}]", self.npz.file)
    }

    fn names(&self) -> Result<Vec<String>, DataError> {
        Ok(self.npz.names())
    }

    fn find(&mut self, array: &str) -> Result<Option<A>, DataError> {
        self.npz.stream(array)?.map(A::read).transpose()
    }
}

/// Whether the name of an entry is a relative path that stays where it is put, on every system.
pub fn is_safe_entry(entry: &str) -> bool {
    let drive = entry.as_bytes().get(1) == Some(&b':');
    let mut parts = entry.trim_end_matches('/').split('/');
    !drive && !entry.contains(['\\', '\0']) && parts.all(|part| !part.is_empty() && part != "..")
}

fn failed(file: &str, error: ZipError) -> DataError {
    DataError::io(file, "read the archive", error.into())
}
