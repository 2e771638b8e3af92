//! Read the arrays of an `.npz` file, NumPy's archive of `.npy` files, by their names.

use std::io::{self, BufReader, Read};
use std::path::Path;

use flate2::bufread::DeflateDecoder;
use rawzip::{
    CompressionMethod, ErrorKind, FileReader, MAX_CENTRAL_DIRECTORY_RECORD_SIZE, ZipArchive,
    ZipArchiveEntryWayfinder, ZipFileHeaderRecord,
};

use super::arrays::{self, Arrays, Read as ReadArrays};
use super::csr;
use super::file;
use super::npy::NumberArray;
use super::part::{Place, Readers};
use super::stream::{Stream, most_decompressed};
use crate::data::error::{DataError, name};
use crate::data::splitting::Splitting;

/// An open `.npz` file.
pub(super) struct Npz {
    file: String,
    archive: ZipArchive<FileReader>,
    entries: Vec<Entry>,
    length: u64,
}

/// What the directory of an archive says of one of its files.
struct Entry {
    name: String,
    place: ZipArchiveEntryWayfinder,
    method: CompressionMethod,
    encrypted: bool,
}

impl Entry {
    fn new(record: &ZipFileHeaderRecord<'_>) -> Self {
        Entry {
            // Arrays with other letters than those of UTF-8 are none that anyone asks for.
            name: String::from_utf8_lossy(record.file_path().as_bytes()).into_owned(),
            place: record.wayfinder(),
            method: record.compression_method(),
            encrypted: record.flags().is_encrypted(),
        }
    }
}

impl Npz {
    /// Reads the list of entries. Entries are never written to disk; an archive with a name that could lead
    /// out of a folder is refused all the same, because no honest program makes one.
    pub(super) fn open(path: &Path) -> Result<Self, DataError> {
        let (opened, length) = file::open(path)?;
        let file = name(path);
        let mut buffer = vec![0; MAX_CENTRAL_DIRECTORY_RECORD_SIZE];
        let archive = ZipArchive::from_file(opened, &mut buffer).map_err(|error| failed(&file, error))?;
        let (mut entries, mut records) = (Vec::new(), archive.entries(&mut buffer));
        while let Some(record) = records.next_entry().map_err(|error| failed(&file, error))? {
            let entry = Entry::new(&record);
            if !is_safe_entry(&entry.name) {
                return Err(DataError::UnsafeName { file, entry: entry.name.escape_debug().to_string() });
            }
            entries.push(entry);
        }
        if entries.len() as u64 != archive.entries_hint() {
            let expected = format!("{}, as its end says; get the whole file again", archive.entries_hint());
            return Err(DataError::field(file, "number of entries", entries.len(), expected));
        }
        Ok(Npz { file, archive, entries, length })
    }

    /// The names of all arrays; of other entries, their own.
    pub(super) fn names(&self) -> Vec<String> {
        let entries = self.entries.iter().map(|entry| &entry.name).filter(|name| !name.ends_with('/'));
        entries.map(|name| name.strip_suffix(".npy").unwrap_or(name).to_owned()).collect()
    }

    /// How messages write the array called `array`.
    fn file_of(&self, array: &str) -> String {
        format!("{}[{array}]", self.file)
    }

    /// The entry of the array called `array`, if there is one. Of several, NumPy takes the last.
    fn entry(&self, array: &str) -> Option<&Entry> {
        self.entries.iter().rfind(|entry| entry.name.strip_suffix(".npy") == Some(array))
    }

