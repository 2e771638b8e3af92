//! Prepare a training: compile its programs, find first values, and put everything on the device.

use std::rc::Rc;
use std::sync::Arc;

use hmcvi_graph::{BatchProduct, CompileError, Graph, Program, Run, RunError, Store};

use super::adam::add_adam_state;
use super::average::{self, add_averages, averaged, averaging_program};
use super::backend::{Backend, Parts};
use super::objective::Objective;
use super::sums::Ledger;
use super::trainer::{EVALUATION_ROWS, TrainError, shuffled};
use crate::config::{ConfigError, RunSpec, TrainSettings};
use crate::data::{Dataset, Observation, batch};
use crate::device::Device;
use crate::family::FirstLook;
use crate::nn::Parameters;
use crate::problem::Problem;

/// Seed of the validation rows' draws, the same for all runs.
const VALIDATION_SEED: u64 = 0x76a1;
/// Batches that a family looks at before training.
const LOOKS: usize = 3;

/// What is trained, on what, and how.
#[derive(Clone)]
pub struct Training {
    /// The model and the family.
    pub problem: Problem,
    /// Settings.
    pub settings: TrainSettings,
    /// Seed of all random numbers.
    pub seed: u64,
    /// Data.
    pub data: Arc<Dataset>,
    /// How rows become what the model sees.
    pub observation: Observation,
    /// Fixed draws of the validation rows.
    pub draws: usize,
}

impl Training {
    /// The training that a run describes.
    ///
    /// # Errors
    /// If its settings do not fit the data.
    pub fn of_run(spec: &RunSpec, data: Arc<Dataset>) -> Result<Self, ConfigError> {
        let spec = &spec.for_data(&data)?;
        let observation = spec.data.observation(data.train());
        Ok(Training {
            problem: Problem::of_training(spec, &observation, data.train()),
            settings: spec.train.clone(),
            seed: spec.seed,
            observation,
            draws: if observation.is_random() { spec.data.evaluation_draws } else { 1 },
            data,
        })
    }

    /// Rows of an update.
    fn rows(&self) -> usize {
        self.settings.batch.min(self.data.train().len())
    }

    fn has_averages(&self) -> bool {
        self.settings.average > 0.0
    }
}

/// What a training begins with.
pub(super) enum Beginning<'a> {
    /// Random values, or trained values of the plain problem with others random.
    Fresh(Option<&'a Store<f32>>),
    /// The state of an earlier training.
    Checkpoint(Store<f32>),
}

