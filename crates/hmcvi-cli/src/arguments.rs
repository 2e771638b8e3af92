//! Describe what can be typed: commands, their flags, and flags that several commands share.

use std::path::{Path, PathBuf};

use clap::{Args, Parser, Subcommand, ValueEnum};
use hmcvi::run::Builtin;

use crate::commands::{
    bench, compare, config, data, diagnose, doctor, encode, eval, figures, hmc, quickstart, report,
    reproduce, resume, sample, train,
};

/// Variational inference with Hamiltonian Monte Carlo: train, judge and look at models.
///
/// Begin with `hmcvi quickstart`, which needs no data and takes less than three minutes on two cores.
#[derive(Debug, Parser)]
#[command(name = "hmcvi", version, propagate_version = true, max_term_width = 100)]
pub(crate) struct Arguments {
    #[command(flatten)]
    pub(crate) output: Output,
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// How results and narration are shown.
#[derive(Clone, Copy, Debug, Args)]
pub(crate) struct Output {
    /// Print results as JSON on standard output
    #[arg(long, global = true)]
    pub(crate) json: bool,
    /// Print no narration and no progress
    #[arg(long, short, global = true)]
    pub(crate) quiet: bool,
    /// Use no colour (as with the environment variable NO_COLOR)
    #[arg(long, global = true)]
    pub(crate) no_color: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Train Basic VI and HMCVI on embedded images, compare them and draw figures
    Quickstart(quickstart::Arguments),
    /// Train a model: a row of the paper's table or a file of settings
    Train(train::Arguments),
    /// Go on with a run that was interrupted, or train it longer
    Resume(resume::Arguments),
    /// Judge a trained model: bound, likelihood by importance sampling and annealing, posterior quality
    Eval(eval::Arguments),
    /// Say whether a run is satisfactory, and what to do if it is not
    Diagnose(diagnose::Arguments),
    /// Set the results of runs beside each other, with errors of their differences
    Compare(compare::Arguments),
    /// Write a page about a run, or one that compares several: results, curves, pictures, diagnosis
    Report(report::Arguments),
    /// Draw images from a trained model, or reconstruct images with it
    Sample(sample::Arguments),
    /// Write posterior draws before and after the HMC steps as .npy files
    Encode(encode::Arguments),
    /// Run plain HMC on a two-dimensional landscape
    Hmc(hmc::Arguments),
    /// Make every figure of the paper as SVG and PNG, with the data behind it as JSON
    Figures(figures::Arguments),
    /// List the rows of the paper's table
    Presets,
    /// Fetch, verify or describe data
    #[command(subcommand)]
    Data(data::Command),
    /// Show, check or document settings
    #[command(subcommand)]
    Config(config::Command),
    /// Reproduce the paper's table
    #[command(subcommand)]
    Reproduce(reproduce::Command),
    /// Measure speed
    #[command(subcommand)]
    Bench(bench::Command),
    /// Say what this machine has: processor, memory, graphics card, and whether it computes right
    Doctor(doctor::Arguments),
    /// Print completions for a shell
    Completions {
        /// The shell
        shell: clap_complete::Shell,
    },
    /// Print the manual page (of a command)
    Man {
        /// A command, such as `train`; the program itself if left out
        command: Option<String>,
    },
}

/// Where to compute.
#[derive(Clone, Copy, Debug, Args)]
pub(crate) struct Machine {
    /// Threads; 0 for one per core. Results do not depend on it
    #[arg(long, default_value_t = 0, value_name = "N")]
    pub(crate) threads: usize,
    /// Device
    #[arg(long, value_enum, default_value_t = DeviceName::Cpu)]
    pub(crate) device: DeviceName,
    /// Precision of matrix products on a graphics card
    #[arg(long, value_enum, default_value_t = PrecisionName::Tf32)]
    pub(crate) precision: PrecisionName,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum PrecisionName {
    /// Operands with ten bits behind the point, sums in f32: fastest
    Tf32,
    /// As on the processor
    F32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum DeviceName {
    /// The processor
    Cpu,
    /// A graphics card of NVIDIA
    Cuda,
}

/// Which data.
#[derive(Clone, Debug, Args)]
pub(crate) struct Data {
    /// `embedded`, a folder, `idx:FOLDER`, or a .npy or .npz file [default: the run's, else the cache, else embedded]
    #[arg(long, value_name = "SOURCE")]
    pub(crate) data: Option<String>,
}

/// Which part of a trained model's data.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum SplitName {
    /// Images to report on
    Test,
    /// Images to choose settings by
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
    /// Run directory, or `builtin` for the two-dimensional model inside the program
    #[arg(value_name = "RUN", required_unless_present = "model")]
    run: Option<PathBuf>,
    /// The same, by name
    #[arg(long, value_name = "RUN", conflicts_with = "run")]
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
    /// Checkpoint: the best validation bound, or the last epoch
    #[arg(long, value_enum, default_value_t = CheckpointName::Best)]
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
