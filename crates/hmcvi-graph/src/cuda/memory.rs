//! Keep parameters, data sets and indices on the device.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};

use cudarc::driver::{CudaSlice, DevicePtr, DeviceRepr};

use super::device::CudaDevice;
use super::error::CudaError;
use crate::error::RunError;
use crate::store::{Store, Tensor};

/// Address of memory on the device.
pub(super) fn address<T: DeviceRepr>(device: &CudaDevice, slice: &CudaSlice<T>) -> u64 {
    slice.device_ptr(&device.stream).0
}

struct DeviceTensor {
    rows: usize,
    cols: usize,
    values: CudaSlice<f32>,
}

/// Named tensors on the device: parameters, optimiser state. Programs read and update them there.
pub struct CudaStore {
    pub(super) device: CudaDevice,
    tensors: BTreeMap<String, DeviceTensor>,
    /// Tells stores apart: executables remember where a store's tensors are.
    pub(super) number: u64,
}

static STORES: AtomicU64 = AtomicU64::new(1);

impl CudaStore {
    /// Copies a store to the device.
    pub fn upload(device: &CudaDevice, store: &Store<f32>) -> Result<Self, CudaError> {
        let copy = |(name, t): (&str, &Tensor<f32>)| {
            let values = device.copy(&t.values)?;
            Ok((name.to_string(), DeviceTensor { rows: t.rows, cols: t.cols, values }))
        };
        let tensors = store.iter().map(copy).collect::<Result<_, CudaError>>()?;
        let number = STORES.fetch_add(1, Ordering::Relaxed);
        Ok(CudaStore { device: device.clone(), tensors, number })
    }

    /// Takes the values of a store with the same tensors, as the runs queued so far leave them.
    pub fn copy_from(&mut self, other: &CudaStore) -> Result<(), CudaError> {
        for (name, to) in &mut self.tensors {
            let missing = || RunError::Missing { kind: "parameter", name: name.clone() };
            let from = other.tensors.get(name).ok_or_else(missing)?;
            let (expected, found) = ([to.rows, to.cols], [from.rows, from.cols]);
            if expected != found {
                return Err(RunError::TensorShape { name: name.clone(), expected, found }.into());
            }
            self.device.stream.memcpy_dtod(&from.values, &mut to.values)?;
        }
        Ok(())
    }

    /// Copies all tensors back, once the runs queued so far are done.
    pub fn download(&self) -> Result<Store<f32>, CudaError> {
        let mut store = Store::new();
        for (name, t) in &self.tensors {
            let values = self.device.stream.clone_dtoh(&t.values)?;
            store.insert(name, t.rows, t.cols, values)?;
        }
        Ok(store)
    }

    /// Address of a tensor, checked to have the shape a program needs.
    pub(super) fn expect(&self, name: &str, shape: [usize; 2]) -> Result<u64, CudaError> {
        let missing = || RunError::Missing { kind: "parameter", name: name.into() };
        let tensor = self.tensors.get(name).ok_or_else(missing)?;
        let found = [tensor.rows, tensor.cols];
        if found != shape {
            return Err(RunError::TensorShape { name: name.into(), expected: shape, found }.into());
        }
        Ok(address(&self.device, &tensor.values))
    }
}

/// A data set of bytes on the device, which runs on all of its queues may share. It must be kept until they are done.
pub struct CudaData {
    device: CudaDevice,
    bytes: CudaSlice<u8>,
}

impl CudaData {
    /// Copies a data set to the device.
    pub fn upload(device: &CudaDevice, bytes: &[u8]) -> Result<Self, CudaError> {
        let bytes = device.copy(bytes)?;
        // Other queues do not wait for this one.
        device.synchronise()?;
        Ok(CudaData { device: device.clone(), bytes })
    }

    pub(super) fn len(&self) -> usize {
        self.bytes.len()
    }

    pub(super) fn address(&self) -> u64 {
        address(&self.device, &self.bytes)
    }
}

/// Indices on the device, such as the permutation of an epoch.
pub struct CudaIndex {
    pub(super) device: CudaDevice,
    values: CudaSlice<u32>,
    largest: Option<u32>,
}

impl CudaIndex {
    /// Copies indices to the device.
    pub fn upload(device: &CudaDevice, values: &[u32]) -> Result<Self, CudaError> {
        let largest = values.iter().copied().max();
        Ok(CudaIndex { device: device.clone(), values: device.copy(values)?, largest })
    }

    pub(super) fn len(&self) -> usize {
        self.values.len()
    }

    /// The largest index, which decides whether all are within a data set.
    pub(super) fn largest(&self) -> Option<u32> {
        self.largest
    }

    pub(super) fn address(&self, first: usize) -> u64 {
        address(&self.device, &self.values) + (first * size_of::<u32>()) as u64
    }
}
