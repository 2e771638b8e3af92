//! Train a variational auto-encoder: epochs of shuffled batches, validation, and all that a
//! checkpoint needs to go on exactly.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Instant;

use hmcvi_graph::random::{self, Key};
use hmcvi_graph::{CompileError, CpuOptions, Executable, Graph, Run, RunError, Store};
use hmcvi_record::Epoch;

use super::adam::add_adam_state;
use super::first_step;
use super::objective::Objective;
use crate::config::RunSpec;
use crate::data::{Binarisation, Dataset, fixed_draw, images_given, images_of_batch};
use crate::model::Vae;

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
        "training needs {} of memory, but {} are free; lower `model.hidden` or `train.batch`, or use fewer `--threads`",
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
}

impl TrainError {
    /// Whether tensors to begin or go on with belong to another model.
    pub fn is_mismatch(&self) -> bool {
        matches!(
            self,
            TrainError::Run(RunError::TensorShape { .. } | RunError::Missing { kind: "parameter", .. })
        )
    }
}

/// Updates in a row that may fail before training gives up.
const PATIENCE: u64 = 50;
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
    training: Executable<f32>,
    evaluation: Executable<f32>,
    store: Store<f32>,
    epoch: u64,
    step: u64,
    seconds: f64,
    parameters: u64,
    flop_per_image: u64,
    first_step_size: Option<f64>,
    /// Validation images, binarised once for each draw.
    validation: Vec<Vec<u8>>,
    failures: u64,
}

impl Trainer {
    /// Prepares training from the beginning; `init` holds an encoder and a decoder to begin with.
    pub fn new(
        spec: &RunSpec,
        data: Arc<Dataset>,
        threads: usize,
        init: Option<&Store<f32>>,
    ) -> Result<Self, TrainError> {
        Trainer::prepare(spec, data, threads, init, true)
    }

    /// Prepares training to go on with a checkpoint's tensors after so many epochs, updates and seconds.
    pub fn resume(
        spec: &RunSpec,
        data: Arc<Dataset>,
        threads: usize,
        store: Store<f32>,
        (epoch, step, seconds): (u64, u64, f64),
    ) -> Result<Self, TrainError> {
        let mut trainer = Trainer::prepare(spec, data, threads, None, false)?;
        for (name, tensor) in trainer.store.iter() {
            let missing = || RunError::Missing { kind: "parameter", name: name.into() };
            let found = store.get(name).ok_or_else(missing)?;
            let (expected, found) = ([tensor.rows, tensor.cols], [found.rows, found.cols]);
            if expected != found {
                return Err(RunError::TensorShape { name: name.into(), expected, found }.into());
            }
        }
        trainer.restore(store, epoch, step, seconds);
        Ok(trainer)
    }

    /// Compiles everything; with `search` a chain's first step size is found.
    fn prepare(
        spec: &RunSpec,
        data: Arc<Dataset>,
        threads: usize,
        init: Option<&Store<f32>>,
        search: bool,
    ) -> Result<Self, TrainError> {
        for (name, images) in [("train", data.train()), ("validation", data.validation())] {
            if images.is_empty() {
                return Err(TrainError::NoImages(name));
            }
        }
        let (binarisation, scale) = (spec.data.binarisation, spec.data.pixel_scale);
        let pixels = data.train().pixels();
        let graph = Graph::new();
        let vae = Vae::new(&graph, &spec.model, pixels);
        let chain = vae.infer(images_of_batch(&graph, binarisation, scale, pixels), spec.chain);
        let parameters = vae.parameters().all();
        let objective = Objective::new(&graph, parameters.clone(), chain, spec.chain);
        let rows = spec.train.batch.min(data.train().len());
        let cpu = |rows| CpuOptions { threads, ..CpuOptions::for_rows(rows) };
        let program = objective.training_program(&spec.train.adam)?;
        let evaluation = evaluation_program(spec, pixels)?;
        let values = vae.parameters().count();
        // Parameters with two averages, and one more copy while a checkpoint is written.
        let stores = 6 * size_of::<f32>() as u64 * values;
        let working = program.cpu_bytes::<f32>(cpu(rows)) + evaluation.cpu_bytes::<f32>(cpu(EVALUATION_ROWS));
        check_memory(stores + working as u64)?;
        let training = program.on_cpu(cpu(rows));

        let mut store = vae.parameters().initial_values(spec.seed);
        if let Some(init) = init {
            copy_networks(&mut store, init)?;
        }
        add_adam_state(&mut store, &parameters);
        let evaluation = evaluation.on_cpu(cpu(EVALUATION_ROWS));
        let draws = if binarisation == Binarisation::Stochastic { spec.data.evaluation_draws } else { 1 };
        let validation = (0..draws)
            .map(|d| fixed_draw(data.validation(), binarisation, scale, VALIDATION_SEED, d))
            .collect();
        let mut trainer = Trainer {
            spec: spec.clone(),
            data,
            training,
            evaluation,
            store,
            epoch: 0,
            step: 0,
            seconds: 0.0,
            parameters: values,
            flop_per_image: program.cost().product_flop_per_row,
            first_step_size: None,
            validation,
            failures: 0,
        };
        if search && spec.chain.hmc_steps > 0 {
            let mut program = objective.energy_error_program()?.on_cpu(cpu(EVALUATION_ROWS));
            trainer.find_first_step_size(&mut program)?;
        }
        Ok(trainer)
    }