/// What a family found, by name.
type Begun = Vec<(&'static str, f64)>;

/// A training that can begin.
pub(super) struct Ready {
    pub(super) backend: Backend,
    pub(super) ledger: Ledger,
    /// Number of trained values.
    pub(super) parameters: u64,
    pub(super) flop_per_image: u64,
    pub(super) products: Vec<BatchProduct>,
    /// What the family found.
    pub(super) begun: Begun,
}

/// Compiles everything; a fresh family finds its first values.
pub(super) fn prepare(
    training: &Training,
    device: &Device,
    beginning: Beginning<'_>,
) -> Result<Ready, TrainError> {
    for (name, rows) in [("train", training.data.train()), ("validation", training.data.validation())] {
        if rows.is_empty() {
            return Err(TrainError::NoImages(name));
        }
    }
    let graph = Graph::new();
    let parameters = Rc::new(Parameters::new(&graph));
    let draw = training.problem.infer(&parameters, training.observation.anew(&graph));
    let updates_of_epoch = training.data.train().len().div_ceil(training.rows());
    let hold = training.settings.hold_step_size.saturating_mul(updates_of_epoch);
    let objective = Objective::new(&parameters, draw).holding_step_size(hold);
    let programs = Programs::compile(training, &objective)?;
    programs.check_memory(training, device, parameters.count())?;
    let (store, begun) = first_state(training, device, &objective, &parameters, beginning)?;
    let drawn = |d| training.observation.draw(training.data.validation(), VALIDATION_SEED, d);
    let parts = Parts {
        training: &programs.training,
        evaluation: &programs.evaluation,
        averaging: programs.averaging.as_ref(),
        rows: (training.rows(), EVALUATION_ROWS),
        data: training.data.clone(),
        validation: (0..training.draws).map(drawn).collect(),
        seed: training.seed,
        validation_seed: VALIDATION_SEED,
    };
    Ok(Ready {
        backend: Backend::new(device, parts, &store)?,
        ledger: objective.ledger(),
        parameters: parameters.count(),
        flop_per_image: programs.training.cost().product_flop_per_row,
        products: programs.training.products(),
        begun,
    })
}

/// The programs of a training.
struct Programs {
    training: Program,
    evaluation: Program,
    averaging: Option<Program>,
}

impl Programs {
    fn compile(training: &Training, objective: &Objective<'_>) -> Result<Self, CompileError> {
        let averaging =
            training.has_averages().then(|| averaging_program(&Graph::new(), objective.parameters()));
        Ok(Programs {
            training: objective.training_program(&training.settings.adam)?,
            evaluation: evaluation_program(training)?,
            averaging: averaging.transpose()?,
        })
    }

    /// Refuses what the machine has no room for, where it says how much there is.
    fn check_memory(&self, training: &Training, device: &Device, values: u64) -> Result<(), TrainError> {
        if !matches!(device, Device::Cpu { .. }) {
            return Ok(());
        }
        // Parameters with the averages of Adam and their own, the state of the last epoch, and one more copy while a
        // checkpoint is written.
        let stores = 3 * (3 + u64::from(training.has_averages())) * size_of::<f32>() as u64 * values;
        let working = self.training.cpu_bytes::<f32>(device.cpu_options(training.rows()))
            + self.evaluation.cpu_bytes::<f32>(device.cpu_options(EVALUATION_ROWS));
        let needed = stores + working as u64;
        match crate::memory::free() {
            Some(free) if needed > free => Err(TrainError::Memory { needed, free }),
            _ => Ok(()),
        }
    }
}

fn evaluation_program(training: &Training) -> Result<Program, CompileError> {
    let graph = Graph::new();
    let parameters = Rc::new(Parameters::new(&graph));
    let draw = training.problem.infer(&parameters, training.observation.drawn(&graph));
    let from = if training.has_averages() { average::PREFIX } else { "" };
    Objective::new(&parameters, draw).evaluation_program(from)
}

/// All tensors that training starts or resumes with, and the first values that the family found.
fn first_state(
    training: &Training,
    device: &Device,
    objective: &Objective<'_>,
    parameters: &Parameters<'_>,
    beginning: Beginning<'_>,
) -> Result<(Store<f32>, Begun), TrainError> {
    let mut store = parameters.initial_values(training.seed);
    if let Beginning::Fresh(Some(init)) = beginning {
        copy_plain(training, &mut store, init)?;
    }
    add_adam_state(&mut store, objective.parameters());
    let mut begun = Begun::new();
    match beginning {
        Beginning::Fresh(_) => begun = begin_family(training, device, objective, &mut store)?,
        Beginning::Checkpoint(found) if training.has_averages() => store = same_shapes(&store, found)?,
        Beginning::Checkpoint(found) => store = same_shapes(&store, averaged(&found))?,
    }
    if training.has_averages() {
        add_averages(&mut store, &parameters.names());
    }
    Ok((store, begun))
}

/// Lets the family find its first values on a few batches.
fn begin_family(
    training: &Training,
    device: &Device,
    objective: &Objective<'_>,
    store: &mut Store<f32>,
) -> Result<Begun, TrainError> {
    let Some(program) = objective.first_look_program()? else { return Ok(Vec::new()) };
    let mut order = shuffled(training.data.train().len(), training.seed, u64::from(u32::MAX));
    order.truncate(LOOKS * EVALUATION_ROWS);
    let rows = training.data.train().pick(&order).here();
    let places: Vec<u32> = (0..rows.len() as u32).collect();
    let data = [rows.data_set()];
    let indices: Vec<_> = places.chunks(EVALUATION_ROWS).map(|rows| [batch(rows)]).collect();
    let run = |b: usize| {
        Run {
            rows: indices[b][0].1.len(),
            data: &data,
            indices: &indices[b],
            seed: training.seed,
            // Numbers far above those of training.
            step: (1 << 40) + b as u64,
            ..Run::default()
        }
    };
    let runs = (0..indices.len()).map(run).collect();
    let mut look = FirstLook::new(&program, device, store, runs)?;
    Ok(training.problem.family.begin(&mut look)?)
}

/// Copies what the plain problem has, and nothing else, from a trained model.
fn copy_plain(training: &Training, store: &mut Store<f32>, from: &Store<f32>) -> Result<(), RunError> {
    for name in training.problem.plain_parameters() {
        let missing = || RunError::Missing { kind: "parameter", name: name.clone() };
        let source = from.get(&name).ok_or_else(missing)?;
        let target = store.get_mut(&name).ok_or_else(missing)?;
        let (expected, found) = ([target.rows, target.cols], [source.rows, source.cols]);
        if expected != found {
            return Err(RunError::TensorShape { name, expected, found });
        }
        target.values.copy_from_slice(&source.values);
    }
    Ok(())
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
