//! Choose where programs run: on the CPU, or on an NVIDIA GPU.
//!
//! A prepared program evaluates with parameters that are here, or trains a state that stays on the device with
//! its data. Nothing outside this folder asks which device it is.

mod prepared;
mod resident;
#[cfg_attr(not(feature = "cuda"), allow(dead_code, reason = "only GPUs are shared in turns"))]
mod turns;

use std::sync::Arc;

use hmcvi_graph::{CpuOptions, Executable, Program, Real, RunError};

#[cfg(feature = "cuda")]
use hmcvi_graph::cuda::{CudaDevice, CudaError, CudaOptions, CudaRanks, Way};

pub(crate) use prepared::{Prepared, Results};
pub(crate) use resident::{Batch, Data, HasRows, Index, State};
pub(crate) use turns::Turn;

#[cfg(feature = "cuda")]
pub use hmcvi_graph::cuda::Precision;
pub use hmcvi_graph::{Alone, Parcel, Ranks};

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
    /// Sums that this device cannot add up in that way.
    #[error("sums cannot be added up `{sums}` on a {device}; `auto` suits every device")]
    Sums {
        /// What was asked for.
        sums: &'static str,
        /// The kind of device.
        device: &'static str,
    },
}

/// How processes that share rows add up their sums.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Sums {
    /// On the CPU ordered; on GPUs by NCCL where it is installed and every process has a GPU of its own, else through the
    /// host.
    #[default]
    Auto,
    /// On the CPU, in the order of one process: the same bits on any number of processes.
    Ordered,
    /// On the CPU, first each process its own rows. Fewer bytes travel, but results are rounded differently for every number
    /// of processes.
    PerProcess,
    /// On GPUs, from card to card.
    Nccl,
    /// On GPUs, through the memory of the host.
    Host,
}

impl Sums {
    fn name(self) -> &'static str {
        match self {
            Sums::Auto => "auto",
            Sums::Ordered => "ordered",
            Sums::PerProcess => "per-process",
            Sums::Nccl => "nccl",
            Sums::Host => "host",
        }
    }
}

/// Where programs run.
#[derive(Clone)]
pub enum Device {
    /// The CPU, with this many threads; 0 for one per core. Results do not depend on their number.
    Cpu {
        /// Threads.
        threads: usize,
        /// Processes that share the rows of every program, and how they add up sums; results do not depend on their number
        /// either where sums are ordered.
        ranks: Option<(Arc<dyn Ranks>, hmcvi_graph::Sums)>,
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
    pub(crate) turns: Arc<turns::Turns>,
    /// Processes that share the rows of every program.
    pub(crate) ranks: Option<Arc<CudaRanks>>,
}

impl Device {
    /// The CPU.
    pub fn cpu(threads: usize) -> Self {
        Device::Cpu { threads, ranks: None }
    }

    /// The same device of each of several processes that share the rows of every program. All of them have to do the
    /// same with it, in the same order.
    ///
    /// # Errors
    /// If the device cannot add up sums in this way, or if GPUs cannot be joined.
    pub fn among(self, ranks: Arc<dyn Ranks>, sums: Sums) -> Result<Self, DeviceError> {
        match self {
            Device::Cpu { threads, .. } => {
                let sums = match sums {
                    Sums::Auto | Sums::Ordered => hmcvi_graph::Sums::Ordered,
                    Sums::PerProcess => hmcvi_graph::Sums::PerProcess,
                    Sums::Nccl | Sums::Host => {
                        return Err(DeviceError::Sums { sums: sums.name(), device: "CPU" });
                    }
                };
                Ok(Device::Cpu { threads, ranks: Some((ranks, sums)) })
            }
            #[cfg(feature = "cuda")]
            Device::Cuda(cuda) => {
                let way = match sums {
                    Sums::Auto => Way::Usual,
                    Sums::Nccl => Way::Nccl,
                    Sums::Host => Way::Host,
                    Sums::Ordered | Sums::PerProcess => {
                        return Err(DeviceError::Sums { sums: sums.name(), device: "GPU" });
                    }
                };
                let ranks = Some(Arc::new(CudaRanks::new(&cuda.device, ranks, way)?));
                Ok(Device::Cuda(Cuda { ranks, ..cuda }))
            }
        }
    }

    /// The processes that share the rows, where there are several.
    pub(crate) fn ranks(&self) -> Option<&Arc<dyn Ranks>> {
        let ranks = match self {
            Device::Cpu { ranks, .. } => ranks.as_ref().map(|(ranks, _)| ranks),
            #[cfg(feature = "cuda")]
            Device::Cuda(cuda) => cuda.ranks.as_ref().map(|shared| shared.ranks()),
        };
        ranks.filter(|ranks| ranks.size() > 1)
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
        Ok(Device::Cuda(Cuda { device, precision, cache, sharers: 1, turns, ranks: None }))
    }

    /// GPUs of this machine.
    #[cfg(feature = "cuda")]
    pub fn cards() -> usize {
        CudaDevice::count()
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
            Device::Cuda(cuda) if sharers == 1 && cuda.ranks.is_some() => Ok(self.clone()),
            #[cfg(feature = "cuda")]
            Device::Cuda(cuda) => {
                let device = cuda.device.another_queue()?;
                Ok(Device::Cuda(Cuda { device, sharers, ranks: None, ..cuda.clone() }))
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
                Some(ranks) => {
                    let per_process =
                        matches!(self, Device::Cpu { ranks: Some((_, hmcvi_graph::Sums::PerProcess)), .. });
                    let sums = if per_process { ", sums per process" } else { "" };
                    format!("cpu, {} processes of {} threads{sums}", ranks.size(), self.threads())
                }
            },
            #[cfg(feature = "cuda")]
            Device::Cuda(cuda) => {
                let precision = match cuda.precision {
                    Precision::Tf32 => "tf32",
                    Precision::F32 => "f32",
                };
                let shared = cuda.ranks.as_ref().map_or(String::new(), |shared| {
                    let way = if shared.is_by_nccl() { "NCCL" } else { "the host" };
                    format!(", {} processes, sums by {way}", shared.ranks().size())
                });
                format!("{}, {precision}{shared}", cuda.device.name())
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
            // Queues side by side would call upon other processes in any order.
            #[cfg(feature = "cuda")]
            Device::Cuda(_) if self.ranks().is_some() => 1,
            #[cfg(feature = "cuda")]
            Device::Cuda(_) => std::thread::available_parallelism().map_or(1, |n| n.get()).clamp(1, 6),
        }
    }

    /// How a program is prepared for the CPU, for at most this many rows.
    pub(crate) fn cpu_options(&self, rows: usize) -> CpuOptions {
        CpuOptions { threads: self.threads(), ..CpuOptions::for_rows(rows) }
    }

    /// Prepares a program for at most this many rows on the CPU, shared out among processes where the device is.
    pub(crate) fn on_cpu<T: Real>(&self, program: &Program, rows: usize) -> Executable<T> {
        let executable = program.on_cpu(self.cpu_options(rows));
        match self {
            Device::Cpu { ranks: Some((ranks, sums)), .. } => executable.shared(ranks.clone(), *sums),
            _ => executable,
        }
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
