//! Train any model with any family: epochs of shuffled batches, validation, and all that a
//! checkpoint needs to go on exactly.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Instant;

use hmcvi_graph::random::Key;
use hmcvi_graph::{BatchProduct, CompileError, RunError, Store};
use hmcvi_record::{Epoch, PartialEpoch};

use super::average;
use super::backend::{Backend, Which};
use super::prepare::{Beginning, Training, prepare};
use super::sums::{Ledger, Sums};
use crate::config::{ConfigError, RunSpec};
use crate::data::{DataError, Dataset, permutation};
use crate::device::{Device, DeviceError, Results, Turn};
use crate::family::{BeginError, Dropped, NotABound};

/// A training that cannot begin or go on.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TrainError {
    /// The model is not a well-formed program.
    #[error(transparent)]
    Compile(#[from] CompileError),
    /// A program could not run.
    #[error(transparent)]
    Run(#[from] RunError),
    /// The device cannot be used.
    #[error(transparent)]
    Device(#[from] DeviceError),
    /// The data cannot be learnt from.
    #[error(transparent)]
    Data(#[from] DataError),
    /// There are no images to learn from.
    #[error("the {0} split of the data has no rows")]
    NoImages(&'static str),
    /// The settings do not fit the data.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// The family finds nothing to begin with.
    #[error(transparent)]
    Begin(#[from] BeginError),
    /// The machine has too little memory.
    #[error(
        "training needs {} of memory, but {} are free; lower `model.hidden` or `train.batch`, or use fewer threads",
        gigabytes(*.needed), gigabytes(*.free)
    )]
    Memory {
        /// Bytes that it takes.
        needed: u64,
        /// Bytes that are there.
        free: u64,
    },
    /// Too many updates in a row had a gradient that was not finite.
    #[error(
        "{0} updates in a row had a gradient that was not finite; lower `train.learning_rate.first` and resume"
    )]
    Diverged(u64),
    /// Too many rows were left out of the bound, epoch after epoch.
    #[error(transparent)]
    NotABound(#[from] NotABound),
}

impl TrainError {
    /// Whether tensors to begin or go on with belong to another model.
    pub fn is_mismatch(&self) -> bool {
        let (TrainError::Run(error) | TrainError::Device(DeviceError::Run(error))) = self else {
            return false;
        };
        matches!(error, RunError::TensorShape { .. } | RunError::Missing { kind: "parameter", .. })
    }
}

/// Updates in a row that may fail before training gives up.
const PATIENCE: u64 = 50;
/// Epochs in a row that may leave out more rows than a bound allows: training itself finds shorter steps.
const EPOCHS_OF_DROPPED_ROWS: u64 = 3;
/// Rows of a batch when nothing is learnt.
pub(super) const EVALUATION_ROWS: usize = 500;

/// How an epoch stands after an update.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Batch<'a> {
    /// Number of the epoch, from 1.
    pub epoch: u64,
    /// Images done in this epoch.
    pub images: usize,
    /// Images of an epoch.
    pub of: usize,
    /// Mean bound of the batch.
    pub bound: f64,
    /// Mean bound of the epoch so far.
    pub mean_bound: f64,
    /// Images of this epoch whose simulation diverged.
    pub divergences: u64,
    /// Means of the epoch so far by name: the terms of the bound, then what the family reports.
    pub means: &'a [(String, f64)],
}

impl Batch<'_> {
    /// A mean of the epoch so far.
    pub fn mean(&self, name: &str) -> Option<f64> {
        self.means.iter().find(|(known, _)| known == name).map(|(_, mean)| *mean)
    }
}

/// Watches training; all methods do nothing unless implemented.
pub trait Observer {
    /// After every update.
    fn batch(&mut self, _batch: &Batch<'_>) {}
    /// Whether to stop after this update.
    fn stop(&mut self) -> bool {
        false
    }
}

/// Watches nothing.
impl Observer for () {}

/// A model in training.
pub struct Trainer {
    training: Training,
    backend: Backend,
    device: Device,
    ledger: Arc<Ledger>,
    epoch: u64,
    step: u64,
    seconds: f64,
    parameters: u64,
    flop_per_image: u64,
    products: Vec<BatchProduct>,
    begun: Vec<(&'static str, f64)>,
    failures: u64,
    /// Epochs in a row that left out too many rows.
    dropping: u64,
    results: Results,
    /// The epoch that was stopped on the way.
    under_way: Option<PartialEpoch>,
}

impl Trainer {
    /// Prepares the training of a run from the beginning; `init` holds an encoder and a decoder to begin with.
    pub fn new(
        spec: &RunSpec,
        data: Arc<Dataset>,
        device: &Device,
        init: Option<&Store<f32>>,
    ) -> Result<Self, TrainError> {
        Trainer::begin(Training::of_run(spec, data)?, device, init)
    }

