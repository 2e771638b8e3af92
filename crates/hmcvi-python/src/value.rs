//! Values of a model while its function runs: what Python's operators work on.

use hmcvi::bayes::Dims;
use pyo3::exceptions::{PyAttributeError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyIterator, PyList, PyTuple};

use crate::arrays;
use crate::tape::{Operation, Step, binary, function};
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

    pub(crate) fn apply(&self, operation: Operation, operands: &[&Value]) -> PyResult<Value> {
        let operands = operands.iter().map(|value| value.place).collect();
        self.tape.push(Step::Apply { operation, operands })
    }

    pub(crate) fn of(&self, object: &Bound<'_, PyAny>) -> PyResult<Value> {
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
        match self.dims.sizes() {
            [] | [_] => Ok(self.clone()),
            [_, _] => self.apply(Operation::Transpose, &[self]),
            sizes => {
                let turned: Vec<usize> = sizes.iter().rev().copied().collect();
                let order: Vec<usize> = (0..sizes.len()).rev().collect();
                self.in_order(&order, arrays::dims_of(&turned)?)
            }
        }
    }

    /// The dimensions that `axis` names, in their order.
    fn axes(&self, axis: Axis) -> PyResult<Vec<usize>> {
        let rank = self.dims.sizes().len();
        let named = match axis {
            Axis::One(axis) => vec![axis],
            Axis::Several(axes) => axes,
        };
        let mut found = Vec::with_capacity(named.len());
        for axis in named {
            let at = if axis < 0 { axis + rank as isize } else { axis };
            match usize::try_from(at).ok().filter(|at| *at < rank && !found.contains(at)) {
                Some(at) => found.push(at),
                None => {
                    let text = format!("there is no axis {axis} of {}", self.dims);
                    return Err(PyValueError::new_err(text));
                }
            }
        }
        found.sort_unstable();
        Ok(found)
    }

    /// With some dimensions moved to the end, as one, and the others in their order.
    fn with_last(&self, axes: &[usize]) -> PyResult<Value> {
        let sizes = self.dims.sizes();
        let others: Vec<usize> = (0..sizes.len()).filter(|axis| !axes.contains(axis)).collect();
        let mut turned: Vec<usize> = others.iter().map(|axis| sizes[*axis]).collect();
        turned.push(axes.iter().map(|axis| sizes[*axis]).product());
        let turned = arrays::dims_of(&turned)?;
        let order = [others.as_slice(), axes].concat();
        if order.is_sorted() {
            return if turned == self.dims {
                Ok(self.clone())
            } else {
                self.apply(Operation::Reshape(turned), &[self])
            };
        }
        self.in_order(&order, turned)
    }

    /// With its dimensions in another order, as an array of these.
    fn in_order(&self, order: &[usize], dims: Dims) -> PyResult<Value> {
        let sizes = self.dims.sizes();
        let mut places = vec![0];
        for &axis in order {
            let step: usize = sizes[axis + 1..].iter().product();
            places = places.iter().flat_map(|at| (0..sizes[axis]).map(move |k| at + k * step)).collect();
        }
        self.apply(Operation::Gather(places.into(), dims), &[self])
    }

    /// Reduces all dimensions, or some of them, which are kept with the size 1 if that is wanted.
    fn along(&self, axis: Option<Axis>, kept: bool, all: Operation, last: Operation) -> PyResult<Value> {
        let (reduced, axes) = match axis {
            None => (self.apply(all, &[self])?, (0..self.dims.sizes().len()).collect()),
            Some(axis) => {
                let axes = self.axes(axis)?;
                let turned = self.with_last(&axes)?;
                (turned.apply(last, &[&turned])?, axes)
            }
        };
        if !kept {
            return Ok(reduced);
        }
        let mut sizes = self.dims.sizes().to_vec();
        axes.iter().for_each(|axis| sizes[*axis] = 1);
        reduced.apply(Operation::Reshape(arrays::dims_of(&sizes)?), &[&reduced])
    }
}

