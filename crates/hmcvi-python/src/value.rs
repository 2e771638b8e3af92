//! Values of a model while its function runs: what Python's operators work on.

use hmcvi::bayes::Dims;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyIterator, PyList, PyTuple};

use crate::arrays;
use crate::tape::{Operation, Step, binary, function, joined};
use crate::trace::Tape;

/// A value of a model: a number or an array, known or to be inferred. Operators and functions work element by element and
/// repeat dimensions as NumPy does; indexing is NumPy's too.
#[pyclass(frozen, module = "hmcvi")]
#[derive(Clone)]
pub(crate) struct Value {
    pub(crate) tape: Tape,
    pub(crate) place: usize,
    pub(crate) dims: Dims,
}

/// Most multiplications that stand for a power.
const MOST_MULTIPLIED: i32 = 16;

impl Value {
    /// What errors call it.
    fn named(&self) -> String {
        self.tape.label(self.place).map_or_else(|| "a value of a model".into(), |name| format!("`{name}`"))
    }

    fn apply(&self, operation: Operation, operands: &[&Value]) -> PyResult<Value> {
        let operands = operands.iter().map(|value| value.place).collect();
        self.tape.push(Step::Apply { operation, operands })
    }

    fn of(&self, object: &Bound<'_, PyAny>) -> PyResult<Value> {
        self.tape.value(object)
    }

    pub(crate) fn function(&self, name: &str) -> PyResult<Value> {
        let unknown = || PyTypeError::new_err(format!("there is no function `{name}` of values of a model"));
        self.apply(Operation::Function(function(name).ok_or_else(unknown)?), &[self])
    }

    pub(crate) fn binary(&self, name: &str, other: &Value) -> PyResult<Value> {
        let unknown = || PyTypeError::new_err(format!("there is no function `{name}` of values of a model"));
        self.apply(Operation::Binary(binary(name).ok_or_else(unknown)?), &[self, other])
    }

    fn power(&self, exponent: &Value) -> PyResult<Value> {
        let Some(number) = self.tape.number(exponent.place) else {
            return self.binary("power", exponent);
        };
        // The power of a real number is defined for whole numbers only.
        let whole = number as i32;
        match number {
            0.5 => self.function("sqrt"),
            1.0 => Ok(self.clone()),
            _ if f64::from(whole) == number && (1..=MOST_MULTIPLIED).contains(&whole.abs()) => {
                let power = self.multiplied(whole.abs())?;
                if whole < 0 { power.function("reciprocal") } else { Ok(power) }
            }
            _ => self.binary("power", exponent),
        }
    }

    /// Multiplied by itself, by squares where that is possible.
    fn multiplied(&self, times: i32) -> PyResult<Value> {
        match times {
            1 => Ok(self.clone()),
            even if even % 2 == 0 => self.multiplied(even / 2)?.function("square"),
            odd => self.binary("multiply", &self.multiplied(odd - 1)?),
        }
    }

    fn matmul(&self, other: &Value) -> PyResult<Value> {
        match (self.dims.sizes().len(), other.dims.sizes().len()) {
            (1, 1) if self.dims == other.dims => self.apply(Operation::Dot, &[self, other]),
            (1, 2) => {
                // Known matrices are kept as they are needed.
                let turned = match self.tape.transposed(other.place) {
                    Some(known) => self.tape.push(known)?,
                    None => other.transposed()?,
                };
                self.apply(Operation::Times, &[&turned, self])
            }
            (2, 1 | 2) => self.apply(Operation::Times, &[self, other]),
            _ => Err(self.tape.refused(
                &format!(
                    "`@` needs vectors or matrices that fit each other, not {} and {}",
                    self.dims, other.dims
                ),
                &[self.place, other.place],
            )),
        }
    }

    fn transposed(&self) -> PyResult<Value> {
        match self.dims.sizes().len() {
            2 => self.apply(Operation::Transpose, &[self]),
            _ => Ok(self.clone()),
        }
    }

