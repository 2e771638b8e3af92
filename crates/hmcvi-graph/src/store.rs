//! Keep named tensors between runs, and read and write them as safetensors.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};

use half::f16;
use safetensors::tensor::{Dtype, SafeTensors, TensorView};

use crate::error::RunError;
use crate::real::Real;

/// A matrix of values, row by row.
#[derive(Clone, Debug, PartialEq)]
pub struct Tensor<T> {
    /// Number of rows.
    pub rows: usize,
    /// Number of columns.
    pub cols: usize,
    /// `rows · cols` values.
    pub values: Vec<T>,
}

/// Named tensors: parameters, optimiser state, counters.
#[derive(Clone, Debug, Default)]
pub struct Store<T> {
    tensors: BTreeMap<String, Tensor<T>>,
    version: u64,
}

/// Stores are equal if their tensors are.
impl<T: PartialEq> PartialEq for Store<T> {
    fn eq(&self, other: &Self) -> bool {
        self.tensors == other.tensors
    }
}

/// Versions that were given out so far.
static VERSIONS: AtomicU64 = AtomicU64::new(1);

impl<T: Real> Store<T> {
    /// A store without tensors.
    pub fn new() -> Self {
        Store { tensors: BTreeMap::new(), version: 0 }
    }

    /// Keeps only the tensors with names for which `keep` is true.
    pub fn retain(&mut self, keep: impl Fn(&str) -> bool) {
        self.tensors.retain(|name, _| keep(name));
        self.changed();
    }

    /// A number that changes whenever the tensors may have changed: equal numbers mean equal tensors. Copies on other
    /// devices are kept up to date by it.
    pub fn version(&self) -> u64 {
        self.version
    }

    fn changed(&mut self) {
        self.version = VERSIONS.fetch_add(1, Ordering::Relaxed);
    }

    /// Adds a tensor or replaces the one of that name.
    pub fn insert(&mut self, name: &str, rows: usize, cols: usize, values: Vec<T>) -> Result<(), RunError> {
        if values.len() != rows * cols {
            return Err(RunError::Size {
                kind: "tensor",
                name: name.into(),
                expected: rows * cols,
                found: values.len(),
            });
        }
        self.changed();
        self.tensors.insert(name.into(), Tensor { rows, cols, values });
        Ok(())
    }

    /// The tensor of that name.
    pub fn get(&self, name: &str) -> Option<&Tensor<T>> {
        self.tensors.get(name)
    }

    /// The tensor of that name, to change its values.
    pub fn get_mut(&mut self, name: &str) -> Option<&mut Tensor<T>> {
        self.changed();
        self.tensors.get_mut(name)
    }

