//! Read the decompressed bytes of a file, however it is stored, and never more than it can hold.

use std::io::{self, BufReader, Read};
use std::path::Path;

use flate2::read::MultiGzDecoder;

use super::file::{self, MOST_BYTES};
use crate::data::error::{DataError, name};
use crate::data::hash::Hasher;

/// Deflate stores at most 258 bytes in two bits, so a stream grows at most 1032 times.
const MOST_GROWTH: u64 = 1032;

/// The first bytes of every gzip file.
const GZIP: [u8; 2] = [0x1f, 0x8b];

/// A source of bytes that knows its name and how much can come at most.
pub(crate) struct Stream<'a> {
    name: String,
    reader: Box<dyn Read + 'a>,
    /// Most bytes that can still come.
    most: u64,
    /// Bytes given so far.
    given: u64,
    compressed: bool,
}

impl<'a> Stream<'a> {
    /// Opens a file, compressed with gzip or not; its first bytes decide, not its name.
    pub(crate) fn open(path: &Path) -> Result<Stream<'static>, DataError> {
        let (file, length) = file::open(path)?;
        Stream::detect(name(path), BufReader::with_capacity(64 << 10, file), length)
    }

    /// Reads bytes in memory in the same way.
    pub(crate) fn of_bytes(name: &str, bytes: &'a [u8]) -> Result<Stream<'a>, DataError> {
        Stream::detect(name.to_owned(), bytes, bytes.len() as u64)
    }

    /// Reads what a reader gives as it is: `most` bytes or fewer.
    pub(crate) fn of_reader(name: String, reader: impl Read + 'a, most: u64, compressed: bool) -> Stream<'a> {
        Stream { name, reader: Box::new(reader), most: most.min(MOST_BYTES), given: 0, compressed }
    }

    fn detect(name: String, mut reader: impl Read + 'a, length: u64) -> Result<Stream<'a>, DataError> {
        let mut start = Vec::with_capacity(GZIP.len());
        let failed = |source| DataError::io(name.clone(), "read", source);
        reader.by_ref().take(GZIP.len() as u64).read_to_end(&mut start).map_err(failed)?;
        let compressed = start == GZIP;
        let whole = io::Cursor::new(start).chain(reader);
        Ok(if compressed {
            Stream::of_reader(name, MultiGzDecoder::new(whole), most_decompressed(length), true)
        } else {
            Stream::of_reader(name, whole.take(length), length, false)
        })
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// Reads the next `N` bytes.
    pub(crate) fn array<const N: usize>(&mut self, field: &'static str) -> Result<[u8; N], DataError> {
        let bytes = self.block(field, N as u64)?;
        let mut array = [0; N];
        array.copy_from_slice(&bytes);
        Ok(array)
    }

    /// Reads the next `length` bytes, after a check that there can be so many.
    pub(crate) fn block(&mut self, field: &'static str, length: u64) -> Result<Vec<u8>, DataError> {
        self.check(field, length)?;
        // The length of a plain file is known, that of a compressed one is only claimed.
        let reserve = if self.compressed { 0 } else { usize::try_from(length).unwrap_or(0) };
        let mut bytes = Vec::with_capacity(reserve);
        let result = self.reader.by_ref().take(length).read_to_end(&mut bytes);
        let found = bytes.len() as u64;
        (self.most, self.given) = (self.most - found, self.given + found);
        match result {
            Ok(_) if found == length => {}
            Err(error) if error.kind() != io::ErrorKind::UnexpectedEof => return Err(self.failed(error)),
            _ => return Err(self.truncated(field, found, length)),
        }
        bytes.shrink_to_fit();
        Ok(bytes)
    }

    /// Checks that `length` more bytes can come.
    pub(crate) fn check(&self, field: &'static str, length: u64) -> Result<(), DataError> {
        if length > self.most { Err(self.too_much(field, length)) } else { Ok(()) }
    }

    /// Most bytes that can still come.
    pub(crate) fn most(&self) -> u64 {
        self.most
    }

    /// Bytes that came so far.
    pub(crate) fn given(&self) -> u64 {
        self.given
    }

    /// Fills `buffer` with what comes next and returns how much that was: less than its length only at the end.
    pub(crate) fn fill(&mut self, buffer: &mut [u8]) -> Result<usize, DataError> {
        let mut count = 0;
        while count < buffer.len() {
            match self.reader.read(&mut buffer[count..]) {
                Ok(0) => break,
                Ok(more) => count += more,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(self.failed(error)),
            }
        }
        let (limit, found) = (self.given + self.most, self.given + count as u64);
        if found > limit {
            let (field, why) = ("the content", "the limit of this library for one file");
            return Err(DataError::TooLarge { file: self.name.clone(), field, found, limit, why });
        }
        (self.most, self.given) = (limit - found, found);
        Ok(count)
    }

    /// Checks that nothing follows; for compressed files this also checks their checksum.
    pub(crate) fn end(mut self, field: &'static str) -> Result<(), DataError> {
        let mut more = Vec::new();
        match self.reader.by_ref().take(1).read_to_end(&mut more) {
            Ok(0) => Ok(()),
            Ok(_) => Err(DataError::Trailing { file: self.name, field, expected: self.given }),
            Err(error) => Err(self.failed(error)),
        }
    }

    /// Returns the hash of all that comes, and its length. Stops one byte after `limit`.
    pub(crate) fn hash(mut self, limit: u64) -> Result<(String, u64), DataError> {
        let mut hasher = Hasher::default();
        let result = hasher.read(self.reader.by_ref().take(limit.saturating_add(1)));
        let length = result.map_err(|error| self.failed(error))?;
        Ok((hasher.finish(), length))
    }

    fn too_much(&self, field: &'static str, length: u64) -> DataError {
        if length <= MOST_BYTES && !self.compressed {
            return self.truncated(field, self.most, length);
        }
        let why = if length > MOST_BYTES {
            "the limit of this library for one array"
        } else {
            "more than a file stored in this length can hold"
        };
        let limit = self.most.min(MOST_BYTES);
        DataError::TooLarge { file: self.name.clone(), field, found: length, limit, why }
    }

    fn truncated(&self, field: &'static str, found: u64, expected: u64) -> DataError {
        DataError::Truncated { file: self.name.clone(), field, found, expected }
    }

    fn failed(&self, source: io::Error) -> DataError {
        let action = if self.compressed { "decompress" } else { "read" };
        DataError::io(self.name.clone(), action, source)
    }
}

/// Most bytes that a deflate stream of `length` bytes can hold.
pub(crate) fn most_decompressed(length: u64) -> u64 {
    length.saturating_mul(MOST_GROWTH).min(MOST_BYTES)
}
