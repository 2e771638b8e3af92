//! Choose where programs run: on the CPU, or on an NVIDIA GPU.

use crate::train::{TrainError, is_adam_state};
use hmcvi_graph::{CpuOptions, Executable, Program, Real, Run, RunError, Store};

#[cfg(feature = "cuda")]
use hmcvi_graph::cuda::{
    CudaData, CudaDevice, CudaError, CudaExecutable, CudaIndices, CudaOptions, CudaRun, CudaStore,
};

#[cfg(feature = "cuda")]
pub use hmcvi_graph::cuda::Precision;

/// A device that cannot be used, or a run on it that failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DeviceError {
    /// What was given does not fit the program.
    #[error(transparent)]
    Run(#[from] RunError),
    /// The GPU.
    #[cfg(feature = "cuda")]
    #[error(transparent)]
    Cuda(#[from] CudaError),
}

/// Where programs run.
#[derive(Clone)]
pub enum Device {
    /// The CPU, with this many threads; 0 for one per core. Results do not depend on their number.
    Cpu {
        /// Threads.
        threads: usize,
    },
    /// An NVIDIA GPU, with a queue of its own.
    #[cfg(feature = "cuda")]
    Cuda(Cuda),
}

/// An NVIDIA GPU and how it is used.
#[cfg(feature = "cuda")]
#[derive(Clone)]
pub struct Cuda {
    pub(crate) device: CudaDevice,
    pub(crate) precision: Precision,
    pub(crate) cache: Option<std::path::PathBuf>,
    /// Training runs that use the GPU at the same time.
    pub(crate) sharers: usize,
    /// Who of them may use it now.
    pub(crate) turns: std::sync::Arc<crate::turns::Turns>,
}

impl Device {
    /// The CPU.
    pub fn cpu(threads: usize) -> Self {
        Device::Cpu { threads }
    }

    /// An NVIDIA GPU; compiled kernels are kept in `cache`, if it is given.
    #[cfg(feature = "cuda")]
    pub fn cuda(
        ordinal: usize,
        precision: Precision,
        cache: Option<std::path::PathBuf>,
    ) -> Result<Self, DeviceError> {
        let device = CudaDevice::new(ordinal)?;
        let turns = crate::turns::Turns::new(device.processors());
        Ok(Device::Cuda(Cuda { device, precision, cache, sharers: 1, turns }))
    }

    /// The same device for one of several pieces of work that run side by side: a GPU gets another queue, and each
    /// piece its share of the cores.
    pub fn beside(&self, sharers: usize) -> Result<Self, DeviceError> {
        match self {
            // Threads wait for each other at the ends of stages: as many as there are shares of the cores.
            Device::Cpu { .. } => Ok(Device::Cpu { threads: (self.threads() / sharers.max(1)).max(1) }),
            #[cfg(feature = "cuda")]
            Device::Cuda(cuda) => {
                Ok(Device::Cuda(Cuda { device: cuda.device.another_queue()?, sharers, ..cuda.clone() }))
            }
        }
    }

    /// The same device with products in full single precision.
    pub fn exact(&self) -> Self {
        match self {
            Device::Cpu { .. } => self.clone(),
            #[cfg(feature = "cuda")]
            Device::Cuda(cuda) => Device::Cuda(Cuda { precision: Precision::F32, ..cuda.clone() }),
        }
    }

    /// Trains a small model for some steps here and on one thread of the CPU, and returns the largest relative
    /// difference of its parameters.
    pub fn self_test(&self) -> Result<f64, TrainError> {
        let mut spec = crate::config::preset("hmcvi-13").unwrap_or_default();
        (spec.model.hidden, spec.model.latent, spec.train.batch) = (vec![32, 32], 4, 64);
        (spec.data.limit, spec.data.evaluation_draws) = (200, 1);
        let data = std::sync::Arc::new(
            crate::data::Dataset::embedded().map_err(|_| TrainError::NoImages("embedded"))?,
        );
        let train = |device: &Device| -> Result<Store<f32>, TrainError> {
            let mut trainer = crate::train::Trainer::new(&spec, data.clone(), device, None)?;
            let rows: Vec<u32> = (0..64).collect();
            trainer.updates(&rows, 1e-3, 20)?;
            trainer.store()
        };
        let (here, there) = (train(self)?, train(&Device::cpu(1))?);
        let mut worst: f64 = 0.0;
        for (name, tensor) in there.iter().filter(|(name, _)| !is_adam_state(name)) {
            let other = here.get(name).map_or(&[][..], |t| &t.values);
            let size = tensor.values.iter().fold(1e-6, |m: f64, v| m.max(f64::from(v.abs())));
            let pairs = tensor.values.iter().zip(other);
            worst = pairs.map(|(a, b)| f64::from((a - b).abs()) / size).fold(worst, f64::max);
        }
        Ok(worst)
    }

    /// What it is, for the record.
    pub fn describe(&self) -> String {
        match self {
            Device::Cpu { .. } => format!("cpu, {} threads", self.threads()),
            #[cfg(feature = "cuda")]
            Device::Cuda(cuda) => {
                let precision = match cuda.precision {
                    Precision::Tf32 => "tf32",
                    Precision::F32 => "f32",
                };
                format!("{}, {precision}", cuda.device.name())
            }
        }
    }

    /// Threads of the CPU that work.
    pub fn threads(&self) -> usize {
        match self {
            Device::Cpu { threads: 0 } => std::thread::available_parallelism().map_or(1, |n| n.get()),
            Device::Cpu { threads } => *threads,
            #[cfg(feature = "cuda")]
            Device::Cuda(_) => 1,
        }
    }

    /// Pieces of work without gradients that are best done side by side: a CPU divides each among its cores, a
    /// GPU would idle while the last result is read.
    pub(crate) fn queues(&self) -> usize {
        match self {
            Device::Cpu { .. } => 1,
            #[cfg(feature = "cuda")]
            Device::Cuda(_) => std::thread::available_parallelism().map_or(1, |n| n.get()).clamp(1, 6),
        }
    }

    /// How a program is prepared for the CPU, for at most this many rows.
    pub(crate) fn cpu_options(&self, rows: usize) -> CpuOptions {
        CpuOptions { threads: self.threads(), ..CpuOptions::for_rows(rows) }
    }

    /// Prepares a program for at most this many rows.
    pub(crate) fn prepare<T: Real>(&self, program: &Program, rows: usize) -> Result<Runner<T>, DeviceError> {
        match self {
            Device::Cpu { .. } => Ok(Runner::Cpu(Box::new(program.on_cpu(self.cpu_options(rows))))),
            #[cfg(feature = "cuda")]
            Device::Cuda(cuda) => Ok(Runner::Cuda(Box::new(CudaRunner::new(cuda, program, rows)?))),
        }
    }
}

/// A program on some device that computes outputs and changes no parameter.
pub(crate) enum Runner<T: Real> {
    Cpu(Box<Executable<T>>),
    #[cfg(feature = "cuda")]
    Cuda(Box<CudaRunner<T>>),
}

impl<T: Real> Runner<T> {
    /// Runs the program; outputs are there afterwards.
    pub(crate) fn run(&mut self, store: &mut Store<T>, run: &Run<'_, T>) -> Result<(), DeviceError> {
        self.run_keeping(store, run, &[])
    }

    /// Runs the program with some inputs that are what they were in the last run, which had as many rows: a GPU
    /// has them already.
    pub(crate) fn run_keeping(
        &mut self,
        store: &mut Store<T>,
        run: &Run<'_, T>,
        kept: &[&str],
    ) -> Result<(), DeviceError> {
        match self {
            Runner::Cpu(executable) => {
                // A CPU reads inputs in place.
                let _ = kept;
                Ok(executable.run(store, run)?)
            }
            #[cfg(feature = "cuda")]
            Runner::Cuda(runner) => runner.run(store, run, kept),
        }
    }

    /// Value of an output after the last run.
    pub(crate) fn output(&self, name: &str) -> Option<&[T]> {
        match self {
            Runner::Cpu(executable) => executable.output(name),
            #[cfg(feature = "cuda")]
            Runner::Cuda(runner) => runner.outputs.iter().find(|(n, _)| n == name).map(|(_, v)| &v[..]),
        }
    }

    /// Most rows of a run.
    pub(crate) fn rows(&self) -> usize {
        match self {
            Runner::Cpu(executable) => executable.options().rows,
            #[cfg(feature = "cuda")]
            Runner::Cuda(runner) => runner.executable.rows(),
        }
    }

    /// Bytes of working memory.
    pub(crate) fn bytes(&self) -> usize {
        match self {
            Runner::Cpu(executable) => executable.bytes(),
            #[cfg(feature = "cuda")]
            Runner::Cuda(runner) => runner.executable.bytes(),
        }
    }
}

/// A program on a GPU. Parameters are copied to it when they have changed; of data sets, the rows of the batch.
#[cfg(feature = "cuda")]
pub(crate) struct CudaRunner<T> {
    device: CudaDevice,
    program: Program,
    executable: CudaExecutable,
    parameters: Option<(u64, CudaStore)>,
    outputs: Vec<(String, Vec<T>)>,
}

#[cfg(feature = "cuda")]
impl<T: Real> CudaRunner<T> {
    fn new(cuda: &Cuda, program: &Program, rows: usize) -> Result<Self, DeviceError> {
        let executable = program.on_cuda(&cuda.device, &cuda.options(rows))?;
        let outputs = program.output_names().map(|name| (name.to_owned(), Vec::new())).collect();
        let (device, program) = (cuda.device.clone(), program.clone());
        Ok(CudaRunner { device, program, executable, parameters: None, outputs })
    }

    fn run(&mut self, store: &Store<T>, run: &Run<'_, T>, kept: &[&str]) -> Result<(), DeviceError> {
        let narrow = |values: &[T]| -> Vec<f32> { values.iter().map(|v| v.to_f64() as f32).collect() };
        if self.parameters.as_ref().is_none_or(|(version, _)| *version != store.version()) {
            self.parameters = None;
            self.parameters = Some((store.version(), CudaStore::upload(&self.device, &store.convert())?));
        }
        let Some((_, parameters)) = &mut self.parameters else { unreachable!("uploaded above") };
        let new = run.inputs.iter().filter(|(name, _)| !kept.contains(name));
        let inputs: Vec<(&str, Vec<f32>)> = new.map(|(name, v)| (*name, narrow(v))).collect();
        let inputs: Vec<(&str, &[f32])> = inputs.iter().map(|(name, v)| (*name, &v[..])).collect();
        let mut data = Vec::new();
        for (name, given) in run.data.iter().filter(|(name, _)| self.program.data_cols(name).is_some()) {
            let rows = CudaData::upload_rows(&self.device, &self.program, name, *given, run.indices)?;
            data.push((*name, rows));
        }
        let data: Vec<(&str, &CudaData)> = data.iter().map(|(name, d)| (*name, d)).collect();
        let longest = run.indices.iter().map(|(_, rows)| rows.len()).max().unwrap_or(0);
        let places: Vec<u32> = (0..longest as u32).collect();
        let indices: Vec<(&str, CudaIndices<'_>)> = run
            .indices
            .iter()
            .map(|(name, rows)| (*name, CudaIndices::Host(&places[..rows.len()])))
            .collect();
        let Run { rows, seed, step, row_offset, .. } = *run;
        let (inputs, data, indices) = (&inputs, &data, &indices);
        let run = CudaRun { rows, inputs, kept, data, indices, seed, step, row_offset };
        self.executable.run(parameters, &run)?;
        for (name, values) in &mut self.outputs {
            let found = self.executable.output(name)?;
            values.clear();
            values.extend(found.iter().map(|v| T::from_f64(f64::from(*v))));
        }
        Ok(())
    }
}

#[cfg(feature = "cuda")]
impl Cuda {
    /// How a program is prepared for at most this many rows.
    pub(crate) fn options(&self, rows: usize) -> CudaOptions {
        let (precision, cache, sharers) = (self.precision, self.cache.clone(), self.sharers);
        CudaOptions { precision, cache, sharers, ..CudaOptions::for_rows(rows) }
    }
}
