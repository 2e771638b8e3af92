//! Tell whether a model and its data are those that a fit was made with.
//!
//! Variables and data are compared one by one. What the model says about them is code; of it, log densities at some places
//! are compared.

use std::collections::BTreeMap;

use hmcvi_graph::{CpuOptions, Graph, Run, Shape, Store};

use super::SavedFitError;
use super::record::{Part, SavedArray, SavedVariable};
use crate::bayes::{Array, Bound};
use crate::data::Hasher;

/// Log densities of one model differ by less than this, relative to their size: another processor rounds otherwise.
const ROUNDING: f64 = 1e-8;

pub(super) fn variables(bound: &Bound) -> Vec<SavedVariable> {
    let saved = |v: &crate::bayes::Variable| SavedVariable {
        name: v.name.clone(),
        dims: v.dims.sizes().to_vec(),
        unconstrained: v.unconstrained,
    };
    bound.variables().iter().map(saved).collect()
}

pub(super) fn data(bound: &Bound) -> BTreeMap<String, SavedArray> {
    let data = bound.data();
    let named = |name: &str| data.get(name).map(|array| (name.to_owned(), saved(array)));
    data.names().filter_map(named).collect()
}

fn saved(array: &Array) -> SavedArray {
    let mut hasher = Hasher::default();
    for value in &array.values {
        hasher.update(&value.to_le_bytes());
    }
    SavedArray { dims: array.dims.sizes().to_vec(), sha256: hasher.finish() }
}

/// Parts of the log density at some places.
pub(super) fn log_density(bound: &Bound, places: &[f64]) -> Result<Vec<Part>, SavedFitError> {
    let graph = Graph::new();
    let built = bound.at(graph.batch_input("z", bound.dimension()));
    let mut names: Vec<Option<String>> = vec![None];
    let mut parts = vec![built.log_prior];
    for (name, value) in &built.log_likelihood {
        names.push(Some(name.clone()));
        parts.push(value.sum().expr());
    }
    let key = |place: usize| format!("part {place}");
    let mut program = graph.program();
    for (place, part) in parts.into_iter().enumerate() {
        program = program.output(&key(place), part.broadcast_to(Shape::batch(1)));
    }
    let rows = places.len() / bound.dimension();
    let mut executable = program.compile()?.on_cpu::<f64>(CpuOptions::for_rows(rows));
    executable.evaluate(&Store::new(), &Run { rows, inputs: &[("z", places)], ..Run::default() })?;
    let finite = |x: &f64| x.is_finite().then_some(*x);
    let values = |place: usize| -> Vec<Option<f64>> {
        executable.output(&key(place)).unwrap_or_default().iter().map(finite).collect()
    };
    Ok(names.into_iter().enumerate().map(|(place, of)| Part { of, values: values(place) }).collect())
}

/// Refuses variables that are not those of the fit.
pub(super) fn check_variables(saved: &[SavedVariable], bound: &Bound) -> Result<(), SavedFitError> {
    let given = variables(bound);
    let refuse = |name: &str, problem: String| Err(SavedFitError::Model { name: name.into(), problem });
    for variable in saved {
        match given.iter().find(|other| other.name == variable.name) {
            None => return refuse(&variable.name, "the fit has this variable, the model has not".into()),
            Some(other) if other != variable => {
                let shape = |v: &SavedVariable| match v.dims.as_slice() {
                    [] => format!("a scalar made from {} real numbers", v.unconstrained),
                    dims => format!("of shape {dims:?} made from {} real numbers", v.unconstrained),
                };
                return refuse(
                    &variable.name,
                    format!("in the fit it is {}, in the model {}", shape(variable), shape(other)),
                );
            }
            Some(_) => {}
        }
    }
    if let Some(more) = given.iter().find(|other| !saved.iter().any(|v| v.name == other.name)) {
        return refuse(&more.name, "the model has this variable, the fit has not".into());
    }
    match saved.iter().zip(&given).find(|(a, b)| a.name != b.name) {
        Some((a, b)) => refuse(&a.name, format!("the model has `{}` in its place", b.name)),
        None => Ok(()),
    }
}

/// Refuses data that are not those of the fit.
pub(super) fn check_data(saved: &BTreeMap<String, SavedArray>, bound: &Bound) -> Result<(), SavedFitError> {
    let given = data(bound);
    let refuse = |name: &str, problem: String| Err(SavedFitError::Data { name: name.into(), problem });
    for (name, array) in saved {
        match given.get(name) {
            None => return refuse(name, "the fit had these data, and they are not given now".into()),
            Some(now) if now.dims != array.dims => {
                return refuse(name, format!("its dimensions were {:?}, and are {:?}", array.dims, now.dims));
            }
            Some(now) if now.sha256 != array.sha256 => {
                let (was, is) = (&array.sha256[..8.min(array.sha256.len())], &now.sha256[..8]);
                return refuse(name, format!("its values are others (SHA-256 {is}…, was {was}…)"));
            }
            Some(_) => {}
        }
    }
    match given.keys().find(|name| !saved.contains_key(*name)) {
        Some(more) => refuse(more, "the fit had no such data".into()),
        None => Ok(()),
    }
}

/// Refuses a model with another density.
pub(super) fn check_log_density(saved: &[Part], bound: &Bound, places: &[f64]) -> Result<(), SavedFitError> {
    let given = log_density(bound, places)?;
    let name = |part: &Part| part.of.clone().unwrap_or_else(|| "priors".into());
    let refuse = |part: &Part, problem: String| Err(SavedFitError::Model { name: name(part), problem });
    for (before, now) in saved.iter().zip(&given) {
        if before.of != now.of {
            return refuse(before, format!("the model has the likelihood of `{}` in its place", name(now)));
        }
        for (before_value, value) in before.values.iter().zip(&now.values) {
            if !agree(*before_value, *value) {
                let text = |x: Option<f64>| x.map_or("not finite".into(), |x| x.to_string());
                let problem = format!(
                    "the log density at a draw of the fit was {}, and is {}",
                    text(*before_value),
                    text(*value)
                );
                return refuse(before, problem);
            }
        }
    }
    match (saved.get(given.len()), given.get(saved.len())) {
        (Some(lost), _) => refuse(lost, "the fit has this likelihood, the model has not".into()),
        (_, Some(more)) => refuse(more, "the model has this likelihood, the fit has not".into()),
        _ => Ok(()),
    }
}

fn agree(a: Option<f64>, b: Option<f64>) -> bool {
    match (a, b) {
        (Some(a), Some(b)) => (a - b).abs() <= ROUNDING * (1.0 + a.abs().max(b.abs())),
        (a, b) => a == b,
    }
}
