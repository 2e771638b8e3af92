//! Keep a run in a directory: settings, metrics, checkpoints and outcome, and train into it.
//!
//! `docs/run-directory.md` of the repository describes every file.

mod agree;
mod atomic;
mod builtin;
mod checkpoint;
mod directory;
mod error;
mod evaluations;
mod failure;
mod fit_directory;
mod journal;
mod lock;
mod metrics;
mod open;
mod readme;
mod session;

pub use atomic::{write as write_whole, write_new};
pub use builtin::{Builtin, export_model};
pub use checkpoint::{Checkpoint, Which, initial_sha256, load_initial};
pub use directory::RunDirectory;
pub use error::DirectoryError;
pub use evaluations::Kept;
pub use failure::{failure, forget_failure, note_failure};
pub use fit_directory::FitDirectory;
pub use journal::Journal;
pub use lock::Lock;
pub use open::{open_data, open_data_to_train};
pub use session::{Begin, Outcome, SessionError, Watch, resume, start};
