//! Read and check the settings of a fit: a Bayesian model, its data, and how its posterior is approximated or sampled.

use hmcvi_record::FitMethod;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::assign::assigned;
use super::error::ConfigError;
use super::schema::{FIT_SCHEMA, Schema};
use crate::family::{AcceptanceGradient, ChainSettings};

/// The complete description of a fit.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields)]
pub struct FitSpec {
    /// Name of a built-in model, or a file with a model.
    pub model: String,
    /// JSON file with the data; left out, those that come with the model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub data: Option<String>,
    /// `hmcvi`: a chain of HMC steps in a lower bound; `gaussian`: the Gaussian that the chain begins with; `nuts`: long
    /// chains.
    #[cfg_attr(test, schemars(with = "String", extend("enum" = ["hmcvi", "gaussian", "nuts"])))]
    pub method: FitMethod,
    /// Whether chains of NUTS are run beside the fit, which it is then held against.
    pub check: bool,
    /// Whether the log evidence is bracketed by annealing from both sides.
    pub evidence: bool,
    /// Whether draws are chosen in proportion to their importance weights, which makes them draws of the posterior as far
    /// as k-hat allows: `auto`: where k-hat allows it; `always`; `never`.
    pub resample: Resample,
    /// Seed of all random numbers.
    pub seed: u64,
    /// Draws to keep, of all chains together.
    #[cfg_attr(test, schemars(range(min = 1, max = 100_000_000)))]
    pub draws: usize,
    /// The Gaussian that draws begin with.
    pub gaussian: GaussianSettings,
    /// The HMC chain that goes on from there.
    pub chain: ChainSettings,
    /// How Gaussian and chain are learnt.
    pub learning: LearningSettings,
    /// Chains of NUTS.
    pub nuts: NutsSettings,
}

impl Default for FitSpec {
    fn default() -> Self {
        FitSpec {
            model: "eight-schools".into(),
            data: None,
            method: FitMethod::Hmcvi,
            check: false,
            evidence: false,
            resample: Resample::Auto,
            seed: 1,
            draws: 4000,
            gaussian: GaussianSettings::default(),
            chain: ChainSettings::near_gaussian(),
            learning: LearningSettings::default(),
            nuts: NutsSettings::default(),
        }
    }
}

/// When draws are chosen in proportion to their importance weights.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Resample {
    /// Where k-hat allows it.
    #[default]
    Auto,
    /// In any case.
    Always,
    /// Not at all: draws are those of the approximation.
    Never,
}

/// The covariance of a Gaussian.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum CovarianceKind {
    /// Any in up to 300 dimensions, low-rank beyond.
    #[default]
    Auto,
    /// Any.
    FullRank,
    /// Variances, and some directions in which it is wider or narrower.
    LowRank,
    /// Variances only.
    MeanField,
}

/// The Gaussian that draws begin with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields)]
pub struct GaussianSettings {
    /// Its covariance.
    pub covariance: CovarianceKind,
    /// Directions of a low-rank covariance.
    #[cfg_attr(test, schemars(range(min = 1, max = 1000)))]
    pub rank: usize,
}

impl Default for GaussianSettings {
    fn default() -> Self {
        GaussianSettings { covariance: CovarianceKind::Auto, rank: 5 }
    }
}

/// How Gaussian and chain are learnt.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields)]
pub struct LearningSettings {
    /// Learning rate at first.
    #[cfg_attr(test, schemars(extend("exclusiveMinimum" = 0, "maximum" = 1)))]
    pub rate: f64,
    /// Draws in each update.
    #[cfg_attr(test, schemars(range(min = 1, max = 1_000_000)))]
    pub rows: usize,
    /// Most updates of each stage.
    #[cfg_attr(test, schemars(range(min = 1, max = 1_000_000_000)))]
    pub most_updates: usize,
    /// The smallest rise of the bound that is worth further updates, in nats; 0 for all updates that are allowed.
    #[cfg_attr(test, schemars(extend("minimum" = 0, "maximum" = 1_000_000)))]
    pub tolerance: f64,
    /// Random places to begin from; the best one is taken.
    #[cfg_attr(test, schemars(range(min = 1, max = 10_000)))]
    pub starts: usize,
    /// Whether coordinates of the chain are bent where that pays: for funnels, skewed and heavy-tailed variables. Only
    /// after a full-rank Gaussian.
    pub bend: bool,
    /// Sizes of the hidden layers of the chain's reverse models.
    #[cfg_attr(test, schemars(inner(range(min = 1, max = 65536))))]
    pub hidden: Vec<usize>,
}

impl Default for LearningSettings {
    fn default() -> Self {
        LearningSettings {
            rate: 0.01,
            rows: 64,
            most_updates: 3000,
            tolerance: 0.002,
            starts: 1,
            bend: true,
            hidden: vec![32],
        }
    }
}

