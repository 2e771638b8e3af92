//! Show the whole method on embedded images: train Basic VI and HMCVI, compare them, draw figures.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use clap::Args;
use hmcvi::config::{RunSpec, preset};
use hmcvi::data::Dataset;
use hmcvi::device::Device;
use hmcvi::eval::{EvaluationOptions, ImportanceOptions, QuadratureOptions, evaluate};
use hmcvi::run::{RunDirectory, Which, start};

use super::train::{begin, conclude, steps};
use crate::Context;
use crate::arguments::Machine;
use crate::failure::Failure;
use crate::output::Outputs;
use crate::progress::{Evaluating, Parts, Training};
use crate::settings::open_device;
use crate::source;

mod compare;
mod figures;

pub(crate) use compare::EvaluatedModel;

/// What was typed.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// Folder for runs and figures
    #[arg(long, default_value = "runs/quickstart", value_name = "DIR")]
    out: PathBuf,
    /// Replace the results of an earlier quickstart
    #[arg(long)]
    force: bool,
    /// Seed of all random numbers
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Train for a tenth of the time: a test that everything works, too short for good results
    #[arg(long)]
    short: bool,
    #[command(flatten)]
    machine: Machine,
}

/// Epochs of the model that both others begin with, and epochs of those. Chosen so that the whole takes
/// less than three minutes on two cores.
const FIRST_EPOCHS: usize = 100;
const FURTHER_EPOCHS: usize = 20;
/// Samples of importance sampling: with two dimensions few are enough.
const SAMPLES: usize = 500;
/// Spacing of the quadrature: posteriors of models that were trained for so short are wide.
const SPACING: f64 = 0.05;

/// Folders and names of the three models.
pub(crate) const START: (&str, &str) = ("basic-start", "Basic VI, start of both");
pub(crate) const BASIC: (&str, &str) = ("basic", "Basic VI");
pub(crate) const HMCVI: (&str, &str) = ("hmcvi", "HMCVI");

pub(crate) fn run(context: &Context, arguments: &Arguments) -> Result<(), Failure> {
    let device = open_device(&arguments.machine)?;
    let clock = Instant::now();
    let data = Arc::new(Dataset::embedded()?);
    let runs = specs(arguments);
    for (folder, _) in [START, BASIC, HMCVI] {
        RunDirectory::check_free(&arguments.out.join(folder), arguments.force)?;
    }
    let outputs = Outputs::claim(figures::files(&arguments.out), arguments.force)?;
    for ((folder, name), spec) in &runs {
        context.terminal.say(&format!("{name}: {} epochs, {}", spec.train.epochs, steps(&spec.chain)));
        train(context, (arguments, &device), &arguments.out.join(folder), spec, &data)?;
    }
    let basic = evaluate_run(context, (arguments, &device), BASIC, &data)?;
    let hmcvi = evaluate_run(context, (arguments, &device), HMCVI, &data)?;
    figures::draw((&arguments.out, &outputs), &data, [&basic, &hmcvi], &device)?;
    let comparison = compare::compare(&basic, &hmcvi, clock.elapsed().as_secs_f64());
    if context.terminal.json {
        return context.terminal.print_json(&comparison);
    }
    context.terminal.print(&comparison.text(data.test().len(), SAMPLES, &arguments.out))
}

/// The three trainings. Basic VI gets as many further epochs as HMCVI, so that the comparison is fair.
fn specs(arguments: &Arguments) -> [((&'static str, &'static str), RunSpec); 3] {
    let part = if arguments.short { 10 } else { 1 };
    let of = |name: &str, epochs: usize| {
        let mut spec = preset(name).unwrap_or_default();
        spec.seed = arguments.seed;
        spec.train.epochs = (epochs / part).max(1);
        spec.train.batch = 100;
        spec
    };
    let mut first = of("basic-2d", FIRST_EPOCHS);
    first.train.validate_every = 5;
    let further = |name: &str| {
        let mut spec = of(name, FURTHER_EPOCHS);
        (spec.train.learning_rate.first, spec.train.learning_rate.last) = (1e-3, 1e-4);
        let from = arguments.out.join(START.0);
        spec.train.init_from = Some(std::path::absolute(&from).unwrap_or(from));
        spec
    };
    [(START, first), (BASIC, further("basic-2d")), (HMCVI, further("hmcvi-4"))]
}

fn train(
    context: &Context,
    (arguments, device): (&Arguments, &Device),
    out: &Path,
    spec: &RunSpec,
    data: &Arc<Dataset>,
) -> Result<(), Failure> {
    let begin = begin(spec.clone(), data.clone(), device.clone());
    let mut training =
        Training::new(context, spec.train.epochs, spec.train.epochs.div_ceil(5), source::rows(data));
    let outcome = start(out, arguments.force, &begin, &mut training);
    training.finish();
    match outcome? {
        outcome if outcome.interrupted => conclude(context, out, &outcome),
        _ => Ok(()),
    }
}

fn evaluate_run(
    context: &Context,
    (arguments, device): (&Arguments, &Device),
    (folder, name): (&'static str, &'static str),
    data: &Dataset,
) -> Result<EvaluatedModel, Failure> {
    context.terminal.say(&format!("evaluating {name} on {} test images", data.test().len()));
    let directory = RunDirectory::open(&arguments.out.join(folder))?;
    let spec = directory.spec()?;
    let checkpoint = directory.checkpoint(Which::Best)?;
    let options = EvaluationOptions {
        importance: Some(ImportanceOptions::new(SAMPLES)),
        quadrature: Some(QuadratureOptions { spacing: SPACING }),
        ..EvaluationOptions::new(&spec)
    };
    let mut evaluating = Evaluating::new(context, Parts::default());
    let result = evaluate(&spec, &checkpoint.store, data.test(), &options, device, &mut evaluating)?;
    evaluating.finish()?;
    let which = ("test", Which::Best.name());
    let evaluation = super::eval::record(&spec, &checkpoint, data, &result, &options, which);
    directory.write_evaluation(&evaluation, &result.images)?;
    Ok(EvaluatedModel { name, directory, spec, checkpoint, result })
}
