//! Say what is wrong with a data file: where, what was found, what was expected, what to do.

use std::io;
use std::path::Path;

/// A data set that cannot be read or written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DataError {
    /// The operating system or a decompressor refused.
    #[error("{file}: cannot {action}: {source}")]
    Io {
        /// The file or folder.
        file: String,
        /// What was tried.
        action: &'static str,
        /// Why it failed.
        source: io::Error,
    },
    /// A path that leads to something of another kind.
    #[error("{file}: found {found}, expected {expected}")]
    Kind {
        /// The path.
        file: String,
        /// What is there.
        found: &'static str,
        /// What has to be there.
        expected: &'static str,
    },
    /// A file that ends too early.
    #[error(
        "{file}: only {found} of {expected} bytes of {field} are there; the file is cut short, copy or fetch it again"
    )]
    Truncated {
        /// The file.
        file: String,
        /// The part that is incomplete.
        field: &'static str,
        /// Bytes there are.
        found: u64,
        /// Bytes there have to be.
        expected: u64,
    },
    /// A file that goes on after its last value.
    #[error("{file}: bytes follow after the end of {field}, expected a file of {expected} bytes")]
    Trailing {
        /// The file.
        file: String,
        /// The last part.
        field: &'static str,
        /// Bytes (after decompression) that the header promises.
        expected: u64,
    },
    /// A size that no file of this length can have, or that is over the limit of this library.
    #[error("{file}: {field} is {found} bytes, expected at most {limit} ({why})")]
    TooLarge {
        /// The file.
        file: String,
        /// What is too large.
        field: &'static str,
        /// The size declared or reached.
        found: u64,
        /// The largest size possible.
        limit: u64,
        /// Where the limit comes from.
        why: &'static str,
    },
    /// A file of another format.
    #[error("{file}: begins with the bytes {found}, expected {expected}")]
    Magic {
        /// The file.
        file: String,
        /// Its first bytes in hexadecimal.
        found: String,
        /// The format that was expected.
        expected: &'static str,
    },
    /// Values of a type that this library does not read.
    #[error("{file}: the values are of type {found}, expected {expected}; {next}")]
    Type {
        /// The file.
        file: String,
        /// The type found.
        found: String,
        /// The types possible.
        expected: &'static str,
        /// How to convert.
        next: String,
    },
    /// A field with an impossible value, or two that do not fit each other.
    #[error("{file}: {field} is {found}, expected {expected}")]
    Field {
        /// The file.
        file: String,
        /// The field.
        field: String,
        /// Its value.
        found: String,
        /// What was expected.
        expected: String,
    },
    /// An archive with an entry that points out of the archive.
    #[error(
        "{file}: the entry `{entry}` points outside the archive; nothing was read, get the file from its author"
    )]
    UnsafeName {
        /// The archive.
        file: String,
        /// The name of the entry.
        entry: String,
    },
    /// A file or array that is not there.
    #[error("{place}: found none of {}; {next}", .looked_for.join(", "))]
    Missing {
        /// The folder or archive.
        place: String,
        /// Every name that would have done.
        looked_for: Vec<String>,
        /// What to do.
        next: String,
    },
    /// A file of which processes read a part each, and not the same one.
    #[error(
        "{file}: process {rank} reads other {what} there than process {other}; all processes need the same file"
    )]
    Disagree {
        /// The file.
        file: String,
        /// What differs.
        what: &'static str,
        /// A process.
        rank: usize,
        /// Another one.
        other: usize,
    },
    /// A file with other content than the one known by its name.
    #[error("{file}: SHA-256 of the content is {found}, expected {expected}; {next}")]
    Hash {
        /// The file.
        file: String,
        /// The hash found.
        found: String,
        /// The hash of the known file.
        expected: String,
        /// What to do.
        next: String,
    },
}

impl DataError {
    pub(crate) fn io(file: impl Into<String>, action: &'static str, source: io::Error) -> Self {
        DataError::Io { file: file.into(), action, source }
    }

    pub(crate) fn field(
        file: impl Into<String>,
        field: impl Into<String>,
        found: impl ToString,
        expected: impl ToString,
    ) -> Self {
        let (found, expected) = (found.to_string(), expected.to_string());
        DataError::Field { file: file.into(), field: field.into(), found, expected }
    }
}

/// The name of a path as messages show it.
pub(crate) fn name(path: &Path) -> String {
    if path.as_os_str().is_empty() { "(empty path)".to_owned() } else { path.display().to_string() }
}
