//! Train a model from the beginning, in a run directory of its own.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use clap::Args;
use hmcvi::config::RunSpec;
use hmcvi::data::Dataset;
use hmcvi::device::Device;
use hmcvi::family::ChainSettings;
use hmcvi::run::{Begin, Outcome, RunDirectory, start};

use crate::Context;
use crate::arguments::{Data, Machine};
use crate::events::Recorded;
use crate::failure::Failure;
use crate::progress::Training;
use crate::settings::{assigned, find_for, settle_data};
use crate::source;

/// What was typed.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// A preset (see `hmcvi presets`) or a TOML file of settings
    #[arg(value_name = "PRESET|FILE")]
    target: String,
    /// Change settings, such as `train.epochs=6`; `hmcvi config schema` lists them all
    #[arg(long = "set", value_name = "KEY=VALUE", num_args = 1..)]
    assignments: Vec<String>,
    /// Seed of all random numbers
    #[arg(long)]
    seed: Option<u64>,
    /// Run directory [default: runs/PRESET-SEED]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Replace an existing run
    #[arg(long)]
    force: bool,
    /// Start from the encoder and decoder of this run or checkpoint
    #[arg(long, value_name = "RUN")]
    init_from: Option<PathBuf>,
    /// Also write the metrics for TensorBoard, like `train.tensorboard=true`
    #[arg(long)]
    tensorboard: bool,
    #[command(flatten)]
    data: Data,
    #[command(flatten)]
    machine: Machine,
}

/// What it means.
struct Job {
    spec: RunSpec,
    out: PathBuf,
}

pub(crate) fn run(context: &Context, arguments: &Arguments) -> Result<(), Failure> {
    let device = context.processes.device(&arguments.machine)?;
    let Job { mut spec, out } = understand(context, arguments)?;
    let leads = context.processes.leads();
    if leads {
        RunDirectory::check_free(&out, arguments.force)?;
    }
    advise(context, &spec);
    let data = source::open_to_train(context, &mut spec, &device)?;
    describe(context, &spec, &data, &out);
    let begin = begin(spec, data, device);
    let training = Training::new(context, begin.spec.train.epochs, 1, source::rows(&begin.data));
    let mut training = Recorded::new(context, training, &out, leads && begin.spec.train.tensorboard);
    let outcome = start(&out, arguments.force, &begin, &mut training);
    training.finish();
    conclude(context, &out, &outcome?)
}

fn understand(context: &Context, arguments: &Arguments) -> Result<Job, Failure> {
    let data = arguments.data.data.as_deref();
    let found = assigned(find_for(&arguments.target, data)?, &arguments.assignments)?;
    let mut spec = settle_data(context, found, data);
    if let Some(seed) = arguments.seed {
        spec.seed = seed;
    }
    spec.train.tensorboard |= arguments.tensorboard;
    if let Some(from) = arguments.init_from.as_ref().or(spec.train.init_from.as_ref()) {
        if !from.exists() {
            let text = format!(
                "`train.init_from` is {}, which does not exist; it must be a run directory or a checkpoint",
                from.display()
            );
            return Err(Failure::Usage(text));
        }
        spec.train.init_from = Some(std::path::absolute(from).unwrap_or_else(|_| from.clone()));
    }
    spec.check()?;
    let stem = || {
        Path::new(&arguments.target).file_stem().map_or("run".into(), |s| s.to_string_lossy().into_owned())
    };
    let name = || spec.preset.clone().unwrap_or_else(stem);
    let out = arguments.out.clone().unwrap_or_else(|| format!("runs/{}-{}", name(), spec.seed).into());
    Ok(Job { spec, out })
}

/// Says where the settings depart from the paper.
fn advise(context: &Context, spec: &RunSpec) {
    if spec.chain.hmc_steps > 0 && spec.train.init_from.is_none() {
        let basic = format!("basic-{}d", spec.model.latent);
        let known = hmcvi::config::preset(&basic).is_some();
        let basic = if known { basic } else { "basic-20d".into() };
        context.terminal.notice(&format!(
            "the paper starts HMCVI from a trained basic model; this run starts from random weights. To do as the paper \
             does, run `hmcvi train {basic}` first, then add `--init-from runs/{basic}-1`"
        ));
    }
}

fn describe(context: &Context, spec: &RunSpec, data: &Dataset, out: &Path) {
    let what = spec.preset.as_deref().unwrap_or("a model");
    context.terminal.say(&format!(
        "training {what}: {} latent dimensions, {}; {} training {} of {}; into {}",
        spec.model.latent,
        spec.chain
            .words()
            .into_iter()
            .chain(spec.family.words())
            .fold(steps(&spec.chain), |all, one| format!("{all}, {one}")),
        data.train().len(),
        source::rows(data),
        source::describe(&spec.data, data),
        out.display()
    ));
}

/// The HMC steps of a chain, in words.
pub(crate) fn steps(chain: &ChainSettings) -> String {
    let count = |n: usize, what: &str| format!("{n} {what} step{}", if n == 1 { "" } else { "s" });
    match (chain.hmc_steps, chain.leapfrog_steps) {
        (0, _) => "no HMC steps".into(),
        (hmc, leapfrog) => format!("{} of {}", count(hmc, "HMC"), count(leapfrog, "leapfrog")),
    }
}

/// What a run begins with, and who began it.
pub(crate) fn begin(spec: RunSpec, data: Arc<Dataset>, device: Device) -> Begin {
    let started = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |d| d.as_secs());
    let command = std::env::args().collect();
    Begin { spec, data, device, version: env!("CARGO_PKG_VERSION").into(), command, started }
}

/// Says how a sitting ended, and what to do next.
pub(crate) fn conclude(context: &Context, out: &Path, outcome: &Outcome) -> Result<(), Failure> {
    let (place, summary) = (out.display(), &outcome.summary);
    if outcome.interrupted {
        let text = format!("interrupted in epoch {}; all updates are saved", summary.epochs + 1);
        return Err(Failure::Interrupted(text).then(format!("hmcvi resume {place}")));
    }
    if context.terminal.json {
        return context.terminal.print_json(summary);
    }
    let best = summary.best_validation_bound.unwrap_or(f64::NAN);
    context.terminal.print(&format!(
        "best validation bound {best:.2} nats, in epoch {} of {}; {:.0} s of training, {} divergences\n",
        summary.best_epoch, summary.epochs, summary.seconds, summary.divergences
    ))?;
    context.terminal.say(&format!("next: hmcvi eval {place}"));
    Ok(())
}
