//! Resume a run from its last checkpoint.

use std::path::PathBuf;
use std::sync::Arc;

use clap::Args;
use hmcvi::config::RunSpec;
use hmcvi::run::{RunDirectory, Which, open_data_to_train, resume};

use super::train::{begin, conclude};
use crate::Context;
use crate::arguments::{Data, Machine};
use crate::events::Recorded;
use crate::failure::Failure;
use crate::progress::Training;
use crate::source;

/// What was typed.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// Run directory
    run: PathBuf,
    /// Change settings of `train`, such as `train.epochs=200`
    #[arg(long = "set", value_name = "KEY=VALUE", num_args = 1..)]
    assignments: Vec<String>,
    #[command(flatten)]
    data: Data,
    #[command(flatten)]
    machine: Machine,
}

pub(crate) fn run(context: &Context, arguments: &Arguments) -> Result<(), Failure> {
    let device = context.processes.device(&arguments.machine)?;
    let directory = RunDirectory::open(&arguments.run)?;
    let before = directory.spec()?;
    let mut spec = before.with_assignments(&arguments.assignments)?;
    if let Some(text) = &arguments.data.data {
        spec.data.source = source::named(text).to_string();
    }
    check_change(&before, &spec)?;
    let data = Arc::new(open_data_to_train(&spec.data, &device)?);
    let known = directory.info()?.data_sha256;
    if known != data.sha256() {
        if directory.has_checkpoint(Which::Last) {
            source::check_size(&spec, &directory.checkpoint(Which::Last)?, &data)?;
        }
        let text = format!(
            "the data from {} has the SHA-256 {}, but the run was started with {known}",
            data.source(),
            data.sha256()
        );
        return Err(Failure::Data(text).then("name the original data with --data"));
    }
    let begin = begin(spec, data, device);
    let training = Training::new(context, begin.spec.train.epochs, 1, source::rows(&begin.data));
    let tensorboard = context.processes.leads() && begin.spec.train.tensorboard;
    let mut training = Recorded::new(context, training, &arguments.run, tensorboard);
    let outcome = resume(&directory, &begin, &mut training);
    training.finish();
    conclude(context, &arguments.run, &outcome?)
}

/// Only how long and how fast a model is trained can change after the start.
fn check_change(before: &RunSpec, after: &RunSpec) -> Result<(), Failure> {
    let fixed = |spec: &RunSpec| {
        let mut spec = spec.clone();
        spec.train.epochs = before.train.epochs;
        spec.train.learning_rate = before.train.learning_rate;
        spec.train.validate_every = before.train.validate_every;
        spec.train.save_seconds = before.train.save_seconds;
        spec.train.tensorboard = before.train.tensorboard;
        spec.data.source.clone_from(&before.data.source);
        spec.eval = before.eval.clone();
        spec
    };
    if fixed(before) == fixed(after) {
        return Ok(());
    }
    Err(Failure::Usage(
        "a resumed run can change `train.epochs`, `train.learning_rate`, `train.validate_every`, `train.save_seconds`, \
         `train.tensorboard` and `eval`, and nothing else"
            .into(),
    )
    .then("for other changes start a new run: `hmcvi train RUN/config.toml --set ... --init-from RUN`"))
}
