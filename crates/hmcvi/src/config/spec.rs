//! Read, check and write the settings of a run.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::data::{Binarisation, Dataset, Kind, PixelScale, Splitting};
use crate::model::VaeSettings;
use crate::train::{Adam, Schedule};
use crate::vi::ChainSettings;

/// Settings that make no run.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ConfigError {
    /// The text is not a run description.
    #[error("{0}")]
    Syntax(String),
    /// A value out of its range.
    #[error("`{key}` is {value}, but must be {allowed}")]
    Value {
        /// The setting, as it is written in the file.
        key: &'static str,
        /// Its value.
        value: String,
        /// What is allowed.
        allowed: &'static str,
    },
    /// An assignment on the command line that is not `key=value`.
    #[error("`{0}` does not set anything; write `key=value`, for example `train.epochs=6`")]
    Assignment(String),
}

/// The complete description of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct RunSpec {
    /// Row of the paper's table that these settings began with.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub preset: Option<String>,
    /// Seed of all random numbers.
    pub seed: u64,
    /// Images.
    pub data: DataSettings,
    /// Networks.
    pub model: VaeSettings,
    /// The HMC chain of the posterior approximation.
    pub chain: ChainSettings,
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
            train: TrainSettings::default(),
            eval: EvalSettings::default(),
        }
    }
}

/// How images become data.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct DataSettings {
    /// `embedded`, or a folder or file.
    pub source: String,
    /// What the values are taken for; left out, the values themselves decide.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kind: Option<Kind>,
    /// How arrays are divided that come without test or validation images.
    pub split: Splitting,
    /// How grey pixels become binary ones.
    pub binarisation: Binarisation,
    /// A pixel's probability is its byte divided by this, 256 (the paper's) or 255.
    pub pixel_scale: PixelScale,
    /// Fixed draws of the validation and test images.
    pub evaluation_draws: usize,
    /// Most images of each split that are used; 0 for all.
    pub limit: usize,
}

impl Default for DataSettings {
    fn default() -> Self {
        DataSettings {
            source: "embedded".into(),
            kind: None,
            split: Splitting::default(),
            binarisation: Binarisation::Stochastic,
            pixel_scale: PixelScale::P256,
            evaluation_draws: 5,
            limit: 0,
        }
    }
}

impl DataSettings {
    /// These settings for `data`: they name its kind, and leave nothing to chance where its values are 0 and 1 already.
    #[must_use]
    pub fn for_data(&self, data: &Dataset) -> Self {
        let settings = DataSettings { kind: Some(data.kind()), ..self.clone() };
        match data.kind() {
            Kind::Binary => DataSettings {
                binarisation: Binarisation::Threshold,
                pixel_scale: PixelScale::P255,
                ..settings
            },
            Kind::Byte => settings,
        }
    }

    /// These settings for other data, which need not be read as theirs was.
    #[must_use]
    pub fn for_other_data(&self, source: String) -> Self {
        DataSettings { source, kind: None, split: Splitting::default(), ..self.clone() }
    }
}

/// How the model is trained.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct TrainSettings {
    /// Passes through the training images.
    pub epochs: usize,
    /// Images in each update.
    pub batch: usize,
    /// Learning rate over the course of training.
    pub learning_rate: Schedule,
    /// Settings of Adam.
    pub adam: Adam,
    /// Share of the epochs so far over which the parameters are averaged; 0 for those of the last epoch alone.
    pub average: f64,
    /// Epochs, from the first, in which the chain's step size stays as it was found before training.
    pub hold_step_size: usize,
    /// Epochs from one look at the validation images to the next.
    pub validate_every: usize,
    /// Seconds from one checkpoint to the next, also within epochs; 0 for one after every epoch.
    pub save_seconds: f64,
    /// Whether the metrics are written for TensorBoard too.
    pub tensorboard: bool,
    /// A run directory or checkpoint whose encoder and decoder the model begins with.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub init_from: Option<PathBuf>,
}

impl Default for TrainSettings {
    fn default() -> Self {
        TrainSettings {
            epochs: 60,
            batch: 100,
            learning_rate: Schedule::default(),
            adam: Adam::default(),
            average: 0.0,
            hold_step_size: 0,
            validate_every: 1,
            save_seconds: 10.0,
            tensorboard: false,
            init_from: None,
        }
    }
}

/// How a trained model is judged.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct EvalSettings {
    /// Samples of importance sampling for each image.
    pub importance_samples: usize,
    /// Seed of the evaluation's draws.
    pub seed: u64,
}

impl Default for EvalSettings {
    fn default() -> Self {
        EvalSettings { importance_samples: 5000, seed: 1 }
    }
}

impl RunSpec {
    /// Reads a TOML text and checks it.
    pub fn from_toml(text: &str) -> Result<Self, ConfigError> {
        let spec: RunSpec = toml::from_str(text).map_err(|e| ConfigError::Syntax(e.to_string()))?;
        spec.check()?;
        Ok(spec)
    }

    /// Reads the settings of a run that may be older than this version: what they do not say yet is as it was then.
    pub fn from_record(text: &str) -> Result<Self, ConfigError> {
        let mut table: toml::Table =
            toml::from_str(text).map_err(|e: toml::de::Error| ConfigError::Syntax(e.to_string()))?;
        let data = table.entry("data").or_insert_with(|| toml::Table::new().into());
        if let Some(data) = data.as_table_mut() {
            data.entry("kind").or_insert_with(|| Kind::Byte.name().into());
            data.entry("split").or_insert_with(|| Splitting::Earlier.name().into());
        }
        Self::from_toml(&table.to_string())
    }

