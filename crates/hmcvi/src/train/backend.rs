//! Run training steps and validation on a device, and hand their results back in order.

use std::ops::Range;
use std::sync::Arc;

use hmcvi_graph::{Executable, Program, Run, Store};

use super::trainer::TrainError;
use crate::data::{Dataset, Drawn, batch};
use crate::device::Device;
use crate::turns::Turn;

#[cfg(feature = "cuda")]
use hmcvi_graph::cuda::{CudaData, CudaExecutable, CudaIndex, CudaIndices, CudaOptions, CudaRun, CudaStore};

/// What a training is made of, wherever it runs.
pub(super) struct Parts<'a> {
    pub(super) training: &'a Program,
    pub(super) evaluation: &'a Program,
    /// Moves averages of the parameters, where there are some.
    pub(super) averaging: Option<&'a Program>,
    /// Most rows of an update, and of a look at validation images.
    pub(super) rows: (usize, usize),
    pub(super) data: Arc<Dataset>,
    /// Validation images, binarised once for each draw.
    pub(super) validation: Vec<Drawn>,
    pub(super) seed: u64,
    pub(super) validation_seed: u64,
}

/// The numbers that runs of a program returned, run after run.
#[derive(Default)]
pub(super) struct Results {
    names: Vec<String>,
    values: Vec<f32>,
    runs: usize,
}

impl Results {
    /// Number of runs.
    pub(super) fn len(&self) -> usize {
        self.runs
    }

    /// A number of a run; `None` if the program does not return it.
    pub(super) fn get(&self, run: usize, name: &str) -> Option<f64> {
        let i = self.names.iter().position(|n| n == name)?;
        Some(f64::from(self.values[run * self.names.len() + i]))
    }

    fn clear(&mut self) {
        self.values.clear();
        self.runs = 0;
    }
}

/// A training on a device.
pub(super) enum Backend {
    Cpu(Box<OnCpu>),
    #[cfg(feature = "cuda")]
    Cuda(Box<OnCuda>),
}

/// Which of the two programs.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Which {
    Training,
    Evaluation,
}

impl Backend {
    pub(super) fn new(device: &Device, parts: Parts<'_>, store: Store<f32>) -> Result<Self, TrainError> {
        match device {
            Device::Cpu { .. } => Ok(Backend::Cpu(Box::new(OnCpu::new(device, parts, store)))),
            #[cfg(feature = "cuda")]
            Device::Cuda(cuda) => Ok(Backend::Cuda(Box::new(OnCuda::new(cuda, parts, &store)?))),
        }
    }

    /// Waits for this training's turn among those that share a GPU.
    pub(super) fn turn(&self) -> Option<Turn> {
        match self {
            Backend::Cpu(_) => None,
            #[cfg(feature = "cuda")]
            Backend::Cuda(cuda) => Some(cuda.turns.take(cuda.training.blocks())),
        }
    }

    /// Updates that are best queued before results are asked for.
    pub(super) fn patience(&self) -> usize {
        match self {
            Backend::Cpu(_) => 1,
            #[cfg(feature = "cuda")]
            Backend::Cuda(_) => HISTORY,
        }
    }

    /// Bytes of working memory.
    pub(super) fn bytes(&self) -> usize {
        match self {
            Backend::Cpu(cpu) => cpu.training.bytes() + cpu.evaluation.bytes(),
            #[cfg(feature = "cuda")]
            Backend::Cuda(cuda) => cuda.training.bytes() + cuda.evaluation.bytes(),
        }
    }

    /// Sets the order in which images come.
    pub(super) fn begin_epoch(&mut self, order: Vec<u32>) -> Result<(), TrainError> {
        match self {
            Backend::Cpu(cpu) => cpu.order = order,
            #[cfg(feature = "cuda")]
            Backend::Cuda(cuda) => {
                cuda.order =
                    CudaIndex::upload(&cuda.device, &order).map_err(crate::device::DeviceError::from)?;
            }
        }
        Ok(())
    }

    /// Queues an update with images of this part of the order.
    pub(super) fn update(&mut self, part: Range<usize>, rate: f64, step: u64) -> Result<(), TrainError> {
        match self {
            Backend::Cpu(cpu) => cpu.update(part, rate, step),
            #[cfg(feature = "cuda")]
            Backend::Cuda(cuda) => cuda.update(part, rate, step),
        }
    }

    /// Queues a look at these validation images of a draw.
    pub(super) fn look(&mut self, draw: usize, part: Range<usize>) -> Result<(), TrainError> {
        match self {
            Backend::Cpu(cpu) => cpu.look(draw, part),
            #[cfg(feature = "cuda")]
            Backend::Cuda(cuda) => cuda.look(draw, part),
        }
    }

