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

/// How the bound's derivative sees the acceptance step's decisions, whose probabilities depend on parameters too.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum AcceptanceGradient {
    /// As given, as in the paper: biased, with little noise.
    #[default]
    Pathwise,
    /// By the score of their probabilities, with the other draws of a row as baseline: unbiased.
    Score,
    /// The last one by its expectation, those before it by their score.
    Marginal,
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
    /// The position, by a network whose Gaussian is that of a momentum after layers of a flow, two or more dimensions.
    Flow,
    /// Nothing, and nothing is learnt: momenta are guessed as those of a chain in equilibrium.
    Balance,
}

/// The networks of reverse models.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum ReverseNetworks {
    /// One for all times, which sees the time, as in the paper.
    #[default]
    One,
    /// One for each time.
    Each,
}

/// The densities that HMC steps are made for, on the way from where draws begin to the posterior.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Bridge {
    /// The posterior's, in every step.
    #[default]
    None,
    /// Geometric means of both, with learnt shares that grow to that of the posterior alone.
    Learnt,
    /// The same with shares that a network gives for each data point.
    Network,
}

/// How the program of a chain is written. What it computes is the same.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Writing {
    /// As a loop where there are more than 64 leapfrog steps in all and nothing speaks against it, else step by step.
    #[default]
    Automatic,
    /// Step by step: a program that grows with the number of steps.
    Unrolled,
    /// As a loop over HMC steps, which takes less memory and, by a third, more operations.
    Loop,
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
    /// Estimate of the derivative by way of its decisions.
    pub acceptance_gradient: AcceptanceGradient,
    /// Step size.
    pub step_size: StepSize,
    /// Reverse models.
    pub reverse: Reverse,
    /// Whether reverse models of all times share a network.
    pub reverse_networks: ReverseNetworks,
    /// Densities between where draws begin and the posterior.
    pub bridge: Bridge,
    /// Whether every HMC step has learnt factors of its own for masses and step size.
    pub per_step: bool,
    /// Whether a network of the data changes these factors, so that they depend on data point and step.
    pub per_step_network: bool,
    /// Whether simulations begin with hotter momenta, which cool to the usual temperature.
    pub tempering: bool,
    /// Whether its program is a loop over HMC steps.
    pub writing: Writing,
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
            acceptance_gradient: AcceptanceGradient::Pathwise,
            step_size: StepSize::Global,
            reverse: Reverse::Network,
            reverse_networks: ReverseNetworks::One,
            bridge: Bridge::None,
            per_step: false,
            per_step_network: false,
            tempering: false,
            writing: Writing::Automatic,
        }
    }
}

impl ChainSettings {
    /// What is not as in the paper, in a few words each.
    pub fn words(&self) -> Vec<String> {
        let bridge = match self.bridge {
            Bridge::None => None,
            Bridge::Learnt => Some("learnt bridges"),
            Bridge::Network => Some("bridges by a network"),
        };
        let reverse = match self.reverse {
            Reverse::Network => None,
            Reverse::Score => Some("reverse models that see the score"),
            Reverse::Flow => Some("reverse models with a flow"),
            Reverse::Balance => Some("reverse models in balance"),
        };
        let each = self.reverse_networks == ReverseNetworks::Each && self.reverse != Reverse::Balance;
        let each = each.then_some("a reverse network for each step");
        let gradient = match self.acceptance_gradient {
            AcceptanceGradient::Pathwise => None,
            AcceptanceGradient::Score => Some("scores of decisions"),
            AcceptanceGradient::Marginal => Some("marginal last decision"),
        };
        let per_step = match (self.per_step, self.per_step_network) {
            (false, _) => None,
            (true, false) => Some("factors for each step"),
            (true, true) => Some("factors for each step by a network"),
        };
        let tempering = self.tempering.then_some("tempered momenta");
        let all = [bridge, reverse, each, per_step, tempering, gradient].into_iter().flatten();
        if self.hmc_steps == 0 { Vec::new() } else { all.map(str::to_owned).collect() }
    }

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
