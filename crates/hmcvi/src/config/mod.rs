//! Describe a run completely, in one TOML file.

mod changes;
mod edits;
mod error;
mod presets;
mod schema;
mod spec;

pub use error::ConfigError;
pub use presets::{PAPER_TABLE, PaperRow, preset};
pub use spec::{DataSettings, EvalSettings, RunSpec, TrainSettings};