    /// With one dimension moved to the end, and the others in their order.
    fn with_last(&self, axis: isize) -> PyResult<Value> {
        let sizes = self.dims.sizes();
        let rank = sizes.len();
        let at = if axis < 0 { axis + rank as isize } else { axis };
        let Some(at) = usize::try_from(at).ok().filter(|at| *at < rank) else {
            return Err(PyValueError::new_err(format!("there is no axis {axis} of {}", self.dims)));
        };
        if at + 1 == rank {
            return Ok(self.clone());
        }
        let inner: usize = sizes[at + 1..].iter().product();
        let (size, outer) = (sizes[at], sizes[..at].iter().product::<usize>());
        let place = |outer: usize, rest: usize, k: usize| (outer * size + k) * inner + rest;
        let places: Vec<usize> = (0..outer)
            .flat_map(|o| (0..inner).flat_map(move |rest| (0..size).map(move |k| place(o, rest, k))))
            .collect();
        let mut turned: Vec<usize> = sizes.to_vec();
        turned.remove(at);
        turned.push(size);
        self.apply(Operation::Gather(places.into(), arrays::dims_of(&turned)?), &[self])
    }

    fn along(&self, axis: Option<isize>, all: Operation, last: Operation) -> PyResult<Value> {
        match axis {
            None => self.apply(all, &[self]),
            Some(axis) => {
                let turned = self.with_last(axis)?;
                turned.apply(last, &[&turned])
            }
        }
    }
}

