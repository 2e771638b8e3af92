//! Check a device by training a small model on it.

use std::sync::Arc;

use hmcvi_graph::Store;

use super::adam::is_adam_state;
use super::trainer::{TrainError, Trainer};
use crate::config::preset;
use crate::data::Dataset;
use crate::device::Device;

/// Trains a small model for some steps on a device and on one thread of the CPU, and returns the largest relative
/// difference of its parameters.
pub fn self_test(device: &Device) -> Result<f64, TrainError> {
    let mut spec = preset("hmcvi-13").unwrap_or_default();
    (spec.model.hidden, spec.model.latent, spec.train.batch) = (vec![32, 32], 4, 64);
    (spec.data.limit, spec.data.evaluation_draws) = (200, 1);
    let data = Arc::new(Dataset::embedded().map_err(|_| TrainError::NoImages("embedded"))?);
    let train = |device: &Device| -> Result<Store<f32>, TrainError> {
        let mut trainer = Trainer::new(&spec, data.clone(), device, None)?;
        let rows: Vec<u32> = (0..64).collect();
        trainer.updates(&rows, 1e-3, 20)?;
        trainer.store()
    };
    let (here, there) = (train(device)?, train(&Device::cpu(1))?);
    let mut worst: f64 = 0.0;
    for (name, tensor) in there.iter().filter(|(name, _)| !is_adam_state(name)) {
        let other = here.get(name).map_or(&[][..], |t| &t.values);
        let size = tensor.values.iter().fold(1e-6, |m: f64, v| m.max(f64::from(v.abs())));
        let pairs = tensor.values.iter().zip(other);
        worst = pairs.map(|(a, b)| f64::from((a - b).abs()) / size).fold(worst, f64::max);
    }
    Ok(worst)
}