    /// What a description may contain, as JSON Schema: names, types, defaults and meanings.
    pub fn json_schema() -> serde_json::Value {
        schemars::schema_for!(RunSpec).to_value()
    }

    /// The settings as TOML, complete.
    pub fn to_toml(&self) -> String {
        toml::to_string_pretty(self).expect("settings are plain tables, numbers and strings")
    }

    /// The settings with some of them replaced: `train.epochs=6`. Values are TOML; what is none is
    /// taken as a string.
    pub fn with_assignments<S: AsRef<str>>(&self, assignments: &[S]) -> Result<Self, ConfigError> {
        let mut table: toml::Table = toml::from_str(&self.to_toml()).expect("written by this program");
        for assignment in assignments.iter().map(AsRef::as_ref) {
            let (key, text) =
                assignment.split_once('=').ok_or_else(|| ConfigError::Assignment(assignment.into()))?;
            let value = toml::from_str::<toml::Table>(&format!("value = {text}"))
                .ok()
                .and_then(|mut t| t.remove("value"))
                .unwrap_or_else(|| toml::Value::String(text.into()));
            assign(&mut table, key.trim(), value)
                .ok_or_else(|| ConfigError::Assignment(assignment.into()))?;
        }
        let text = toml::to_string(&table).map_err(|e| ConfigError::Syntax(e.to_string()))?;
        Self::from_toml(&text)
    }

    /// Refuses values that make no sense.
    pub fn check(&self) -> Result<(), ConfigError> {
        let wrong = |key, value: String, allowed| Err(ConfigError::Value { key, value, allowed });
        let counts = [
            ("model.latent", self.model.latent, 4096),
            ("train.epochs", self.train.epochs, 10_000_000),
            ("train.batch", self.train.batch, 1_000_000),
            ("train.validate_every", self.train.validate_every, 10_000_000),
            ("data.evaluation_draws", self.data.evaluation_draws, 1000),
            ("eval.importance_samples", self.eval.importance_samples, 1_000_000_000),
        ];
        for (key, value, most) in counts {
            if value == 0 || value > most {
                return wrong(key, value.to_string(), "at least 1, and not absurdly many");
            }
        }
        if self.model.hidden.iter().any(|h| *h == 0 || *h > 65_536) || self.model.hidden.len() > 64 {
            return wrong(
                "model.hidden",
                format!("{:?}", self.model.hidden),
                "sizes from 1 to 65536, at most 64 layers",
            );
        }
        if self.chain.hmc_steps > 1000 || self.chain.leapfrog_steps > 1000 {
            let value = format!("{} x {}", self.chain.hmc_steps, self.chain.leapfrog_steps);
            return wrong("chain.hmc_steps, chain.leapfrog_steps", value, "at most 1000 each");
        }
        if self.chain.hmc_steps > 0 && self.chain.leapfrog_steps == 0 {
            return wrong("chain.leapfrog_steps", "0".into(), "at least 1 where there are HMC steps");
        }
        if !(0.0..=86_400.0).contains(&self.train.save_seconds) {
            return wrong("train.save_seconds", self.train.save_seconds.to_string(), "from 0 to 86400");
        }
        if !(0.0..=1.0).contains(&self.train.average) {
            return wrong(
                "train.average",
                self.train.average.to_string(),
                "from 0 (no average) to 1 (all epochs)",
            );
        }
        let Schedule { first, last, warm_up, .. } = self.train.learning_rate;
        if !(0.0..=1.0).contains(&warm_up) {
            let allowed = "from 0 (the first rate at once) to 1 (it rises for all epochs)";
            return wrong("train.learning_rate.warm_up", warm_up.to_string(), allowed);
        }
        for (key, rate) in [("train.learning_rate.first", first), ("train.learning_rate.last", last)] {
            if !(rate > 0.0 && rate <= 1.0) {
                return wrong(key, rate.to_string(), "more than 0 and at most 1");
            }
        }
        let Adam { beta1, beta2, epsilon, longest_gradient: longest } = self.train.adam;
        for (key, beta) in [("train.adam.beta1", beta1), ("train.adam.beta2", beta2)] {
            if !(0.0..1.0).contains(&beta) {
                return wrong(key, beta.to_string(), "at least 0 and less than 1");
            }
        }
        if !(epsilon > 0.0 && epsilon < 1.0) {
            return wrong("train.adam.epsilon", epsilon.to_string(), "more than 0 and less than 1");
        }
        if !(0.0..=1e30).contains(&longest) {
            return wrong(
                "train.adam.longest_gradient",
                longest.to_string(),
                "from 0 to 1e30, where 0 is no limit",
            );
        }
        Ok(())
    }
}

/// Sets a value in nested tables; `None` if the way leads through something else.
fn assign(table: &mut toml::Table, key: &str, value: toml::Value) -> Option<()> {
    match key.split_once('.') {
        None if key.is_empty() => None,
        None => {
            table.insert(key.into(), value);
            Some(())
        }
        Some((head, rest)) => {
            let inner = table.entry(head).or_insert_with(|| toml::Value::Table(toml::Table::new()));
            assign(inner.as_table_mut()?, rest, value)
        }
    }
}
