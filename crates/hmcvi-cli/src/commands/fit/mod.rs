//! Fit a Bayesian model, or sample its posterior, and keep what was found.

mod evidence;
mod infer;
mod model;
mod watch;

use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use clap::{Args, ValueEnum};
use hmcvi::bayes::{Covariance, Fit};
use hmcvi::config::{ConfigError, CovarianceKind, FitSpec, Resample};
use hmcvi::run::{DirectoryError, FitDirectory};
use hmcvi_fit::{Subject, open, stem};
use hmcvi_record::{FitMethod, FitRecord};
use hmcvi_report::{Trust, fit_text, quoted, trust};

use crate::Context;
use crate::arguments::{MODEL_AND_DATA, Machine};
use crate::failure::Failure;

/// What was typed.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// A built-in model (see --list), a Stan program (FILE.stan), or the settings of another fit: RUN/fit.toml
    #[arg(value_name = "MODEL", required_unless_present = "list")]
    model: Option<String>,
    /// List the built-in models
    #[arg(long)]
    list: bool,
    /// How to find out about the posterior [default: hmcvi]
    #[arg(long, value_enum)]
    method: Option<MethodName>,
    /// Run NUTS beside the fit, and say how far the fit is from it
    #[arg(long)]
    check: bool,
    /// Bracket the log evidence by annealing from both sides
    #[arg(long)]
    evidence: bool,
    /// When to choose draws in proportion to their importance weights [default: auto]
    #[arg(long, value_enum, value_name = "WHEN", num_args = 0..=1, require_equals = true, default_missing_value = "always")]
    resample: Option<ResampleName>,
    /// Draws to keep, of all chains together [default: 4000]
    #[arg(long, value_name = "N")]
    draws: Option<usize>,
    /// Covariance of the Gaussian that draws begin with [default: auto]
    #[arg(long, value_enum)]
    gaussian: Option<GaussianName>,
    /// HMC steps of the chain [default: 3]
    #[arg(long, value_name = "T")]
    hmc_steps: Option<usize>,
    /// Leapfrog steps in each HMC step [default: 4]
    #[arg(long, value_name = "L")]
    leapfrog_steps: Option<usize>,
    /// Random places to begin from, of which the best is taken [default: 1]
    #[arg(long, value_name = "N")]
    starts: Option<usize>,
    /// Change other settings, such as `learning.rows=128`; `hmcvi config schema --fit` lists them all
    #[arg(long = "set", value_name = "KEY=VALUE", num_args = 1..)]
    assignments: Vec<String>,
    /// Seed of all random numbers [default: 1]
    #[arg(long)]
    seed: Option<u64>,
    /// Folder for what is found [default: runs/MODEL-METHOD-SEED]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Replace an existing fit
    #[arg(long)]
    force: bool,
    /// JSON file with the data: an object with a number or an array for each name [default: the data of the model]
    #[arg(long, value_name = "FILE.json", help_heading = MODEL_AND_DATA)]
    data: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum MethodName {
    /// A chain of HMC steps inside a lower bound, from a Gaussian
    Hmcvi,
    /// That Gaussian alone
    Gaussian,
    /// Long chains of the no-U-turn sampler
    Nuts,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum GaussianName {
    /// Any covariance in up to 300 dimensions, low-rank beyond
    Auto,
    /// Any covariance
    FullRank,
    /// Variances, and `gaussian.rank` directions in which it is wider or narrower
    LowRank,
    /// Variances only
    MeanField,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum ResampleName {
    /// Where k-hat allows it
    Auto,
    /// In any case
    Always,
    /// Not at all: draws are those of the approximation
    Never,
}

pub(crate) fn run(context: &Context, arguments: &Arguments) -> Result<(), Failure> {
    let Some(model) = arguments.model.as_ref().filter(|_| !arguments.list) else {
        return model::list(context);
    };
    let spec = understand(model, arguments)?;
    let out = place(&spec, arguments);
    if context.processes.leads() {
        FitDirectory::check_free(&out, arguments.force)?;
    }
    let subject = among(context, &spec, open(&spec)?.subject)?;
    context.terminal.say(&format!(
        "{}: {} real numbers; {}; into {}",
        subject.name,
        subject.bound.dimension(),
        in_words(&spec, subject.bound.dimension()),
        out.display()
    ));
    let record = keep(context, &spec, &subject, &out, arguments.force)?;
    conclude(context, &out, &record)
}

/// Makes a fit in this process, and keeps it; one that is there is replaced with `force` only. Answers whether it did:
/// another process may be at it.
pub(crate) fn make(context: &Context, spec: &FitSpec, out: &Path, force: bool) -> Result<bool, Failure> {
    let subject = open(spec)?.subject;
    let bound = subject.bound.on(&context.processes.own_device(&Machine::cpu(0))?);
    match FitDirectory::create(out, spec, force) {
        Err(DirectoryError::Locked { .. }) => Ok(false),
        created => {
            let (directory, _lock) = created?;
            fill(context, spec, &Subject { bound, ..subject }, directory).map(|_| true)
        }
    }
}

fn keep(
    context: &Context,
    spec: &FitSpec,
    subject: &Subject,
    out: &Path,
    force: bool,
) -> Result<FitRecord, Failure> {
    if !context.processes.leads() {
        let outcome = infer::infer(context, spec, subject)?;
        return Ok(outcome.record(spec, subject, std::env::args().collect(), begun()));
    }
    let (directory, _lock) = FitDirectory::create(out, spec, force)?;
    fill(context, spec, subject, directory)
}

fn fill(
    context: &Context,
    spec: &FitSpec,
    subject: &Subject,
    directory: FitDirectory,
) -> Result<FitRecord, Failure> {
    let found = infer::infer(context, spec, subject).and_then(|outcome| {
        let record = outcome.record(spec, subject, std::env::args().collect(), begun());
        outcome.write(&directory, spec, &record)?;
        Ok(record)
    });
    if found.is_err() {
        // Settings without results are of no use, and would be in the way of the next attempt.
        directory.abandon();
    }
    found
}

/// The model on all processes that share the fit, which have to mean the same one.
fn among(context: &Context, spec: &FitSpec, subject: Subject) -> Result<Subject, Failure> {
    let processes = &context.processes;
    if processes.ranks().is_none() {
        return Ok(subject);
    }
    if spec.method == FitMethod::Nuts || spec.check {
        let text = "chains of NUTS are not shared out among processes that were started together";
        return Err(Failure::Usage(text.into()).then(
            "start one process for `--method nuts` and `--check`; it has as many threads as there are cores",
        ));
    }
    // Data may lie elsewhere.
    processes.agree("settings", &FitSpec { data: None, ..spec.clone() }.to_toml())?;
    processes.agree("data", &subject.data_sha256)?;
    // Two densities stand for the model.
    let d = subject.bound.dimension();
    let places: Vec<f64> = (0..2 * d).map(|i| 0.3 * (i as f64).sin()).collect();
    let densities = subject.bound.evaluate(&places)?.log_density;
    let bits: Vec<String> = densities.iter().map(|density| format!("{:016x}", density.to_bits())).collect();
    processes.agree("model", &bits.join(" "))?;
    let bound = subject.bound.on(&processes.device(&Machine::cpu(0))?);
    Ok(Subject { bound, ..subject })
}

/// The settings that were asked for.
fn understand(model: &str, arguments: &Arguments) -> Result<FitSpec, Failure> {
    let mut spec = model::settings(model)?;
    if let Some(method) = arguments.method {
        spec.method = match method {
            MethodName::Hmcvi => FitMethod::Hmcvi,
            MethodName::Gaussian => FitMethod::Gaussian,
            MethodName::Nuts => FitMethod::Nuts,
        };
    }
    if let Some(gaussian) = arguments.gaussian {
        spec.gaussian.covariance = match gaussian {
            GaussianName::Auto => CovarianceKind::Auto,
            GaussianName::FullRank => CovarianceKind::FullRank,
            GaussianName::LowRank => CovarianceKind::LowRank,
            GaussianName::MeanField => CovarianceKind::MeanField,
        };
    }
    spec.check |= arguments.check;
    spec.evidence |= arguments.evidence;
    if let Some(resample) = arguments.resample {
        spec.resample = match resample {
            ResampleName::Auto => Resample::Auto,
            ResampleName::Always => Resample::Always,
            ResampleName::Never => Resample::Never,
        };
    }
    spec.seed = arguments.seed.unwrap_or(spec.seed);
    spec.draws = arguments.draws.unwrap_or(spec.draws);
    spec.chain.hmc_steps = arguments.hmc_steps.unwrap_or(spec.chain.hmc_steps);
    spec.chain.leapfrog_steps = arguments.leapfrog_steps.unwrap_or(spec.chain.leapfrog_steps);
    spec.learning.starts = arguments.starts.unwrap_or(spec.learning.starts);
    if let Some(file) = &arguments.data {
        let whole = std::path::absolute(file).unwrap_or_else(|_| file.into());
        spec.data = Some(whole.display().to_string());
    }
    let mut spec = spec.with_assignments(&arguments.assignments).map_err(unsettled)?;
    if spec.method == FitMethod::Nuts {
        let asked = [
            ("--check", arguments.check),
            ("--evidence", arguments.evidence),
            ("--resample", arguments.resample == Some(ResampleName::Always)),
        ];
        if let Some((flag, _)) = asked.into_iter().find(|(_, asked)| *asked) {
            let text = format!("`{flag}` is about a fit; with `--method nuts` there is none");
            return Err(Failure::Usage(text).then("leave it out, or choose `--method hmcvi`"));
        }
        // Settings of a fit that were taken over.
        (spec.check, spec.evidence, spec.resample) = (false, false, Resample::Auto);
    }
    Ok(spec)
}

/// Says where the settings of a fit are listed.
fn unsettled(error: ConfigError) -> Failure {
    Failure::Usage(error.to_string())
        .then("`hmcvi config schema --fit` shows every setting and what is allowed")
}

fn place(spec: &FitSpec, arguments: &Arguments) -> PathBuf {
    let name = || format!("runs/{}-{}-{}", stem(&spec.model), spec.method.name(), spec.seed).into();
    arguments.out.clone().unwrap_or_else(name)
}

fn in_words(spec: &FitSpec, dimension: usize) -> String {
    let gaussian = match Fit::from(spec).gaussian.in_dimensions(dimension) {
        Covariance::LowRank(_) => "a low-rank Gaussian",
        Covariance::MeanField => "a mean-field Gaussian",
        Covariance::FullRank | Covariance::Auto(_) => "a full-rank Gaussian",
    };
    match spec.method {
        FitMethod::Hmcvi => format!("{gaussian} and {}", super::train::steps(&spec.chain)),
        FitMethod::Gaussian => format!("{gaussian} alone"),
        FitMethod::Nuts => format!("{} chains of NUTS", spec.nuts.chains),
    }
}

fn begun() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |d| d.as_secs())
}

