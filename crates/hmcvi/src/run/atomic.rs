//! Write files so that a reader sees the old content or the new, never a part.

use std::io::{Error, Write};
use std::path::Path;

use tempfile::{NamedTempFile, PersistError};

use super::error::DirectoryError;

/// How the names of temporary files begin.
pub(super) const TEMPORARY: &str = ".hmcvi-";

/// Writes to a temporary file in the same folder, flushes it to the disk, reads it back, and only then gives it its
/// name, which is flushed too.
pub fn write(path: &Path, bytes: &[u8]) -> Result<(), DirectoryError> {
    write_and_name(path, bytes, |file| file.persist(path))
}

/// Does the same for a file that must not exist yet.
pub fn write_new(path: &Path, bytes: &[u8]) -> Result<(), DirectoryError> {
    write_and_name(path, bytes, |file| file.persist_noclobber(path))
}

fn write_and_name(
    path: &Path,
    bytes: &[u8],
    name: impl FnOnce(NamedTempFile) -> Result<std::fs::File, PersistError>,
) -> Result<(), DirectoryError> {
    let failed = |source| DirectoryError::io(path, "write", source);
    let folder = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let mut file = tempfile::Builder::new().prefix(TEMPORARY).tempfile_in(folder).map_err(failed)?;
    file.write_all(bytes).map_err(failed)?;
    file.as_file().sync_all().map_err(failed)?;
    if std::fs::read(file.path()).map_err(failed)? != bytes {
        return Err(failed(Error::other("what was written is not what is there; the disk may be failing")));
    }
    share(file.path()).map_err(failed)?;
    name(file).map_err(|e| failed(e.error))?;
    // Not all file systems can flush a folder.
    drop(std::fs::File::open(folder).and_then(|folder| folder.sync_all()));
    Ok(())
}

/// Temporary files are private; results are as readable as other files of their owner.
#[cfg(unix)]
fn share(path: &Path) -> std::io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o644))
}

#[cfg(not(unix))]
fn share(_: &Path) -> std::io::Result<()> {
    Ok(())
}
