//! Turn errors into the exceptions of `hmcvi.errors`, with the same words.

use std::fmt::Display;

use hmcvi::bayes::{FitError, ModelError};
use hmcvi::config::ConfigError;
use hmcvi_fit::OpenError;
use hmcvi_nuts::NutsError;
use hmcvi_stan::StanError;
use pyo3::prelude::*;

/// An exception of that name.
fn exception<A>(name: &str, arguments: A) -> PyErr
where
    A: for<'py> pyo3::call::PyCallArgs<'py>,
{
    Python::attach(|py| {
        let make = || py.import("hmcvi.errors")?.getattr(name)?.call1(arguments);
        make().map_or_else(|error| error, PyErr::from_value)
    })
}

/// A model that does not fit together; `variable` is where.
pub(crate) fn of_model(message: impl Display, variable: Option<&str>) -> PyErr {
    exception("ModelError", (message.to_string(), variable.map(str::to_owned)))
}

/// Data that a model cannot take.
pub(crate) fn of_data(message: impl Display, variable: Option<&str>) -> PyErr {
    exception("DataError", (message.to_string(), variable.map(str::to_owned)))
}

/// A fit that cannot be made.
pub(crate) fn of_fit(error: &FitError) -> PyErr {
    match error {
        FitError::Setting { .. } => exception("SettingError", (error.to_string(),)),
        _ => exception("FitError", (error.to_string(),)),
    }
}

/// A setting that there is not, or that has no such value.
pub(crate) fn of_setting(error: &ConfigError) -> PyErr {
    exception("SettingError", (error.to_string(),))
}

/// Settings that mean nothing here.
pub(crate) fn of_settings(message: &str) -> PyErr {
    exception("SettingError", (message.to_owned(),))
}

/// A model that cannot be opened.
pub(crate) fn of_opening(error: &OpenError) -> PyErr {
    match error {
        OpenError::Unknown { .. } => {
            let all: Vec<&str> = hmcvi::bayes::examples::all().iter().map(|example| example.name).collect();
            of_model(format!("{error}; there are {}", all.join(", ")), None)
        }
        OpenError::Python => {
            of_data(format!("{error}; give it with its data: `open_run(folder, posterior)`"), None)
        }
        OpenError::NoData { .. } => of_data(format!("{error}; give them by name"), None),
        OpenError::Bind { source, .. } => of_binding(source),
        OpenError::Program { file, source } | OpenError::Run { file, source, .. }
            if source.line().is_some() =>
        {
            of_stan(source, Some(file))
        }
        OpenError::Read { .. } | OpenError::Data { .. } => of_data(error, None),
        _ => of_other(error),
    }
}

/// A record as text for Python.
pub(crate) fn json(value: &impl serde::Serialize) -> PyResult<String> {
    serde_json::to_string(value).map_err(|error| of_other(&error))
}

/// Draws of NUTS that there are not.
pub(crate) fn of_nuts(error: &NutsError) -> PyErr {
    match error {
        NutsError::Setting { .. } => exception("SettingError", (error.to_string(),)),
        NutsError::Fit(error) => of_fit(error),
        _ => exception("FitError", (error.to_string(),)),
    }
}

/// Anything else that cannot be done.
pub(crate) fn of_other(error: &impl Display) -> PyErr {
    exception("Error", (error.to_string(),))
}

/// A Stan program that cannot be run.
pub(crate) fn of_stan(error: &StanError, file: Option<&str>) -> PyErr {
    let text = file.map_or_else(|| error.to_string(), |file| format!("{file}: {error}"));
    exception("StanError", (text, error.line(), error.column()))
}

/// An error where a model is bound to its data.
pub(crate) fn of_binding(error: &ModelError) -> PyErr {
    match error {
        ModelError::Variable { name, .. } | ModelError::Twice { name } => of_model(error, Some(name)),
        ModelError::NoData { name, .. } => of_data(error, Some(name)),
        ModelError::Data(_) => of_data(error, None),
        _ => of_model(error, None),
    }
}
