//! Record a model function of Python, step by step.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use hmcvi::bayes::{Array, Data, Dims, Model, ModelError, Support};
use hmcvi_fit::Subject;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::model::{BoundModel, Origin};
use crate::tape::{Description, DescriptionError, Operand, Region, Step, replay};
use crate::value::Value;
use crate::{arrays, failure};

/// The steps of a model function, which all of its values share.
#[derive(Clone)]
pub(crate) struct Tape(Arc<Mutex<Record>>);

#[derive(Default)]
struct Record {
    steps: Vec<Step>,
    dims: Vec<Dims>,
    labels: Vec<Option<String>>,
    /// Arrays that were used so far, by their address: each is kept once. The reference keeps the address taken.
    known: HashMap<usize, (Py<PyAny>, usize)>,
    /// Names of arguments, by the address of the data.
    data: HashMap<usize, String>,
    /// Whether the model is complete.
    ended: bool,
}

impl Tape {
    fn record(&self) -> MutexGuard<'_, Record> {
        // A panic elsewhere leaves nothing half done.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a step, if it fits what there is.
    pub(crate) fn push(&self, step: Step) -> PyResult<Value> {
        let mut record = self.record();
        if record.ended {
            return Err(failure::of_model(
                "the model function has ended; its values have no meaning after it",
                None,
            ));
        }
        let dims = match &step {
            Step::Known(array) => array.dims,
            other => {
                let mut places = other.operands();
                places.sort_unstable();
                places.dedup();
                let operands: Vec<(usize, Operand)> =
                    places.into_iter().map(|place| (place, record.operand(place))).collect();
                match other.check(&operands) {
                    Ok(dims) => dims,
                    Err(error) => {
                        let error = record.explained(error, &other.operands());
                        drop(record);
                        return Err(error);
                    }
                }
            }
        };
        let label = match &step {
            Step::Sample { name, .. } | Step::Deterministic { name, .. } => Some(name.clone()),
            _ => None,
        };
        let place = record.steps.len();
        record.steps.push(step);
        record.dims.push(dims);
        record.labels.push(label);
        Ok(Value { tape: self.clone(), place, dims })
    }

    /// A known number.
    pub(crate) fn constant(&self, number: f64) -> PyResult<Value> {
        self.push(Step::Known(Arc::new(number.into())))
    }

    /// The value that an object of Python stands for.
    pub(crate) fn value(&self, object: &Bound<'_, PyAny>) -> PyResult<Value> {
        if let Ok(value) = object.cast::<Value>() {
            return match Arc::ptr_eq(&value.get().tape.0, &self.0) {
                true => Ok(value.get().clone()),
                false => Err(failure::of_model("a value of another model cannot be used here", None)),
            };
        }
        let address = object.as_ptr() as usize;
        let array = arrays::numbers(object).map_err(|error| self.unreadable(object, error))?;
        if array.values.is_empty() {
            let empty = PyTypeError::new_err(format!("there are no elements: the shape is {}", array.dims));
            return Err(self.unreadable(object, empty));
        }
        // An array may have been changed since it was used before.
        let found = self.record().known_as(address, &array);
        if let Some(place) = found {
            return Ok(self.at(place));
        }
        let is_scalar = array.dims.is_scalar();
        let value = self.push(Step::Known(Arc::new(array)))?;
        if !is_scalar {
            let name = self.name_of(object);
            let mut record = self.record();
            record.labels[value.place] = name;
            record.known.insert(address, (object.clone().unbind(), value.place));
        }
        Ok(value)
    }

    fn unreadable(&self, object: &Bound<'_, PyAny>, error: PyErr) -> PyErr {
        match self.name_of(object) {
            Some(name) => failure::of_data(format!("`{name}`: {}", error.value(object.py())), Some(&name)),
            None => error,
        }
    }

    /// The argument of the model that an array is, or is a view of.
    fn name_of(&self, object: &Bound<'_, PyAny>) -> Option<String> {
        let mut object = object.clone();
        loop {
            if let Some(name) = self.record().data.get(&(object.as_ptr() as usize)) {
                return Some(name.clone());
            }
            object = object.getattr("base").ok().filter(|base| !base.is_none())?;
        }
    }