    /// Results of everything queued since they were last asked for.
    pub(super) fn collect(&mut self, which: Which, into: &mut Results) -> Result<(), TrainError> {
        match self {
            Backend::Cpu(cpu) => {
                std::mem::swap(
                    into,
                    if which == Which::Training { &mut cpu.updates } else { &mut cpu.looks },
                );
                let emptied = if which == Which::Training { &mut cpu.updates } else { &mut cpu.looks };
                emptied.clear();
                if emptied.names.is_empty() {
                    emptied.names.clone_from(&into.names);
                }
                Ok(())
            }
            #[cfg(feature = "cuda")]
            Backend::Cuda(cuda) => cuda.collect(which, into),
        }
    }

    /// Parameters and the optimiser's state.
    pub(super) fn store(&self) -> Result<Store<f32>, TrainError> {
        match self {
            Backend::Cpu(cpu) => Ok(cpu.store.clone()),
            #[cfg(feature = "cuda")]
            Backend::Cuda(cuda) => Ok(cuda.store.download().map_err(crate::device::DeviceError::from)?),
        }
    }

    /// Moves the averages, where there are some, by this share of their way to the parameters.
    pub(super) fn average(&mut self, weight: f64) -> Result<(), TrainError> {
        let inputs: &[(&str, &[f32])] = &[("weight", &[weight as f32])];
        match self {
            Backend::Cpu(cpu) => {
                let run = Run { rows: 1, inputs, ..Run::default() };
                cpu.averaging.as_mut().map_or(Ok(()), |program| program.run(&mut cpu.store, &run))?;
            }
            #[cfg(feature = "cuda")]
            Backend::Cuda(cuda) => {
                let run = CudaRun { rows: 1, inputs, ..CudaRun::default() };
                let done =
                    cuda.averaging.as_mut().map_or(Ok(()), |program| program.run(&mut cuda.store, &run));
                done.map_err(crate::device::DeviceError::from)?;
            }
        }
        Ok(())
    }

    /// Remembers the state as it is now, where it is.
    pub(super) fn keep(&mut self) -> Result<(), TrainError> {
        match self {
            Backend::Cpu(cpu) => cpu.kept.clone_from(&cpu.store),
            #[cfg(feature = "cuda")]
            Backend::Cuda(cuda) => {
                cuda.kept.copy_from(&cuda.store).map_err(crate::device::DeviceError::from)?
            }
        }
        Ok(())
    }

    /// The state that was remembered last; at first, the one it began with.
    pub(super) fn kept(&self) -> Result<Store<f32>, TrainError> {
        match self {
            Backend::Cpu(cpu) => Ok(cpu.kept.clone()),
            #[cfg(feature = "cuda")]
            Backend::Cuda(cuda) => Ok(cuda.kept.download().map_err(crate::device::DeviceError::from)?),
        }
    }
}

/// Names of a program's outputs, all of which are single numbers.
fn names(program: &Program) -> Vec<String> {
    program.output_names().map(str::to_owned).collect()
}

pub(super) struct OnCpu {
    training: Executable<f32>,
    evaluation: Executable<f32>,
    averaging: Option<Executable<f32>>,
    store: Store<f32>,
    kept: Store<f32>,
    data: Arc<Dataset>,
    validation: Vec<Drawn>,
    order: Vec<u32>,
    all: Vec<u32>,
    seeds: (u64, u64),
    updates: Results,
    looks: Results,
}

impl OnCpu {
    fn new(device: &Device, parts: Parts<'_>, store: Store<f32>) -> Self {
        let results = |program| Results { names: names(program), ..Results::default() };
        OnCpu {
            training: parts.training.on_cpu(device.cpu_options(parts.rows.0)),
            evaluation: parts.evaluation.on_cpu(device.cpu_options(parts.rows.1)),
            averaging: parts.averaging.map(|program| program.on_cpu(device.cpu_options(1))),
            kept: store.clone(),
            store,
            order: Vec::new(),
            all: (0..parts.data.validation().len() as u32).collect(),
            data: parts.data,
            validation: parts.validation,
            seeds: (parts.seed, parts.validation_seed),
            updates: results(parts.training),
            looks: results(parts.evaluation),
        }
    }

    fn update(&mut self, part: Range<usize>, rate: f64, step: u64) -> Result<(), TrainError> {
        let run = Run {
            rows: part.len(),
            inputs: &[("learning_rate", &[rate as f32])],
            data: &[self.data.train().data_set()],
            indices: &[batch(&self.order[part])],
            seed: self.seeds.0,
            step,
            row_offset: 0,
        };
        self.training.run(&mut self.store, &run)?;
        note(&self.training, &mut self.updates);
        Ok(())
    }

    fn look(&mut self, draw: usize, part: Range<usize>) -> Result<(), TrainError> {
        let run = Run {
            rows: part.len(),
            data: &[self.validation[draw].data_set()],
            indices: &[batch(&self.all[part.clone()])],
            seed: self.seeds.1,
            step: draw as u64,
            row_offset: part.start as u64,
            ..Run::default()
        };
        self.evaluation.run(&mut self.store, &run)?;
        note(&self.evaluation, &mut self.looks);
        Ok(())
    }
}

