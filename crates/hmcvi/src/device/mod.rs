//! Choose where programs run: on the CPU, or on an NVIDIA GPU.
//!
//! A prepared program evaluates with parameters that are here, or trains a state that stays on the device with
//! its data. Nothing outside this folder asks which device it is.

mod prepared;
mod resident;
#[cfg_attr(not(feature = "cuda"), allow(dead_code, reason = "only GPUs are shared in turns"))]
mod turns;

use std::sync::Arc;

use hmcvi_graph::{CpuOptions, Program, Real, RunError};

#[cfg(feature = "cuda")]
use hmcvi_graph::cuda::{CudaDevice, CudaError, CudaOptions};

pub(crate) use prepared::{Prepared, Results};
pub(crate) use resident::{Batch, Data, HasRows, Index, State};
pub(crate) use turns::Turn;

#[cfg(feature = "cuda")]
pub use hmcvi_graph::cuda::Precision;
pub use hmcvi_graph::{Parcel, Ranks};

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
        /// Processes that share the rows of every program; results do not depend on their number either.
        ranks: Option<Arc<dyn Ranks>>,
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
    pub(crate) turns: std::sync::Arc<turns::Turns>,
}

impl Device {
    /// The CPU.
    pub fn cpu(threads: usize) -> Self {
        Device::Cpu { threads, ranks: None }
    }

    /// The same device of each of several processes that share the rows of every program. All of them have to do the
    /// same with it, in the same order.
    #[must_use]
    pub fn among(self, ranks: Arc<dyn Ranks>) -> Self {
        match self {
            Device::Cpu { threads, .. } => Device::Cpu { threads, ranks: Some(ranks) },
            #[cfg(feature = "cuda")]
            Device::Cuda(_) => self,
        }
    }

    /// The processes that share the rows, where there are several.
    pub(crate) fn ranks(&self) -> Option<&Arc<dyn Ranks>> {
        match self {
            Device::Cpu { ranks, .. } => ranks.as_ref().filter(|ranks| ranks.size() > 1),
            #[cfg(feature = "cuda")]
            Device::Cuda(_) => None,
        }
    }

    /// Whether this process writes what several have found together.
    pub(crate) fn leads(&self) -> bool {
        self.ranks().is_none_or(|ranks| ranks.rank() == 0)
    }

    /// An NVIDIA GPU; compiled kernels are kept in `cache`, if it is given.
    #[cfg(feature = "cuda")]
    pub fn cuda(
        ordinal: usize,
        precision: Precision,
        cache: Option<std::path::PathBuf>,
    ) -> Result<Self, DeviceError> {
        let device = CudaDevice::new(ordinal)?;
        let turns = turns::Turns::new(device.processors());
        Ok(Device::Cuda(Cuda { device, precision, cache, sharers: 1, turns }))
    }

    /// The same device for one of several pieces of work that run side by side: a GPU gets another queue, and each
    /// piece its share of the cores.
    pub fn beside(&self, sharers: usize) -> Result<Self, DeviceError> {
        match self {
            // Threads wait for each other at the ends of stages: as many as there are shares of the cores.
            Device::Cpu { ranks, .. } => {
                let threads = (self.threads() / sharers.max(1)).max(1);
                // Pieces of work side by side would call upon other processes in any order.
                Ok(Device::Cpu { threads, ranks: ranks.clone().filter(|_| sharers == 1) })
            }
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

    /// What it is, for the record.
    pub fn describe(&self) -> String {
        match self {
            Device::Cpu { .. } => match self.ranks() {
                None => format!("cpu, {} threads", self.threads()),
                Some(ranks) => format!("cpu, {} processes of {} threads", ranks.size(), self.threads()),
            },
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
            Device::Cpu { threads: 0, .. } => std::thread::available_parallelism().map_or(1, |n| n.get()),
            Device::Cpu { threads, .. } => *threads,
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
    pub(crate) fn prepare<T: Real>(
        &self,
        program: &Program,
        rows: usize,
    ) -> Result<Prepared<T>, DeviceError> {
        Prepared::new(self, program, rows)
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
