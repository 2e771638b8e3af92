//! Open regular files only, of a size that fits memory, and write files that are never half there.

use std::fs::{self, File, Metadata};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use crate::data::error::{DataError, name};

/// Most bytes of one array, in memory: five times the training images of the largest EMNIST set.
pub(crate) const MOST_BYTES: u64 = 4 << 30;

/// Checks that `count` values of `size` bytes stay within the limit for one array.
pub(crate) fn check_memory(file: &str, count: u64, size: u64) -> Result<(), DataError> {
    let found = count.saturating_mul(size);
    if found <= MOST_BYTES {
        return Ok(());
    }
    let (field, why) = ("the table in memory", "the limit of this library for one array");
    Err(DataError::TooLarge { file: file.to_owned(), field, found, limit: MOST_BYTES, why })
}

/// Opens a file for reading and returns it with its length.
///
/// Symbolic links are followed. What they lead to has to be a regular file: a device or a pipe has no
/// length, so nothing could be checked before reading, and opening a pipe would wait for ever.
pub(crate) fn open(path: &Path) -> Result<(File, u64), DataError> {
    let failed = |source| DataError::io(name(path), "open", source);
    let length = regular(path, &fs::metadata(path).map_err(failed)?)?;
    if length > MOST_BYTES {
        return Err(DataError::TooLarge {
            file: name(path),
            field: "the file",
            found: length,
            limit: MOST_BYTES,
            why: "the limit of this library for one file",
        });
    }
    Ok((File::open(path).map_err(failed)?, length))
}

fn regular(path: &Path, metadata: &Metadata) -> Result<u64, DataError> {
    let found = match metadata.file_type() {
        kind if kind.is_file() => return Ok(metadata.len()),
        kind if kind.is_dir() => "a folder",
        _ => "a device, pipe or socket",
    };
    Err(DataError::Kind { file: name(path), found, expected: "a file" })
}

/// Returns the first of `candidates` that exists in `folder`, whatever it is.
pub(crate) fn find(folder: &Path, candidates: &[String]) -> Option<PathBuf> {
    candidates.iter().map(|candidate| folder.join(candidate)).find(|path| path.exists())
}

/// Writes a file under another name and renames it, so that `path` is the old file or the new one.
pub(crate) fn write(
    path: &Path,
    content: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> Result<(), DataError> {
    let mut part = path.as_os_str().to_owned();
    part.push(".tmp");
    let part = PathBuf::from(part);
    let written = write_and_rename(&part, path, content);
    if written.is_err() {
        // The first error is the one to report, so a failure to clean up is not.
        let _ = fs::remove_file(&part);
    }
    written.map_err(|source| DataError::io(name(path), "write", source))
}

fn write_and_rename(
    part: &Path,
    path: &Path,
    content: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> io::Result<()> {
    let mut writer = BufWriter::new(File::create(part)?);
    content(&mut writer)?;
    writer.into_inner().map_err(|error| error.into_error())?.sync_all()?;
    fs::rename(part, path)
}
