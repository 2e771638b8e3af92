//! Read the settings that MODEL stands for, and list the built-in models.

use std::path::Path;

use hmcvi::bayes::examples::{self, Example};
use hmcvi::config::FitSpec;
use hmcvi_fit::{find, is_stan};
use hmcvi_report::{Align, Table};
use serde::Serialize;

use crate::Context;
use crate::failure::Failure;

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
