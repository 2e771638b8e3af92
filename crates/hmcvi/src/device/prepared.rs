//! Run a program on whichever device it was prepared for.

use hmcvi_graph::{Executable, Program, Real, Run, Store};

#[cfg(feature = "cuda")]
use hmcvi_graph::cuda::{CudaData, CudaDevice, CudaExecutable, CudaIndices, CudaOptions, CudaRun, CudaStore};

use super::resident::{Batch, Data, Index, State};
use super::turns::Turn;
use super::{Device, DeviceError};
use crate::data::BATCH;

/// The numbers that runs of a program returned, run after run.
#[derive(Clone, Debug, Default)]
pub(crate) struct Results {
    names: Vec<String>,
    values: Vec<f32>,
    runs: usize,
}

impl Results {
    fn of(program: &Program) -> Self {
        Results { names: program.output_names().map(str::to_owned).collect(), ..Results::default() }
    }

    /// Number of runs.
    pub(crate) fn len(&self) -> usize {
        self.runs
    }

    /// A number of a run; `None` if the program does not return it.
    pub(crate) fn get(&self, run: usize, name: &str) -> Option<f64> {
        let i = self.names.iter().position(|n| n == name)?;
        Some(f64::from(self.values[run * self.names.len() + i]))
    }

    fn clear(&mut self) {
        self.values.clear();
        self.runs = 0;
    }
}

/// A program on some device.
pub(crate) struct Prepared<T: Real> {
    place: Place<T>,
    /// What runs on resident data returned and nobody has asked for yet.
    results: Results,
}

enum Place<T: Real> {
    Cpu(Box<Executable<T>>),
    #[cfg(feature = "cuda")]
    Cuda(Box<OnCard<T>>),
}

impl<T: Real> Prepared<T> {
    pub(super) fn new(device: &Device, program: &Program, rows: usize) -> Result<Self, DeviceError> {
        let place = match device {
            Device::Cpu { .. } => Place::Cpu(Box::new(device.on_cpu(program, rows))),
            #[cfg(feature = "cuda")]
            Device::Cuda(cuda) => Place::Cuda(Box::new(OnCard::new(cuda, program, rows)?)),
        };
        Ok(Prepared { place, results: Results::of(program) })
    }

    /// Runs a program that updates nothing, with parameters that are here; outputs are there afterwards.
    pub(crate) fn evaluate(&mut self, store: &Store<T>, run: &Run<'_, T>) -> Result<(), DeviceError> {
        self.evaluate_keeping(store, run, &[])
    }

    /// The same with some inputs that are what they were in the last run, which had as many rows: a GPU has them already.
    pub(crate) fn evaluate_keeping(
        &mut self,
        store: &Store<T>,
        run: &Run<'_, T>,
        kept: &[&str],
    ) -> Result<(), DeviceError> {
        match &mut self.place {
            Place::Cpu(executable) => {
                // A CPU reads inputs in place.
                let _ = kept;
                Ok(executable.evaluate(store, run)?)
            }
            #[cfg(feature = "cuda")]
            Place::Cuda(card) => card.evaluate(store, run, kept),
        }
    }

    /// Value of an output after the last evaluation.
    pub(crate) fn output(&self, name: &str) -> Option<&[T]> {
        match &self.place {
            Place::Cpu(executable) => executable.output(name),
            #[cfg(feature = "cuda")]
            Place::Cuda(card) => card.outputs.iter().find(|(n, _)| n == name).map(|(_, v)| &v[..]),
        }
    }

    /// The rows that a process computes of a run with so many, where all data is not with it anyway.
    pub(crate) fn rows_of(&self, rank: usize, rows: usize) -> std::ops::Range<usize> {
        match &self.place {
            Place::Cpu(executable) => executable.rows_of(rank, rows),
            #[cfg(feature = "cuda")]
            Place::Cuda(_) => 0..rows,
        }
    }

    /// Most rows of a run.
    pub(crate) fn rows(&self) -> usize {
        match &self.place {
            Place::Cpu(executable) => executable.options().rows,
            #[cfg(feature = "cuda")]
            Place::Cuda(card) => card.executable.rows(),
        }
    }

    /// Bytes of working memory.
    pub(crate) fn bytes(&self) -> usize {
        match &self.place {
            Place::Cpu(executable) => executable.bytes(),
            #[cfg(feature = "cuda")]
            Place::Cuda(card) => card.executable.bytes(),
        }
    }
}

impl Prepared<f32> {
    /// Queues a run on a state and data that are on the device. All outputs have to be single numbers.
    pub(crate) fn run(&mut self, state: &mut State, batch: &Batch<'_>) -> Result<(), DeviceError> {
        match (&mut self.place, state) {
            (Place::Cpu(executable), State::Cpu(store)) => {
                run_here(executable, store, batch)?;
                let value = |name: &String| executable.output(name).map_or(f32::NAN, |v| v[0]);
                self.results.values.extend(self.results.names.iter().map(value));
                self.results.runs += 1;
            }
            #[cfg(feature = "cuda")]
            (Place::Cuda(card), State::Cuda(store)) => {
                card.run(store, batch)?;
                if card.queued == HISTORY {
                    card.fetch(&mut self.results)?;
                }
            }
            #[cfg(feature = "cuda")]
            _ => unreachable!("a training is on one device"),
        }
        Ok(())
    }

    /// Results of everything queued since they were last asked for.
    pub(crate) fn collect(&mut self, into: &mut Results) -> Result<(), DeviceError> {
        #[cfg(feature = "cuda")]
        if let Place::Cuda(card) = &mut self.place {
            card.fetch(&mut self.results)?;
        }
        std::mem::swap(into, &mut self.results);
        self.results.clear();
        if self.results.names.is_empty() {
            self.results.names.clone_from(&into.names);
        }
        Ok(())
    }

