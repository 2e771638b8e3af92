//! Train a variational auto-encoder: epochs of shuffled batches, validation, and all that a
//! checkpoint needs to go on exactly.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Instant;

use hmcvi_graph::random::Key;
use hmcvi_graph::{CompileError, Graph, Run, RunError, Store};
use hmcvi_record::{Epoch, PartialEpoch};

use super::adam::add_adam_state;
use super::average::{self, add_averages, averaged, averaging_program};
use super::backend::{Backend, Parts, Which};
use super::first_chain;
use super::objective::Objective;
use super::sums::{Sums, TERMS};
use crate::config::RunSpec;
use crate::data::{Dataset, batch, permutation};
use crate::device::{Device, DeviceError, Prepared, Results, Turn};
use crate::model::Vae;
use crate::vi::{Dropped, NotABound};

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
    /// There are no images to learn from.
    #[error("the {0} split of the data has no images")]
    NoImages(&'static str),
    /// No step size is small enough.
    #[error(
        "even a step size of 1e-7 makes simulations diverge; check the data and `init_from`, or lower `chain.leapfrog_steps`"
    )]
    NoStepSize,
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
const EVALUATION_ROWS: usize = 500;

/// How an epoch stands after an update.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Batch {
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
    /// Its terms by name, those that the chain has.
    pub terms: [Option<(&'static str, f64)>; TERMS.len()],
    /// Acceptance rate of the epoch so far, with the acceptance step.
    pub acceptance_rate: Option<f64>,
    /// Mean step size of the epoch so far, where there is a chain.
    pub step_size: Option<f64>,
    /// Images of this epoch whose simulation diverged.
    pub divergences: u64,
}

/// Watches training; all methods do nothing unless implemented.
pub trait Observer {
    /// After every update.
    fn batch(&mut self, _batch: &Batch) {}
    /// Whether to stop after this update.
    fn stop(&mut self) -> bool {
        false
    }
}

/// Watches nothing.
impl Observer for () {}

/// A model in training.
pub struct Trainer {
    spec: RunSpec,
    data: Arc<Dataset>,
    backend: Backend,
    device: Device,
    epoch: u64,
    step: u64,
    seconds: f64,
    parameters: u64,
    flop_per_image: u64,
    first_step_size: Option<f64>,
    /// Fixed draws of the validation images.
    draws: usize,
    failures: u64,
    /// Epochs in a row that left out too many rows.
    dropping: u64,
    results: Results,
    /// The epoch that was stopped on the way.
    under_way: Option<PartialEpoch>,
}

impl Trainer {
    /// Prepares training from the beginning; `init` holds an encoder and a decoder to begin with.
    pub fn new(
        spec: &RunSpec,
        data: Arc<Dataset>,
        device: &Device,
        init: Option<&Store<f32>>,
    ) -> Result<Self, TrainError> {
        Trainer::prepare(spec, data, device, Beginning::Fresh(init))
    }

    /// Prepares training to go on with a checkpoint's tensors after so many epochs, updates and seconds, and perhaps a
    /// part of another epoch.
    pub fn resume(
        spec: &RunSpec,
        data: Arc<Dataset>,
        device: &Device,
        store: Store<f32>,
        ((epoch, step, seconds), under_way): ((u64, u64, f64), Option<PartialEpoch>),
    ) -> Result<Self, TrainError> {
        let trainer = Trainer::prepare(spec, data, device, Beginning::Checkpoint(store))?;
        Ok(Trainer { epoch, step, seconds, under_way, ..trainer })
    }

    /// Compiles everything; a fresh chain's first masses and step size are found.
    fn prepare(
        spec: &RunSpec,
        data: Arc<Dataset>,
        device: &Device,
        beginning: Beginning<'_>,
    ) -> Result<Self, TrainError> {
        for (name, images) in [("train", data.train()), ("validation", data.validation())] {
            if images.is_empty() {
                return Err(TrainError::NoImages(name));
            }
        }
        let pixels = data.train().pixels();
        let observation = spec.data.observation(pixels);
        let graph = Graph::new();
        let vae = Vae::new(&graph, &spec.model, pixels);
        let chain = vae.infer(observation.anew(&graph), spec.chain);
        let parameters = vae.parameters().all();
        let rows = spec.train.batch.min(data.train().len());
        let hold = spec.train.hold_step_size.saturating_mul(data.train().len().div_ceil(rows));
        let objective = Objective::new(&graph, parameters.clone(), chain, spec.chain).holding_step_size(hold);
        let program = objective.training_program(&spec.train.adam)?;
        let averages = spec.train.average > 0.0;
        let averaging = if averages { Some(averaging_program(&Graph::new(), &parameters)?) } else { None };
        let evaluation = evaluation_program(spec, pixels)?;
        let values = vae.parameters().count();
        if matches!(device, Device::Cpu { .. }) {
            // Parameters with the averages of Adam and their own, the state of the last epoch, and one more copy while a
            // checkpoint is written.
            let stores = 3 * (3 + u64::from(averages)) * size_of::<f32>() as u64 * values;
            let working = program.cpu_bytes::<f32>(device.cpu_options(rows))
                + evaluation.cpu_bytes::<f32>(device.cpu_options(EVALUATION_ROWS));
            check_memory(stores + working as u64)?;
        }
        let mut store = vae.parameters().initial_values(spec.seed);
        if let Beginning::Fresh(Some(init)) = beginning {
            copy_networks(&mut store, init)?;
        }
        add_adam_state(&mut store, &parameters);
        let mut first_step_size = None;
        match beginning {
            Beginning::Fresh(_) if spec.chain.hmc_steps > 0 => {
                let mut program = device.prepare(&objective.first_look_program()?, EVALUATION_ROWS)?;
                first_step_size = Some(begin_chain(spec, &data, &mut program, &mut store)?);
            }
            Beginning::Fresh(_) => {}
            Beginning::Checkpoint(found) if averages => store = same_shapes(&store, found)?,
            Beginning::Checkpoint(found) => store = same_shapes(&store, averaged(&found))?,
        }
        if averages {
            add_averages(&mut store, &parameters);
        }
        let draws = if observation.binarisation.is_random() { spec.data.evaluation_draws } else { 1 };
        let drawn = |d| observation.draw(data.validation(), VALIDATION_SEED, d);
        let validation = (0..draws).map(drawn).collect();
        let parts = Parts {
            training: &program,
            evaluation: &evaluation,
            averaging: averaging.as_ref(),
            rows: (rows, EVALUATION_ROWS),
            data: data.clone(),
            validation,
            seed: spec.seed,
            validation_seed: VALIDATION_SEED,
        };
        Ok(Trainer {
            spec: spec.clone(),
            data,
            backend: Backend::new(device, parts, &store)?,
            device: device.clone(),
            epoch: 0,
            step: 0,
            seconds: 0.0,
            parameters: values,
            flop_per_image: program.cost().product_flop_per_row,
            first_step_size,
            draws,
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

    /// Number of trained values.
    pub fn parameters(&self) -> u64 {
        self.parameters
    }

    /// Floating-point operations of one update's matrix products, for each image.
    pub fn flop_per_image(&self) -> u64 {
        self.flop_per_image
    }

    /// The device in use.
    pub fn device(&self) -> &Device {
        &self.device
    }

    /// Step size found before training.
    pub fn first_step_size(&self) -> Option<f64> {
        self.first_step_size
    }

    /// Bytes of working memory.
    pub fn bytes(&self) -> u64 {
        self.backend.bytes() as u64
    }

    /// One pass through the training images, and a look at the validation images if it is time.
    /// `None` if the observer stopped it on the way; the next call goes on with the rest, to the same results.
    pub fn epoch(&mut self, observer: &mut dyn Observer) -> Result<Option<Epoch>, TrainError> {
        let start = Instant::now();
        let images = self.data.train().len();
        let order = shuffled(images, self.spec.seed, self.epoch);
        let batch = self.spec.train.batch.min(images);
        let steps = images.div_ceil(batch) as u64 * self.spec.train.epochs as u64;
        let before = self.under_way.take().unwrap_or_default();
        let (mut sums, mut skipped) = (Sums::of(&before), before.skipped);
        let mut rate = self.spec.train.learning_rate.rate(self.step.saturating_sub(1) as f64 / steps as f64);
        self.backend.begin_epoch(order)?;
        let mut results = std::mem::take(&mut self.results);
        // Some updates are queued, then their results are looked at.
        let together = batch * self.backend.patience();
        for first in (before.images as usize..images).step_by(together) {
            let last = images.min(first + together);
            for start in (first..last).step_by(batch) {
                rate = self.spec.train.learning_rate.rate(self.step as f64 / steps as f64);
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
        if self.spec.train.average > 0.0 {
            self.backend.average(average::weight(self.spec.train.average, self.epoch))?;
        }
        self.backend.keep()?;
        let seconds = before.seconds + start.elapsed().as_secs_f64();
        self.seconds += seconds;
        let last = self.epoch == self.spec.train.epochs as u64;
        let look = last || self.epoch.is_multiple_of(self.spec.train.validate_every as u64);
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
        let count = self.data.validation().len();
        let part = |first: usize| first..count.min(first + EVALUATION_ROWS);
        for draw in 0..self.draws {
            for first in (0..count).step_by(EVALUATION_ROWS) {
                self.backend.look(draw, part(first))?;
            }
        }
        let mut looks = Results::default();
        self.backend.collect(Which::Evaluation, &mut looks)?;
        let mut sums = Sums::default();
        let parts = count.div_ceil(EVALUATION_ROWS);
        for i in 0..looks.len() {
            sums.add(&looks, i, part(i % parts * EVALUATION_ROWS).len());
        }
        Ok(sums.means())
    }
}

/// What a training begins with.
enum Beginning<'a> {
    /// Random values, or a trained encoder and decoder with others random.
    Fresh(Option<&'a Store<f32>>),
    /// The state of an earlier training.
    Checkpoint(Store<f32>),
}

/// A store that has every tensor of another, in the same shape.
fn same_shapes(expected: &Store<f32>, found: Store<f32>) -> Result<Store<f32>, RunError> {
    for (name, tensor) in expected.iter() {
        let missing = || RunError::Missing { kind: "parameter", name: name.into() };
        let found = found.get(name).ok_or_else(missing)?;
        let (expected, found) = ([tensor.rows, tensor.cols], [found.rows, found.cols]);
        if expected != found {
            return Err(RunError::TensorShape { name: name.into(), expected, found });
        }
    }
    Ok(found)
}

/// Finds a chain's first masses and step size on a few batches, and sets them.
fn begin_chain(
    spec: &RunSpec,
    data: &Dataset,
    program: &mut Prepared<f32>,
    store: &mut Store<f32>,
) -> Result<f64, TrainError> {
    let order = shuffled(data.train().len(), spec.seed, u64::from(u32::MAX));
    let batches: Vec<&[u32]> = order.chunks(EVALUATION_ROWS).take(3).collect();
    let found = first_chain::find(program, store, batches.len(), spec.chain, |program, store, b| {
        let run = Run {
            rows: batches[b].len(),
            data: &[data.train().data_set()],
            indices: &[batch(batches[b])],
            seed: spec.seed,
            // Numbers far above those of training.
            step: (1 << 40) + b as u64,
            ..Run::default()
        };
        program.evaluate(store, &run)
    })?;
    found.ok_or(TrainError::NoStepSize)
}

/// Seed of the validation images' draws, the same for all runs.
const VALIDATION_SEED: u64 = 0x76a1;

fn evaluation_program(spec: &RunSpec, pixels: usize) -> Result<hmcvi_graph::Program, CompileError> {
    let graph = Graph::new();
    let vae = Vae::new(&graph, &spec.model, pixels);
    let chain = vae.infer(spec.data.observation(pixels).drawn(&graph), spec.chain);
    let from = if spec.train.average > 0.0 { average::PREFIX } else { "" };
    Objective::new(&graph, vae.parameters().all(), chain, spec.chain).evaluation_program(from)
}

/// Refuses what the machine has no room for, where it says how much there is.
fn check_memory(needed: u64) -> Result<(), TrainError> {
    match crate::memory::free() {
        Some(free) if needed > free => Err(TrainError::Memory { needed, free }),
        _ => Ok(()),
    }
}

fn gigabytes(bytes: u64) -> String {
    format!("{:.1} GB", bytes as f64 / 1e9)
}

/// Copies encoder and decoder, and nothing else, from a trained model.
fn copy_networks(store: &mut Store<f32>, from: &Store<f32>) -> Result<(), RunError> {
    let names: Vec<String> = store.iter().map(|(name, _)| name.to_string()).collect();
    for name in names.iter().filter(|n| n.starts_with("encoder.") || n.starts_with("decoder.")) {
        let missing = || RunError::Missing { kind: "parameter", name: name.clone() };
        let source = from.get(name).ok_or_else(missing)?;
        let target = store.get_mut(name).ok_or_else(missing)?;
        let (expected, found) = ([target.rows, target.cols], [source.rows, source.cols]);
        if expected != found {
            return Err(RunError::TensorShape { name: name.clone(), expected, found });
        }
        target.values.copy_from_slice(&source.values);
    }
    Ok(())
}

/// The order of an epoch's images, which depends on seed and epoch alone.
fn shuffled(n: usize, seed: u64, epoch: u64) -> Vec<u32> {
    permutation(n, Key { seed, stream: u16::MAX - 1, step: epoch, row: 0 })
}
