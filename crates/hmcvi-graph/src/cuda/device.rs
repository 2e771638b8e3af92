//! Find a GPU, and hold what all programs on it share.

use std::sync::Arc;

use cudarc::driver::sys::{CUdevice_attribute, is_culib_present};
use cudarc::driver::{CudaContext, CudaSlice, CudaStream, DeviceRepr, ValidAsZeroBits};

use super::error::CudaError;

/// A GPU with a queue of work of its own. Several queues on one GPU run side by side.
#[derive(Clone)]
pub struct CudaDevice {
    pub(super) stream: Arc<CudaStream>,
    pub(super) name: String,
    pub(super) capability: (i32, i32),
    /// Multiprocessors.
    pub(super) processors: usize,
    /// Bytes of shared memory that a block may take.
    pub(super) shared: usize,
}

impl CudaDevice {
    /// The GPU of that number, with a new queue.
    pub fn new(ordinal: usize) -> Result<Self, CudaError> {
        // SAFETY: this only tries to load the driver library.
        if !unsafe { is_culib_present() } {
            return Err(CudaError::NoDriver);
        }
        let found = CudaContext::device_count().unwrap_or(0).max(0) as usize;
        if ordinal >= found {
            return Err(CudaError::NoDevice { ordinal, found });
        }
        let context = CudaContext::new(ordinal)?;
        // SAFETY: an executable's memory is used on one stream alone, in the order of its calls.
        unsafe { context.disable_event_tracking() };
        let (name, capability) = (context.name()?, context.compute_capability()?);
        if capability < (8, 0) {
            return Err(CudaError::OldDevice { name, found: format!("{}.{}", capability.0, capability.1) });
        }
        use CUdevice_attribute::{
            CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN as SHARED,
            CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT as PROCESSORS,
        };
        let processors = context.attribute(PROCESSORS)?.max(1) as usize;
        let shared = context.attribute(SHARED)?.max(0) as usize;
        Ok(CudaDevice { stream: context.new_stream()?, name, capability, processors, shared })
    }

    /// Another queue on the same GPU, for a run of its own.
    pub fn another_queue(&self) -> Result<Self, CudaError> {
        Ok(CudaDevice { stream: self.stream.context().new_stream()?, ..self.clone() })
    }

    /// Name of the GPU.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Multiprocessors of the GPU.
    pub fn processors(&self) -> usize {
        self.processors
    }

    /// Devices that the driver finds.
    pub fn count() -> usize {
        // SAFETY: this only tries to load the driver library.
        if unsafe { is_culib_present() } {
            CudaContext::device_count().unwrap_or(0).max(0) as usize
        } else {
            0
        }
    }

    /// Number that no other GPU has.
    pub fn identity(&self) -> Result<[u8; 16], CudaError> {
        Ok(self.stream.context().uuid()?.bytes.map(|byte| byte as u8))
    }

    /// Waits until everything queued so far is done.
    pub fn synchronise(&self) -> Result<(), CudaError> {
        Ok(self.stream.synchronize()?)
    }

    /// Whether both are the same queue.
    pub(super) fn is_same_queue(&self, other: &CudaDevice) -> bool {
        Arc::ptr_eq(&self.stream, &other.stream)
    }

    /// Zeros on the device.
    pub(super) fn zeros<T: DeviceRepr + ValidAsZeroBits>(
        &self,
        len: usize,
    ) -> Result<CudaSlice<T>, CudaError> {
        let wanted = (len * size_of::<T>()).div_ceil(1 << 20);
        self.stream.alloc_zeros(len.max(1)).map_err(|e| with_size(e.into(), wanted))
    }

    /// A copy on the device.
    pub(super) fn copy<T: DeviceRepr>(&self, values: &[T]) -> Result<CudaSlice<T>, CudaError> {
        let wanted = size_of_val(values).div_ceil(1 << 20);
        self.stream.clone_htod(values).map_err(|e| with_size(e.into(), wanted))
    }
}

fn with_size(error: CudaError, wanted: usize) -> CudaError {
    match error {
        CudaError::OutOfMemory { .. } => CudaError::OutOfMemory { wanted },
        other => other,
    }
}
