//! Let one process at a time write to a run directory.

use std::fs::{File, TryLockError};
use std::io::{Read, Seek, Write};
use std::path::Path;
use std::thread::sleep;
use std::time::{Duration, Instant};

use hmcvi_record::files;

use super::error::DirectoryError;

/// The right to write to a run directory, for as long as it lives. The system takes it away when the process ends,
/// however it ends, so that no lock is ever left over; the file itself stays.
#[derive(Debug)]
pub struct Lock {
    _file: File,
}

/// How long a lock is waited for that others have for a moment.
const PATIENCE: Duration = Duration::from_secs(60);

/// What the number of the holder follows.
const HOLDER: &str = "process ";

impl Lock {
    /// Takes the lock of a directory, which has to exist.
    pub fn take(directory: &Path) -> Result<Self, DirectoryError> {
        let path = directory.join(files::LOCK);
        let failed = |source| DirectoryError::io(&path, "write", source);
        let mut file = File::options()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(&path)
            .map_err(failed)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                let mut holder = String::new();
                let known = file.read_to_string(&mut holder).is_ok() && !holder.trim().is_empty();
                let holder = if known { holder.trim().into() } else { "another process".into() };
                return Err(DirectoryError::Locked { path: directory.into(), holder });
            }
            Err(TryLockError::Error(source)) => return Err(failed(source)),
        }
        // Who holds it, for whoever asks.
        let written = file
            .set_len(0)
            .and_then(|()| file.rewind())
            .and_then(|()| file.write_all(format!("{HOLDER}{}\n", std::process::id()).as_bytes()));
        written.map_err(failed)?;
        Ok(Lock { _file: file })
    }

    /// Checks that no file of somebody's own has the lock's name.
    pub fn check_free(directory: &Path) -> Result<(), DirectoryError> {
        if Self::is_ours(directory) {
            Ok(())
        } else {
            Err(DirectoryError::Foreign(directory.join(files::LOCK)))
        }
    }

    /// Takes the lock of a directory, if need be after others who have it for a moment.
    ///
    /// # Errors
    /// If a file of somebody's own has the lock's name: it is left as it is.
    pub fn wait(directory: &Path) -> Result<Self, DirectoryError> {
        Self::check_free(directory)?;
        let until = Instant::now() + PATIENCE;
        loop {
            match Self::take(directory) {
                Err(DirectoryError::Locked { .. }) if Instant::now() < until => {
                    sleep(Duration::from_millis(50))
                }
                lock => return lock,
            }
        }
    }

    /// Whether the file of that name in a directory is a lock rather than something else.
    pub(super) fn is_ours(directory: &Path) -> bool {
        let content = std::fs::read_to_string(directory.join(files::LOCK)).unwrap_or_default();
        content.is_empty() || content.starts_with(HOLDER)
    }

    /// Whether a process has the lock of a directory now.
    pub fn is_held(directory: &Path) -> bool {
        let Ok(file) = File::open(directory.join(files::LOCK)) else { return false };
        // A shared lock, so that others who ask get the same answer.
        matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lock_is_held_once_and_free_again_when_it_is_dropped() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let first = Lock::take(folder.path()).expect("a free directory");
        assert!(Lock::is_held(folder.path()));
        let error = Lock::take(folder.path()).expect_err("a held directory").to_string();
        let process = format!("process {}", std::process::id());
        assert!(error.contains(&process) && error.contains("stop it first"), "{error}");
        drop(first);
        assert!(!Lock::is_held(folder.path()));
        Lock::take(folder.path()).expect("a free directory");
    }
}
