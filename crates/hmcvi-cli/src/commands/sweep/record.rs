//! Keep what is known of every row of a sweep in `sweep.json`, and print it as a table.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;
use std::path::Path;

use hmcvi::run::Lock;
use hmcvi_record::{Epoch, Estimate, ReachedAt, Versioned, files};
use hmcvi_report::{Align, Table, quoted};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::row::SweepRow;
use crate::Context;
use crate::commands::report::check_report;
use crate::commands::rows::Row;
use crate::failure::Failure;
use crate::output::Outputs;

const SCHEMA: u32 = 1;
const FILE: &str = "sweep.json";
/// What a row says that is done.
pub(super) const DONE: &str = "evaluated";
/// Longest state in the table, in letters; `sweep.json` has all of it.
const LONGEST: usize = 60;

/// What is known of a row.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Record {
    pub(super) name: String,
    pub(super) state: String,
    /// What tells it from other rows.
    settings: BTreeMap<String, Value>,
    epochs: u64,
    best_epoch: u64,
    /// On the validation images of training.
    validation_bound: Option<f64>,
    /// On the evaluated images.
    bound: Option<Estimate>,
    /// `log p(x)` by importance sampling.
    log_likelihood: Option<Estimate>,
    /// Share of images whose importance sampling is not to be trusted.
    k_hat_high: Option<f64>,
    /// `log p(x)` by annealed importance sampling.
    #[serde(default)]
    annealed: Option<Estimate>,
    /// `log p(x)` by quadrature.
    #[serde(default)]
    exact: Option<Estimate>,
    /// Nats between the bounds of bidirectional Monte Carlo on simulated data.
    #[serde(default)]
    bdmc_gap: Option<Estimate>,
    divergences: u64,
    seconds: f64,
    /// Microseconds of training for an image, in the fastest epoch.
    #[serde(default)]
    microseconds_per_image: Option<f64>,
}

/// `sweep.json`.
#[derive(Serialize, Deserialize)]
pub(super) struct Records {
    schema: u32,
    /// Part of the data that rows were evaluated on.
    pub(super) split: String,
    pub(super) rows: Vec<Record>,
}

impl Versioned for Records {
    const SCHEMAS: RangeInclusive<u32> = SCHEMA..=SCHEMA;
}

impl Record {
    /// What it has reached so far.
    pub(super) fn reached(&self) -> ReachedAt {
        ReachedAt {
            epochs: self.epochs,
            seconds: self.seconds,
            bound: self.bound,
            log_likelihood: self.log_likelihood,
            annealed: self.annealed,
            exact: self.exact,
        }
    }
}

fn record(row: &SweepRow) -> Record {
    let summary = row.directory().and_then(|d| d.summary().ok());
    let evaluation = row.evaluation();
    let sampling = evaluation.as_ref().and_then(|e| e.importance_sampling.as_ref());
    Record {
        name: row.title(),
        state: row.progress(),
        settings: row.case.own.iter().cloned().collect(),
        epochs: summary.as_ref().map_or(0, |s| s.epochs),
        best_epoch: summary.as_ref().map_or(0, |s| s.best_epoch),
        validation_bound: summary.as_ref().and_then(|s| s.best_validation_bound),
        bound: evaluation.as_ref().map(|e| e.bound),
        log_likelihood: sampling.map(|s| s.log_likelihood),
        k_hat_high: sampling.map(|s| s.k_hat_high).filter(|share| share.is_finite()),
        annealed: evaluation.as_ref().and_then(|e| Some(e.annealing.as_ref()?.log_likelihood)),
        exact: evaluation.as_ref().and_then(|e| Some(e.quadrature.as_ref()?.log_likelihood)),
        bdmc_gap: evaluation.as_ref().and_then(|e| Some(e.bidirectional.as_ref()?.gap)),
        microseconds_per_image: row.directory().and_then(|d| fastest(&d.epochs().ok()?)),
        divergences: summary.as_ref().map_or(0, |s| s.divergences),
        seconds: summary.as_ref().map_or(0.0, |s| s.seconds),
    }
}

/// Microseconds per image of the fastest epoch: others may have waited for the machine.
fn fastest(epochs: &[Epoch]) -> Option<f64> {
    epochs.iter().map(|e| 1e6 / e.images_per_second).reduce(f64::min)
}

/// Whether there is a record of a sweep.
pub(super) fn is_there(out: &Path) -> bool {
    out.join(FILE).is_file()
}

