//! Take numbers from Python, and give arrays to NumPy.

use hmcvi::bayes::{Array, Dims};
use numpy::{PyArray2, PyArrayDyn, PyArrayMethods, PyReadonlyArrayDyn};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyFloat, PyInt, PyTuple};

/// Numbers of whatever NumPy takes for an array.
pub(crate) fn numbers(object: &Bound<'_, PyAny>) -> PyResult<Array> {
    if object.is_instance_of::<PyFloat>()
        || object.is_instance_of::<PyInt>()
        || object.is_instance_of::<PyBool>()
    {
        return Ok(object.extract::<f64>()?.into());
    }
    let py = object.py();
    let numpy = py.import("numpy")?;
    let array = py.import("hmcvi.known")?.call_method1("numeric", (object,))?;
    let array = numpy.call_method1("ascontiguousarray", (&array, "float64"))?.call_method1(
        "reshape",
        // `ascontiguousarray` makes a vector of a scalar.
        (array.getattr("shape")?,),
    )?;
    let array: PyReadonlyArrayDyn<'_, f64> = array.extract()?;
    let view = array.as_array();
    let dims = dims_of(view.shape())?;
    Ok(Array { dims, values: view.iter().copied().collect() })
}

/// Dimensions of a model's value from a shape.
pub(crate) fn dims_of(shape: &[usize]) -> PyResult<Dims> {
    Dims::new(shape).ok_or_else(|| {
        PyValueError::new_err(format!("{} dimensions, but at most {} are allowed", shape.len(), Dims::MOST))
    })
}

/// Most elements of a variable: their draws have to be kept somewhere.
const MOST_ELEMENTS: usize = 100_000_000;

/// Dimensions from an integer or a tuple of such, of which none is 0.
pub(crate) fn shape(object: &Bound<'_, PyAny>) -> PyResult<Dims> {
    let given = object.extract::<usize>().map(|size| vec![size]).or_else(|_| object.extract::<Vec<usize>>());
    let elements = given.as_ref().ok().and_then(|sizes| {
        sizes.iter().try_fold(1usize, |all, size| all.checked_mul(*size)).filter(|all| *all <= MOST_ELEMENTS)
    });
    match (given, elements) {
        (Ok(sizes), Some(1..)) => dims_of(&sizes),
        _ => {
            let text = object.repr().map_or_else(|_| String::new(), |text| text.to_string());
            Err(PyTypeError::new_err(format!(
                "`shape` is {text}, but must be a whole number above 0 or a tuple of such, of at most \
                 {MOST_ELEMENTS} elements together"
            )))
        }
    }
}

/// A shape as Python has it.
pub(crate) fn tuple(py: Python<'_>, dims: Dims) -> PyResult<Bound<'_, PyTuple>> {
    PyTuple::new(py, dims.sizes())
}

/// A matrix of so many columns.
pub(crate) fn matrix<'py>(
    py: Python<'py>,
    values: Vec<f64>,
    columns: usize,
) -> PyResult<Bound<'py, PyArray2<f64>>> {
    let rows = values.len() / columns.max(1);
    numpy::PyArray1::from_vec(py, values).reshape([rows, columns])
}

/// Elements of an array with these dimensions that an index of NumPy picks: their places, and the dimensions that they
/// have together.
pub(crate) fn picked(dims: Dims, index: &Bound<'_, PyAny>) -> PyResult<(Vec<usize>, Dims)> {
    let py = index.py();
    let numpy = py.import("numpy")?;
    let places = numpy.call_method1("arange", (dims.elements(),))?;
    let places = places.call_method1("reshape", (tuple(py, dims)?,))?.get_item(index)?;
    let places = numpy.call_method1("asarray", (places, "int64"))?;
    let places = places.cast_into::<PyArrayDyn<i64>>()?;
    let view = places.readonly();
    let dims = dims_of(view.as_array().shape())?;
    Ok((view.as_array().iter().map(|place| *place as usize).collect(), dims))
}
