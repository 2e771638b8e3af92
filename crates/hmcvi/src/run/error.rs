//! Say what is wrong with a run directory.

use std::io;
use std::path::{Path, PathBuf};

use hmcvi_graph::RunError;
use hmcvi_record::ReadError;

use crate::config::ConfigError;

/// A run directory that cannot be written, read or trusted.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DirectoryError {
    /// The directory holds something already.
    #[error("{} holds a run already; go on with `hmcvi resume {}`, choose another place with --out, or give --force to replace it", .0.display(), .0.display())]
    Exists(PathBuf),
    /// The directory holds something that is not a run.
    #[error("{} is not empty and holds no run, so it is left alone even with --force; choose another place with --out", .0.display())]
    Foreign(PathBuf),
    /// The directory is no run.
    #[error("{} is not a run directory: it has no `config.toml`; `hmcvi train` makes run directories", .0.display())]
    NotARun(PathBuf),
    /// Another process writes to the directory.
    #[error(
        "{} is in use by {holder}; wait for it, or stop it first. (The lock of a process that has ended does not hold: \
         the system takes it away.)", .path.display()
    )]
    Locked {
        /// The directory.
        path: PathBuf,
        /// Who holds it.
        holder: String,
    },
    /// No checkpoint was written yet.
    #[error("{} is not there: the run has no such checkpoint yet; `hmcvi resume` goes on with the run", .0.display())]
    NoCheckpoint(PathBuf),
    /// The settings cannot be read.
    #[error("{}: {source}", .file.display())]
    Config {
        /// The file.
        file: PathBuf,
        /// What is wrong.
        source: ConfigError,
    },
    /// A file cannot be read or written.
    #[error("cannot {action} {}: {source}", .file.display())]
    Io {
        /// The file.
        file: PathBuf,
        /// What was tried.
        action: &'static str,
        /// What the system says.
        source: io::Error,
    },
    /// A record that cannot be read, or is of another version.
    #[error(transparent)]
    Record(#[from] ReadError),
    /// A file whose content is not what it should be.
    #[error("{}: {found}, expected {expected}", .file.display())]
    Content {
        /// The file.
        file: PathBuf,
        /// What was found.
        found: String,
        /// What was expected.
        expected: String,
    },
    /// Tensors that cannot be read or written.
    #[error("{}: {source}", .file.display())]
    Tensors {
        /// The file.
        file: PathBuf,
        /// What is wrong.
        source: RunError,
    },
}

impl DirectoryError {
    pub(super) fn io(file: &Path, action: &'static str, source: io::Error) -> Self {
        DirectoryError::Io { file: file.into(), action, source }
    }

    pub(super) fn content(file: &Path, found: impl ToString, expected: impl Into<String>) -> Self {
        DirectoryError::Content { file: file.into(), found: found.to_string(), expected: expected.into() }
    }
}
