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
    #[error("{} already holds a run", .0.display())]
    Exists(PathBuf),
    /// The directory holds something that is not a run.
    #[error("{} is not empty and does not hold a run, so it is left alone", .0.display())]
    Foreign(PathBuf),
    /// The directory is not a run.
    #[error("{} is not a run directory: it has no `config.toml`", .0.display())]
    NotARun(PathBuf),
    /// The directory holds a fit already.
    #[error("{} already holds a fit", .0.display())]
    FitExists(PathBuf),
    /// The directory is not a fit.
    #[error("{} does not hold a fit: it has no `fit.toml`", .0.display())]
    NotAFit(PathBuf),
    /// The directory holds a fit, and not a run.
    #[error("{} holds the fit of a Bayesian model, not the training run of an auto-encoder", .0.display())]
    NoRunButAFit(PathBuf),
    /// The directory holds a run, and not a fit.
    #[error("{} holds the training run of an auto-encoder, not the fit of a Bayesian model", .0.display())]
    NoFitButARun(PathBuf),
    /// Another process writes to the directory.
    #[error(
        "{} is in use by {holder}; wait until it ends, or stop it first (the system releases the lock of a process that \
         has ended)", .path.display()
    )]
    Locked {
        /// The directory.
        path: PathBuf,
        /// Who holds it.
        holder: String,
    },
    /// No checkpoint was written yet.
    #[error("{} does not exist: the run has no such checkpoint yet", .0.display())]
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
