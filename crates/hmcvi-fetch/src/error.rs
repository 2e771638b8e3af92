//! Say what is wrong with a download: where, what was found, what was expected, what to do.

use std::io;
use std::path::Path;

use hmcvi::data::DataError;

/// Files that cannot be fetched.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FetchError {
    /// A file that cannot be read or written, or that is not what it should be.
    #[error(transparent)]
    Data(#[from] DataError),
    /// An address that is not fetched from.
    #[error("{url}: {found}, expected an https address (plain http only to 127.0.0.0/8 or [::1])")]
    Url {
        /// The address.
        url: String,
        /// What is wrong with it.
        found: String,
    },
    /// A download that broke off or was refused.
    #[error("{url}: {reason}")]
    Download {
        /// The address, or the command that was run.
        url: String,
        /// What happened.
        reason: String,
    },
    /// Another process writes into the same folder.
    #[error("{folder}: another process is fetching into this folder; wait until it has finished")]
    Busy {
        /// The folder.
        folder: String,
    },
    /// Files are missing and fetching is switched off.
    #[error("{folder}: {} missing and fetching is switched off (offline)\n{instructions}", are(.missing))]
    Offline {
        /// The cache folder.
        folder: String,
        /// The names of the missing files.
        missing: Vec<String>,
        /// How to put them there by hand.
        instructions: String,
    },
    /// Every way to fetch has failed.
    #[error("{folder}: files are missing and could not be fetched\n  tried {}\n{instructions}", .attempts.join("\n  tried "))]
    Failed {
        /// The cache folder.
        folder: String,
        /// Every attempt with the reason why it failed.
        attempts: Vec<String>,
        /// How to put the files there by hand.
        instructions: String,
    },
}

impl FetchError {
    /// An error of the operating system.
    pub(crate) fn io(path: &Path, action: &'static str, source: io::Error) -> Self {
        DataError::Io { file: path.display().to_string(), action, source }.into()
    }
}

fn are(missing: &[String]) -> String {
    format!("{} {}", missing.join(", "), if missing.len() == 1 { "is" } else { "are" })
}
