//! Refuse settings that mean nothing, and posteriors without end, by name.

use super::{Covariance, Fit, FitError, FullGaussian};
use crate::bayes::Bound;
use crate::config::ConfigError;

/// Standard deviations from here on are those of no posterior that ends.
const ENDLESS: f64 = 1e15;

impl Bound {
    /// Refuses a fitted Gaussian that grew without end.
    pub(super) fn check_ends(&self, gaussian: &FullGaussian) -> Result<(), FitError> {
        let d = gaussian.dimension();
        let sd = |i: usize| gaussian.factor[i * d..(i + 1) * d].iter().map(|l| l * l).sum::<f64>().sqrt();
        let owners = self.variables().iter().flat_map(|v| std::iter::repeat_n(&v.name, v.unconstrained));
        match owners.enumerate().find(|(i, _)| !(sd(*i) < ENDLESS && gaussian.mean[*i].is_finite())) {
            Some((i, name)) => Err(FitError::Improper { name: name.clone(), sd: sd(i) }),
            None => Ok(()),
        }
    }
}

impl Fit {
    /// Checks what types allow and fits cannot be made with.
    pub(super) fn check(&self) -> Result<(), FitError> {
        let counts = [("rows", self.rows), ("most_updates", self.most_updates), ("starts", self.starts)];
        for (key, value) in counts {
            refuse(value == 0, key, value, "at least 1")?;
        }
        refuse(self.hidden.contains(&0), "hidden", format!("{:?}", self.hidden), "sizes of at least 1")?;
        if let Covariance::LowRank(rank) | Covariance::Auto(rank) = self.gaussian {
            refuse(rank == 0, "gaussian", "a low-rank covariance of rank 0", "of rank 1 or more")?;
        }
        let rate = self.learning_rate;
        refuse(!(rate > 0.0 && rate <= 1.0), "learning_rate", rate, "a number above 0 and at most 1")?;
        let tolerance = self.tolerance;
        refuse(
            !(tolerance >= 0.0 && tolerance.is_finite()),
            "tolerance",
            tolerance,
            "a number of at least 0",
        )?;
        self.chain.check().map_err(|error| match error {
            ConfigError::Value { key, value, allowed } => FitError::Setting { key, value, allowed },
            other => FitError::Setting {
                key: "chain".into(),
                value: format!("{:?}", self.chain),
                allowed: other.to_string(),
            },
        })
    }
}

fn refuse(wrong: bool, key: &str, value: impl ToString, allowed: &str) -> Result<(), FitError> {
    let setting = || FitError::Setting { key: key.into(), value: value.to_string(), allowed: allowed.into() };
    if wrong { Err(setting()) } else { Ok(()) }
}
