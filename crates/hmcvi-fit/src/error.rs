//! Say why a model cannot be opened, or what was found cannot be kept.

use hmcvi::bayes::ModelError;
use hmcvi::bayes::fit::SavedFitError;
use hmcvi::data::DataError;
use hmcvi::run::DirectoryError;
use hmcvi_stan::StanError;

/// A model that cannot be opened.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OpenError {
    /// No built-in model has that name.
    #[error("there is no built-in model `{name}`{}", close.map_or(String::new(), |close| format!(" (did you mean `{close}`?)")))]
    Unknown {
        /// What was asked for.
        name: String,
        /// A model whose name is nearly the same.
        close: Option<&'static str>,
    },
    /// Only Python has the model.
    #[error("the model is a function of Python, which these settings cannot name")]
    Python,
    /// A built-in model needs data.
    #[error("the model `{name}` comes without data")]
    NoData {
        /// The model.
        name: &'static str,
    },
    /// A file that cannot be read.
    #[error("cannot read {file}: {source}")]
    Read {
        /// The file.
        file: String,
        /// What the system says.
        source: std::io::Error,
    },
    /// A file that has no data.
    #[error("{file}: {source}")]
    Data {
        /// The file.
        file: String,
        /// What is wrong.
        source: ModelError,
    },
    /// Data that do not fit a built-in model.
    #[error("{name}: {source}")]
    Bind {
        /// The model.
        name: &'static str,
        /// What is wrong.
        source: ModelError,
    },
    /// A Stan program that is none. Files that cannot be read are named by their error.
    #[error("{}{source}", if source.line().is_some() { format!("{file}: ") } else { String::new() })]
    Program {
        /// Its file.
        file: String,
        /// What is wrong.
        source: StanError,
    },
    /// A Stan program that cannot be run with its data.
    #[error("{file}: {source}")]
    Run {
        /// Its file.
        file: String,
        /// Whether it has data, and was given none.
        needs_data: bool,
        /// What is wrong.
        source: StanError,
    },
}

/// What was found cannot be kept, or read again.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum KeepError {
    /// The directory, or a file in it.
    #[error(transparent)]
    Directory(#[from] DirectoryError),
    /// Draws as arrays of NumPy.
    #[error("the draws cannot be kept: {0}")]
    Arrays(#[from] DataError),
    /// The fit itself.
    #[error("the fit cannot be kept: {0}")]
    Fitted(#[from] SavedFitError),
    /// Draws of another model, or of other generated quantities.
    #[error("{folder}: the draws have {found} columns, but those of this model have {expected}")]
    Columns {
        /// The directory.
        folder: String,
        /// Columns of the file.
        found: usize,
        /// Columns that the model has.
        expected: usize,
    },
    /// Chains that are not there.
    #[error("{folder}: there are no draws of NUTS")]
    NoDraws {
        /// The directory.
        folder: String,
    },
}