/// A dimension or several, as NumPy counts them: from 0, or from the end with -1.
#[derive(FromPyObject)]
pub(crate) enum Axis {
    /// One of them.
    One(isize),
    /// Several of them, which are reduced together.
    Several(Vec<isize>),
}

#[pymethods]
impl Value {
    /// Above that of pandas' columns, which leave operators to values then.
    #[classattr]
    #[pyo3(name = "__pandas_priority__")]
    const PANDAS_PRIORITY: i32 = 10_000;

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

    /// With its dimensions the other way round: the transpose of a matrix.
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

    /// The sum of all elements, or along dimensions.
    #[pyo3(signature = (axis=None, *, keepdims=false))]
    fn sum(&self, axis: Option<Axis>, keepdims: bool) -> PyResult<Value> {
        self.along(axis, keepdims, Operation::Sum, Operation::SumLast)
    }

    /// The mean of all elements, or along dimensions.
    #[pyo3(signature = (axis=None, *, keepdims=false))]
    fn mean(&self, axis: Option<Axis>, keepdims: bool) -> PyResult<Value> {
        let sum = self.along(axis, keepdims, Operation::Sum, Operation::SumLast)?;
        let count = self.dims.elements() / sum.dims.elements().max(1);
        sum.binary("divide", &self.tape.constant(count as f64)?)
    }

    /// `log Σ exp xᵢ` over all elements, or along dimensions.
    #[pyo3(signature = (axis=None, *, keepdims=false))]
    fn logsumexp(&self, axis: Option<Axis>, keepdims: bool) -> PyResult<Value> {
        self.along(axis, keepdims, Operation::LogSumExp, Operation::LogSumExpLast)
    }

    /// The sums of the elements up to each, along a dimension.
    #[pyo3(signature = (axis=None))]
    fn cumsum<'py>(slf: &Bound<'py, Self>, axis: Option<isize>) -> PyResult<Bound<'py, PyAny>> {
        match slf.get().dims.sizes().len() {
            1 if matches!(axis, None | Some(0 | -1)) => {
                let sums = slf.get().apply(Operation::CumulativeSum, &[slf.get()])?;
                Ok(sums.into_pyobject(slf.py())?.into_any())
            }
            _ => other_functions(slf.py())?.call_method1("cumsum", (slf, axis)),
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
            ("absolute", [x]) => x.function("abs"),
            (_, [x]) if function(&name).is_some() => x.function(&name),
            (_, [a, b]) if binary(&name).is_some() => a.binary(&name, b),
            // Those that are made of others.
            _ => {
                let made = other_functions(ufunc.py())?.call_method1("ufunc", (name, inputs))?;
                Ok(made.cast::<Value>()?.get().clone())
            }
        }
    }

    /// NumPy's functions that are no ufuncs.
    fn __array_function__<'py>(
        &self,
        function: &Bound<'py, PyAny>,
        _types: &Bound<'py, PyAny>,
        arguments: &Bound<'py, PyTuple>,
        options: &Bound<'py, PyDict>,
    ) -> PyResult<Bound<'py, PyAny>> {
        other_functions(function.py())?.call_method1("call", (function, arguments, options))
    }

    /// Methods of NumPy's arrays that are functions of NumPy too, such as `var`.
    fn __getattr__<'py>(slf: &Bound<'py, Self>, name: &str) -> PyResult<Bound<'py, PyAny>> {
        if name.starts_with('_') {
            return Err(PyAttributeError::new_err(format!("a value of a model has no `{name}`")));
        }
        other_functions(slf.py())?.call_method1("method", (slf, name))
    }

    fn __setitem__(&self, _index: &Bound<'_, PyAny>, _part: &Bound<'_, PyAny>) -> PyResult<()> {
        Err(PyTypeError::new_err(format!(
            "{} cannot be changed; `hmcvi.where`, `hmcvi.concatenate` and `hmcvi.stack` make new values of parts",
            self.named()
        )))
    }
}

/// Functions that Python makes of others.
fn other_functions(py: Python<'_>) -> PyResult<Bound<'_, PyModule>> {
    py.import("hmcvi.of_numpy")
}