/// Prints what was found, and says what to do next.
fn conclude(context: &Context, out: &Path, record: &FitRecord) -> Result<(), Failure> {
    let place = quoted(&out.display().to_string());
    match context.terminal.json {
        true => context.terminal.print_json(record)?,
        false => context.terminal.print(&fit_text(record, &out.display().to_string()))?,
    }
    if !record.finished {
        let text = match record.draws {
            0 => "interrupted before there were draws".to_string(),
            _ => format!("interrupted; the draws in {place} are those of an unfinished fit"),
        };
        return Err(Failure::Interrupted(text)
            .then(format!("`hmcvi fit {place}/fit.toml --out {place} --force` begins again")));
    }
    if let Some(failed) = record.generated.as_ref().and_then(|generated| generated.failed.as_ref()) {
        context.terminal.warn(&format!(
            "quantities of {} of {} draws are wrong; what could not be computed is NaN. First in draw {}: {}",
            failed.draws, record.draws, failed.first, failed.message
        ));
    }
    match trust(record).0 {
        Trust::Good => context.terminal.say(&format!("next: hmcvi report {place} --open")),
        _ => context.terminal.warn(&format!(
            "these draws are not good in every way; `hmcvi diagnose {place}` says how far to trust them"
        )),
    }
    Ok(())
}