    /// Where the array called `array` is, if it is neither compressed nor encrypted.
    fn stored(&self, array: &str) -> Result<Option<Place<'_>>, DataError> {
        let plain = |entry: &&Entry| matches!(entry.method, CompressionMethod::STORE) && !entry.encrypted;
        let Some(entry) = self.entry(array).filter(plain) else { return Ok(None) };
        let name = self.file_of(array);
        let stored = self.archive.get_entry(entry.place).map_err(|error| failed(&name, error))?;
        let (start, end) = stored.compressed_data_range();
        Ok(Some(Place { name, file: self.archive.get_ref(), bytes: start..end }))
    }

    /// The bytes of the array called `array`, if there is one.
    pub(super) fn stream(&self, array: &str) -> Result<Option<Stream<'_>>, DataError> {
        let Some(entry) = self.entry(array) else { return Ok(None) };
        let name = self.file_of(array);
        let stored = self.archive.get_entry(entry.place).map_err(|error| failed(&name, error))?;
        let bytes = BufReader::with_capacity(64 << 10, stored.reader());
        let plain: Box<dyn Read> = match entry.method {
            _ if entry.encrypted => return Err(unreadable(name, "encryption")),
            CompressionMethod::STORE => Box::new(bytes),
            CompressionMethod::DEFLATE => Box::new(DeflateDecoder::new(bytes)),
            other => return Err(unreadable(name, &format!("method {other}"))),
        };
        // The sizes that the archive declares are claims; its own length is not.
        let most = entry.place.uncompressed_size_hint().min(most_decompressed(self.length));
        Ok(Some(Stream::of_reader(name, stored.verifying_reader(plain), most, true)))
    }
}

fn unreadable(name: String, found: &str) -> DataError {
    let expected = "none or DEFLATE, as numpy.savez and numpy.savez_compressed write";
    DataError::field(name, "compression", found, expected)
}

/// Reads an archive of named arrays, or of one sparse matrix.
pub(crate) fn read_npz(
    path: &Path,
    splitting: Splitting,
    readers: Readers<'_>,
) -> Result<ReadArrays, DataError> {
    let npz = Npz::open(path)?;
    if csr::is_sparse(&npz) {
        let parts = (csr::read(&name(path), &npz)?, None, None);
        return Ok(ReadArrays { parts, splitting, remark: None });
    }
    arrays::read(splitting, &mut NpzArrays { npz, readers })
}

/// The arrays of an archive.
struct NpzArrays<'a> {
    npz: Npz,
    readers: Readers<'a>,
}

impl Arrays for NpzArrays<'_> {
    fn place(&self) -> &str {
        &self.npz.file
    }

    fn file(&self, array: &str) -> String {
        self.npz.file_of(array)
    }

    fn names(&self) -> Result<Vec<String>, DataError> {
        Ok(self.npz.names())
    }

    fn find(&mut self, array: &str) -> Result<Option<NumberArray>, DataError> {
        self.npz.stream(array)?.map(NumberArray::read).transpose()
    }

    fn find_rows(&mut self, array: &str) -> Result<Option<NumberArray>, DataError> {
        let part = match self.readers {
            // Where the whole is not read, there is nothing to compare its checksum with.
            Some(ranks) => match self.npz.stored(array)? {
                Some(place) => NumberArray::read_part(&place, ranks)?,
                None => None,
            },
            None => None,
        };
        part.map_or_else(|| self.find(array), |part| Ok(Some(part)))
    }
}

/// Whether the name of an entry is a relative path that stays where it is put, on every system.
pub fn is_safe_entry(entry: &str) -> bool {
    let drive = entry.as_bytes().get(1) == Some(&b':');
    let mut parts = entry.trim_end_matches('/').split('/');
    !drive && !entry.contains(['\\', '\0']) && parts.all(|part| !part.is_empty() && part != "..")
}

fn failed(file: &str, error: rawzip::Error) -> DataError {
    let source = match error.into_kind() {
        ErrorKind::IO(source) => source,
        ErrorKind::MissingEndOfCentralDirectory => io::Error::new(
            io::ErrorKind::InvalidData,
            "it does not end with the list of a zip archive; get the whole file again, or write it with numpy.savez",
        ),
        other => io::Error::new(io::ErrorKind::InvalidData, other.to_string()),
    };
    DataError::io(file, "read the archive", source)
}