/// Adds the numbers of the last run.
fn note(executable: &Executable<f32>, results: &mut Results) {
    let value = |name: &String| executable.output(name).map_or(f32::NAN, |v| v[0]);
    results.values.extend(results.names.iter().map(value));
    results.runs += 1;
}

/// Updates whose results a GPU keeps until they are asked for.
#[cfg(feature = "cuda")]
const HISTORY: usize = 512;

#[cfg(feature = "cuda")]
pub(super) struct OnCuda {
    device: hmcvi_graph::cuda::CudaDevice,
    training: CudaExecutable,
    evaluation: CudaExecutable,
    averaging: Option<CudaExecutable>,
    store: CudaStore,
    kept: CudaStore,
    images: CudaData,
    validation: Vec<CudaData>,
    order: CudaIndex,
    all: CudaIndex,
    seeds: (u64, u64),
    names: [Vec<String>; 2],
    queued: [usize; 2],
    turns: Arc<crate::turns::Turns>,
    /// Results of looks that had to be fetched before they were asked for.
    looks: Results,
}

#[cfg(feature = "cuda")]
impl OnCuda {
    fn new(
        cuda: &crate::device::Cuda,
        parts: Parts<'_>,
        store: &Store<f32>,
    ) -> Result<Self, crate::device::DeviceError> {
        let device = cuda.device.clone();
        let options = |rows| CudaOptions { history: HISTORY, ..cuda.options(rows) };
        let all: Vec<u32> = (0..parts.data.validation().len() as u32).collect();
        let averaging = parts.averaging.map(|program| program.on_cuda(&device, &cuda.options(1)));
        let validation = parts.validation.iter().map(|drawn| CudaData::upload(&device, drawn.data_set().1));
        Ok(OnCuda {
            training: parts.training.on_cuda(&device, &options(parts.rows.0))?,
            evaluation: parts.evaluation.on_cuda(&device, &options(parts.rows.1))?,
            averaging: averaging.transpose()?,
            store: CudaStore::upload(&device, store)?,
            kept: CudaStore::upload(&device, store)?,
            images: CudaData::upload(&device, parts.data.train().data_set().1)?,
            validation: validation.collect::<Result<_, _>>()?,
            order: CudaIndex::upload(&device, &all)?,
            all: CudaIndex::upload(&device, &all)?,
            seeds: (parts.seed, parts.validation_seed),
            names: [names(parts.training), names(parts.evaluation)],
            queued: [0, 0],
            turns: cuda.turns.clone(),
            looks: Results::default(),
            device,
        })
    }

    fn update(&mut self, part: Range<usize>, rate: f64, step: u64) -> Result<(), TrainError> {
        let run = CudaRun {
            rows: part.len(),
            inputs: &[("learning_rate", &[rate as f32])],
            data: &[(DATA, &self.images)],
            indices: &[(BATCH, CudaIndices::Device(&self.order, part.start))],
            seed: self.seeds.0,
            step,
            ..CudaRun::default()
        };
        self.training.run(&mut self.store, &run).map_err(crate::device::DeviceError::from)?;
        self.queued[0] += 1;
        Ok(())
    }

    fn look(&mut self, draw: usize, part: Range<usize>) -> Result<(), TrainError> {
        let run = CudaRun {
            rows: part.len(),
            inputs: &[],
            data: &[(DATA, &self.validation[draw])],
            indices: &[(BATCH, CudaIndices::Device(&self.all, part.start))],
            seed: self.seeds.1,
            step: draw as u64,
            row_offset: part.start as u64,
            ..CudaRun::default()
        };
        self.evaluation.run(&mut self.store, &run).map_err(crate::device::DeviceError::from)?;
        self.queued[1] += 1;
        if self.queued[1] == HISTORY {
            let mut looks = std::mem::take(&mut self.looks);
            self.fetch(Which::Evaluation, &mut looks)?;
            self.looks = looks;
        }
        Ok(())
    }

    fn collect(&mut self, which: Which, into: &mut Results) -> Result<(), TrainError> {
        into.clear();
        if which == Which::Evaluation {
            std::mem::swap(into, &mut self.looks);
            self.looks.clear();
        }
        self.fetch(which, into)
    }

    /// Adds the results of what is queued, and forgets them on the device.
    fn fetch(&mut self, which: Which, into: &mut Results) -> Result<(), TrainError> {
        let (program, i) = match which {
            Which::Training => (&mut self.training, 0),
            Which::Evaluation => (&mut self.evaluation, 1),
        };
        if into.names.is_empty() {
            into.names.clone_from(&self.names[i]);
        }
        let (runs, count) = (self.queued[i], into.names.len());
        let first = into.values.len();
        into.values.resize(first + runs * count, 0.0);
        let history = program.history().map_err(crate::device::DeviceError::from)?;
        for (j, name) in self.names[i].iter().enumerate() {
            let values = history.output(name).map_err(crate::device::DeviceError::from)?;
            for (run, value) in values.iter().enumerate().take(runs) {
                into.values[first + run * count + j] = *value;
            }
        }
        into.runs += runs;
        self.queued[i] = 0;
        program.clear_history();
        Ok(())
    }
}
