//! Compare the results of runs, with standard errors of their differences.

use std::path::PathBuf;

use clap::Args;
use hmcvi_report::{Noun, compare, comparison_text};

use super::report::gather;
use crate::Context;
use crate::failure::Failure;

/// What was typed.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// Run directories; each is compared with the first
    #[arg(required = true, value_name = "RUN")]
    runs: Vec<PathBuf>,
}

pub(crate) fn run(context: &Context, arguments: &Arguments) -> Result<(), Failure> {
    let runs = gather::all(context, &arguments.runs)?;
    let comparison = compare(&runs);
    if context.terminal.json {
        return context.terminal.print_json(&comparison);
    }
    let noun = Noun::of(runs.iter().map(|run| run.facts.info.as_ref()));
    context.terminal.print(&comparison_text(&comparison, noun))
}
