//! Train and evaluate a grid or a list of settings: one table and one page for all of them. A folder of run directories
//! is all the state there is, so that any process can go on where another one ended.

mod file;
mod record;
mod row;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use clap::Args;
use hmcvi::config::RunSpec;
use hmcvi::data::{Dataset, Split};
use hmcvi::device::Device;
use hmcvi::eval::AnnealingOptions;
use hmcvi_record::{ReachedAt, files};

use self::file::{Case, Evaluate, Sweep};
use self::record::{Records, ranked};
use self::row::{Extras, SweepRow};
use super::report::on_runs;
use super::rows::{Limits, Part, Row, Share, Work, work};
use crate::Context;
use crate::arguments::{Data, Machine};
use crate::failure::Failure;
use crate::output::Outputs;
use crate::settings::{Found, assigned, find_for};
use crate::source;

/// Rows on the page: the first one, which the others are compared with, and the best.
const ON_PAGE: usize = 8;

/// What was typed.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// TOML file with a grid or a list of settings
    #[arg(value_name = "FILE")]
    file: PathBuf,
    #[command(flatten)]
    options: Options,
}

/// What was typed beside the file.
#[derive(Clone, Debug, Args)]
pub(crate) struct Options {
    /// Change settings of every row, such as `train.epochs=6`
    #[arg(long = "set", value_name = "KEY=VALUE", num_args = 1..)]
    assignments: Vec<String>,
    /// Folder for the run directories, sweep.json and report.html [default: runs, and the name of the file]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Rows to train side by side
    #[arg(long, default_value_t = 1, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=64))]
    jobs: u32,
    /// Work on part I of N, for job arrays with one folder: any part can be run again, alone or beside the others
    #[arg(long, value_name = "I/N")]
    part: Option<Part>,
    /// Only say what is done, running or failed; needs neither the data nor a free machine
    #[arg(long)]
    status: bool,
    /// Stop after this many minutes; the same command continues
    #[arg(long, value_name = "MINUTES")]
    minutes: Option<f64>,
    /// Run annealed importance sampling (AIS) on the first N images, for every row
    #[arg(long, value_name = "N", default_value_t = 0)]
    ais: usize,
    /// Run bidirectional Monte Carlo (BDMC) on N data points simulated by the model of every row
    #[arg(long, value_name = "N", default_value_t = 0)]
    bdmc: usize,
    /// Annealed chains per image
    #[arg(long, value_name = "N", default_value_t = 16, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    chains: u32,
    /// Temperatures of annealing
    #[arg(long, default_value_t = 1000, value_name = "N", value_parser = clap::value_parser!(u32).range(2..=1_000_000))]
    temperatures: u32,
    /// Compute likelihoods by quadrature too, for rows of binary data with two latent dimensions
    #[arg(long)]
    quadrature: bool,
    /// Begin rows again whose folders hold runs with other settings
    #[arg(long)]
    force: bool,
    #[command(flatten)]
    data: Data,
    #[command(flatten)]
    machine: Machine,
}

impl Options {
    /// Whether a setting is among those that change every row.
    pub(crate) fn assigns(&self, key: &str) -> bool {
        self.assignments.iter().any(|text| text.split('=').next().is_some_and(|name| name.trim() == key))
    }

    /// Whether only to say what is done.
    pub(crate) fn is_status(&self) -> bool {
        self.status
    }

    /// The folder of a sweep of that name.
    pub(crate) fn folder(&self, name: &Path) -> PathBuf {
        self.out.clone().unwrap_or_else(|| Path::new("runs").join(name))
    }
}

impl Options {
    /// What is estimated of every row beside the usual.
    fn extras(&self) -> Extras {
        let options = AnnealingOptions {
            chains: self.chains as usize,
            temperatures: self.temperatures as usize,
            ..AnnealingOptions::default()
        };
        let of = |count: usize| (count > 0).then_some((options, count));
        Extras { images: of(self.ais), simulated: of(self.bdmc), quadrature: self.quadrature }
    }
}