    fn at(&self, place: usize) -> Value {
        let dims = self.record().dims[place];
        Value { tape: self.clone(), place, dims }
    }

    /// The number that a step has, if it is a single known one.
    pub(crate) fn number(&self, place: usize) -> Option<f64> {
        match self.record().steps.get(place) {
            Some(Step::Known(array)) if array.dims.is_scalar() => array.values.first().copied(),
            _ => None,
        }
    }

    /// A known matrix, transposed.
    pub(crate) fn transposed(&self, place: usize) -> Option<Step> {
        let record = self.record();
        let Some(Step::Known(array)) = record.steps.get(place) else { return None };
        let (rows, columns) = array.dims.matrix()?;
        let values = (0..columns).flat_map(|j| (0..rows).map(move |i| i * columns + j));
        let values = values.map(|place| array.values[place]).collect();
        Some(Step::Known(Arc::new(Array { dims: (columns, rows).into(), values })))
    }

    /// What a value is called.
    pub(crate) fn label(&self, place: usize) -> Option<String> {
        self.record().labels.get(place).cloned().flatten()
    }

    /// An error about some values.
    pub(crate) fn refused(&self, problem: &str, places: &[usize]) -> PyErr {
        let problem = problem.to_owned();
        self.record().explained(ModelError::Variable { name: String::new(), problem }, places)
    }

    fn name(&self, name: &str) -> PyResult<()> {
        if name.is_empty() || name.starts_with(' ') {
            return Err(failure::of_model(format!("a variable cannot have the name \"{name}\""), None));
        }
        let taken = self.record().steps.iter().any(|step| match step {
            Step::Sample { name: known, .. } | Step::Deterministic { name: known, .. } => known == name,
            _ => false,
        });
        match taken {
            true => Err(failure::of_binding(&ModelError::Twice { name: name.into() })),
            false => Ok(()),
        }
    }

    /// A distribution, from the object that stands for it in Python.
    fn describe(&self, variable: &str, object: &Bound<'_, PyAny>) -> PyResult<Description> {
        let Ok(name) = object.getattr("name").and_then(|name| name.extract::<String>()) else {
            let text = format!("`{variable}`: expected a distribution, not {}", object.get_type().name()?);
            return Err(failure::of_model(text, Some(variable)));
        };
        let arguments: Vec<Bound<'_, PyAny>> = object.getattr("arguments")?.extract()?;
        let components: Vec<Bound<'_, PyAny>> = object.getattr("components")?.extract()?;
        let size = object.getattr("size")?;
        let size = size.extract::<usize>().map_err(|_| {
            let said = size.repr().map_or_else(|_| String::new(), |text| text.to_string());
            let text = format!(
                "`{variable}`: the size of {name} is {said}, but must be a whole number of at least 0"
            );
            failure::of_model(text, Some(variable))
        })?;
        let arguments = arguments.iter().map(|argument| match self.value(argument) {
            Ok(value) => Ok(value.place),
            Err(error) => Err(of_variable(argument, variable, error)),
        });
        let arguments: Vec<usize> = arguments.collect::<PyResult<_>>()?;
        let components = components.iter().map(|part| self.describe(variable, part));
        let components = components.collect::<PyResult<Vec<_>>>()?;
        let given = arguments.len();
        Description::new(&name, arguments, components, size).map_err(|error| {
            let text = match error {
                DescriptionError::Unknown => format!("`{variable}`: there is no distribution `{name}`"),
                DescriptionError::Arguments(count) => {
                    format!("`{variable}`: {name} takes {count} arguments, not {given}")
                }
            };
            failure::of_model(text, Some(variable))
        })
    }

    /// The log density of a distribution at a value.
    pub(crate) fn log_prob(
        &self,
        distribution: &Bound<'_, PyAny>,
        value: &Bound<'_, PyAny>,
    ) -> PyResult<Value> {
        let description = self.describe("log_prob", distribution)?;
        let value = self.value(value).map_err(|error| of_variable(value, "log_prob", error))?.place;
        self.push(Step::LogProb { distribution: description, value })
    }

