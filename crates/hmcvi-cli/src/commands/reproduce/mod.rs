//! Reproduce tables. That of the paper: train what is missing in the right order, evaluate every row, and compare the
//! results with the published ones. A folder of run directories is all the state there is.

mod families;
mod posteriors;
mod record;
mod row;
mod table;

use std::path::PathBuf;
use std::time::{Duration, Instant};

use clap::{Args, Subcommand};
use hmcvi::config::{PAPER_TABLE, PaperRow, RunSpec};

use self::row::{Extras, FIRST_SEED, REPEATED, TableRow};
use super::rows::{Limits, Part, Row, Share, State, Work, work};
use crate::Context;
use crate::arguments::{Data, Machine};
use crate::failure::Failure;
use crate::settings::{Found, settle_data};
use crate::source;

/// What was typed.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Train and evaluate the 22 rows of the table
    #[command(after_help = "Examples:
  hmcvi reproduce table1 --rows basic-2d,hmcvi-4 --epochs 50
  hmcvi reproduce table1 --minutes 60
  hmcvi reproduce table1 --part 3/16 --out /shared/table
  hmcvi reproduce table1 --status")]
    Table1(Arguments),
    /// Fit posteriors with reference draws or published bounds, and hold the fits against these
    ///
    /// Ends with exit code 1 where results are worse than they are to be.
    #[command(after_help = "Examples:
  hmcvi reproduce posteriors --models seeds,brownian
  hmcvi reproduce posteriors --reference posteriordb --minutes 30
  hmcvi reproduce posteriors --reference posteriordb --part 3/16 --out /shared/posteriors
  hmcvi reproduce posteriors --status")]
    Posteriors(posteriors::Arguments),
    /// Train and evaluate families of posterior approximations, all after the same plain model
    #[command(after_help = "Examples:
  hmcvi reproduce families --set train.epochs=20 data.limit=2000
  hmcvi reproduce families --minutes 60 --device cuda
  hmcvi reproduce families --times 60,600 --device cuda
  hmcvi reproduce families --status")]
    Families(families::Arguments),
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
    /// Work on part I of N, for job arrays with one folder: any part can be run again, alone or beside the others
    #[arg(long, value_name = "I/N")]
    part: Option<Part>,
    /// Only print what is done, running or failed, and bring table1.json up to date
    #[arg(long)]
    status: bool,
    #[command(flatten)]
    data: Data,
    #[command(flatten)]
    machine: Machine,
}

pub(crate) fn run(context: &Context, command: &Command) -> Result<(), Failure> {
    match command {
        Command::Table1(arguments) => table1(context, arguments),
        Command::Posteriors(arguments) => posteriors::run(context, arguments),
        Command::Families(arguments) => families::run(context, arguments),
    }
}

fn table1(context: &Context, arguments: &Arguments) -> Result<(), Failure> {
    record::outputs(&arguments.out)?;
    let mut rows = rows(context, arguments)?;
    let specs: Vec<&RunSpec> = rows.iter().map(Row::spec).collect();
    let share = Share::new(&context.processes, arguments.part, &specs)?;
    let mut worked = Ok(());
    if !arguments.status {
        rows.iter().try_for_each(Row::check_place)?;
        let device = context.processes.own_device(&arguments.machine)?;
        std::fs::create_dir_all(&arguments.out)
            .map_err(|e| Failure::Other(format!("cannot create {}: {e}", arguments.out.display())))?;
        let data = source::open_to_train(context, &mut rows[0].spec, &device)?;
        rows.iter_mut().for_each(|row| row.spec.data = row.spec.data.for_data(&data));
        if data.name() != "mnist" {
            context.terminal.notice("the paper's numbers are for all of MNIST, not for this data");
        }
        let until = arguments.minutes.map(|m| Instant::now() + Duration::from_secs_f64(60.0 * m.max(0.0)));
        let limits = Limits { until, jobs: arguments.jobs as usize };
        let data = vec![data; rows.len()];
        worked = work(Work { context, rows: &rows, data: &data, share: &share, limits }, &device);
    }
    if !context.processes.leads() {
        return Ok(());
    }
    table::write(context, &rows, &arguments.out)?;
    worked?;
    let is_left = |i: &usize| rows[*i].state() != State::Evaluated;
    let (left, others) = ((0..rows.len()).filter(is_left).count(), rows.len() - share.own.len());
    match share.own.iter().copied().filter(is_left).count() {
        _ if arguments.status => Ok(()),
        0 if left > 0 => {
            context
                .terminal
                .say(&format!("this part is done; {left} of {others} rows of other parts are left"));
            Ok(())
        }
        0 => Ok(()),
        n => Err(Failure::Interrupted(format!("{n} rows are left; the same command continues with them"))),
    }
}

/// The rows that were asked for with the basic models they begin with, those first.
fn rows(context: &Context, arguments: &Arguments) -> Result<Vec<TableRow>, Failure> {
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
    let extras =
        Extras { annealed: arguments.ais, reversed: arguments.reverse, quadrature: arguments.quadrature };
    let mut rows = Vec::new();
    for (paper, seed) in chosen {
        let mut spec = row::protocol(paper).with_assignments(&arguments.assignments)?;
        spec.seed = seed;
        if let Some(epochs) = arguments.epochs {
            spec.train.epochs = epochs as usize;
        }
        // One notice about the data is enough.
        let found = Found { spec, names_data: !rows.is_empty() || names_data(&arguments.assignments) };
        let asked = rows.first().map(|row: &TableRow| row.spec.data.source.clone());
        let asked = asked.as_deref().or(arguments.data.data.as_deref());
        let mut spec = settle_data(context, found, asked);
        let place = |preset: &str| arguments.out.join(TableRow::name(preset, seed));
        if !is_basic(paper) {
            let from = place(&format!("basic-{}d", paper.latent));
            spec.train.init_from = Some(std::path::absolute(&from).unwrap_or(from));
        }
        spec.check()?;
        rows.push(TableRow { paper, spec, path: place(paper.preset), extras });
    }
    Ok(rows)
}

fn names_data(assignments: &[String]) -> bool {
    assignments.iter().any(|a| a.trim_start().starts_with("data.source"))
}