#[pymethods]
impl Value {
    /// Its dimensions.
    #[getter]
    fn shape<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        arrays::tuple(py, self.dims)
    }

    /// Number of dimensions.
    #[getter]
    fn ndim(&self) -> usize {
        self.dims.sizes().len()
    }

    /// Number of elements.
    #[getter]
    fn size(&self) -> usize {
        self.dims.elements()
    }

    /// The transpose of a matrix.
    #[getter(T)]
    fn transpose(&self) -> PyResult<Value> {
        self.transposed()
    }

    fn __len__(&self) -> PyResult<usize> {
        let first = self.dims.sizes().first().copied();
        first.ok_or_else(|| PyTypeError::new_err("a number has no length"))
    }

    fn __iter__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyIterator>> {
        let py = slf.py();
        let parts = (0..slf.get().__len__()?).map(|at| slf.get().__getitem__(at.into_pyobject(py)?.as_any()));
        let parts: Vec<Value> = parts.collect::<PyResult<_>>()?;
        PyList::new(py, parts)?.try_iter()
    }

    fn __getitem__(&self, index: &Bound<'_, PyAny>) -> PyResult<Value> {
        let has_value = |part: &Bound<'_, PyAny>| part.is_instance_of::<Value>();
        let parts = index.cast::<PyTuple>().ok();
        if has_value(index) || parts.is_some_and(|parts| parts.iter().any(|part| has_value(&part))) {
            let text = "positions have to be known: whole numbers of the data, not values of the model";
            return Err(self.tape.refused(text, &[self.place]));
        }
        let (places, dims) = arrays::picked(self.dims, index).map_err(|error| {
            // What kind of error it is stays: iteration and `try` depend on it.
            let py = index.py();
            let text = format!("{}: {}", self.named(), error.value(py));
            PyErr::from_type(error.get_type(py), text)
        })?;
        if places.is_empty() {
            return Err(self.tape.refused("nothing is left at these positions", &[self.place]));
        }
        self.apply(Operation::Gather(places.into(), dims), &[self])
    }

    fn __bool__(&self) -> PyResult<bool> {
        Err(PyTypeError::new_err(format!(
            "{} is neither true nor false while the model is described; `hmcvi.where(condition, a, b)` chooses between \
             values",
            self.named()
        )))
    }

    fn __float__(&self) -> PyResult<f64> {
        self.tape.number(self.place).ok_or_else(|| {
            PyTypeError::new_err(format!(
                "{} has no value while the model is being described; use the functions of `hmcvi` instead of those of `math`",
                self.named()
            ))
        })
    }

    /// NumPy asks for numbers where it has no operator to ask for.
    #[pyo3(signature = (*_arguments, **_options))]
    fn __array__(
        &self,
        _arguments: &Bound<'_, PyTuple>,
        _options: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Value> {
        Err(PyTypeError::new_err(format!(
            "{} is no array while the model is described; operators and functions of `hmcvi` (`stack`, `concatenate`, \
             `where`, `dot`, ...) stand for those of NumPy",
            self.named()
        )))
    }

    fn __repr__(&self) -> String {
        let name = self.tape.label(self.place).map_or(String::new(), |name| format!(" {name}"));
        format!("<hmcvi.Value{name}: {}>", self.dims)
    }

    fn __add__(&self, other: &Bound<'_, PyAny>) -> PyResult<Value> {
        self.binary("add", &self.of(other)?)
    }

    fn __radd__(&self, other: &Bound<'_, PyAny>) -> PyResult<Value> {
        self.of(other)?.binary("add", self)
    }

    fn __sub__(&self, other: &Bound<'_, PyAny>) -> PyResult<Value> {
        self.binary("subtract", &self.of(other)?)
    }

    fn __rsub__(&self, other: &Bound<'_, PyAny>) -> PyResult<Value> {
        self.of(other)?.binary("subtract", self)
    }

    fn __mul__(&self, other: &Bound<'_, PyAny>) -> PyResult<Value> {
        self.binary("multiply", &self.of(other)?)
    }

    fn __rmul__(&self, other: &Bound<'_, PyAny>) -> PyResult<Value> {
        self.of(other)?.binary("multiply", self)
    }

    fn __truediv__(&self, other: &Bound<'_, PyAny>) -> PyResult<Value> {
        self.binary("divide", &self.of(other)?)
    }

    fn __rtruediv__(&self, other: &Bound<'_, PyAny>) -> PyResult<Value> {
        self.of(other)?.binary("divide", self)
    }

    fn __pow__(&self, other: &Bound<'_, PyAny>, _modulo: Option<&Bound<'_, PyAny>>) -> PyResult<Value> {
        self.power(&self.of(other)?)
    }

    fn __rpow__(&self, other: &Bound<'_, PyAny>, _modulo: Option<&Bound<'_, PyAny>>) -> PyResult<Value> {
        self.of(other)?.power(self)
    }

    fn __matmul__(&self, other: &Bound<'_, PyAny>) -> PyResult<Value> {
        self.matmul(&self.of(other)?)
    }

    fn __rmatmul__(&self, other: &Bound<'_, PyAny>) -> PyResult<Value> {
        self.of(other)?.matmul(self)
    }

    fn __neg__(&self) -> PyResult<Value> {
        self.function("negative")
    }

    fn __pos__(&self) -> Value {
        self.clone()
    }

    fn __abs__(&self) -> PyResult<Value> {
        self.function("abs")
    }

    fn __lt__(&self, other: &Bound<'_, PyAny>) -> PyResult<Value> {
        self.binary("less", &self.of(other)?)
    }

    fn __gt__(&self, other: &Bound<'_, PyAny>) -> PyResult<Value> {
        self.of(other)?.binary("less", self)
    }

    fn __le__(&self, other: &Bound<'_, PyAny>) -> PyResult<Value> {
        self.tape.constant(1.0)?.binary("subtract", &self.__gt__(other)?)
    }

    fn __ge__(&self, other: &Bound<'_, PyAny>) -> PyResult<Value> {
        self.tape.constant(1.0)?.binary("subtract", &self.__lt__(other)?)
    }

    fn __eq__(&self, _other: &Bound<'_, PyAny>) -> PyResult<bool> {
        Err(PyTypeError::new_err(
            "values of a model are not compared with `==` or `!=`: those of continuous variables are never equal; `<` and \
             `>` give 1 or 0",
        ))
    }

    fn __ne__(&self, other: &Bound<'_, PyAny>) -> PyResult<bool> {
        self.__eq__(other)
    }

    fn __hash__(&self) -> usize {
        self.place
    }

    /// The sum of all elements, or along a dimension; `numpy.sum` calls it with the other arguments.
    #[pyo3(signature = (axis=None, dtype=None, out=None))]
    fn sum(
        &self,
        axis: Option<isize>,
        dtype: Option<&Bound<'_, PyAny>>,
        out: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Value> {
        plain("sum", dtype, out)?;
        self.along(axis, Operation::Sum, Operation::SumLast)
    }

    /// The mean of all elements, or along a dimension.
    #[pyo3(signature = (axis=None, dtype=None, out=None))]
    fn mean(
        &self,
        axis: Option<isize>,
        dtype: Option<&Bound<'_, PyAny>>,
        out: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Value> {
        plain("mean", dtype, out)?;
        let sum = self.along(axis, Operation::Sum, Operation::SumLast)?;
        let count = self.dims.elements() / sum.dims.elements().max(1);
        sum.binary("divide", &self.tape.constant(count as f64)?)
    }

    /// `log Σ exp xᵢ` over all elements, or along a dimension.
    #[pyo3(signature = (axis=None))]
    fn logsumexp(&self, axis: Option<isize>) -> PyResult<Value> {
        self.along(axis, Operation::LogSumExp, Operation::LogSumExpLast)
    }

    /// The sums of the elements of a vector up to each.
    fn cumsum(&self) -> PyResult<Value> {
        match self.dims.sizes().len() {
            1 => self.apply(Operation::CumulativeSum, &[self]),
            _ => {
                Err(self.tape.refused(&format!("`cumsum` needs a vector, not {}", self.dims), &[self.place]))
            }
        }
    }

    /// The same elements with another shape, of which one size may be -1.
    #[pyo3(signature = (*shape))]
    fn reshape(&self, shape: &Bound<'_, PyTuple>) -> PyResult<Value> {
        let whole = if shape.len() == 1 { shape.get_item(0)? } else { shape.clone().into_any() };
        let sizes: Vec<isize> =
            whole.extract::<Vec<isize>>().or_else(|_| Ok::<_, PyErr>(vec![whole.extract()?]))?;
        let known: usize = sizes.iter().filter_map(|size| usize::try_from(*size).ok()).product();
        let rest = self.dims.elements() / known.max(1);
        let sizes: Vec<usize> = sizes.iter().map(|size| usize::try_from(*size).unwrap_or(rest)).collect();
        self.apply(Operation::Reshape(arrays::dims_of(&sizes)?), &[self])
    }

    /// The Cholesky factor `L` of a positive definite matrix `L Lᵀ`.
    fn cholesky(&self) -> PyResult<Value> {
        self.apply(Operation::Cholesky, &[self])
    }

    /// NumPy's functions and its operators with an array on the left.
    #[pyo3(signature = (ufunc, method, *inputs, **options))]
    fn __array_ufunc__(
        &self,
        ufunc: &Bound<'_, PyAny>,
        method: &str,
        inputs: &Bound<'_, PyTuple>,
        options: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Value> {
        let name: String = ufunc.getattr("__name__")?.extract()?;
        if method != "__call__" || options.is_some_and(|options| !options.is_empty()) {
            return Err(PyTypeError::new_err(format!(
                "`numpy.{name}` has no such form for values of a model"
            )));
        }
        let inputs: Vec<Value> = inputs.iter().map(|input| self.of(&input)).collect::<PyResult<_>>()?;
        match (name.as_str(), inputs.as_slice()) {
            ("matmul", [a, b]) => a.matmul(b),
            ("power", [a, b]) => a.power(b),
            ("greater", [a, b]) => b.binary("less", a),
            ("absolute", [x]) => x.function("abs"),
            ("arctan", [x]) => x.function("atan"),
            (_, [x]) => x.function(&name),
            (_, [a, b]) => a.binary(&name, b),
            _ => Err(PyTypeError::new_err(format!("`numpy.{name}` cannot take values of a model"))),
        }
    }
}

/// Refuses what NumPy offers for arrays alone.
fn plain(name: &str, dtype: Option<&Bound<'_, PyAny>>, out: Option<&Bound<'_, PyAny>>) -> PyResult<()> {
    match dtype.is_none() && out.is_none() {
        true => Ok(()),
        false => Err(PyTypeError::new_err(format!(
            "`{name}` of values of a model takes neither `dtype` nor `out`"
        ))),
    }
}

/// The first value among some objects.
fn first_value(objects: &[Bound<'_, PyAny>]) -> PyResult<Value> {
    let found =
        objects.iter().find_map(|object| object.cast::<Value>().ok().map(|value| value.get().clone()));
    found.ok_or_else(|| {
        PyTypeError::new_err("expected a value of a model; functions of NumPy are for arrays that are known")
    })
}

/// A function of a value by its name.
#[pyfunction]
pub(crate) fn apply(name: &str, value: &Bound<'_, PyAny>) -> PyResult<Value> {
    first_value(std::slice::from_ref(value))?.function(name)
}

/// A function of two values by its name, of which one may be known.
#[pyfunction]
pub(crate) fn apply_to_two(name: &str, a: &Bound<'_, PyAny>, b: &Bound<'_, PyAny>) -> PyResult<Value> {
    let one = first_value(&[a.clone(), b.clone()])?;
    one.of(a)?.binary(name, &one.of(b)?)
}

/// `a` where the condition is not 0, else `b`.
#[pyfunction]
pub(crate) fn select(
    condition: &Bound<'_, PyAny>,
    a: &Bound<'_, PyAny>,
    b: &Bound<'_, PyAny>,
) -> PyResult<Value> {
    let one = first_value(&[condition.clone(), a.clone(), b.clone()])?;
    let [condition, a, b] = [one.of(condition)?, one.of(a)?, one.of(b)?];
    let together = joined(condition.dims, a.dims).and_then(|dims| joined(dims, b.dims));
    if together.is_none() {
        let text = format!("`where` cannot take {}, {} and {} together", condition.dims, a.dims, b.dims);
        return Err(one.tape.refused(&text, &[condition.place, a.place, b.place]));
    }
    one.apply(Operation::Select, &[&condition, &a, &b])
}

/// Numbers and vectors one after the other.
#[pyfunction]
pub(crate) fn concatenate(parts: Vec<Bound<'_, PyAny>>) -> PyResult<Value> {
    let one = first_value(&parts)?;
    let parts: Vec<Value> = parts.iter().map(|part| one.of(part)).collect::<PyResult<_>>()?;
    if let Some(wrong) = parts.iter().find(|part| part.dims.sizes().len() > 1) {
        let text = format!("`concatenate` takes numbers and vectors, not {}", wrong.dims);
        return Err(one.tape.refused(&text, &[wrong.place]));
    }
    one.apply(Operation::Concat, &parts.iter().collect::<Vec<_>>())
}

/// Values of equal dimensions as parts of one, along a new first dimension.
#[pyfunction]
pub(crate) fn stack(parts: Vec<Bound<'_, PyAny>>) -> PyResult<Value> {
    let one = first_value(&parts)?;
    let parts: Vec<Value> = parts.iter().map(|part| one.of(part)).collect::<PyResult<_>>()?;
    let dims = parts[0].dims;
    if let Some(wrong) = parts.iter().find(|part| part.dims != dims) {
        let text = format!("`stack` needs parts of equal dimensions, not {dims} and {}", wrong.dims);
        return Err(one.tape.refused(&text, &[parts[0].place, wrong.place]));
    }
    let side_by_side = one.apply(Operation::Concat, &parts.iter().collect::<Vec<_>>())?;
    let whole = arrays::dims_of(&[&[parts.len()], dims.sizes()].concat())?;
    side_by_side.apply(Operation::Reshape(whole), &[&side_by_side])
}

/// A matrix whose rows are multiplied by the elements of a vector.
#[pyfunction]
pub(crate) fn scale_rows(scales: &Bound<'_, PyAny>, matrix: &Bound<'_, PyAny>) -> PyResult<Value> {
    let one = first_value(&[scales.clone(), matrix.clone()])?;
    let (scales, matrix) = (one.of(scales)?, one.of(matrix)?);
    one.apply(Operation::ScaleRows, &[&scales, &matrix])
}
