//! Say what to do about Bayesian models that cannot be fitted or sampled.

use hmcvi::bayes::{FitError, ModelError};
use hmcvi_nuts::NutsError;

use super::Failure;

/// What to do where the density has no place to begin.
const NOWHERE: &str = "check the data with `--data`; where they are right, `--starts 10` tries more places";
/// What to do where simulations of a fit fail.
const LOST: &str = "`--method gaussian` needs no simulations; `--set chain.acceptance=simple` or a smaller \
                    `learning.rate` makes them stable; `--method nuts` tells whether the posterior is fit for any";

impl From<ModelError> for Failure {
    fn from(error: ModelError) -> Self {
        let text = error.to_string();
        match error {
            ModelError::NoData { .. } | ModelError::Data(_) => Failure::Data(text).then(
                "give the data with `--data FILE.json`: an object with a number or an array for each name",
            ),
            ModelError::Variable { .. } => Failure::Data(text)
                .then("the data have to fit the model: check lengths and values with `--data FILE.json`"),
            other => Failure::Other(other.to_string()),
        }
    }
}

impl From<FitError> for Failure {
    fn from(error: FitError) -> Self {
        let text = error.to_string();
        match error {
            FitError::NoDensity { .. } | FitError::NoStart => Failure::Numerical(text).then(NOWHERE),
            FitError::Improper { .. } => Failure::Numerical(text),
            FitError::NotABound(_) | FitError::Begin(_) => Failure::Numerical(text).then(LOST),
            FitError::Device(error) => error.into(),
            other => Failure::Other(other.to_string()),
        }
    }
}

impl From<NutsError> for Failure {
    fn from(error: NutsError) -> Self {
        let text = error.to_string();
        match error {
            NutsError::Setting { .. } => Failure::Usage(text),
            NutsError::NoDensity { .. } => Failure::Numerical(text)
                .then("check the data with `--data`, or begin with a fit: `--set nuts.after_fit=true`"),
            NutsError::Chain { .. } => Failure::Numerical(text).then(
                "`--set nuts.target_accept=0.95` takes smaller steps; another `--seed` begins elsewhere",
            ),
            other => Failure::Other(other.to_string()),
        }
    }
}
