//! Reproduce the paper's table: train what is missing in the right order, evaluate every row, and compare the results
//! with the published ones. A folder of run directories is all the state there is.

mod overview;
mod queue;
mod record;
mod row;
mod table;

use std::path::PathBuf;
use std::time::{Duration, Instant};

use clap::{Args, Subcommand};
use hmcvi::config::{PAPER_TABLE, PaperRow};

use self::queue::{Limits, work};
use self::row::{FIRST_SEED, REPEATED, Row, State};
use crate::Context;
use crate::arguments::{Data, Machine};
use crate::failure::Failure;
use crate::settings::{Found, open_device, settle_data};
use crate::source;

/// What was typed.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Train and evaluate the 22 rows of the table
    #[command(after_help = "Examples:
  hmcvi reproduce table1 --rows basic-2d,hmcvi-4 --epochs 50
  hmcvi reproduce table1 --minutes 60
  hmcvi reproduce table1 --status")]
    Table1(Arguments),
}

/// What was typed.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// Rows, such as `basic-20d,hmcvi-13`; the basic models they start from are trained too [default: all]
    #[arg(long, value_delimiter = ',', value_name = "PRESET")]
    rows: Vec<String>,
    /// Rows to train side by side, each with its own queue on a GPU
    #[arg(long, default_value_t = 1, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=64))]
    jobs: u32,
    /// Epochs for every row [default: those of the protocol]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=10_000_000))]
    epochs: Option<u32>,
    /// Change settings of every row, such as `train.batch=500`
    #[arg(long = "set", value_name = "KEY=VALUE", num_args = 1..)]
    assignments: Vec<String>,
    /// Folder for the run directories and table1.json
    #[arg(long, default_value = "results", value_name = "DIR")]
    out: PathBuf,
    /// Train basic-20d and hmcvi-20 with N more seeds, to measure how much the seed matters
    #[arg(long, default_value_t = 0, value_name = "N", value_parser = clap::value_parser!(u32).range(0..=1000))]
    repeat: u32,
    /// Stop after this many minutes; the same command continues
    #[arg(long, value_name = "MINUTES")]
    minutes: Option<f64>,
    /// Run AIS on N test images and BDMC on N simulated ones, for the basic rows and the best ones
    #[arg(long, value_name = "N", default_value_t = 0)]
    ais: usize,
    /// Measure by how much better reverse models would raise the bound of N images, for each HMCVI row
    #[arg(long, value_name = "N", default_value_t = 0)]
    reverse: usize,
    /// Compute likelihoods by quadrature too, for rows with two latent dimensions
    #[arg(long)]
    quadrature: bool,
    /// Only print what is done and what is left
    #[arg(long)]
    status: bool,
    #[command(flatten)]
    data: Data,
    #[command(flatten)]
    machine: Machine,
}

pub(crate) fn run(context: &Context, command: &Command) -> Result<(), Failure> {
    let Command::Table1(arguments) = command;
    record::outputs(&arguments.out)?;
    let mut rows = rows(context, arguments)?;
    if !arguments.status {
        rows.iter().try_for_each(Row::check_place)?;
        let device = open_device(&arguments.machine)?;
        std::fs::create_dir_all(&arguments.out)
            .map_err(|e| Failure::Other(format!("cannot create {}: {e}", arguments.out.display())))?;
        let data = source::open_to_train(context, &mut rows[0].spec)?;
        rows.iter_mut().for_each(|row| row.spec.data = row.spec.data.for_data(&data));
        if data.name() != "mnist" {
            context.terminal.notice("the paper's numbers are for all of MNIST, not for this data");
        }
        let until = arguments.minutes.map(|m| Instant::now() + Duration::from_secs_f64(60.0 * m.max(0.0)));
        let limits = Limits {
            until,
            jobs: arguments.jobs as usize,
            annealed: arguments.ais,
            reversed: arguments.reverse,
            quadrature: arguments.quadrature,
        };
        work(context, &rows, &data, &device, &limits)?;
    }
    table::write(context, &rows, &arguments.out)?;
    let left = rows.iter().filter(|row| row.state() != State::Evaluated).count();
    match left {
        0 => Ok(()),
        _ if arguments.status => Ok(()),
        n => Err(Failure::Interrupted(format!("{n} rows are left; the same command continues with them"))),
    }
}

/// The rows that were asked for with the basic models they begin with, those first.
fn rows(context: &Context, arguments: &Arguments) -> Result<Vec<Row>, Failure> {
    let unknown = arguments.rows.iter().find(|r| !PAPER_TABLE.iter().any(|p| p.preset == **r));
    if let Some(unknown) = unknown {
        return Err(Failure::Usage(format!("`--rows`: `{unknown}` is no row; `hmcvi presets` lists them")));
    }
    let asked = |p: &PaperRow| arguments.rows.is_empty() || arguments.rows.iter().any(|r| r == p.preset);
    let is_basic = |p: &PaperRow| p.chain.hmc_steps == 0;
    let needed = |p: &&PaperRow| {
        asked(p) || is_basic(p) && PAPER_TABLE.iter().any(|other| other.latent == p.latent && asked(other))
    };
    let table = PAPER_TABLE.iter().filter(needed).map(|p| (p, FIRST_SEED));
    let again = |p: &&PaperRow| needed(p) && REPEATED.contains(&p.preset);
    let seeds = FIRST_SEED + 1..=FIRST_SEED + u64::from(arguments.repeat);
    let repeated = seeds.flat_map(|seed| PAPER_TABLE.iter().filter(again).map(move |p| (p, seed)));
    let mut chosen: Vec<(&'static PaperRow, u64)> = table.chain(repeated).collect();
    chosen.sort_by_key(|(p, _)| !is_basic(p));
    let mut rows = Vec::new();
    for (paper, seed) in chosen {
        let mut spec = row::protocol(paper).with_assignments(&arguments.assignments)?;
        spec.seed = seed;
        if let Some(epochs) = arguments.epochs {
            spec.train.epochs = epochs as usize;
        }
        // One notice about the data is enough.
        let found = Found { spec, names_data: !rows.is_empty() || names_data(&arguments.assignments) };
        let asked = rows.first().map(|row: &Row| row.spec.data.source.clone());
        let asked = asked.as_deref().or(arguments.data.data.as_deref());
        let mut spec = settle_data(context, found, asked);
        let place = |preset: &str| arguments.out.join(Row::name(preset, seed));
        if !is_basic(paper) {
            let from = place(&format!("basic-{}d", paper.latent));
            spec.train.init_from = Some(std::path::absolute(&from).unwrap_or(from));
        }
        spec.check()?;
        rows.push(Row { paper, spec, path: place(paper.preset) });
    }
    Ok(rows)
}

fn names_data(assignments: &[String]) -> bool {
    assignments.iter().any(|a| a.trim_start().starts_with("data.source"))
}
