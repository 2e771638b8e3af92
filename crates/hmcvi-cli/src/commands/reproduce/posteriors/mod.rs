//! Fit posteriors that others know the truth about, and set what is found beside it: reference draws of posteriordb, and
//! published bounds on log evidences. A folder of fits is all the state there is.

mod against;
mod apart;
mod known;
mod record;
mod reference;
mod row;
mod table;

use std::path::PathBuf;
use std::thread::sleep;
use std::time::{Duration, Instant};

use clap::Args;
use hmcvi_report::quoted;

use self::record::{Place, Record};
use self::row::{Common, Row};
use crate::Context;
use crate::commands::fit;
use crate::commands::rows::{Part, Share};
use crate::failure::Failure;

/// How long a fit that another process is at is left alone before it is looked at again.
const LOOK_AGAIN: Duration = Duration::from_secs(2);
/// The environment variable that names the folder with reference draws.
const FOLDER: &str = "HMCVI_POSTERIORDB";

/// What was typed.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// Models, such as `eight-schools,seeds` [default: all of the table]
    #[arg(long, value_delimiter = ',', value_name = "MODEL")]
    models: Vec<String>,
    /// Folder with reference draws [default: that of the environment variable HMCVI_POSTERIORDB]
    #[arg(long, value_name = "DIR")]
    reference: Option<PathBuf>,
    /// Fit the Stan programs in this folder instead of built-in models, such as `DIR/arK.stan` for `arK-arK`; there are
    /// none of posteriors with published bounds
    #[arg(long, value_name = "DIR")]
    stan: Option<PathBuf>,
    /// Draws of every fit
    #[arg(long, default_value_t = 20_000, value_name = "N")]
    draws: usize,
    /// Seed of every fit
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Change settings of every fit, such as `learning.rows=128`; `hmcvi config schema --fit` lists them all
    #[arg(long = "set", value_name = "KEY=VALUE", num_args = 1..)]
    assignments: Vec<String>,
    /// Folder for the fits and posteriors.json (posteriors-stan.json of Stan programs)
    #[arg(long, default_value = "results", value_name = "DIR")]
    out: PathBuf,
    /// Stop before the first fit that begins after this many minutes; the same command continues
    #[arg(long, value_name = "MINUTES")]
    minutes: Option<f64>,
    /// Make the fits of part I of N, for job arrays with one folder: any part can be run again
    #[arg(long, value_name = "I/N")]
    part: Option<Part>,
    /// Only print what is done and what is left
    #[arg(long)]
    status: bool,
    /// Make fits again that were made with other settings
    #[arg(long)]
    force: bool,
}

pub(crate) fn run(context: &Context, arguments: &Arguments) -> Result<(), Failure> {
    let environment = || std::env::var_os(FOLDER).filter(|folder| !folder.is_empty()).map(PathBuf::from);
    let folder = arguments.reference.clone().or_else(environment);
    let place = Place::new(&arguments.out, arguments.stan.is_some());
    let all = row::all(&Common {
        folder: folder.as_deref(),
        programs: arguments.stan.as_deref(),
        place,
        seed: arguments.seed,
        draws: arguments.draws,
        assignments: &arguments.assignments,
    })?;
    let asked = asked(&all, &arguments.models)?;
    place.outputs()?;
    let share = Share::equal(&context.processes, arguments.part, asked.len())?;
    let own: Vec<&Row> = share.own.iter().map(|i| asked[*i]).collect();
    if !arguments.status {
        let mine = if share.helps { &asked } else { &own };
        mine.iter().try_for_each(|row| row.check(arguments.force))?;
        context.processes.meet();
        work(context, arguments, place, &all, mine, &own)?;
    }
    if !context.processes.leads() {
        return Ok(());
    }
    let shown = if arguments.status || share.helps { &asked } else { &own };
    let records = place.collect(shown, &all)?;
    match context.terminal.json {
        true => context.terminal.print_json(&records)?,
        false => context.terminal.print(&table::text(&records))?,
    }
    if arguments.status { Ok(()) } else { conclude(&records) }
}

/// The rows of these models; all without any.
fn asked<'r>(all: &'r [Row], models: &[String]) -> Result<Vec<&'r Row>, Failure> {
    let known = |model: &&String| all.iter().any(|row| row.model == **model || row.name() == *model);
    if let Some(unknown) = models.iter().find(|model| !known(model)) {
        let names: Vec<&str> = all.iter().map(|row| row.model).collect();
        return Err(Failure::Usage(format!("`--models`: `{unknown}` is not in the table"))
            .then(format!("it has {}", names.join(", "))));
    }
    let is_asked = |row: &&Row| {
        models.is_empty() || models.iter().any(|model| row.model == model || row.name() == model)
    };
    Ok(all.iter().filter(is_asked).collect())
}

/// Makes the fits that are missing, its own first, and brings the table up to date after each. Fits that other processes
/// are at are waited for: if they come to nothing, they are made here.
fn work(
    context: &Context,
    arguments: &Arguments,
    place: Place<'_>,
    all: &[Row],
    asked: &[&Row],
    own: &[&Row],
) -> Result<(), Failure> {
    let until = arguments.minutes.map(|m| Instant::now() + Duration::from_secs_f64(60.0 * m.max(0.0)));
    let is_over = || context.interrupt.requested() || until.is_some_and(|until| Instant::now() >= until);
    let alone = Context {
        terminal: context.terminal.clone(),
        interrupt: context.interrupt.clone(),
        processes: context.processes.apart(),
    };
    let is_own = |row: &&Row| own.iter().any(|own| std::ptr::eq(*own, *row));
    let (mut open, others): (Vec<&Row>, Vec<&Row>) = asked.iter().copied().partition(is_own);
    open.extend(others);
    let mut begun = 0;
    loop {
        let mut elsewhere = Vec::new();
        for row in open {
            if row.is_done() {
                continue;
            }
            if is_over() {
                return Ok(());
            }
            context.terminal.say(&format!("{} ({} of {})", row.name(), begun + 1, asked.len()));
            // What is there is an unfinished fit, or one that may be replaced.
            if fit::make(&alone, &row.spec, &row.path, true).map_err(|failure| failure.about(row.name()))? {
                begun += 1;
                place.collect(asked, all)?;
            } else {
                elsewhere.push(row);
            }
        }
        if elsewhere.is_empty() {
            return Ok(());
        }
        open = elsewhere;
        sleep(LOOK_AGAIN);
    }
}

/// Says what is left, and which bars are missed.
fn conclude(records: &[Record]) -> Result<(), Failure> {
    let left: Vec<&str> =
        records.iter().filter(|record| record.found.is_none()).map(|record| record.name.as_str()).collect();
    if let [first, ..] = left[..] {
        let n = left.len();
        let text = format!("{n} posteriors are left, first {}; the same command continues", quoted(first));
        return Err(Failure::Interrupted(text));
    }
    let missed: Vec<String> =
        table::bars(records).into_iter().filter(|(_, missed)| *missed).map(|(bar, _)| bar).collect();
    match missed.is_empty() {
        true => Ok(()),
        false => Err(Failure::Unsatisfactory(missed.join("; "))),
    }
}
