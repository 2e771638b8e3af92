//! Read, check and write the settings of a run.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::assign::{assign, assigned, holder, take};
use super::error::ConfigError;
use super::schema::{SCHEMA, Schema};
use super::train::TrainSettings;
use crate::data::{Binarisation, Kind, PixelScale, Splitting};
use crate::family::{
    Acceptance, AcceptanceGradient, ChainSettings, Combine, FamilySettings, Reverse, ReverseNetworks,
    StartKind, WeightGradient, Writing,
};
use crate::model::VaeSettings;

/// The complete description of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields)]
pub struct RunSpec {
    /// Row of the paper's table that these settings are based on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub preset: Option<String>,
    /// Seed of all random numbers.
    pub seed: u64,
    /// Data, such as images.
    pub data: DataSettings,
    /// Networks.
    pub model: VaeSettings,
    /// The HMC chain of the posterior approximation.
    pub chain: ChainSettings,
    /// What else the posterior approximation is.
    pub family: FamilySettings,
    /// Training.
    pub train: TrainSettings,
    /// Evaluation.
    pub eval: EvalSettings,
}

impl Default for RunSpec {
    fn default() -> Self {
        RunSpec {
            preset: None,
            seed: 1,
            data: DataSettings::default(),
            model: VaeSettings::default(),
            chain: ChainSettings::default(),
            family: FamilySettings::default(),
            train: TrainSettings::default(),
            eval: EvalSettings::default(),
        }
    }
}

/// Where data comes from, and how models see it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields)]
pub struct DataSettings {
    /// `embedded`, or a folder or file.
    pub source: String,
    /// What the values are taken for; left out, the values themselves decide.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kind: Option<Kind>,
    /// How rows are divided that come without test or validation rows.
    pub split: Splitting,
    /// Columns of a .csv file, by name; left out, all of them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub columns: Vec<String>,
    /// Column of a .csv file that holds labels.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub labels: Option<String>,
    /// Whether columns of an .mtx file are rows of the data, as in files of single cells.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub transpose: bool,
    /// How grey pixels become binary ones.
    pub binarisation: Binarisation,
    /// A pixel's probability is its byte divided by this, 256 (the paper's) or 255.
    pub pixel_scale: PixelScale,
    /// Fixed draws of the validation and test images.
    #[cfg_attr(test, schemars(range(min = 1, max = 1000)))]
    pub evaluation_draws: usize,
    /// Number of rows to use of each split; 0 for all.
    pub limit: usize,
}

impl Default for DataSettings {
    fn default() -> Self {
        DataSettings {
            source: "embedded".into(),
            kind: None,
            split: Splitting::default(),
            columns: Vec::new(),
            labels: None,
            transpose: false,
            binarisation: Binarisation::Stochastic,
            pixel_scale: PixelScale::P256,
            evaluation_draws: 5,
            limit: 0,
        }
    }
}

/// How a trained model is evaluated.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields)]
pub struct EvalSettings {
    /// Importance samples per image.
    #[cfg_attr(test, schemars(range(min = 1, max = 1_000_000_000)))]
    pub importance_samples: usize,
    /// Seed of the evaluation's draws.
    pub seed: u64,
}

impl Default for EvalSettings {
    fn default() -> Self {
        EvalSettings { importance_samples: 5000, seed: 1 }
    }
}

/// Settings that had another name in earlier versions, which is still read.
const RENAMED: [(&str, &str); 1] = [("train.adam.longest_gradient", "train.adam.max_grad_norm")];

impl RunSpec {
    /// Reads a TOML text and checks it.
    pub fn from_toml(text: &str) -> Result<Self, ConfigError> {
        // Through JSON, whose values have all 64 bits of a seed.
        let settings = toml::from_str(text).map_err(|e| ConfigError::Syntax(e.to_string()))?;
        Self::from_settings(settings)
    }

    fn from_settings(mut settings: Map<String, Value>) -> Result<Self, ConfigError> {
        for (old, new) in RENAMED {
            let (old, current) = (take(&mut settings, old), take(&mut settings, new));
            if let Some(value) = current.or(old) {
                assign(&mut settings, new, value);
            }
        }
        Schema::new(Self::json_schema()).check(&settings)?;
        let spec: RunSpec = serde_json::from_value(Value::Object(settings))
            .map_err(|e| ConfigError::Syntax(e.to_string()))?;
        spec.check_together()?;
        Ok(spec)
    }

    /// Reads the settings of a run that may be older than this version: what they do not say yet is as it was then.
    pub fn from_record(text: &str) -> Result<Self, ConfigError> {
        let mut settings: Map<String, Value> =
            toml::from_str(text).map_err(|e| ConfigError::Syntax(e.to_string()))?;
        for (key, then) in [("data.kind", Kind::Byte.name()), ("data.split", Splitting::Earlier.name())] {
            if let Some((table, name)) = holder(&mut settings, key) {
                table.entry(name).or_insert_with(|| then.into());
            }
        }
        Self::from_settings(settings)
    }

    /// What a description may contain, as JSON Schema: names, types, ranges, defaults and meanings.
    pub fn json_schema() -> Value {
        serde_json::from_str(SCHEMA).expect("a test keeps it valid")
    }

