//! Keep on a device what training uses again and again: parameters, data, and the order of its rows.

use std::ops::Range;
use std::sync::Arc;

use hmcvi_graph::{DataSet, Store};

#[cfg(feature = "cuda")]
use hmcvi_graph::cuda::{CudaData, CudaIndex, CudaStore};

use super::{Device, DeviceError};

/// Parameters and the optimiser's state on a device.
pub(crate) enum State {
    Cpu(Store<f32>),
    #[cfg(feature = "cuda")]
    Cuda(CudaStore),
}

impl State {
    pub(crate) fn new(device: &Device, store: &Store<f32>) -> Result<Self, DeviceError> {
        match device {
            Device::Cpu { .. } => Ok(State::Cpu(store.clone())),
            #[cfg(feature = "cuda")]
            Device::Cuda(cuda) => Ok(State::Cuda(CudaStore::upload(&cuda.device, store)?)),
        }
    }

    /// A copy, once the runs queued so far are done.
    pub(crate) fn store(&self) -> Result<Store<f32>, DeviceError> {
        match self {
            State::Cpu(store) => Ok(store.clone()),
            #[cfg(feature = "cuda")]
            State::Cuda(store) => Ok(store.download()?),
        }
    }

    /// Takes the values of another state of the same program, where it is.
    pub(crate) fn copy_from(&mut self, other: &State) -> Result<(), DeviceError> {
        match (self, other) {
            (State::Cpu(to), State::Cpu(from)) => to.clone_from(from),
            #[cfg(feature = "cuda")]
            (State::Cuda(to), State::Cuda(from)) => to.copy_from(from)?,
            #[cfg(feature = "cuda")]
            _ => unreachable!("states of one training are on one device"),
        }
        Ok(())
    }
}

/// Rows that programs gather from, with the name that they have there.
pub(crate) trait HasRows: Send + Sync {
    fn rows(&self) -> (&'static str, DataSet<'_>);
}

/// A data set on a device.
pub(crate) enum Data {
    Cpu(Arc<dyn HasRows>),
    #[cfg(feature = "cuda")]
    Cuda(&'static str, Box<CudaData>),
}

impl Data {
    pub(crate) fn new(device: &Device, rows: Arc<dyn HasRows>) -> Result<Self, DeviceError> {
        match device {
            Device::Cpu { .. } => Ok(Data::Cpu(rows)),
            #[cfg(feature = "cuda")]
            Device::Cuda(cuda) => {
                let (name, values) = rows.rows();
                Ok(Data::Cuda(name, Box::new(CudaData::upload(&cuda.device, values)?)))
            }
        }
    }
}

/// Numbers of rows on a device.
pub(crate) enum Index {
    Cpu(Vec<u32>),
    #[cfg(feature = "cuda")]
    Cuda(CudaIndex),
}

impl Index {
    pub(crate) fn new(device: &Device, rows: Vec<u32>) -> Result<Self, DeviceError> {
        match device {
            Device::Cpu { .. } => Ok(Index::Cpu(rows)),
            #[cfg(feature = "cuda")]
            Device::Cuda(cuda) => Ok(Index::Cuda(CudaIndex::upload(&cuda.device, &rows)?)),
        }
    }
}

/// What a run on resident data is given.
#[derive(Clone)]
pub(crate) struct Batch<'a> {
    /// Values of inputs, by name.
    pub(crate) inputs: &'a [(&'a str, &'a [f32])],
    /// The data, and which part of an index names the rows of the batch; a program without data has one row.
    pub(crate) data: Option<(&'a Data, &'a Index, Range<usize>)>,
    pub(crate) seed: u64,
    pub(crate) step: u64,
    /// Number of the batch's first row among all.
    pub(crate) row_offset: u64,
}

impl Batch<'_> {
    pub(super) fn rows(&self) -> usize {
        self.data.as_ref().map_or(1, |(_, _, part)| part.len())
    }
}