    /// Refuses a name that data were seen under: log-likelihoods have it too.
    fn unseen(&self, name: &str) -> PyResult<()> {
        let seen = |step: &Step| matches!(step, Step::Observe { name: known, .. } if known == name);
        let is_variable = |step: &Step| matches!(step, Step::Sample { name: known, .. } if known == name);
        let taken = match &self.record().steps {
            steps if steps.iter().any(seen) => "data were observed under this name before",
            steps if steps.iter().any(is_variable) => "this is the name of a variable that is inferred",
            _ => return Ok(()),
        };
        Err(failure::of_model(format!("`{name}`: {taken}; give each of them a name of its own"), Some(name)))
    }
}

/// An error about something that was said of a variable, with the name of it.
fn of_variable(object: &Bound<'_, PyAny>, variable: &str, error: PyErr) -> PyErr {
    let py = object.py();
    match error.is_instance_of::<PyTypeError>(py) || error.get_type(py).is(py.get_type::<PyValueError>()) {
        true => failure::of_model(format!("`{variable}`: {}", error.value(py)), Some(variable)),
        false => error,
    }
}

impl Record {
    /// The step that has these numbers of an array, if it was used before.
    fn known_as(&self, address: usize, array: &Array) -> Option<usize> {
        let (_, place) = self.known.get(&address)?;
        matches!(&self.steps[*place], Step::Known(before) if **before == *array).then_some(*place)
    }

    fn operand(&self, place: usize) -> Operand {
        match &self.steps[place] {
            Step::Known(array) => Operand::Known(array.clone()),
            _ => Operand::Free(self.dims[place]),
        }
    }

    /// Names the values that an operation without a name was about.
    fn explained(&self, error: ModelError, places: &[usize]) -> PyErr {
        let ModelError::Variable { name, problem } = &error else { return failure::of_binding(&error) };
        if !name.is_empty() {
            return failure::of_binding(&error);
        }
        let named: Vec<(&String, Dims)> = places
            .iter()
            .filter_map(|place| Some((self.labels[*place].as_ref()?, self.dims[*place])))
            .collect();
        let said: Vec<String> = named.iter().map(|(name, dims)| format!("`{name}` is {dims}")).collect();
        let text = if said.is_empty() { problem.clone() } else { format!("{problem}; {}", said.join(", ")) };
        failure::of_model(text, named.first().map(|(name, _)| name.as_str()))
    }
}

/// What the first argument of a model function works with.
#[pyclass(frozen, module = "hmcvi")]
pub(crate) struct Trace {
    tape: Tape,
}

#[pymethods]
impl Trace {
    /// A model function with these arguments.
    #[new]
    fn new(data: &Bound<'_, PyDict>) -> PyResult<Self> {
        let mut record = Record::default();
        for (name, object) in data {
            record.data.insert(object.as_ptr() as usize, name.extract()?);
        }
        Ok(Trace { tape: Tape(Arc::new(Mutex::new(record))) })
    }

    /// A value for an array or a number.
    fn known(&self, object: &Bound<'_, PyAny>) -> PyResult<Value> {
        self.tape.value(object)
    }

    /// A variable to infer.
    #[pyo3(signature = (name, distribution, shape=None, lower=None, upper=None, support=None))]
    fn sample(
        &self,
        name: &str,
        distribution: &Bound<'_, PyAny>,
        shape: Option<&Bound<'_, PyAny>>,
        lower: Option<&Bound<'_, PyAny>>,
        upper: Option<&Bound<'_, PyAny>>,
        support: Option<&str>,
    ) -> PyResult<Value> {
        self.tape.name(name)?;
        let mut description = self.tape.describe(name, distribution)?;
        let of_variable = |error| of_variable(shape.or(lower).or(upper).unwrap_or(distribution), name, error);
        description.shape = shape.map(arrays::shape).transpose().map_err(of_variable)?;
        description.region = self.region(lower, upper, support).map_err(of_variable)?;
        self.tape.push(Step::Sample { name: name.into(), distribution: description })
    }