    /// Prepares to go on with a run from a checkpoint's tensors after so many epochs, updates and seconds, and perhaps a
    /// part of another epoch.
    pub fn resume(
        spec: &RunSpec,
        data: Arc<Dataset>,
        device: &Device,
        store: Store<f32>,
        done: ((u64, u64, f64), Option<PartialEpoch>),
    ) -> Result<Self, TrainError> {
        Trainer::go_on(Training::of_run(spec, data)?, device, store, done)
    }

    /// Prepares any training from the beginning; `init` holds values of the plain problem to begin with.
    pub fn begin(training: Training, device: &Device, init: Option<&Store<f32>>) -> Result<Self, TrainError> {
        Trainer::with(training, device, Beginning::Fresh(init))
    }

    /// Prepares to go on with any training, as [`resume`](Self::resume) does with a run.
    pub fn go_on(
        training: Training,
        device: &Device,
        store: Store<f32>,
        ((epoch, step, seconds), under_way): ((u64, u64, f64), Option<PartialEpoch>),
    ) -> Result<Self, TrainError> {
        let trainer = Trainer::with(training, device, Beginning::Checkpoint(store))?;
        Ok(Trainer { epoch, step, seconds, under_way, ..trainer })
    }

    fn with(training: Training, device: &Device, beginning: Beginning<'_>) -> Result<Self, TrainError> {
        let ready = prepare(&training, device, beginning)?;
        Ok(Trainer {
            training,
            backend: ready.backend,
            device: device.clone(),
            ledger: Arc::new(ready.ledger),
            epoch: 0,
            step: 0,
            seconds: 0.0,
            parameters: ready.parameters,
            flop_per_image: ready.flop_per_image,
            products: ready.products,
            begun: ready.begun,
            failures: 0,
            dropping: 0,
            under_way: None,
            results: Results::default(),
        })
    }

    /// All tensors: parameters, the optimiser's state, and averages of the parameters where there are some.
    pub fn store(&self) -> Result<Store<f32>, TrainError> {
        self.backend.store()
    }

    /// The same at the end of the last finished epoch.
    pub fn finished_store(&self) -> Result<Store<f32>, TrainError> {
        self.backend.kept()
    }

    /// Epochs done.
    pub fn epochs_done(&self) -> u64 {
        self.epoch
    }

    /// Updates done.
    pub fn updates_done(&self) -> u64 {
        self.step
    }

    /// The epoch that was stopped on the way, if there is one: the next call of [`epoch`](Self::epoch) goes on with it.
    pub fn under_way(&self) -> Option<&PartialEpoch> {
        self.under_way.as_ref()
    }

    /// Whether no other epoch is to begin. Processes that share the rows measure different times, and end together: all
    /// of them have to ask.
    pub fn is_over(&self) -> bool {
        let settings = &self.training.settings;
        let over = settings.is_over(self.epoch, self.seconds);
        self.device.ranks().filter(|_| settings.seconds > 0.0).map_or(over, |ranks| ranks.any(over))
    }

    /// Number of trained values.
    pub fn parameters(&self) -> u64 {
        self.parameters
    }

    /// Floating-point operations of one update's matrix products, for each image.
    pub fn flop_per_image(&self) -> u64 {
        self.flop_per_image
    }

    /// One update's matrix products of the batch, in order.
    pub fn products(&self) -> &[BatchProduct] {
        &self.products
    }

    /// The device in use.
    pub fn device(&self) -> &Device {
        &self.device
    }

