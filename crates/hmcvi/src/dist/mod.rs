//! Describe distributions as expressions: sample, log density, entropy. One row per data point.

mod bernoulli;
mod categorical;
mod gaussian;
mod multinomial;
mod negative_binomial;
mod normal;
mod poisson;
pub mod random;
mod special;
mod student;
mod zero_inflated;

pub use bernoulli::Bernoulli;
pub use categorical::Categorical;
pub use gaussian::Gaussian;
pub use multinomial::Multinomial;
pub use negative_binomial::NegativeBinomial;
pub use normal::{normal_distribution, normal_quantile};
pub use poisson::Poisson;
pub use random::RandomSource;
pub use student::StudentT;
pub use zero_inflated::ZeroInflatedNegativeBinomial;

/// `½ log 2π`
pub(crate) const HALF_LOG_TWO_PI: f64 = 0.918_938_533_204_672_8;
