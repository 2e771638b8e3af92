//! Read records of the versions that this program knows, and refuse all others before the rest of them is looked at.

use std::fmt;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};

use serde::de::DeserializeOwned;
use serde_json::Value;

/// Key of the version in every record.
const KEY: &str = "schema";

/// A record whose files carry the version of their schema.
///
/// A version rises when programs that know the one before would misread a file. A field that they may ignore, and
/// that has a default for files without it, needs no new version.
pub trait Versioned: DeserializeOwned {
    /// Versions that are read. The last one is written.
    const SCHEMAS: RangeInclusive<u32>;
    /// Version of files without a number. They are refused where no version was ever written without one.
    const UNNUMBERED: Option<u32> = None;
    /// What to do about a file that is too old.
    const IF_OLDER: &str = "use the version of hmcvi that wrote it";

    /// Gives a file of an older version the present form.
    fn upgrade(_schema: u32, older: Value) -> Value {
        older
    }
}

/// A record that cannot be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReadError {
    /// A later version of the program wrote it.
    #[error("schema {found} of {} is newer than this program reads ({known}); update hmcvi", .file.display())]
    Newer {
        /// The file.
        file: PathBuf,
        /// Its version.
        found: u64,
        /// Versions that are read.
        known: Schemas,
    },
    /// An earlier version of the program wrote it, and it lacks what is needed now.
    #[error("schema {found} of {} is older than this program reads ({known}); {remedy}", .file.display())]
    Older {
        /// The file.
        file: PathBuf,
        /// Its version.
        found: u64,
        /// Versions that are read.
        known: Schemas,
        /// What to do.
        remedy: &'static str,
    },
    /// It does not say which version it has.
    #[error("{} has no `{KEY}` number, expected {known}; it is damaged, or not a file of hmcvi", .file.display())]
    Unnumbered {
        /// The file.
        file: PathBuf,
        /// Versions that are read.
        known: Schemas,
    },
    /// It has a valid version, and something else is wrong.
    #[error("{}: {source}; it is damaged, or not a file of hmcvi", .file.display())]
    Content {
        /// The file.
        file: PathBuf,
        /// What is wrong.
        source: serde_json::Error,
    },
}

/// Versions of a record, shown as `2` or `1 to 2`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Schemas(pub RangeInclusive<u32>);

impl fmt::Display for Schemas {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (oldest, newest) = (self.0.start(), self.0.end());
        if oldest == newest { write!(f, "{newest}") } else { write!(f, "{oldest} to {newest}") }
    }
}

/// Reads the text of a record. `file` is where it comes from, for the error.
pub fn read<T: Versioned>(file: &Path, text: &str) -> Result<T, ReadError> {
    let damaged = |source| ReadError::Content { file: file.into(), source };
    let value: Value = serde_json::from_str(text).map_err(damaged)?;
    let schema = version::<T>(file, &value)?;
    let present = if schema < *T::SCHEMAS.end() { T::upgrade(schema, value) } else { value };
    serde_json::from_value(present).map_err(damaged)
}

/// Refuses a record of a later version; whether it can be read otherwise is not looked at.
pub fn refuse_newer<T: Versioned>(file: &Path, text: &str) -> Result<(), ReadError> {
    match serde_json::from_str(text).map(|value: Value| version::<T>(file, &value)) {
        Ok(Err(newer @ ReadError::Newer { .. })) => Err(newer),
        _ => Ok(()),
    }
}

/// The version of a record, if it is one that can be read.
fn version<T: Versioned>(file: &Path, value: &Value) -> Result<u32, ReadError> {
    let (file, known) = (PathBuf::from(file), Schemas(T::SCHEMAS));
    let found = match value.get(KEY) {
        Some(number) => number.as_u64(),
        None => T::UNNUMBERED.map(u64::from),
    };
    match found {
        None => Err(ReadError::Unnumbered { file, known }),
        Some(found) if found > u64::from(*T::SCHEMAS.end()) => Err(ReadError::Newer { file, found, known }),
        Some(found) if found < u64::from(*T::SCHEMAS.start()) => {
            Err(ReadError::Older { file, found, known, remedy: T::IF_OLDER })
        }
        // It is at most the newest version.
        Some(found) => Ok(found as u32),
    }
}
