//! Find the model that is meant, and its data: the one place that knows what the model of some settings can be.

use std::path::Path;

use hmcvi::bayes::examples::{self, Example};
use hmcvi::bayes::{Bound, Data};
use hmcvi::config::FitSpec;
use hmcvi::run::{DirectoryError, FitDirectory};
use hmcvi_record::files;
use hmcvi_stan::{Program, Settings};

use crate::drawn::Variable;
use crate::error::OpenError;

/// A model with its data.
#[derive(Clone, Debug)]
pub struct Subject {
    /// What it is called.
    pub name: String,
    /// Its log density.
    pub bound: Bound,
    /// The Stan program, where it is one.
    pub stan: Option<hmcvi_stan::Model>,
    /// SHA-256 of the data.
    pub data_sha256: String,
}

impl Subject {
    /// A Stan program with its data.
    pub fn of_stan(name: String, model: hmcvi_stan::Model, data: &Data) -> Self {
        Subject { name, bound: model.bound().clone(), stan: Some(model), data_sha256: data.sha256() }
    }

    /// Everything that a draw has once all quantities of the program are computed, in the order of its columns.
    pub fn variables(&self) -> Vec<Variable> {
        self.stan.as_ref().map_or_else(|| self.own_variables(), Variable::of_stan)
    }

    /// What the model itself has: variables, then what is computed from them.
    pub(crate) fn own_variables(&self) -> Vec<Variable> {
        self.bound.values().into_iter().map(|(name, dims)| Variable::by_rows(name, dims.sizes())).collect()
    }
}

/// The model that settings name where a function of Python describes it.
pub const PYTHON: &str = "python";

/// Whether a model is a Stan program.
pub fn is_stan(model: &str) -> bool {
    Path::new(model).extension().is_some_and(|end| end == "stan")
}

/// The name of a model, without the folder that it is in.
pub fn stem(model: &str) -> &str {
    match is_stan(model) {
        true => Path::new(model).file_stem().and_then(|stem| stem.to_str()).unwrap_or(model),
        false => model,
    }
}

/// A built-in model.
///
/// # Errors
/// If there is none of that name.
pub fn find(name: &str) -> Result<&'static Example, OpenError> {
    if let Some(example) = examples::find(name) {
        return Ok(example);
    }
    let plain = |text: &str| text.to_lowercase().replace(['-', '_', ' '], "");
    let close = examples::all().iter().find(|example| plain(example.name) == plain(name));
    Err(OpenError::Unknown { name: name.into(), close: close.map(|example| example.name) })
}

/// A model that was opened, with what it was made from.
#[derive(Clone, Debug)]
pub struct Opened {
    /// The model with its data.
    pub subject: Subject,
    /// The data.
    pub data: Data,
    /// Whether they were given, or come with the model.
    pub given: bool,
    /// The Stan program, where it is one.
    pub program: Option<Program>,
}

/// The model of some settings, with its data.
///
/// # Errors
/// If there is no such model, or its data are missing or do not fit.
pub fn open(spec: &FitSpec) -> Result<Opened, OpenError> {
    let read = || spec.data.as_deref().map(read).transpose();
    if is_stan(&spec.model) {
        return open_stan(spec, read);
    }
    if spec.model == PYTHON {
        return Err(OpenError::Python);
    }
    find(&spec.model)?;
    builtin(&spec.model, read()?)
}

/// A built-in model with data, or with its own.
///
/// # Errors
/// If there is no such model, or its data are missing or do not fit.
pub fn builtin(name: &str, data: Option<Data>) -> Result<Opened, OpenError> {
    let example = find(name)?;
    let bind = |source| OpenError::Bind { name: example.name, source };
    let given = data.is_some();
    let own = example.data().map_err(bind)?;
    let data = data.or(own).ok_or(OpenError::NoData { name: example.name })?;
    let bound = example.model().bind(&data).map_err(bind)?;
    let subject = Subject { name: example.name.into(), bound, stan: None, data_sha256: data.sha256() };
    Ok(Opened { subject, data, given, program: None })
}

/// A Stan program with its data. `~` keeps what Stan drops: a log evidence needs it, and draws do not depend on it.
fn open_stan(
    spec: &FitSpec,
    read: impl Fn() -> Result<Option<Data>, OpenError>,
) -> Result<Opened, OpenError> {
    let file = &spec.model;
    let of = |source| OpenError::Program { file: file.clone(), source };
    let program = Program::open(file).map_err(of)?;
    let data = read()?.unwrap_or_default();
    let settings = Settings { constants: true, seed: spec.seed, bounds_of_uniform: true };
    let model = program.model_with(&data, &settings).map_err(|source| OpenError::Run {
        file: file.clone(),
        needs_data: spec.data.is_none() && !program.data_names().is_empty(),
        source,
    })?;
    model.check_proper().map_err(of)?;
    let subject = Subject::of_stan(stem(file).into(), model, &data);
    Ok(Opened { subject, data, given: true, program: Some(program) })
}

/// The settings of a kept fit. A program or data that lie in its directory are meant where they lie now.
///
/// # Errors
/// If they cannot be read.
pub fn settings_of(directory: &FitDirectory) -> Result<FitSpec, DirectoryError> {
    let mut spec = directory.spec()?;
    let there = |name| Some(directory.file(name)).filter(|file| file.is_file());
    if let Some(file) = there(files::MODEL).filter(|_| is_stan(&spec.model)) {
        spec.model = file.display().to_string();
    }
    if let Some(file) = there(files::DATA).filter(|_| spec.data.is_some()) {
        spec.data = Some(file.display().to_string());
    }
    Ok(spec)
}

/// Data of a file in JSON, as Stan's programs read them.
fn read(file: &str) -> Result<Data, OpenError> {
    let text =
        std::fs::read_to_string(file).map_err(|source| OpenError::Read { file: file.into(), source })?;
    Data::from_json(&text).map_err(|source| OpenError::Data { file: file.into(), source })
}