/// The record of a sweep's folder.
pub(super) fn read(out: &Path) -> Result<Records, Failure> {
    let file = out.join(FILE);
    let text = std::fs::read_to_string(&file)
        .map_err(|e| Failure::Other(format!("cannot read {}: {e}", file.display())))?;
    hmcvi_record::read(&file, &text).map_err(|e| Failure::Usage(e.to_string()))
}

/// Claims the files beside the runs. Records that can be read make them this command's own.
pub(super) fn outputs(out: &Path) -> Result<Outputs, Failure> {
    Lock::check_free(out)?;
    let file = out.join(FILE);
    let ours = match std::fs::read_to_string(&file) {
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => false,
        Err(e) => return Err(Failure::Other(format!("cannot read {}: {e}", file.display()))),
        Ok(text) => {
            let read = hmcvi_record::read::<Records>(&file, &text);
            read.map_err(|e| Failure::Usage(e.to_string()).then("choose another folder with --out"))?;
            check_report(&out.join(files::REPORT_DATA))?;
            true
        }
    };
    Outputs::claim([FILE, files::REPORT, files::REPORT_DATA].map(|name| out.join(name)), ours)
}

/// Brings the record of all rows up to date; whoever has it written has the folder for that moment.
pub(super) fn collect(rows: &[SweepRow], out: &Path, outputs: &Outputs) -> Result<Records, Failure> {
    let _lock = out.is_dir().then(|| Lock::wait(out)).transpose()?;
    let split = rows.first().map_or(String::new(), |row| row.split.name().into());
    let records = Records { schema: SCHEMA, split, rows: rows.iter().map(record).collect() };
    if out.is_dir() {
        let text = serde_json::to_string_pretty(&records).map_err(|e| Failure::Other(e.to_string()))?;
        outputs.write(&out.join(FILE), (text + "\n").as_bytes())?;
    }
    Ok(records)
}

/// Prints the table.
pub(super) fn print(context: &Context, records: &Records, out: &Path) -> Result<(), Failure> {
    if context.terminal.json {
        return context.terminal.print_json(records);
    }
    context.terminal.print(&text(records, out))
}

fn text(records: &Records, out: &Path) -> String {
    use Align::{Left, Right};
    let mut table = Table::new([
        ("row", Left),
        ("bound", Right),
        ("log p(x)", Right),
        ("annealed", Right),
        ("exact", Right),
        ("k-hat > 0.7", Right),
        ("best epoch", Right),
        ("seconds", Right),
        ("state", Left),
    ]);
    let pair = |value: &Option<Estimate>| {
        value.as_ref().map_or("-".into(), |v| format!("{:.2} ± {:.2}", v.mean, v.standard_error))
    };
    for r in &records.rows {
        table.row([
            r.name.clone(),
            pair(&r.bound),
            pair(&r.log_likelihood),
            pair(&r.annealed),
            pair(&r.exact),
            r.k_hat_high.map_or("-".into(), |share| format!("{:.0}%", 100.0 * share)),
            r.best_epoch.to_string(),
            format!("{:.0}", r.seconds),
            r.state.chars().take(LONGEST).collect(),
        ]);
    }
    format!("{table}\n{}{}", counts(&records.rows), best(records, out))
}

/// How many rows are how far.
fn counts(rows: &[Record]) -> String {
    let count = |state: &str| rows.iter().filter(|r| r.state.starts_with(state)).count();
    let (done, running, failed) = (count(DONE), count("running"), count("failed"));
    let left = rows.len() - done - running - failed;
    format!("{done} of {} rows are done, {running} running, {failed} failed, {left} left\n", rows.len())
}

/// Rows by the likelihood, the best one first.
pub(super) fn ranked(rows: &[Record]) -> Vec<usize> {
    let value = |i: &usize| {
        let row = &rows[*i];
        row.exact.or(row.annealed).or(row.log_likelihood).map(|l| l.mean).filter(|mean| mean.is_finite())
    };
    let mut order: Vec<usize> = (0..rows.len()).filter(|i| value(i).is_some()).collect();
    order.sort_by(|a, b| value(b).unwrap_or(f64::NAN).total_cmp(&value(a).unwrap_or(f64::NAN)));
    order
}

/// The best two, and how to tell whether they differ: their errors are mostly those of the same images.
fn best(records: &Records, out: &Path) -> String {
    let [first, second, ..] = ranked(&records.rows)[..] else { return String::new() };
    let [first, second] = [first, second].map(|i| &records.rows[i]);
    let place = |r: &Record| quoted(&out.join(&r.name).display().to_string());
    format!(
        "the highest log p(x) of {} images: {}; `hmcvi compare {} {}` says by how much, with the error of the difference\n",
        records.split,
        first.name,
        place(second),
        place(first)
    )
}