    /// All tensors: parameters and the optimiser's state.
    pub fn store(&self) -> &Store<f32> {
        &self.store
    }

    /// Epochs done.
    pub fn epochs_done(&self) -> u64 {
        self.epoch
    }

    /// Number of trained values.
    pub fn parameters(&self) -> u64 {
        self.parameters
    }

    /// Floating-point operations of one update's matrix products, for each image.
    pub fn flop_per_image(&self) -> u64 {
        self.flop_per_image
    }

    /// Threads in use.
    pub fn threads(&self) -> usize {
        self.training.options().threads
    }

    /// Step size found before training.
    pub fn first_step_size(&self) -> Option<f64> {
        self.first_step_size
    }

    /// Bytes of working memory.
    pub fn bytes(&self) -> u64 {
        (self.training.bytes() + self.evaluation.bytes()) as u64
    }

    /// Goes on from a checkpoint's state.
    pub fn restore(&mut self, store: Store<f32>, epoch: u64, step: u64, seconds: f64) {
        (self.store, self.epoch, self.step, self.seconds) = (store, epoch, step, seconds);
    }

    fn find_first_step_size(&mut self, program: &mut Executable<f32>) -> Result<(), TrainError> {
        let order = shuffled(self.data.train().len(), self.spec.seed, u64::from(u32::MAX));
        let (seed, images) = (self.spec.seed, self.data.train().bytes());
        let batches: Vec<&[u32]> = order.chunks(EVALUATION_ROWS).take(3).collect();
        let found = first_step::find(program, &mut self.store, batches.len(), |program, store, b| {
            let run = Run {
                rows: batches[b].len(),
                data: &[("images", images)],
                indices: &[("batch", batches[b])],
                seed,
                // Numbers far above those of training.
                step: (1 << 40) + b as u64,
                ..Run::default()
            };
            program.run(store, &run)
        })?;
        self.first_step_size = Some(found.ok_or(TrainError::NoStepSize)?);
        Ok(())
    }

