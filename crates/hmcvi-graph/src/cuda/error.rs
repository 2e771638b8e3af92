//! Say what a GPU lacks, and that the CPU works without it.

use cudarc::driver::DriverError;
use cudarc::driver::sys::CUresult;

use crate::error::RunError;

/// A GPU that cannot be used, or a run on it that failed. Programs run on the CPU without any of this.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CudaError {
    /// The driver library is not installed.
    #[error("no NVIDIA driver was found (libcuda); the CPU works without it")]
    NoDriver,
    /// The driver finds no device of that number.
    #[error("no CUDA device {ordinal} was found ({found} present); the CPU works without one")]
    NoDevice {
        /// The device asked for.
        ordinal: usize,
        /// Devices there are.
        found: usize,
    },
    /// The device lacks instructions that the kernels need.
    #[error("{name} has compute capability {found}, 8.0 or newer is needed; the CPU works without it")]
    OldDevice {
        /// Name of the device.
        name: String,
        /// Its compute capability.
        found: String,
    },
    /// The driver is older than the compiler's output.
    #[error(
        "the NVIDIA driver is too old for the CUDA {compiler} compiler that was found; update the driver, or use the CPU"
    )]
    OldDriver {
        /// Version of the compiler.
        compiler: String,
    },
    /// The run-time compiler is not installed.
    #[error(
        "no CUDA run-time compiler was found (libnvrtc, looked in {looked_in}); install the CUDA toolkit or the Python package nvidia-cuda-nvrtc, or use the CPU"
    )]
    NoCompiler {
        /// Where it was looked for.
        looked_in: String,
    },
    /// NCCL is not installed.
    #[error(
        "NCCL was not found (libnccl.so.2, looked in {looked_in}); install it (Debian's libnccl2, or the Python package \
         nvidia-nccl-cu12), or let sums go through the host"
    )]
    NoNccl {
        /// Where it was looked for.
        looked_in: String,
    },
    /// A failure of NCCL.
    #[error("{call} failed: {why}; NCCL_DEBUG=INFO says more, and sums through the host work without NCCL")]
    Nccl {
        /// What was asked of it.
        call: &'static str,
        /// What it says.
        why: String,
    },
    /// Generated kernels that the compiler refuses, which is a mistake of this crate.
    #[error("kernels do not compile: {0}")]
    Compile(String),
    /// Not enough memory on the device.
    #[error(
        "the GPU has too little free memory{}; end other programs on it, use smaller batches or the CPU",
        needed(*wanted)
    )]
    OutOfMemory {
        /// Megabytes that could not be had; 0 if that is not known.
        wanted: usize,
    },
    /// Parameters or indices of another queue, whose work is not in order with this one's.
    #[error(
        "{what} were uploaded to another queue of the GPU; upload them with the device that the program runs on"
    )]
    OtherQueue {
        /// What they are.
        what: &'static str,
    },
    /// What is given does not fit the program.
    #[error(transparent)]
    Run(#[from] RunError),
    /// Another failure of the driver.
    #[error("the GPU failed: {0}; the CPU works without it")]
    Driver(String),
}

fn needed(megabytes: usize) -> String {
    if megabytes == 0 { String::new() } else { format!(" ({megabytes} MB more are needed)") }
}

impl From<DriverError> for CudaError {
    fn from(error: DriverError) -> Self {
        match error.0 {
            CUresult::CUDA_ERROR_OUT_OF_MEMORY => CudaError::OutOfMemory { wanted: 0 },
            other => CudaError::Driver(format!("{other:?}")),
        }
    }
}
