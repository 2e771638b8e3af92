//! Say why a fit cannot be kept, or not be taken up again.

use std::path::PathBuf;

use hmcvi_graph::{CompileError, RunError};
use hmcvi_record::ReadError;

use crate::run::DirectoryError;

/// A fit that cannot be kept, or that does not belong to a model and its data.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SavedFitError {
    /// There is a fit already.
    #[error("{} already holds a fit; choose another folder, or ask for it to be replaced", .0.display())]
    Exists(PathBuf),
    /// There is none.
    #[error("{} holds no fit: it has no `fit.json`", .0.display())]
    NoFit(PathBuf),
    /// A newer version wrote it, or it is damaged.
    #[error(transparent)]
    Record(#[from] ReadError),
    /// The fit was made with another model.
    #[error("`{name}`: {problem}; a fit can only be used with the model that it was made with")]
    Model {
        /// The variable, or the data whose likelihood is another.
        name: String,
        /// What is different.
        problem: String,
    },
    /// The fit was made with other data.
    #[error("`{name}`: {problem}; a fit can only be used with the data that it was made with")]
    Data {
        /// The data.
        name: String,
        /// What is different.
        problem: String,
    },
    /// A file cannot be read, written or trusted.
    #[error(transparent)]
    File(#[from] DirectoryError),
    /// The model is not a well-formed program.
    #[error(transparent)]
    Compile(#[from] CompileError),
    /// The program could not run.
    #[error(transparent)]
    Run(#[from] RunError),
}