    /// Runs that are best queued before results are asked for.
    pub(crate) fn patience(&self) -> usize {
        match &self.place {
            Place::Cpu(_) => 1,
            #[cfg(feature = "cuda")]
            Place::Cuda(_) => HISTORY,
        }
    }

    /// Waits for the turn of this program among those that share a GPU.
    pub(crate) fn turn(&self) -> Option<Turn> {
        match &self.place {
            Place::Cpu(_) => None,
            #[cfg(feature = "cuda")]
            Place::Cuda(card) => Some(card.turns.take(card.executable.blocks())),
        }
    }
}

fn run_here(
    executable: &mut Executable<f32>,
    store: &mut Store<f32>,
    batch: &Batch<'_>,
) -> Result<(), DeviceError> {
    let Batch { inputs, seed, step, row_offset, .. } = *batch;
    let mut run = Run { rows: batch.rows(), inputs, seed, step, row_offset, ..Run::default() };
    let Some((data, index, part)) = &batch.data else { return Ok(executable.run(store, &run)?) };
    let (data, indices) = match (data, index) {
        (Data::Cpu(data), Index::Cpu(index)) => ([data.rows()], [(BATCH, &index[part.clone()])]),
        #[cfg(feature = "cuda")]
        _ => unreachable!("a training is on one device"),
    };
    (run.data, run.indices) = (&data, &indices);
    Ok(executable.run(store, &run)?)
}

/// Runs whose results a GPU keeps until they are asked for.
#[cfg(feature = "cuda")]
const HISTORY: usize = 512;

/// A program on a GPU. Parameters that are here are copied to it when they have changed; of data sets that are here, the
/// rows of the batch.
#[cfg(feature = "cuda")]
struct OnCard<T> {
    device: CudaDevice,
    program: Program,
    executable: CudaExecutable,
    parameters: Option<(u64, CudaStore)>,
    outputs: Vec<(String, Vec<T>)>,
    /// Runs whose results are still on the device.
    queued: usize,
    turns: std::sync::Arc<super::turns::Turns>,
}

#[cfg(feature = "cuda")]
impl<T: Real> OnCard<T> {
    fn new(cuda: &super::Cuda, program: &Program, rows: usize) -> Result<Self, DeviceError> {
        let options = CudaOptions { history: HISTORY, ..cuda.options(rows) };
        let executable = match &cuda.ranks {
            Some(ranks) => program.on_cuda_of_all(&cuda.device, &options, ranks)?,
            None => program.on_cuda(&cuda.device, &options)?,
        };
        let outputs = program.output_names().map(|name| (name.to_owned(), Vec::new())).collect();
        let (device, program, turns) = (cuda.device.clone(), program.clone(), cuda.turns.clone());
        Ok(OnCard { device, program, executable, parameters: None, outputs, queued: 0, turns })
    }

    fn evaluate(&mut self, store: &Store<T>, run: &Run<'_, T>, kept: &[&str]) -> Result<(), DeviceError> {
        let narrow = |values: &[T]| -> Vec<f32> { values.iter().map(|v| v.to_f64() as f32).collect() };
        if self.parameters.as_ref().is_none_or(|(version, _)| *version != store.version()) {
            self.parameters = None;
            self.parameters = Some((store.version(), CudaStore::upload(&self.device, &store.convert())?));
        }
        let Some((_, parameters)) = &self.parameters else { unreachable!("uploaded above") };
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
        let host = |rows: &[u32]| CudaIndices::Host(&places[..rows.len()]);
        let indices: Vec<(&str, CudaIndices<'_>)> =
            run.indices.iter().map(|(name, rows)| (*name, host(rows))).collect();
        let Run { rows, seed, step, row_offset, .. } = *run;
        let (inputs, data, indices) = (&inputs, &data, &indices);
        let run = CudaRun { rows, inputs, kept, data, indices, seed, step, row_offset };
        self.executable.evaluate(parameters, &run)?;
        for (name, values) in &mut self.outputs {
            let found = self.executable.output(name)?;
            values.clear();
            values.extend(found.iter().map(|v| T::from_f64(f64::from(*v))));
        }
        Ok(())
    }

    fn run(&mut self, store: &mut CudaStore, batch: &Batch<'_>) -> Result<(), DeviceError> {
        let Batch { inputs, seed, step, row_offset, .. } = *batch;
        let mut run = CudaRun { rows: batch.rows(), inputs, seed, step, row_offset, ..CudaRun::default() };
        self.queued += 1;
        let Some((data, index, part)) = &batch.data else { return Ok(self.executable.run(store, &run)?) };
        let (Data::Cuda(name, data), Index::Cuda(index)) = (data, index) else {
            unreachable!("a training is on one device")
        };
        let (data, indices) = ([(*name, &**data)], [(BATCH, CudaIndices::Device(index, part.start))]);
        (run.data, run.indices) = (&data, &indices);
        Ok(self.executable.run(store, &run)?)
    }

    /// Adds the results of what is queued, and forgets them on the device.
    fn fetch(&mut self, into: &mut Results) -> Result<(), DeviceError> {
        let (runs, count, first) = (self.queued, into.names.len(), into.values.len());
        into.values.resize(first + runs * count, 0.0);
        let history = self.executable.history()?;
        for (j, name) in into.names.iter().enumerate() {
            for (run, value) in history.output(name)?.iter().enumerate().take(runs) {
                into.values[first + run * count + j] = *value;
            }
        }
        into.runs += runs;
        self.queued = 0;
        self.executable.clear_history();
        Ok(())
    }
}