/// Whether a folder is that of a sweep.
pub(crate) fn is_folder(out: &Path) -> bool {
    record::is_there(out)
}

pub(crate) fn run(context: &Context, arguments: &Arguments) -> Result<(), Failure> {
    carry_out(context, file::read(&arguments.file)?, &stem(&arguments.file), &arguments.options)
}

/// The same with a description that comes with the program.
pub(crate) fn run_described(
    context: &Context,
    text: &str,
    name: &str,
    options: &Options,
) -> Result<(), Failure> {
    carry_out(context, file::parse(text)?, Path::new(name), options)
}

/// What the rows of a sweep's folder have reached, and the part of the data that they were evaluated on.
pub(crate) fn reached(out: &Path) -> Result<(String, Vec<(String, ReachedAt)>), Failure> {
    let records = record::read(out)?;
    let done = records.rows.iter().filter(|row| row.state == record::DONE);
    Ok((records.split.clone(), done.map(|row| (row.name.clone(), row.reached())).collect()))
}

fn carry_out(context: &Context, sweep: Sweep, name: &Path, arguments: &Options) -> Result<(), Failure> {
    let out = arguments.folder(name);
    let mut rows = rows(context, sweep, arguments, &out)?;
    let outputs = record::outputs(&out)?;
    let specs: Vec<&RunSpec> = rows.iter().map(Row::spec).collect();
    let share = Share::new(&context.processes, arguments.part, &specs)?;
    let worked = match arguments.status {
        true => Ok(()),
        false => {
            let (device, data) = prepare(context, arguments, &mut rows, &out)?;
            let until =
                arguments.minutes.map(|m| Instant::now() + Duration::from_secs_f64(60.0 * m.max(0.0)));
            let limits = Limits { until, jobs: arguments.jobs as usize };
            work(Work { context, rows: &rows, data: &data, share: &share, limits }, &device)
        }
    };
    if !context.processes.leads() {
        return Ok(());
    }
    let records = record::collect(&rows, &out, &outputs)?;
    record::print(context, &records, &out)?;
    let is_done = |i: &usize| records.rows[*i].state == record::DONE;
    if (0..rows.len()).all(|i| is_done(&i)) {
        write_report(context, arguments, &rows, &records, (&out, &outputs))?;
    }
    worked?;
    match share.own.iter().filter(|i| !is_done(i)).count() {
        0 => Ok(()),
        _ if arguments.status => Ok(()),
        n => Err(Failure::Interrupted(format!("{n} rows are left; the same command continues with them"))),
    }
}

/// Checks everything that can be checked before the first row, and opens the device and the data of every row.
fn prepare(
    context: &Context,
    arguments: &Options,
    rows: &mut [SweepRow],
    out: &Path,
) -> Result<(Device, Vec<Arc<Dataset>>), Failure> {
    rows.iter().try_for_each(|row| row.check_place())?;
    let device = context.processes.own_device(&arguments.machine)?;
    let data = open_data(context, rows, &device)?;
    if !arguments.force {
        rows.iter().try_for_each(SweepRow::check_settings)?;
    }
    std::fs::create_dir_all(out)
        .map_err(|e| Failure::Other(format!("cannot create {}: {e}", out.display())))?;
    if context.processes.leads() {
        rows.iter().try_for_each(SweepRow::begin_again)?;
    }
    context.processes.meet();
    Ok((device, data))
}

/// The data of every row; rows with the same settings of it share it.
fn open_data(
    context: &Context,
    rows: &mut [SweepRow],
    device: &Device,
) -> Result<Vec<Arc<Dataset>>, Failure> {
    let mut known: BTreeMap<String, Arc<Dataset>> = BTreeMap::new();
    let mut all = Vec::new();
    for row in rows {
        let key = serde_json::to_string(&row.spec.data).map_err(|e| Failure::Other(e.to_string()))?;
        let data = match known.get(&key) {
            Some(data) => {
                row.spec = row.spec.for_data(data)?;
                data.clone()
            }
            None => {
                source::open_to_train(context, &mut row.spec, device).map_err(|e| e.about(&row.case.title))?
            }
        };
        known.insert(key, data.clone());
        all.push(data);
    }
    Ok(all)
}

