//! Name the settings of training.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::schedule::Schedule;

/// How the model is trained.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields)]
pub struct TrainSettings {
    /// Passes through the training images.
    #[cfg_attr(test, schemars(range(min = 1, max = 10_000_000)))]
    pub epochs: usize,
    /// Seconds of training after which no other epoch begins, whatever `epochs` says; 0 for no limit.
    #[cfg_attr(test, schemars(range(min = 0.0, max = 31_536_000.0)))]
    pub seconds: f64,
    /// Images in each update.
    #[cfg_attr(test, schemars(range(min = 1, max = 1_000_000)))]
    pub batch: usize,
    /// Learning rate over the course of training.
    pub learning_rate: Schedule,
    /// Settings of Adam.
    pub adam: Adam,
    /// Share of the epochs so far over which the parameters are averaged; 0 for those of the last epoch alone.
    #[cfg_attr(test, schemars(range(min = 0.0, max = 1.0)))]
    pub average: f64,
    /// Number of first epochs in which the chain's step size stays at its initial value.
    pub hold_step_size: usize,
    /// Epochs between evaluations on the validation images.
    #[cfg_attr(test, schemars(range(min = 1, max = 10_000_000)))]
    pub validate_every: usize,
    /// Seconds between checkpoints, also within epochs; 0 for one after every epoch.
    #[cfg_attr(test, schemars(range(min = 0.0, max = 86_400.0)))]
    pub save_seconds: f64,
    /// Whether to write the metrics for TensorBoard too.
    pub tensorboard: bool,
    /// A run directory or checkpoint whose encoder and decoder the model starts from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub init_from: Option<PathBuf>,
}

impl Default for TrainSettings {
    fn default() -> Self {
        TrainSettings {
            epochs: 60,
            seconds: 0.0,
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

impl TrainSettings {
    /// Whether a training is over after so many epochs, which took so many seconds.
    pub fn is_over(&self, epochs: u64, seconds: f64) -> bool {
        epochs >= self.epochs as u64 || self.seconds > 0.0 && seconds >= self.seconds
    }
}

/// Settings of Adam, except for the learning rate, which a schedule gives.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields)]
pub struct Adam {
    /// Decay of the mean of gradients.
    #[cfg_attr(test, schemars(range(min = 0.0), extend("exclusiveMaximum" = 1)))]
    pub beta1: f64,
    /// Decay of the mean of squared gradients.
    #[cfg_attr(test, schemars(range(min = 0.0), extend("exclusiveMaximum" = 1)))]
    pub beta2: f64,
    /// Keeps the division finite.
    #[cfg_attr(test, schemars(extend("exclusiveMinimum" = 0, "exclusiveMaximum" = 1)))]
    pub epsilon: f64,
    /// Gradients with a larger norm are scaled down to this norm; 0 for no limit.
    #[cfg_attr(test, schemars(range(min = 0.0, max = 1e30)))]
    pub max_grad_norm: f64,
}

impl Default for Adam {
    fn default() -> Self {
        Adam { beta1: 0.9, beta2: 0.999, epsilon: 1e-8, max_grad_norm: 300.0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_training_ends_with_its_epochs_or_its_time() {
        let settings = TrainSettings { epochs: 10, ..TrainSettings::default() };
        assert!(!settings.is_over(9, 1e9) && settings.is_over(10, 0.0));
        let settings = TrainSettings { seconds: 60.0, ..settings };
        assert!(!settings.is_over(9, 59.9) && settings.is_over(1, 60.0) && settings.is_over(10, 1.0));
    }
}
