//! Functions of values of a model, by their names in Python.

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;

use crate::tape::{Operation, joined};
use crate::trace::Tape;
use crate::value::Value;

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

/// The elements of all parts, one after the other.
#[pyfunction]
pub(crate) fn concatenate(parts: Vec<Bound<'_, PyAny>>) -> PyResult<Value> {
    let one = first_value(&parts)?;
    let parts: Vec<Value> = parts.iter().map(|part| one.of(part)).collect::<PyResult<_>>()?;
    one.apply(Operation::Concat, &parts.iter().collect::<Vec<_>>())
}

/// A matrix whose rows are multiplied by the elements of a vector.
#[pyfunction]
pub(crate) fn scale_rows(scales: &Bound<'_, PyAny>, matrix: &Bound<'_, PyAny>) -> PyResult<Value> {
    let one = first_value(&[scales.clone(), matrix.clone()])?;
    let (scales, matrix) = (one.of(scales)?, one.of(matrix)?);
    one.apply(Operation::ScaleRows, &[&scales, &matrix])
}

/// The log density of a distribution at a value, of which at least one is not known.
#[pyfunction]
pub(crate) fn log_prob(distribution: &Bound<'_, PyAny>, value: &Bound<'_, PyAny>) -> PyResult<Value> {
    let tape = match value.cast::<Value>() {
        Ok(value) => Some(value.get().tape.clone()),
        Err(_) => tape_of(distribution)?,
    };
    let known = "everything is known: `log_prob` is for values of a model";
    tape.ok_or_else(|| PyTypeError::new_err(known))?.log_prob(distribution, value)
}

/// Where the arguments of a distribution are kept.
fn tape_of(distribution: &Bound<'_, PyAny>) -> PyResult<Option<Tape>> {
    let arguments: Vec<Bound<'_, PyAny>> = distribution.getattr("arguments")?.extract()?;
    let value =
        arguments.iter().find_map(|argument| argument.cast::<Value>().ok().map(|v| v.get().tape.clone()));
    if value.is_some() {
        return Ok(value);
    }
    let components: Vec<Bound<'_, PyAny>> = distribution.getattr("components")?.extract()?;
    for component in &components {
        if let Some(tape) = tape_of(component)? {
            return Ok(Some(tape));
        }
    }
    Ok(None)
}
