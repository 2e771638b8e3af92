//! Run programs on NVIDIA GPUs: the same programs, random draws and results as on the CPU, up to rounding.
//!
//! [`Program::on_cuda`] writes a program's kernels, compiles them for the GPU that was found and takes all the
//! memory it needs. Parameters live in a [`CudaStore`] on the device, which several programs may share;
//! data sets are uploaded once. [`CudaExecutable::run`] queues a run and returns: nothing waits until
//! results are asked for. The driver and the run-time compiler are loaded when they are first needed, so
//! a binary with this feature runs where they are missing, too, and [`CudaDevice::new`] says what is missing.
//!
//! ```no_run
//! use hmcvi_graph::cuda::{CudaDevice, CudaOptions, CudaRun, CudaStore};
//! use hmcvi_graph::{Graph, Store};
//!
//! let graph = Graph::new();
//! let (x, w) = (graph.batch_input("x", 2), graph.parameter("w", 2, 1));
//! let program = graph.program().output("y", x.matmul(w)).compile()?;
//!
//! let device = CudaDevice::new(0)?;
//! let mut store = Store::<f32>::new();
//! store.insert("w", 2, 1, vec![1.0, 2.0])?;
//! let mut store = CudaStore::upload(&device, &store)?;
//! let mut executable = program.on_cuda(&device, &CudaOptions::for_rows(1))?;
//! executable.run(&mut store, &CudaRun { rows: 1, inputs: &[("x", &[3.0, 4.0])], ..CudaRun::default() })?;
//! assert_eq!(executable.output("y")?, [11.0]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod code;
mod compile;
mod device;
mod error;
mod executable;
mod layout;
mod library;
mod memory;
mod nccl;
mod ranks;

pub use device::CudaDevice;
pub use error::CudaError;
pub use executable::{CudaExecutable, History};
pub use memory::{CudaData, CudaIndex, CudaStore};
pub use ranks::{CudaRanks, Way};

use std::path::PathBuf;
use std::sync::Arc;

use crate::plan::Program;

/// How products are computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Precision {
    /// Operands rounded to TF32 (10 bits behind the point), sums in f32.
    #[default]
    Tf32,
    /// As f32 on the CPU, up to the order of sums: each product as three TF32 products.
    F32,
}

/// How a program is prepared for a GPU.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CudaOptions {
    /// Most rows that a run may have. Shorter runs give the same results; how rows are divided among the
    /// GPU's processors depends on it.
    pub rows: usize,
    /// How products are computed.
    pub precision: Precision,
    /// Folder in which compiled kernels are kept, by their content; nothing is kept without one.
    pub cache: Option<PathBuf>,
    /// Multiples of 16 rows that go through the row stage together; 0 for what suits the batch.
    pub row_tiles: usize,
    /// Processors that share the columns of a tile, 1 to 8; 0 for what suits the batch.
    pub cluster: usize,
    /// Executables that use the GPU at the same time, on queues of their own: each takes its share of the processors.
    pub sharers: usize,
    /// Runs whose small fixed outputs are kept for [`CudaExecutable::history`].
    pub history: usize,
    /// Whether the steps of row stages are timed, for [`CudaExecutable::trace`].
    pub trace: bool,
}

impl CudaOptions {
    /// The usual settings for batches of up to `rows` rows.
    pub fn for_rows(rows: usize) -> Self {
        CudaOptions {
            rows,
            precision: Precision::Tf32,
            cache: None,
            row_tiles: 0,
            cluster: 0,
            sharers: 1,
            history: 4096,
            trace: false,
        }
    }
}

/// What a run is given beside the store.
#[derive(Clone, Copy, Default)]
pub struct CudaRun<'r> {
    /// Rows of the batch.
    pub rows: usize,
    /// Values of the inputs, by name.
    pub inputs: &'r [(&'r str, &'r [f32])],
    /// Inputs that are what they were in the last run, which had as many rows: they are not copied again, and need
    /// not be given.
    pub kept: &'r [&'r str],
    /// Data sets, by name.
    pub data: &'r [(&'r str, &'r CudaData)],
    /// Indices into data sets, by name, one for each row of the batch.
    pub indices: &'r [(&'r str, CudaIndices<'r>)],
    /// Seed of the random draws.
    pub seed: u64,
    /// Number of the step, which gives every step its own draws.
    pub step: u64,
    /// Number of the batch's first row, which gives every row of a data set its own draws.
    pub row_offset: u64,
}

/// Indices of a run.
#[derive(Clone, Copy)]
pub enum CudaIndices<'r> {
    /// Copied to the device with the run.
    Host(&'r [u32]),
    /// On the device already, such as an epoch's permutation, from some place on.
    Device(&'r CudaIndex, usize),
}

impl Program {
    /// Prepares the program to run on a GPU.
    pub fn on_cuda(&self, device: &CudaDevice, options: &CudaOptions) -> Result<CudaExecutable, CudaError> {
        CudaExecutable::new(self.for_gpu(), device, options, None)
    }

    /// Prepares the program to run on the GPUs of several processes, each of which takes a part of the rows. They have to
    /// call the same functions of the same executables in the same order. Results are the same on all of them; those of
    /// another number of processes differ by rounding.
    pub fn on_cuda_of_all(
        &self,
        device: &CudaDevice,
        options: &CudaOptions,
        ranks: &Arc<CudaRanks>,
    ) -> Result<CudaExecutable, CudaError> {
        CudaExecutable::new(self.for_gpu(), device, options, Some(ranks.clone()))
    }

    /// The kernels that would run on a GPU with so many processors, as CUDA C.
    pub fn cuda_source(&self, options: &CudaOptions, processors: usize) -> String {
        let tiling = executable::tiling(options, processors, (9, 0));
        code::write(&self.for_gpu(), tiling, 227 << 10, processors).source
    }
}
