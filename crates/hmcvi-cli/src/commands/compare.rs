//! Compare the results of runs, with standard errors of their differences, or the draws of fits.

use std::path::PathBuf;

use clap::Args;
use hmcvi::run::FitDirectory;
use hmcvi_record::{FitComparison, FitRecord};
use hmcvi_report::{FitData, Noun, compare, comparison_text, fits_text};
use serde::Serialize;

use super::report::{fits, gather};
use crate::Context;
use crate::failure::Failure;

/// What was typed.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// Run directories, each of which is compared with the first; or fits of one model, compared with NUTS where it is among
    /// them
    #[arg(required = true, value_name = "RUN")]
    runs: Vec<PathBuf>,
}

pub(crate) fn run(context: &Context, arguments: &Arguments) -> Result<(), Failure> {
    if arguments.runs.iter().all(|run| FitDirectory::is_fit(run)) {
        return compare_fits(context, &fits::all(&arguments.runs)?);
    }
    let runs = gather::all(context, &arguments.runs)?;
    let comparison = compare(&runs);
    if context.terminal.json {
        return context.terminal.print_json(&comparison);
    }
    let noun = Noun::of(runs.iter().map(|run| run.facts.info.as_ref()));
    context.terminal.print(&comparison_text(&comparison, noun))
}

/// What is known of fits beside each other.
#[derive(Serialize)]
struct Fits<'f> {
    fits: Vec<Named<'f>>,
    comparisons: &'f [FitComparison],
}

#[derive(Serialize)]
struct Named<'f> {
    name: &'f str,
    #[serde(flatten)]
    record: &'f FitRecord,
}

fn compare_fits(context: &Context, fits: &[FitData]) -> Result<(), Failure> {
    let comparisons = hmcvi_report::compare_fits(fits);
    if context.terminal.json {
        let named = fits.iter().map(|fit| Named { name: &fit.name, record: &fit.record });
        return context.terminal.print_json(&Fits { fits: named.collect(), comparisons: &comparisons });
    }
    context.terminal.print(&fits_text(fits, &comparisons))
}
