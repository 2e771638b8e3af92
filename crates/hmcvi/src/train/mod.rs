//! Train models: objective, Adam, averages, schedule, where a chain begins, checkpoints, and the loop.

mod adam;
mod average;
mod backend;
mod fit;
mod objective;
mod prepare;
mod self_test;
mod sums;
mod trainer;

pub use adam::{Update, adam_updates, add_adam_state};
pub use average::{averaged, learnt};
pub use fit::{Fit, FitError, FitSettings, fit, fit_along};
pub use objective::Objective;
pub use prepare::Training;
pub use self_test::self_test;
pub use trainer::{Batch, Observer, TrainError, Trainer};