    /// The settings as TOML, complete.
    pub fn to_toml(&self) -> String {
        toml::to_string_pretty(self).expect("settings are plain tables, numbers and strings")
    }

    pub(super) fn to_settings(&self) -> Map<String, Value> {
        match serde_json::to_value(self) {
            Ok(Value::Object(settings)) => settings,
            _ => unreachable!("settings are a table of plain values"),
        }
    }

    /// The settings with some of them replaced: `train.epochs=6`. Values are TOML; what is not valid TOML is taken as
    /// a string, or in brackets, `data.columns=[a, b]`, as a list of strings: shells take quotes away.
    pub fn with_assignments<S: AsRef<str>>(&self, assignments: &[S]) -> Result<Self, ConfigError> {
        let schema = Schema::new(Self::json_schema());
        let settings = assigned(self.to_settings(), &schema, &RENAMED, assignments)?;
        Self::from_settings(settings)
    }

    /// Refuses values that make no sense.
    pub fn check(&self) -> Result<(), ConfigError> {
        Schema::new(Self::json_schema()).check(&self.to_settings())?;
        self.check_together()
    }

    /// Refuses what is wrong only together.
    fn check_together(&self) -> Result<(), ConfigError> {
        self.chain.check()?;
        let refuse = |key: &str, value: &str, allowed: &str| {
            Err(ConfigError::Value { key: key.into(), value: value.into(), allowed: allowed.into() })
        };
        let (family, chain) = (self.family, self.chain);
        if family.start == StartKind::Coupling && self.model.latent < 2 {
            return refuse(
                "family.start",
                "\"coupling\"",
                "another one where `model.latent` is 1: a half of the dimensions moves the other",
            );
        }
        if chain.reverse == Reverse::Flow && self.model.latent < 2 {
            let allowed = "another one where `model.latent` is 1: a half of the dimensions moves the other";
            return refuse("chain.reverse", "\"flow\"", allowed);
        }
        let doubly = family.gradient == WeightGradient::DoublyReparameterised;
        if doubly && chain.writing == Writing::Loop && family.draws > 1 {
            let allowed = "\"automatic\" or \"unrolled\" where `family.gradient` is \"doubly-reparameterised\": it takes \
                           derivatives with respect to what is drawn in every step";
            return refuse("chain.writing", "\"loop\"", allowed);
        }
        if family.shared_start && chain.hmc_steps == 0 {
            let allowed = "false where `chain.hmc_steps` is 0: draws would all be the same";
            return refuse("family.shared_start", "true", allowed);
        }
        if chain.acceptance == Acceptance::None {
            return Ok(());
        }
        let unbiased = "the other draws are the baseline of its estimate";
        match (family.gradient, chain.acceptance_gradient) {
            (WeightGradient::DoublyReparameterised, _) => refuse(
                "family.gradient",
                "\"doubly-reparameterised\"",
                "\"plain\" where `chain.acceptance` is not \"none\": decisions cannot be reparameterised",
            ),
            (_, AcceptanceGradient::Score) if family.draws < 2 => refuse(
                "family.draws",
                &family.draws.to_string(),
                &format!("at least 2 where `chain.acceptance_gradient` is \"score\": {unbiased}"),
            ),
            (_, AcceptanceGradient::Marginal) if family.draws > 1 && family.combine != Combine::Mean => {
                refuse(
                    "family.combine",
                    "\"importance\"",
                    "\"mean\" where `chain.acceptance_gradient` is \"marginal\": a weight has a single outcome",
                )
            }
            _ => Ok(()),
        }
    }
}

impl ChainSettings {
    /// Refuses what is wrong only together.
    pub(crate) fn check(&self) -> Result<(), ConfigError> {
        let refuse = |key: &str, value: &str, allowed: &str| {
            Err(ConfigError::Value { key: key.into(), value: value.into(), allowed: allowed.into() })
        };
        if self.hmc_steps > 0 && self.leapfrog_steps == 0 {
            return refuse("chain.leapfrog_steps", "0", "at least 1 where `chain.hmc_steps` is not 0");
        }
        if self.writing == Writing::Loop {
            let others = "\"automatic\" or \"unrolled\"";
            let own = "every step has weights of its own";
            if self.reverse == Reverse::Score {
                let allowed = format!("{others} where `chain.reverse` is \"score\": {own}");
                return refuse("chain.writing", "\"loop\"", &allowed);
            }
            if self.reverse_networks == ReverseNetworks::Each {
                let allowed = format!("{others} where `chain.reverse_networks` is \"each\": {own}");
                return refuse("chain.writing", "\"loop\"", &allowed);
            }
            if self.acceptance != Acceptance::None && self.acceptance_gradient == AcceptanceGradient::Marginal
            {
                let allowed = format!(
                    "{others} where `chain.acceptance_gradient` is \"marginal\": its last step is another"
                );
                return refuse("chain.writing", "\"loop\"", &allowed);
            }
        }
        if self.per_step_network && !self.per_step {
            let allowed = "false where `chain.per_step` is false: it changes the factors of every step";
            return refuse("chain.per_step_network", "true", allowed);
        }
        if self.tempering && self.acceptance != Acceptance::None {
            let allowed = "false where `chain.acceptance` is not \"none\": the way back is not the way there";
            return refuse("chain.tempering", "true", allowed);
        }
        Ok(())
    }
}