fn stem(file: &Path) -> PathBuf {
    file.file_stem().map_or("sweep".into(), Into::into)
}

/// All rows, in the order of the file.
fn rows(context: &Context, sweep: Sweep, arguments: &Options, out: &Path) -> Result<Vec<SweepRow>, Failure> {
    let split = match sweep.evaluate {
        Evaluate::Validation => Split::Validation,
        Evaluate::Test => Split::Test,
    };
    let mut usual = None;
    let mut all = Vec::new();
    for case in sweep.cases {
        let mut spec = settings(context, arguments, &case, &mut usual).map_err(|e| e.about(&case.title))?;
        if let Some(after) = &case.after {
            let from = out.join(after);
            spec.train.init_from = Some(std::path::absolute(&from).unwrap_or(from));
        }
        let path = out.join(&case.title);
        all.push(SweepRow { case, spec, path, split, extras: arguments.extras() });
    }
    Ok(all)
}

/// The settings of a row. `usual` is where data comes from that nobody named, once that is known.
fn settings(
    context: &Context,
    arguments: &Options,
    case: &Case,
    usual: &mut Option<String>,
) -> Result<RunSpec, Failure> {
    let asked = arguments.data.data.as_deref();
    let found = match &case.base {
        Some(base) => find_for(base, asked)?,
        None => Found { spec: RunSpec::default(), names_data: false },
    };
    let assignments = [case.assignments(), arguments.assignments.clone()].concat();
    let Found { mut spec, names_data } = assigned(found, &assignments)?;
    spec.data.source = match asked {
        Some(text) => source::named(text).to_string(),
        None if names_data => source::named(&spec.data.source).to_string(),
        None => usual.get_or_insert_with(|| source::usual(context).to_string()).clone(),
    };
    if let Some(from) = spec.train.init_from.clone().filter(|_| case.after.is_none()) {
        if !from.exists() {
            let text = format!("`train.init_from` is {}, which does not exist", from.display());
            return Err(Failure::Usage(text)
                .then("name a run directory or a checkpoint, or another row with `after`"));
        }
        spec.train.init_from = Some(std::path::absolute(&from).unwrap_or(from));
    }
    spec.check()?;
    Ok(spec)
}

/// Writes the page about the first row and the best ones, unless one is there that is younger than all rows.
fn write_report(
    context: &Context,
    arguments: &Options,
    rows: &[SweepRow],
    records: &Records,
    (out, outputs): (&Path, &Outputs),
) -> Result<(), Failure> {
    let [page, data] = [files::REPORT, files::REPORT_DATA].map(|name| out.join(name));
    let time = |file: &Path| file.metadata().and_then(|m| m.modified()).ok();
    let written = time(&page);
    let is_older = |row: &SweepRow| time(&row.path.join(files::EVALUATION)) < written;
    if written.is_some() && rows.iter().all(is_older) {
        return Ok(());
    }
    let mut chosen = vec![0];
    chosen.extend(ranked(&records.rows).into_iter().filter(|i| *i != 0).take(ON_PAGE - 1));
    let paths: Vec<PathBuf> = chosen.iter().map(|i| rows[*i].path.clone()).collect();
    let (record, text) = on_runs(context, &paths, (&arguments.data, &arguments.machine))?;
    let json = serde_json::to_string_pretty(&record).map_err(|e| Failure::Other(e.to_string()))? + "\n";
    outputs.write(&data, json.as_bytes())?;
    outputs.write(&page, text.as_bytes())?;
    context.terminal.say(&format!("report: {}", page.display()));
    Ok(())
}
