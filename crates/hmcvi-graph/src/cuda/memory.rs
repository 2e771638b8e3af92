//! Keep parameters, data sets and indices on the device.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};

use cudarc::driver::{CudaSlice, DevicePtr, DeviceRepr};

use super::device::CudaDevice;
use super::error::CudaError;
use crate::cpu::find;
use crate::data::{DataSet, Extent};
use crate::error::RunError;
use crate::plan::Program;
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

/// A data set on the device, which runs on all of its queues may share. It must be kept until they are done.
pub struct CudaData {
    device: CudaDevice,
    memory: DataMemory,
    extent: Extent,
}

enum DataMemory {
    Bytes(CudaSlice<u8>),
    /// What `Table` points to in the kernels, and that.
    Values {
        table: CudaSlice<u64>,
        _values: CudaSlice<f32>,
        _places: Option<(CudaSlice<u64>, CudaSlice<u32>)>,
    },
}

impl CudaData {
    /// Copies a data set to the device. Sparse rows take the memory of the values that are not zero.
    pub fn upload(device: &CudaDevice, data: DataSet<'_>) -> Result<Self, CudaError> {
        let memory = match data {
            DataSet::Bytes(bytes) => DataMemory::Bytes(device.copy(bytes)?),
            DataSet::Values(values) => table(device, values, None)?,
            DataSet::Sparse(rows) => {
                let (starts, columns, values) = rows.parts();
                let starts: Vec<u64> = starts.iter().map(|&start| start as u64).collect();
                table(device, values, Some((device.copy(&starts)?, copy_some(device, columns)?)))?
            }
        };
        // Other queues do not wait for this one.
        device.synchronise()?;
        Ok(CudaData { device: device.clone(), memory, extent: data.extent() })
    }

    /// Copies those rows of a data set that a run of the program picks: its indices are `0, 1, 2, …` then.
    pub fn upload_rows(
        device: &CudaDevice,
        program: &Program,
        name: &str,
        data: DataSet<'_>,
        indices: &[(&str, &[u32])],
    ) -> Result<Self, CudaError> {
        let plan = &program.plan;
        let missing = || RunError::Missing { kind: "data set", name: name.into() };
        let gathered = plan.data.iter().find(|d| *d.name == *name).ok_or_else(missing)?;
        let (index, cols) = (&plan.indices[gathered.index], gathered.cols);
        let rows = find("index", index, indices)?;
        gathered.check_index(index, rows.iter().copied().max(), gathered.rows(data.extent())?)?;
        let starts = rows.iter().map(|&row| row as usize * cols);
        match data {
            DataSet::Bytes(bytes) => {
                let picked: Vec<u8> = starts.flat_map(|at| &bytes[at..at + cols]).copied().collect();
                Self::upload(device, DataSet::Bytes(&picked))
            }
            DataSet::Values(values) => {
                let picked: Vec<f32> = starts.flat_map(|at| &values[at..at + cols]).copied().collect();
                Self::upload(device, DataSet::Values(&picked))
            }
            DataSet::Sparse(sparse) => Self::upload(device, DataSet::Sparse(&sparse.pick(rows))),
        }
    }

    pub(super) fn extent(&self) -> Extent {
        self.extent
    }

    /// Address of the bytes, or of the table that describes the values.
    pub(super) fn address(&self) -> u64 {
        match &self.memory {
            DataMemory::Bytes(bytes) => address(&self.device, bytes),
            DataMemory::Values { table, .. } => address(&self.device, table),
        }
    }
}

/// A copy with room for one value at least: the driver has no memory without size.
fn copy_some<T: DeviceRepr + Default>(device: &CudaDevice, values: &[T]) -> Result<CudaSlice<T>, CudaError> {
    let one = [T::default()];
    device.copy(if values.is_empty() { &one } else { values })
}

/// Values on the device, with starts of rows and columns if they are sparse.
fn table(
    device: &CudaDevice,
    values: &[f32],
    places: Option<(CudaSlice<u64>, CudaSlice<u32>)>,
) -> Result<DataMemory, CudaError> {
    let values = copy_some(device, values)?;
    let [starts, columns] = match &places {
        None => [0, 0],
        Some((starts, columns)) => [address(device, starts), address(device, columns)],
    };
    let table = device.copy(&[address(device, &values), starts, columns])?;
    Ok(DataMemory::Values { table, _values: values, _places: places })
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
