//! Describe a run completely, in one TOML file.

mod changes;
mod presets;
mod spec;

pub use presets::{PAPER_TABLE, PaperRow, preset};
pub use spec::{ConfigError, DataSettings, EvalSettings, RunSpec, TrainSettings};
