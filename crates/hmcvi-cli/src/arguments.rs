//! Describe what can be typed: commands, their flags, and flags that several commands share.

use std::path::{Path, PathBuf};

use clap::{ArgAction, Args, Parser, Subcommand, ValueEnum};
use hmcvi::run::Builtin;

use crate::commands::{
    bench, compare, config, data, diagnose, doctor, encode, eval, figures, fit, hmc, presets, quickstart,
    report, reproduce, resume, sample, sweep, train,
};

/// Headings of options that several commands share, which come after a command's own.
pub(crate) const MODEL_AND_DATA: &str = "Model and data";
pub(crate) const WHERE_TO_COMPUTE: &str = "Where to compute";
pub(crate) const OUTPUT_AND_HELP: &str = "Output and help";

/// Variational inference with Hamiltonian Monte Carlo: train, evaluate and explore models.
///
/// Start with `hmcvi quickstart`, which needs no data and takes less than three minutes on two cores.
///
/// Exit codes: 0 success, 1 failure or an unsatisfactory result, 2 usage, 3 data, 4 numerical trouble, 5 device or
/// memory, 130 interrupted.
#[derive(Debug, Parser)]
#[command(
    name = "hmcvi",
    version,
    propagate_version = true,
    max_term_width = 100,
    disable_help_flag = true,
    disable_version_flag = true,
    after_help = "Examples:
  hmcvi quickstart
  hmcvi train basic-2d
  hmcvi eval runs/basic-2d-1"
)]
pub(crate) struct Arguments {
    #[command(flatten)]
    pub(crate) output: Output,
    #[command(flatten)]
    _help: Help,
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// How results and narration are shown.
#[derive(Clone, Copy, Debug, Args)]
pub(crate) struct Output {
    /// Print the result as JSON on standard output, and an error as one line of JSON on standard error; notes and
    /// progress stay plain text
    #[arg(long, global = true, help_heading = OUTPUT_AND_HELP)]
    pub(crate) json: bool,
    /// Print results and errors only: no notes and no progress
    #[arg(long, short, global = true, help_heading = OUTPUT_AND_HELP)]
    pub(crate) quiet: bool,
    /// Use no colour (the environment variable NO_COLOR does the same)
    #[arg(long, global = true, help_heading = OUTPUT_AND_HELP)]
    pub(crate) no_color: bool,
}

/// What clap answers itself.
#[derive(Clone, Copy, Debug, Args)]
struct Help {
    /// Print help (`-h` for a summary)
    #[arg(long, short, global = true, action = ArgAction::Help, help_heading = OUTPUT_AND_HELP)]
    help: Option<bool>,
    /// Print the version
    #[arg(long, short = 'V', global = true, action = ArgAction::Version, help_heading = OUTPUT_AND_HELP)]
    version: Option<bool>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Train Basic VI and HMCVI on embedded images, compare them and draw figures
    #[command(after_help = "Examples:
  hmcvi quickstart
  hmcvi quickstart --short --out /tmp/quickstart")]
    Quickstart(quickstart::Arguments),
    /// Train a model: a row of the paper's table, or settings from a file
    #[command(after_help = "Examples:
  hmcvi train basic-2d
  hmcvi train hmcvi-4 --init-from runs/basic-2d-1 --set train.epochs=100 chain.mass=network
  hmcvi train settings.toml --data images.npz --out runs/mine")]
    Train(train::Arguments),
    /// Resume an interrupted run, or train a finished one for longer
    #[command(after_help = "Examples:
  hmcvi resume runs/basic-2d-1
  hmcvi resume runs/basic-2d-1 --set train.epochs=200")]
    Resume(resume::Arguments),
    /// Evaluate a trained model: bound, likelihood by importance sampling and annealing, posterior quality
    #[command(after_help = "Examples:
  hmcvi eval runs/basic-2d-1
  hmcvi eval runs/basic-2d-1 --limit 1000 --proposal defensive --quadrature
  hmcvi eval runs/hmcvi-13-1 --samples 50000 --ais 100 --bdmc 100 --temperatures 4000")]
    Eval(eval::Arguments),
    /// Say whether a run is satisfactory, and what to do if it is not
    #[command(after_help = "Example:
  hmcvi diagnose runs/basic-2d-1")]
    Diagnose(diagnose::Arguments),
    /// Compare the results of several runs, with standard errors of their differences
    #[command(after_help = "Example:
  hmcvi compare runs/basic-2d-1 runs/hmcvi-4-1")]
    Compare(compare::Arguments),
    /// Write an HTML page about a run, or one that compares several: results, curves, pictures, diagnosis
    #[command(after_help = "Examples:
  hmcvi report runs/basic-2d-1 --open
  hmcvi report runs/basic-2d-1 runs/hmcvi-4-1 --out comparison.html")]
    Report(report::Arguments),
    /// Fit a Bayesian model: posterior draws, their bound, the log evidence, and how far to trust them
    #[command(after_help = "Examples:
  hmcvi fit --list
  hmcvi fit radon --check --seed 2 --out runs/radon")]
    Fit(fit::Arguments),
    /// Draw images or other rows from a trained model, or reconstruct test data with it
    #[command(after_help = "Examples:
  hmcvi sample builtin
  hmcvi sample runs/basic-2d-1 --reconstruct --count 20 --out reconstructions.png")]
    Sample(sample::Arguments),
    /// Write posterior draws before and after the HMC steps as .npy files
    #[command(after_help = "Example:
  hmcvi encode runs/hmcvi-4-1 --split train --draws 10 --out codes")]
    Encode(encode::Arguments),
    /// Run plain HMC on a two-dimensional landscape
    #[command(after_help = "Examples:
  hmcvi hmc --landscape banana --step-size 0.1 --leapfrog-steps 20
  hmcvi hmc --landscape mixture --chains 8 --out positions.npy")]
    Hmc(hmc::Arguments),
    /// Draw every figure of the paper as SVG and PNG, with its data as JSON
    #[command(after_help = "Example:
  hmcvi figures --only 5,6,8 --model runs/hmcvi-4-1 --image 3")]
    Figures(figures::Arguments),
    /// List the rows of the paper's table, and other families by name
    #[command(after_help = "Examples:
  hmcvi presets
  hmcvi presets --families --json")]
    Presets(presets::Arguments),
    /// Fetch, verify or describe data
    #[command(
        subcommand,
        after_help = "Examples:
  hmcvi data fetch fashion-mnist --out fashion
  hmcvi data info images.npz"
    )]
    Data(data::Command),
    /// Show, check or document settings
    #[command(
        subcommand,
        after_help = "Examples:
  hmcvi config schema
  hmcvi config show hmcvi-13 --set train.epochs=100"
    )]
    Config(config::Command),
    /// Reproduce the paper's table, one of posteriors that the truth is known about, and one of families
    #[command(
        subcommand,
        after_help = "Example:
  hmcvi reproduce table1 --status"
    )]
    Reproduce(reproduce::Command),
    /// Train and evaluate many rows: a grid or a list of settings from a file, in one table
    #[command(after_help = "Examples:
  hmcvi sweep masses.toml
  hmcvi sweep masses.toml --part 3/16 --out /shared/masses
  hmcvi sweep masses.toml --status --out /shared/masses")]
    Sweep(sweep::Arguments),
    /// Measure speed
    #[command(
        subcommand,
        after_help = "Example:
  hmcvi bench step"
    )]
    Bench(bench::Command),
    /// Describe this machine's CPU and GPU, and test whether they compute correctly
    #[command(after_help = "Example:
  hmcvi doctor")]
    Doctor(doctor::Arguments),
    /// Print completions for a shell
    #[command(after_help = "Example:
  hmcvi completions bash")]
    Completions {
        /// The shell
        shell: clap_complete::Shell,
    },
    /// Print the manual page of the program or of a command
    #[command(after_help = "Example:
  hmcvi man train")]
    Man {
        /// A command, such as `train` [default: the program itself]
        command: Option<String>,
    },
}