/// Chains of NUTS.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields)]
pub struct NutsSettings {
    /// Chains.
    #[cfg_attr(test, schemars(range(min = 1, max = 10_000)))]
    pub chains: usize,
    /// Draws of each chain that tune step size and metric, and are not kept.
    #[cfg_attr(test, schemars(range(max = 1_000_000_000)))]
    pub warm_up: usize,
    /// Whether a Gaussian is fitted first, so that chains begin with draws of it and warm up for 300 draws only.
    pub after_fit: bool,
    /// Acceptance rate that the step size is tuned to.
    #[cfg_attr(test, schemars(extend("exclusiveMinimum" = 0, "exclusiveMaximum" = 1)))]
    pub target_accept: f64,
    /// Most doublings of a trajectory.
    #[cfg_attr(test, schemars(range(min = 1, max = 30)))]
    pub max_depth: u64,
    /// Chains that run at the same time; 0 for as many as there are cores. Draws do not depend on it.
    #[cfg_attr(test, schemars(range(max = 10_000)))]
    pub threads: usize,
}

impl Default for NutsSettings {
    fn default() -> Self {
        NutsSettings {
            chains: 4,
            warm_up: 1000,
            after_fit: false,
            target_accept: 0.8,
            max_depth: 10,
            threads: 0,
        }
    }
}

impl FitSpec {
    /// Reads a TOML text and checks it.
    ///
    /// # Errors
    /// As those of [`RunSpec::from_toml`](super::RunSpec::from_toml).
    pub fn from_toml(text: &str) -> Result<Self, ConfigError> {
        Self::from_settings(toml::from_str(text).map_err(|e| ConfigError::Syntax(e.to_string()))?)
    }

    fn from_settings(mut settings: Map<String, Value>) -> Result<Self, ConfigError> {
        Schema::new(Self::json_schema()).check(&settings)?;
        // What is left out of the chain is what fits begin with, not what auto-encoders do.
        let usual = serde_json::to_value(ChainSettings::near_gaussian()).unwrap_or_default();
        if let (Some(Value::Object(chain)), Value::Object(usual)) = (settings.get_mut("chain"), usual) {
            for (key, value) in usual {
                chain.entry(key).or_insert(value);
            }
        }
        let spec: FitSpec = serde_json::from_value(Value::Object(settings))
            .map_err(|e| ConfigError::Syntax(e.to_string()))?;
        spec.chain.check()?;
        if spec.chain.acceptance_gradient == AcceptanceGradient::Score {
            return Err(ConfigError::Value {
                key: "chain.acceptance_gradient".into(),
                value: "\"score\"".into(),
                allowed: "\"pathwise\" or \"marginal\" in a fit, which has no other draws for a baseline"
                    .into(),
            });
        }
        Ok(spec)
    }

    /// What a description may contain, as JSON Schema: names, types, ranges, defaults and meanings.
    pub fn json_schema() -> Value {
        serde_json::from_str(FIT_SCHEMA).expect("a test keeps it valid")
    }

    /// The settings as TOML, complete.
    pub fn to_toml(&self) -> String {
        toml::to_string_pretty(self).expect("settings are plain tables, numbers and strings")
    }

    /// The settings with some of them replaced: `learning.rows=128`.
    ///
    /// # Errors
    /// If there is no such setting, or the value is not allowed.
    pub fn with_assignments<S: AsRef<str>>(&self, assignments: &[S]) -> Result<Self, ConfigError> {
        let Ok(Value::Object(settings)) = serde_json::to_value(self) else {
            unreachable!("settings are a table of plain values")
        };
        Self::from_settings(assigned(settings, &Schema::new(Self::json_schema()), &[], assignments)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_may_be_left_out() {
        let spec = FitSpec::from_toml("").expect("all settings have defaults");
        assert_eq!(spec, FitSpec::default());
        assert_eq!(FitSpec::from_toml(&spec.to_toml()).expect("complete"), spec);
        let longer = FitSpec::from_toml("[chain]\nhmc_steps = 5").expect("a part");
        assert_eq!(longer.chain, ChainSettings { hmc_steps: 5, ..spec.chain });
    }

    #[test]
    fn settings_that_mean_nothing_are_named_with_what_is_allowed() {
        for (assignment, expected) in [
            ("draws=0", "`draws` is 0, but must be a whole number from 1 to 100000000"),
            ("method=vi", "`method` is \"vi\", but must be \"hmcvi\", \"gaussian\" or \"nuts\""),
            ("learning.rate=0", "`learning.rate` is 0, but must be a number above 0 and at most 1"),
            ("chain.leapfrog_steps=0", "`chain.leapfrog_steps` is 0, but must be at least 1"),
            ("chain.acceptance_gradient=score", "\"marginal\" in a fit"),
            ("nuts.chain=2", "did you mean `nuts.chains`?"),
            ("gaussian=full-rank", "`gaussian` is a table of settings"),
        ] {
            let error = FitSpec::default().with_assignments(&[assignment]).expect_err(assignment).to_string();
            assert!(error.contains(expected), "{error}");
        }
    }
}
