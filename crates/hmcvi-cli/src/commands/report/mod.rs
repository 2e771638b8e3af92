//! Write a page about a run, or one that compares several, with the same data as JSON beside it.

pub(crate) mod fits;
pub(crate) mod gather;
mod opener;
mod pictures;
mod reproduce;

use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use clap::Args;
use hmcvi::run::FitDirectory;
use hmcvi_record::{Missing, Report, RunState, files};
use hmcvi_report::{Maker, RunData, page, quoted, report};
use serde::Serialize;

use crate::Context;
use crate::arguments::{Data, Machine};
use crate::failure::Failure;
use crate::output::Outputs;

/// What was typed.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// Folders of runs, or of fits of one model; several are compared with the first
    #[arg(required = true, value_name = "RUN")]
    runs: Vec<PathBuf>,
    /// The page; its data is written next to it as .json [default: report.html in the run, comparison.html for several]
    #[arg(long, value_name = "FILE.html")]
    out: Option<PathBuf>,
    /// Replace an existing report
    #[arg(long)]
    force: bool,
    /// Open the page in a browser
    #[arg(long)]
    open: bool,
    #[command(flatten)]
    data: Data,
    #[command(flatten)]
    machine: Machine,
}

/// What was written.
#[derive(Serialize)]
struct Written {
    page: PathBuf,
    data: PathBuf,
    bytes: usize,
}

pub(crate) fn run(context: &Context, arguments: &Arguments) -> Result<(), Failure> {
    let out = place(arguments)?;
    let data = out.with_extension("json");
    let outputs = Outputs::claim([out.clone(), data.clone()], arguments.force)?;
    check_report(&data)?;
    if arguments.runs.iter().all(|run| FitDirectory::is_fit(run)) {
        let (record, text) = fits::report(&arguments.runs, maker())?;
        return finish(
            context,
            arguments,
            &outputs,
            Page { out, data, text, verdict: record.verdict.clone() },
            &record,
        );
    }
    let (record, text) = on_runs(context, &arguments.runs, (&arguments.data, &arguments.machine))?;
    let page = Page { out, data, text, verdict: record.verdict.clone() };
    finish(context, arguments, &outputs, page, &record)
}

/// The report on runs, and its page.
pub(crate) fn on_runs(
    context: &Context,
    paths: &[PathBuf],
    used: (&Data, &Machine),
) -> Result<(Report, String), Failure> {
    let mut runs = gather::all(context, paths)?;
    let mut drawn = Vec::new();
    for (i, (run, path)) in runs.iter_mut().zip(paths).enumerate() {
        context.terminal.say(&format!("drawing pictures of {}", run.facts.name));
        match pictures::draw(context, path, used, i) {
            Ok((made, same_data)) => {
                drawn.extend(made);
                gather::settle_data(run, same_data);
            }
            Err(why) => {
                context.terminal.notice(&format!("no pictures of {}: {why}", run.facts.name));
                run.no_pictures = Some(no_pictures(run, &why));
            }
        }
    }
    let record = report(&runs, maker());
    let text = page(&record, &drawn);
    Ok((record, text))
}

/// Who makes a report, now.
fn maker() -> Maker {
    let made = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |d| d.as_secs());
    Maker { version: env!("CARGO_PKG_VERSION").into(), command: std::env::args().collect(), made }
}

/// A page and where it goes.
struct Page {
    out: PathBuf,
    data: PathBuf,
    text: String,
    verdict: String,
}

/// Writes a page and its data, and says where they are.
fn finish(
    context: &Context,
    arguments: &Arguments,
    outputs: &Outputs,
    page: Page,
    record: &impl Serialize,
) -> Result<(), Failure> {
    let json = serde_json::to_string_pretty(record).map_err(|e| Failure::Other(e.to_string()))? + "\n";
    outputs.write(&page.data, json.as_bytes())?;
    outputs.write(&page.out, page.text.as_bytes())?;
    let written = Written { page: page.out, data: page.data, bytes: page.text.len() };
    if context.terminal.json {
        context.terminal.print_json(&written)?;
    } else {
        context.terminal.print(&format!("{}\n{}\n", written.page.display(), written.data.display()))?;
        context.terminal.say(&page.verdict);
    }
    if arguments.open { opener::open(&written.page) } else { Ok(()) }
}

/// What to do for pictures: wait for a checkpoint or go on to one, or name the data.
fn no_pictures(run: &RunData, why: &Failure) -> Missing {
    let place = quoted(&run.facts.place);
    let saved = [files::BEST, files::LAST].iter().any(|file| Path::new(&run.facts.place).join(file).exists());
    let command = match run.facts.state {
        _ if saved => format!("hmcvi report {place} --data SOURCE --force"),
        RunState::Running => format!("hmcvi report {place} --force"),
        RunState::Finished | RunState::Stopped => format!("hmcvi resume {place}"),
    };
    let why = why.to_string();
    let why = if saved { why.lines().next().unwrap_or_default() } else { "no checkpoint was written yet" };
    Missing { what: format!("pictures ({why})"), command }
}

/// Where the page goes.
fn place(arguments: &Arguments) -> Result<PathBuf, Failure> {
    let out = match (&arguments.out, &arguments.runs[..]) {
        (Some(out), _) => out.clone(),
        (None, [run]) => run.join(files::REPORT),
        (None, _) => "comparison.html".into(),
    };
    if out.extension().is_some_and(|e| e.eq_ignore_ascii_case("html")) {
        return Ok(out);
    }
    Err(Failure::Usage(format!("`--out` is {}, but must be the name of a .html file", out.display())))
}

/// Refuses to replace anything but a report, even by force.
pub(crate) fn check_report(data: &Path) -> Result<(), Failure> {
    let is_report = |text: &str| {
        serde_json::from_str::<serde_json::Value>(text)
            .is_ok_and(|v| v["verdict"].is_string() && v["runs"].is_array())
    };
    match std::fs::read_to_string(data) {
        Ok(text) if !is_report(&text) => Err(Failure::Usage(format!(
            "{} is not a report, so it is not replaced even with --force; choose another place with --out",
            data.display()
        ))),
        _ => Ok(()),
    }
}
