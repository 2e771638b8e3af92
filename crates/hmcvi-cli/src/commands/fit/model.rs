//! Find the model that is meant, and its data: the one place that knows what MODEL can be.

use std::path::Path;

use hmcvi::bayes::examples::{self, Example};
use hmcvi::bayes::{Bound, Data};
use hmcvi::config::FitSpec;
use hmcvi_report::{Align, Table};
use hmcvi_stan::{Program, Settings};
use serde::Serialize;

use crate::Context;
use crate::failure::Failure;

/// A model with its data.
pub(crate) struct Chosen {
    /// What it is called.
    pub(crate) name: String,
    pub(crate) bound: Bound,
    /// The Stan program, where it is one.
    pub(crate) stan: Option<hmcvi_stan::Model>,
    /// SHA-256 of the data.
    pub(crate) data_sha256: String,
}

/// The settings that MODEL stands for: those of a file, or the usual ones with that model.
pub(super) fn settings(model: &str) -> Result<FitSpec, Failure> {
    let path = Path::new(model);
    if path.extension().is_some_and(|end| end == "toml") {
        let text =
            std::fs::read_to_string(path).map_err(|e| Failure::Usage(format!("cannot read {model}: {e}")))?;
        return FitSpec::from_toml(&text).map_err(|error| super::unsettled(error).about(model));
    }
    let model = match is_stan(model) {
        true => std::path::absolute(path).unwrap_or_else(|_| path.into()).display().to_string(),
        false => find(model)?.name.into(),
    };
    Ok(FitSpec { model, ..FitSpec::default() })
}

/// Whether a model is a Stan program.
fn is_stan(model: &str) -> bool {
    Path::new(model).extension().is_some_and(|end| end == "stan")
}

/// The name of a model, without the folder that it is in.
pub(super) fn name(model: &str) -> &str {
    if is_stan(model) {
        Path::new(model).file_stem().and_then(|stem| stem.to_str()).unwrap_or(model)
    } else {
        model
    }
}

/// The model of some settings, with its data.
pub(crate) fn open(spec: &FitSpec) -> Result<Chosen, Failure> {
    if is_stan(&spec.model) {
        return open_stan(spec);
    }
    let example = find(&spec.model)?;
    let own = example.data().map_err(|error| Failure::Other(error.to_string()))?;
    let data = match (&spec.data, own) {
        (Some(file), _) => read(file)?,
        (None, Some(data)) => data,
        (None, None) => {
            return Err(Failure::Data(format!("the model `{}` comes without data", example.name)).then(
                "give them with `--data FILE.json`: an object with a number or an array for each name",
            ));
        }
    };
    let bound = example.model().bind(&data).map_err(|error| Failure::from(error).about(example.name))?;
    Ok(Chosen { name: example.name.into(), bound, stan: None, data_sha256: data.sha256() })
}

/// A Stan program with its data. `~` keeps what Stan drops: a log evidence needs it, and draws do not depend on it.
fn open_stan(spec: &FitSpec) -> Result<Chosen, Failure> {
    let file = &spec.model;
    // Files that cannot be read are named already.
    let program = Program::open(file).map_err(|error| match error.line() {
        Some(_) => Failure::Usage(format!("{file}: {error}")),
        None => Failure::Usage(error.to_string()),
    })?;
    let data = spec.data.as_ref().map_or_else(|| Ok(Data::new()), |file| read(file))?;
    let settings = Settings { constants: true, seed: spec.seed };
    let model = program.model_with(&data, &settings).map_err(|error| {
        let failure = Failure::Data(format!("{file}: {error}"));
        let next = if error.message().contains("has no parameters") {
            "declare what is to be inferred in a block `parameters { ... }`"
        } else if spec.data.is_none() && !program.data_names().is_empty() {
            "give its data with `--data FILE.json`: an object with a number or an array for each name"
        } else {
            return failure;
        };
        failure.then(next)
    })?;
    model.check_proper().map_err(|error| Failure::Usage(format!("{file}: {error}")))?;
    let bound = model.bound().clone();
    Ok(Chosen { name: name(file).into(), bound, stan: Some(model), data_sha256: data.sha256() })
}

fn find(name: &str) -> Result<&'static Example, Failure> {
    if let Some(example) = examples::find(name) {
        return Ok(example);
    }
    let plain = |text: &str| text.to_lowercase().replace(['-', '_', ' '], "");
    let close = examples::all().iter().find(|example| plain(example.name) == plain(name));
    let hint = close.map_or(String::new(), |example| format!(" (did you mean `{}`?)", example.name));
    let text = format!("there is no built-in model `{name}`{hint}");
    Err(Failure::Usage(text).then("`hmcvi fit --list` lists the models; a Stan program ends in .stan"))
}

/// Data of a file in JSON, as Stan's programs read them.
fn read(file: &str) -> Result<Data, Failure> {
    let text = std::fs::read_to_string(file).map_err(|e| {
        Failure::Data(format!("cannot read {file}: {e}")).then("name a JSON file with `--data`")
    })?;
    Data::from_json(&text).map_err(|error| Failure::from(error).about(file))
}

/// A model of the list.
#[derive(Serialize)]
struct Listed {
    name: &'static str,
    about: &'static str,
    has_data: bool,
}

/// Prints all models.
pub(super) fn list(context: &Context) -> Result<(), Failure> {
    let listed = |example: &Example| Listed {
        name: example.name,
        about: example.about,
        has_data: example.data().is_ok_and(|data| data.is_some()),
    };
    let all: Vec<Listed> = examples::all().iter().map(listed).collect();
    if context.terminal.json {
        return context.terminal.print_json(&all);
    }
    let mut table = Table::new([("model", Align::Left), ("what it is", Align::Left)]);
    for Listed { name, about, has_data } in all {
        let needed = if has_data { "" } else { " (needs --data)" };
        table.row([name.to_string(), format!("{about}{needed}")]);
    }
    context.terminal.print(&table.to_string())
}