    /// One pass through the training images, and a look at the validation images if it is time.
    /// `None` if the observer stopped it on the way.
    pub fn epoch(&mut self, observer: &mut dyn Observer) -> Result<Option<Epoch>, TrainError> {
        let start = Instant::now();
        let images = self.data.train().len();
        let order = shuffled(images, self.spec.seed, self.epoch);
        let batch = self.spec.train.batch.min(images);
        let steps = images.div_ceil(batch) as u64 * self.spec.train.epochs as u64;
        let mut sums = Sums::default();
        let mut skipped = 0;
        let mut rate = 0.0;
        for (done, rows) in order.chunks(batch).enumerate() {
            rate = self.spec.train.learning_rate.rate(self.step as f64 / steps as f64);
            let updated = self.update(rows, rate)?;
            let bound = sums.add(&self.training, rows.len());
            self.failures = if updated { 0 } else { self.failures + 1 };
            skipped += u64::from(self.failures > 0);
            if self.failures > PATIENCE {
                return Err(TrainError::Diverged(self.failures));
            }
            observer.batch(&sums.batch(self.epoch + 1, done * batch + rows.len(), images, bound));
            if observer.stop() {
                return Ok(None);
            }
        }
        self.epoch += 1;
        let seconds = start.elapsed().as_secs_f64();
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

    /// One update with some rows of the training images; returns whether it took place, which it does
    /// not if the gradient is not finite.
    pub fn update(&mut self, rows: &[u32], rate: f64) -> Result<bool, TrainError> {
        self.step += 1;
        let run = Run {
            rows: rows.len(),
            inputs: &[("learning_rate", &[rate as f32])],
            data: &[("images", self.data.train().bytes())],
            indices: &[("batch", rows)],
            seed: self.spec.seed,
            step: self.step,
            row_offset: 0,
        };
        self.training.run(&mut self.store, &run)?;
        Ok(scalar(&self.training, "skipped") == 0.0)
    }

    /// Means over the fixed draws of the validation images.
    pub fn validate(&mut self) -> Result<BTreeMap<String, f64>, TrainError> {
        let mut sums = Sums::default();
        let rows: Vec<u32> = (0..self.data.validation().len() as u32).collect();
        for (draw, bytes) in self.validation.iter().enumerate() {
            for (i, rows) in rows.chunks(EVALUATION_ROWS).enumerate() {
                let run = Run {
                    rows: rows.len(),
                    data: &[("images", bytes)],
                    indices: &[("batch", rows)],
                    seed: VALIDATION_SEED,
                    step: draw as u64,
                    row_offset: (i * EVALUATION_ROWS) as u64,
                    ..Run::default()
                };
                self.evaluation.run(&mut self.store, &run)?;
                sums.add(&self.evaluation, rows.len());
            }
        }
        Ok(sums.means())
    }
}

/// Seed of the validation images' draws, the same for all runs.
const VALIDATION_SEED: u64 = 0x76a1;

fn evaluation_program(spec: &RunSpec, pixels: usize) -> Result<hmcvi_graph::Program, CompileError> {
    let graph = Graph::new();
    let vae = Vae::new(&graph, &spec.model, pixels);
    let chain =
        vae.infer(images_given(&graph, spec.data.binarisation, spec.data.pixel_scale, pixels), spec.chain);
    Objective::new(&graph, vae.parameters().all(), chain, spec.chain).evaluation_program()
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

/// A permutation of `0..n` that depends on seed and epoch alone (Fisher and Yates).
fn shuffled(n: usize, seed: u64, epoch: u64) -> Vec<u32> {
    let mut uniform = vec![0f64; n];
    random::uniform(Key { seed, stream: u16::MAX - 1, step: epoch, row: 0 }, &mut uniform);
    let mut order: Vec<u32> = (0..n as u32).collect();
    for i in (1..n).rev() {
        order.swap(i, (uniform[i] * (i + 1) as f64) as usize);
    }
    order
}

fn scalar(executable: &Executable<f32>, name: &str) -> f64 {
    executable.output(name).map_or(0.0, |values| f64::from(values[0]))
}

/// Sums of what programs report about batches.
#[derive(Default)]
struct Sums {
    sums: BTreeMap<&'static str, f64>,
    rows: f64,
    batches: f64,
}

/// Terms of the bound, in the order of the equation.
const TERMS: [&str; 6] =
    ["log_joint", "initial_entropy", "momentum_entropy", "reverse_momentum", "final_momentum", "acceptance"];
/// Sums over all rows that programs return, and what their means are called.
const OVER_ROWS: [(&str, &str); 3] =
    [("accepted", "acceptance_rate"), ("step_size", "step_size"), ("alpha", "alpha")];

impl Sums {
    /// Adds a batch; returns its mean bound.
    fn add(&mut self, program: &Executable<f32>, rows: usize) -> f64 {
        for name in TERMS
            .into_iter()
            .chain(["bound", "count", "diverging", "gradient_norm"])
            .chain(OVER_ROWS.map(|o| o.0))
        {
            if program.output(name).is_some() {
                *self.sums.entry(name).or_default() += scalar(program, name);
            }
        }
        self.rows += rows as f64;
        self.batches += 1.0;
        scalar(program, "bound") / scalar(program, "count").max(1.0)
    }

    fn batch(&self, epoch: u64, images: usize, of: usize, bound: f64) -> Batch {
        let sum = |name: &str| self.sums.get(name).copied();
        let counted = sum("count").unwrap_or(0.0).max(1.0);
        Batch {
            epoch,
            images,
            of,
            bound,
            mean_bound: sum("bound").unwrap_or(0.0) / counted,
            terms: TERMS.map(|name| sum(name).map(|s| (name, s / counted))),
            acceptance_rate: sum("accepted").map(|a| a / self.rows),
            step_size: sum("step_size").map(|s| s / self.rows),
            divergences: self.divergences(),
        }
    }

    fn divergences(&self) -> u64 {
        self.sums.get("diverging").map_or(0, |d| *d as u64)
    }

    fn means(&self) -> BTreeMap<String, f64> {
        let counted = self.sums.get("count").copied().unwrap_or(0.0).max(1.0);
        let of = |name: &str| self.sums.get(name).copied();
        let each = TERMS.iter().chain(&["bound"]);
        let each = each.filter_map(|name| Some((name.to_string(), of(name)? / counted)));
        let over = OVER_ROWS.iter().filter_map(|(sum, name)| Some((name.to_string(), of(sum)? / self.rows)));
        let norm = of("gradient_norm").map(|g| ("gradient_norm".to_string(), g / self.batches));
        each.chain(over).chain(norm).collect()
    }
}