/// Where to compute.
#[derive(Clone, Copy, Debug, Args)]
pub(crate) struct Machine {
    /// Number of threads, 0 for one per core; results do not depend on it
    #[arg(long, default_value_t = 0, value_name = "N", help_heading = WHERE_TO_COMPUTE)]
    pub(crate) threads: usize,
    /// Device to compute on
    #[arg(long, value_enum, default_value_t = DeviceName::Cpu, help_heading = WHERE_TO_COMPUTE)]
    pub(crate) device: DeviceName,
    /// Precision of matrix products on a GPU
    #[arg(long, value_enum, default_value_t = PrecisionName::Tf32, help_heading = WHERE_TO_COMPUTE)]
    pub(crate) precision: PrecisionName,
    /// How processes that share the work add up sums
    #[arg(long, value_enum, default_value_t = SumsName::Auto, value_name = "HOW", help_heading = WHERE_TO_COMPUTE)]
    pub(crate) sums: SumsName,
}

impl Machine {
    /// So many threads of the CPU, 0 for one per core.
    pub(crate) fn cpu(threads: usize) -> Self {
        let (device, precision, sums) = (DeviceName::Cpu, PrecisionName::F32, SumsName::Auto);
        Machine { threads, device, precision, sums }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum SumsName {
    /// `ordered` on the CPU; on GPUs `nccl` where it is installed and each process has its own, else `host`
    Auto,
    /// On the CPU in the order of one process: the same bits on any number of processes
    Ordered,
    /// On the CPU each process its own rows first: less to send, but other bits for every number of processes
    PerProcess,
    /// From GPU to GPU by NCCL
    Nccl,
    /// From GPU to GPU through the memory of the host
    Host,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum PrecisionName {
    /// Factors rounded to 10 bits of mantissa, sums in f32: fastest
    Tf32,
    /// Single precision, as on the CPU
    F32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum DeviceName {
    /// The CPU
    Cpu,
    /// An NVIDIA GPU
    Cuda,
}

/// Which data.
#[derive(Clone, Debug, Args)]
pub(crate) struct Data {
    /// Data: `embedded`, a folder, `idx:FOLDER`, or a .npy, .npz, .csv, .tsv or .mtx file [default: the run's data, else
    /// the cache, else embedded]
    #[arg(long, value_name = "SOURCE", help_heading = MODEL_AND_DATA)]
    pub(crate) data: Option<String>,
}

/// Which part of a trained model's data.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum SplitName {
    /// Images to report results on
    Test,
    /// Images to choose settings with
    Validation,
    /// Images the model was trained on
    Train,
}

impl From<SplitName> for hmcvi::data::Split {
    fn from(split: SplitName) -> Self {
        match split {
            SplitName::Test => Self::Test,
            SplitName::Validation => Self::Validation,
            SplitName::Train => Self::Train,
        }
    }
}

/// Which trained model, by position or by name.
#[derive(Clone, Debug, Args)]
pub(crate) struct Chosen {
    /// Run directory, or `builtin` for the two-dimensional model that comes with the program
    // Clap does not ask for what conflicts with something that is there.
    #[arg(value_name = "RUN", required = true)]
    run: Option<PathBuf>,
    /// The run, as an option instead of an argument
    #[arg(long, value_name = "RUN", conflicts_with = "run", help_heading = MODEL_AND_DATA)]
    model: Option<PathBuf>,
}

impl Chosen {
    /// The run directory; `None` for the model inside the program. A folder of that name is `./builtin`.
    pub(crate) fn run(&self) -> Option<&Path> {
        // Clap sees to it that one of them is there.
        let run = self.run.as_deref().or(self.model.as_deref())?;
        (run != Path::new(Builtin::NAME)).then_some(run)
    }
}

/// How a trained model is used.
#[derive(Clone, Debug, Args)]
pub(crate) struct Trained {
    #[command(flatten)]
    pub(crate) chosen: Chosen,
    /// Checkpoint to use
    #[arg(long, value_enum, default_value_t = CheckpointName::Best, help_heading = MODEL_AND_DATA)]
    pub(crate) checkpoint: CheckpointName,
    #[command(flatten)]
    pub(crate) data: Data,
    #[command(flatten)]
    pub(crate) machine: Machine,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum CheckpointName {
    /// The epoch with the best validation bound
    Best,
    /// The last finished epoch
    Last,
}

impl From<CheckpointName> for hmcvi::run::Which {
    fn from(name: CheckpointName) -> Self {
        match name {
            CheckpointName::Best => Self::Best,
            CheckpointName::Last => Self::Last,
        }
    }
}

#[cfg(test)]
mod tests;
