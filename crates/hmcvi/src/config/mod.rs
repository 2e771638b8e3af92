//! Describe a run completely, in one TOML file.
//!
//! Settings of data, models and families are named beside them; those of runs and training here. Nothing that is
//! described here imports this module.

mod assign;
mod changes;
mod data;
mod edits;
mod error;
mod families;
mod fit;
mod fitting;
mod presets;
mod schedule;
mod schema;
mod spec;
mod train;

pub use error::ConfigError;
pub use families::{NamedFamily, named_families};
pub use fit::{CovarianceKind, FitSpec, GaussianSettings, LearningSettings, NutsSettings, Resample};
pub use presets::{PAPER_TABLE, PaperRow, preset};
pub use schedule::{Schedule, ScheduleKind};
pub use spec::{DataSettings, EvalSettings, RunSpec};
pub use train::{Adam, TrainSettings};
