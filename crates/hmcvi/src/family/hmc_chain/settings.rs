//! Name the choices of an inference chain.

use serde::{Deserialize, Serialize};

/// The diagonal of the momentum covariance `M` (`sec:MassMatrixChoice`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Mass {
    /// All ones.
    Identity,
    /// Learnt, the same for all data.
    #[default]
    Global,
    /// A network of the data.
    Network,
}

/// The Metropolis step inside the bound, and the model of its reverse probability
/// (`sec:TransDensitiesWithAcceptReverse`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Acceptance {
    /// No acceptance step: all proposals are taken.
    #[default]
    None,
    /// The converged chain's reverse probability.
    Simple,
    /// The converged chain's reverse probability corrected by a network.
    Network,
}

/// The leapfrog step size.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum StepSize {
    /// One learnt number.
    #[default]
    Global,
    /// One learnt number for each dimension.
    PerDimension,
    /// A network of the data with one number for each data point.
    Network,
}

/// What reverse models see of the place of a momentum that they guess.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Reverse {
    /// The position, by a network, as in the paper.
    #[default]
    Network,
    /// The force there too, which says in which way the posterior is not Gaussian.
    Score,
}

/// The HMC chain that improves the posterior approximation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields)]
pub struct ChainSettings {
    /// HMC steps `T`; 0 for plain variational inference.
    #[cfg_attr(test, schemars(range(max = 1000)))]
    pub hmc_steps: usize,
    /// Leapfrog steps in each HMC step.
    #[cfg_attr(test, schemars(range(max = 1000)))]
    pub leapfrog_steps: usize,
    /// Partial momentum updates with a learnt `α`, from the second HMC step on.
    pub partial_momentum: bool,
    /// Mass matrix.
    pub mass: Mass,
    /// Acceptance step.
    pub acceptance: Acceptance,
    /// Step size.
    pub step_size: StepSize,
    /// Reverse models.
    pub reverse: Reverse,
}

impl Default for ChainSettings {
    /// Three HMC steps of four leapfrog steps with a global mass, row HMCVI 4 and 13 of the table.
    fn default() -> Self {
        ChainSettings {
            hmc_steps: 3,
            leapfrog_steps: 4,
            partial_momentum: false,
            mass: Mass::Global,
            acceptance: Acceptance::None,
            step_size: StepSize::Global,
            reverse: Reverse::Network,
        }
    }
}

impl ChainSettings {
    /// Three HMC steps of four leapfrog steps with reverse models that see the score: for coordinates in which a posterior is
    /// nearly the standard Gaussian.
    pub fn near_gaussian() -> Self {
        ChainSettings { reverse: Reverse::Score, ..ChainSettings::default() }
    }

    /// Plain variational inference.
    pub fn basic() -> Self {
        ChainSettings { hmc_steps: 0, leapfrog_steps: 0, ..ChainSettings::default() }
    }
}