    /// Data that were seen.
    fn observe(&self, name: &str, distribution: &Bound<'_, PyAny>, seen: &Bound<'_, PyAny>) -> PyResult<()> {
        self.tape.unseen(name)?;
        let description = self.tape.describe(name, distribution)?;
        let seen = self.tape.value(seen).map_err(|error| of_variable(seen, name, error))?;
        self.tape.push(Step::Observe { name: name.into(), distribution: description, seen: seen.place })?;
        Ok(())
    }

    /// A name for a value.
    fn deterministic(&self, name: &str, value: &Bound<'_, PyAny>) -> PyResult<Value> {
        self.tape.name(name)?;
        let value = self.tape.value(value).map_err(|error| of_variable(value, name, error))?.place;
        self.tape.push(Step::Deterministic { name: name.into(), value })
    }

    /// What is added to the log density.
    fn log_density(&self, name: &str, value: &Bound<'_, PyAny>) -> PyResult<()> {
        let value = self.tape.value(value).map_err(|error| of_variable(value, name, error))?.place;
        self.tape.push(Step::LogDensity { name: name.into(), value })?;
        Ok(())
    }

    /// Ends the function: a model with its data.
    fn finish(&self, name: String, data: &Bound<'_, PyDict>) -> PyResult<BoundModel> {
        let data = data_of(data)?;
        let (steps, used) = {
            let mut record = self.tape.record();
            record.ended = true;
            (std::mem::take(&mut record.steps), std::mem::take(&mut record.known))
        };
        // What Python does with arrays that nobody needs is done without the lock.
        drop(used);
        let model = Model::new(move |m| replay(&steps, m));
        let bound = model.bind(&data).map_err(|error| match error {
            ModelError::Empty => {
                failure::of_model("the model has no variables; `m.normal(\"mu\", 0, 1)` makes one", None)
            }
            other => failure::of_binding(&other),
        })?;
        let subject = Subject { name, bound, stan: None, data_sha256: data.sha256() };
        Ok(BoundModel::new(subject, Origin::Function))
    }
}

impl Trace {
    fn region(
        &self,
        lower: Option<&Bound<'_, PyAny>>,
        upper: Option<&Bound<'_, PyAny>>,
        support: Option<&str>,
    ) -> PyResult<Region> {
        let place = |bound: Option<&Bound<'_, PyAny>>| {
            bound.map(|bound| Ok::<_, PyErr>(self.tape.value(bound)?.place)).transpose()
        };
        let (lower, upper) = (place(lower)?, place(upper)?);
        let Some(name) = support else {
            let bounded = lower.is_some() || upper.is_some();
            return Ok(if bounded { Region::Bounds { lower, upper } } else { Region::Own });
        };
        if lower.is_some() || upper.is_some() {
            return Err(PyValueError::new_err("give `support`, or `lower` and `upper`, not both"));
        }
        let named =
            NAMED.iter().find(|(known, _)| *known == name).map(|(_, support)| Region::Named(*support));
        named.ok_or_else(|| {
            let all: Vec<String> = NAMED.iter().map(|(name, _)| format!("\"{name}\"")).collect();
            PyValueError::new_err(format!("`support` is \"{name}\", but must be one of {}", all.join(", ")))
        })
    }
}

/// Makes a support.
type Supported = fn() -> Support<'static>;

/// Supports that have no arguments.
const NAMED: [(&str, Supported); 7] = [
    ("real", || Support::Real),
    ("positive", || Support::POSITIVE),
    ("ordered", || Support::Ordered),
    ("positive-ordered", || Support::PositiveOrdered),
    ("simplex", || Support::Simplex),
    ("unit-vector", || Support::UnitVector),
    ("sum-to-zero", || Support::SumToZero),
];

/// Data of a model, by name. Anything but numbers and arrays is a setting of the function.
pub(crate) fn data_of(given: &Bound<'_, PyDict>) -> PyResult<Data> {
    let mut data = Data::new();
    for (name, object) in given {
        let name: String = name.extract().map_err(|_| PyTypeError::new_err("names of data are strings"))?;
        let array = arrays::numbers(&object).map_err(|error| {
            failure::of_data(format!("`{name}`: {}", error.value(given.py())), Some(&name))
        })?;
        data = data.with(&name, array);
    }
    Ok(data)
}
