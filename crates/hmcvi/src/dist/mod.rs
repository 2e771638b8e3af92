//! Describe distributions as expressions: sample, log density, entropy. One row per data point.

mod bernoulli;
mod gaussian;
mod normal;
mod student;

pub use bernoulli::Bernoulli;
pub use gaussian::Gaussian;
pub use normal::{normal_distribution, normal_quantile};
pub use student::StudentT;

/// `½ log 2π`
pub(crate) const HALF_LOG_TWO_PI: f64 = 0.918_938_533_204_672_8;