    /// All tensors in the order of their names.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Tensor<T>)> {
        self.tensors.iter().map(|(name, tensor)| (name.as_str(), tensor))
    }

    /// Number of tensors.
    pub fn len(&self) -> usize {
        self.tensors.len()
    }

    /// Whether there is no tensor.
    pub fn is_empty(&self) -> bool {
        self.tensors.is_empty()
    }

    /// The same tensors in another precision.
    pub fn convert<U: Real>(&self) -> Store<U> {
        let convert = |t: &Tensor<T>| Tensor {
            rows: t.rows,
            cols: t.cols,
            values: t.values.iter().map(|x| U::from_f64(x.to_f64())).collect(),
        };
        let tensors = self.tensors.iter().map(|(name, t)| (name.clone(), convert(t))).collect();
        let mut store = Store { tensors, version: 0 };
        store.changed();
        store
    }

    /// The tensor of that name, checked to have the shape a program needs.
    pub(crate) fn expect_mut(&mut self, name: &str, shape: [usize; 2]) -> Result<&mut Tensor<T>, RunError> {
        self.expect(name, shape)?;
        self.changed();
        Ok(self.tensors.get_mut(name).expect("it was found"))
    }

    /// The same for a program that changes nothing.
    pub(crate) fn expect(&self, name: &str, shape: [usize; 2]) -> Result<&Tensor<T>, RunError> {
        let missing = || RunError::Missing { kind: "parameter", name: name.into() };
        let tensor = self.tensors.get(name).ok_or_else(missing)?;
        let found = [tensor.rows, tensor.cols];
        if found != shape || tensor.values.len() != tensor.rows * tensor.cols {
            return Err(RunError::TensorShape { name: name.into(), expected: shape, found });
        }
        Ok(tensor)
    }

    /// All tensors in the safetensors format, with the store's own precision, and text beside them.
    pub fn to_safetensors(&self, metadata: &BTreeMap<String, String>) -> Result<Vec<u8>, RunError> {
        let narrow = size_of::<T>() == size_of::<f32>();
        self.serialize(if narrow { Dtype::F32 } else { Dtype::F64 }, metadata)
    }

    /// All tensors in the safetensors format with half precision: to be shipped, not to be trained on.
    pub fn to_half_safetensors(&self, metadata: &BTreeMap<String, String>) -> Result<Vec<u8>, RunError> {
        self.serialize(Dtype::F16, metadata)
    }

    fn serialize(&self, dtype: Dtype, metadata: &BTreeMap<String, String>) -> Result<Vec<u8>, RunError> {
        let bytes = |t: &Tensor<T>| -> Vec<u8> {
            let each = t.values.iter().map(|x| x.to_f64());
            match dtype {
                Dtype::F16 => each.flat_map(|x| f16::from_f64(x).to_le_bytes()).collect(),
                Dtype::F32 => each.flat_map(|x| (x as f32).to_le_bytes()).collect(),
                _ => each.flat_map(f64::to_le_bytes).collect(),
            }
        };
        let data: Vec<_> = self.tensors.iter().map(|(name, t)| (name, t, bytes(t))).collect();
        let format = |e: safetensors::SafeTensorError| RunError::Format(e.to_string());
        let views = data
            .iter()
            .map(|(name, t, bytes)| Ok((*name, TensorView::new(dtype, vec![t.rows, t.cols], bytes)?)))
            .collect::<Result<Vec<_>, _>>()
            .map_err(format)?;
        let metadata: std::collections::HashMap<_, _> =
            metadata.iter().map(|(k, v)| (k.clone(), v.clone())).collect();
        // An empty header entry is not read back by all versions of the format.
        let metadata = (!metadata.is_empty()).then_some(metadata);
        safetensors::serialize(views, metadata).map_err(format)
    }

    /// Tensors and text from the safetensors format. f16, f32 and f64 tensors with one or two
    /// dimensions are accepted; a vector becomes a single row.
    pub fn from_safetensors(bytes: &[u8]) -> Result<(Self, BTreeMap<String, String>), RunError> {
        let format = |e: safetensors::SafeTensorError| RunError::Format(e.to_string());
        let (_, header) = SafeTensors::read_metadata(bytes).map_err(format)?;
        let metadata = header.metadata().iter().flatten().map(|(k, v)| (k.clone(), v.clone())).collect();
        let file = SafeTensors::deserialize(bytes).map_err(format)?;
        let mut store = Store::new();
        for (name, view) in file.tensors() {
            let (rows, cols) = match *view.shape() {
                [cols] => (1, cols),
                [rows, cols] => (rows, cols),
                ref other => {
                    return Err(RunError::Format(format!(
                        "tensor `{name}` has shape {other:?}, not a matrix"
                    )));
                }
            };
            let values = match view.dtype() {
                Dtype::F16 => {
                    let (words, _) = view.data().as_chunks::<2>();
                    words.iter().map(|w| T::from_f64(f16::from_le_bytes(*w).into())).collect()
                }
                Dtype::F32 => {
                    let (words, _) = view.data().as_chunks::<4>();
                    words.iter().map(|w| T::from_f64(f32::from_le_bytes(*w).into())).collect()
                }
                Dtype::F64 => {
                    let (words, _) = view.data().as_chunks::<8>();
                    words.iter().map(|w| T::from_f64(f64::from_le_bytes(*w))).collect()
                }
                other => {
                    return Err(RunError::Format(format!(
                        "tensor `{name}` has type {other:?}, not F16, F32 or F64"
                    )));
                }
            };
            store.insert(&name, rows, cols, values)?;
        }
        Ok((store, metadata))
    }
}
