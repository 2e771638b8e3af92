//! Take what to fit by from settings.

use hmcvi_record::FitMethod;

use super::{Covariance, Fit};
use crate::config::{CovarianceKind, FitSpec, LearningSettings};

impl From<&FitSpec> for Fit {
    /// What these settings say of a fit; without a chain where only the Gaussian is asked for, or needed.
    fn from(spec: &FitSpec) -> Self {
        let gaussian = match spec.gaussian.covariance {
            CovarianceKind::Auto => Covariance::Auto(spec.gaussian.rank),
            CovarianceKind::FullRank => Covariance::FullRank,
            CovarianceKind::LowRank => Covariance::LowRank(spec.gaussian.rank),
            CovarianceKind::MeanField => Covariance::MeanField,
        };
        let LearningSettings { rate, rows, most_updates, tolerance, starts, bend, ref hidden } =
            spec.learning;
        let fit = Fit {
            gaussian,
            chain: spec.chain,
            bend,
            hidden: hidden.clone(),
            rows,
            most_updates,
            tolerance,
            learning_rate: rate,
            starts,
            seed: spec.seed,
        };
        if spec.method == FitMethod::Hmcvi { fit } else { fit.without_chain() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_that_are_not_given_are_those_of_the_library() {
        assert_eq!(Fit::from(&FitSpec::default()), Fit::default());
    }
}
