//! Keep named tensors between runs, and read and write them as safetensors.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::error::RunError;
use crate::half;
use crate::real::Real;
use crate::safetensors::{self, Precision};

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
        self.serialize(if narrow { Precision::F32 } else { Precision::F64 }, metadata)
    }

    /// All tensors in the safetensors format with half precision: to be shipped, not to be trained on.
    pub fn to_half_safetensors(&self, metadata: &BTreeMap<String, String>) -> Result<Vec<u8>, RunError> {
        self.serialize(Precision::F16, metadata)
    }

    fn serialize(
        &self,
        precision: Precision,
        metadata: &BTreeMap<String, String>,
    ) -> Result<Vec<u8>, RunError> {
        let matrices = self.iter().map(|(name, tensor)| (name, [tensor.rows, tensor.cols]));
        let mut bytes = safetensors::begin(precision, matrices, metadata)?;
        let values = self.tensors.values().flat_map(|tensor| &tensor.values).map(|x| x.to_f64());
        match precision {
            Precision::F16 => bytes.extend(values.flat_map(|x| half::from_f64(x).to_le_bytes())),
            Precision::F32 => bytes.extend(values.flat_map(|x| (x as f32).to_le_bytes())),
            Precision::F64 => bytes.extend(values.flat_map(f64::to_le_bytes)),
        }
        Ok(bytes)
    }

    /// Tensors and text from the safetensors format. f16, f32 and f64 tensors with one or two
    /// dimensions are accepted; a vector becomes a single row.
    pub fn from_safetensors(bytes: &[u8]) -> Result<(Self, BTreeMap<String, String>), RunError> {
        let (tensors, metadata) = safetensors::read(bytes)?;
        let mut store = Store::new();
        for view in tensors {
            let (name, data) = (&view.name, view.values);
            let (rows, cols) = match *view.shape {
                [cols] => (1, cols),
                [rows, cols] => (rows, cols),
                ref other => {
                    return Err(RunError::Format(format!(
                        "tensor `{name}` has shape {other:?}, not a matrix"
                    )));
                }
            };
            let values = match view.precision {
                Precision::F16 => read_values(data, |w| half::to_f64(u16::from_le_bytes(w))),
                Precision::F32 => read_values(data, |w| f32::from_le_bytes(w).into()),
                Precision::F64 => read_values(data, f64::from_le_bytes),
            };
            store.insert(name, rows, cols, values)?;
        }
        Ok((store, metadata))
    }
}

fn read_values<T: Real, const N: usize>(data: &[u8], value: impl Fn([u8; N]) -> f64) -> Vec<T> {
    let (words, _) = data.as_chunks();
    words.iter().map(|&word| T::from_f64(value(word))).collect()
}