    /// What the family found before training, by name.
    pub fn begun(&self) -> &[(&'static str, f64)] {
        &self.begun
    }

    /// Step size found before training.
    pub fn first_step_size(&self) -> Option<f64> {
        self.begun.iter().find(|(name, _)| *name == "step_size").map(|(_, size)| *size)
    }

    /// Bytes of working memory.
    pub fn bytes(&self) -> u64 {
        self.backend.bytes() as u64
    }

    /// One pass through the training images, and a look at the validation images if it is time.
    /// `None` if the observer stopped it on the way; the next call goes on with the rest, to the same results.
    pub fn epoch(&mut self, observer: &mut dyn Observer) -> Result<Option<Epoch>, TrainError> {
        let start = Instant::now();
        let images = self.training.data.train().len();
        let order = shuffled(images, self.training.seed, self.epoch);
        let batch = self.training.settings.batch.min(images);
        let steps = images.div_ceil(batch) as u64 * self.training.settings.epochs as u64;
        let before = self.under_way.take().unwrap_or_default();
        let (mut sums, mut skipped) = (Sums::of(&self.ledger, &before), before.skipped);
        let mut rate =
            self.training.settings.learning_rate.rate(self.step.saturating_sub(1) as f64 / steps as f64);
        self.backend.begin_epoch(order)?;
        let mut results = std::mem::take(&mut self.results);
        // Some updates are queued, then their results are looked at.
        let together = batch * self.backend.patience();
        for first in (before.images as usize..images).step_by(together) {
            let last = images.min(first + together);
            for start in (first..last).step_by(batch) {
                rate = self.training.settings.learning_rate.rate(self.step as f64 / steps as f64);
                self.step += 1;
                self.backend.update(start..last.min(start + batch), rate, self.step)?;
            }
            self.backend.collect(Which::Training, &mut results)?;
            let mut stop = false;
            for i in 0..results.len() {
                let done = last.min(first + (i + 1) * batch);
                let bound = sums.add(&results, i, done - (first + i * batch));
                let failed = results.get(i, "skipped").is_some_and(|s| s != 0.0);
                self.failures = if failed { self.failures + 1 } else { 0 };
                skipped += u64::from(failed);
                if self.failures > PATIENCE {
                    return Err(TrainError::Diverged(self.failures));
                }
                observer.batch(&sums.batch(self.epoch + 1, done, images, bound));
                stop |= observer.stop();
            }
            if stop {
                let seconds = before.seconds + start.elapsed().as_secs_f64();
                self.under_way = Some(PartialEpoch { skipped, seconds, ..sums.part() });
                self.results = results;
                return Ok(None);
            }
        }
        self.results = results;
        self.epoch += 1;
        self.check_dropped(sums.dropped())?;
        if self.training.settings.average > 0.0 {
            self.backend.average(average::weight(self.training.settings.average, self.epoch))?;
        }
        self.backend.keep()?;
        let seconds = before.seconds + start.elapsed().as_secs_f64();
        self.seconds += seconds;
        let last = self.is_over();
        let look = last || self.epoch.is_multiple_of(self.training.settings.validate_every as u64);
        let validation = if look { Some(self.validate()?) } else { None };
        Ok(Some(Epoch {
            epoch: self.epoch,
            step: self.step,
            seconds: self.seconds,
            learning_rate: rate,
            images: images as u64,
            divergences: sums.divergences(),
            train: sums.means(),
            validation,
            skipped,
            images_per_second: images as f64 / seconds,
        }))
    }

    /// Gives up where too many rows were left out of the bound for too long: what is reported is none.
    fn check_dropped(&mut self, dropped: Dropped) -> Result<(), NotABound> {
        let checked = dropped.check();
        self.dropping = if checked.is_err() { self.dropping + 1 } else { 0 };
        if self.dropping < EPOCHS_OF_DROPPED_ROWS { Ok(()) } else { checked }
    }

    /// Waits until this training may use a GPU that others use too.
    pub(crate) fn turn(&self) -> Option<Turn> {
        self.backend.turn()
    }

    /// So many updates with the same images, for measurements; returns when they are done.
    pub fn updates(&mut self, rows: &[u32], rate: f64, count: usize) -> Result<(), TrainError> {
        self.backend.begin_epoch(rows.to_vec())?;
        let mut results = std::mem::take(&mut self.results);
        for i in 0..count {
            self.step += 1;
            self.backend.update(0..rows.len(), rate, self.step)?;
            if (i + 1) % self.backend.patience() == 0 {
                self.backend.collect(Which::Training, &mut results)?;
            }
        }
        self.backend.collect(Which::Training, &mut results)?;
        self.results = results;
        Ok(())
    }

    /// Means over the fixed draws of the validation images, of the averaged parameters where there are some.
    pub fn validate(&mut self) -> Result<BTreeMap<String, f64>, TrainError> {
        let count = self.training.data.validation().len();
        let part = |first: usize| first..count.min(first + EVALUATION_ROWS);
        for draw in 0..self.training.draws {
            for first in (0..count).step_by(EVALUATION_ROWS) {
                self.backend.look(draw, part(first))?;
            }
        }
        let mut looks = Results::default();
        self.backend.collect(Which::Evaluation, &mut looks)?;
        let mut sums = Sums::new(&self.ledger);
        let parts = count.div_ceil(EVALUATION_ROWS);
        for i in 0..looks.len() {
            sums.add(&looks, i, part(i % parts * EVALUATION_ROWS).len());
        }
        Ok(sums.means())
    }
}

/// The order of an epoch's rows, which depends on seed and epoch alone.
pub(super) fn shuffled(n: usize, seed: u64, epoch: u64) -> Vec<u32> {
    permutation(n, Key { seed, stream: u16::MAX - 1, step: epoch, row: 0 })
}

fn gigabytes(bytes: u64) -> String {
    format!("{:.1} GB", bytes as f64 / 1e9)
}
