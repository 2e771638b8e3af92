//! Set the results of all rows beside the published ones.

use std::path::Path;

use hmcvi_record::Estimate;
use hmcvi_report::{Align, Table};
use serde::Serialize;

use super::row::{FIRST_SEED, REPEATED, Row, State};
use crate::Context;
use crate::failure::Failure;

/// A value as a positive negative-log-likelihood, in nats.
#[derive(Serialize)]
struct Nats {
    mean: f64,
    se: f64,
}

impl From<&Estimate> for Nats {
    fn from(estimate: &Estimate) -> Self {
        Nats { mean: -estimate.mean, se: estimate.standard_error }
    }
}

/// The record of one row.
#[derive(Serialize)]
struct Record {
    preset: &'static str,
    state: String,
    test_bound: Option<Nats>,
    nll: Option<Nats>,
    annealed_nll: Option<Nats>,
    bdmc_gap: Option<Estimate>,
    k_hat_high: Option<f64>,
    paper_bound: f64,
    paper_nll: f64,
    epochs: u64,
    best_epoch: u64,
    batch: usize,
    seed: u64,
    learning_rate: hmcvi::train::Schedule,
    divergences: u64,
    skipped: u64,
    seconds: f64,
    device: String,
    command: Vec<String>,
}

fn record(row: &Row) -> Record {
    let directory = row.directory();
    let summary = directory.as_ref().and_then(|d| d.summary().ok());
    let info = directory.as_ref().and_then(|d| d.info().ok());
    let evaluation = row.evaluation();
    let sampling = evaluation.as_ref().and_then(|e| e.importance_sampling.as_ref());
    Record {
        preset: row.paper.preset,
        state: match row.state() {
            State::Missing => "missing".into(),
            State::Training(epochs) => format!("training, {epochs} of {} epochs", row.spec.train.epochs),
            State::Trained => "trained".into(),
            State::Judged => "judged".into(),
        },
        test_bound: evaluation.as_ref().map(|e| (&e.bound).into()),
        nll: sampling.map(|s| (&s.log_likelihood).into()),
        annealed_nll: evaluation.as_ref().and_then(|e| Some((&e.annealing.as_ref()?.log_likelihood).into())),
        bdmc_gap: evaluation.as_ref().and_then(|e| Some(e.bidirectional.as_ref()?.gap)),
        k_hat_high: sampling.map(|s| s.k_hat_high),
        paper_bound: row.paper.bound,
        paper_nll: row.paper.nll,
        epochs: summary.as_ref().map_or(0, |s| s.epochs),
        best_epoch: summary.as_ref().map_or(0, |s| s.best_epoch),
        batch: row.spec.train.batch,
        seed: row.spec.seed,
        learning_rate: row.spec.train.learning_rate,
        divergences: summary.as_ref().map_or(0, |s| s.divergences),
        skipped: summary.as_ref().map_or(0, |s| s.skipped),
        seconds: summary.as_ref().map_or(0.0, |s| s.seconds),
        device: info.as_ref().map_or(String::new(), |i| i.device.clone()),
        command: info.map_or(Vec::new(), |i| i.command),
    }
}

/// Writes `table1.json` and prints the table.
pub(super) fn write(context: &Context, rows: &[Row], out: &Path) -> Result<(), Failure> {
    let records: Vec<Record> = rows.iter().map(record).collect();
    if out.is_dir() {
        let file = out.join("table1.json");
        let text = serde_json::to_string_pretty(&records).map_err(|e| Failure::Other(e.to_string()))?;
        std::fs::write(&file, text + "\n")
            .map_err(|e| Failure::Other(format!("cannot write {}: {e}", file.display())))?;
    }
    if context.terminal.json {
        return context.terminal.print_json(&records);
    }
    context.terminal.print(&text(&records))
}

fn text(records: &[Record]) -> String {
    use Align::{Left, Right};
    let mut table = Table::new([
        ("row", Left),
        ("-log p(x) <=", Right),
        ("paper", Right),
        ("difference", Right),
        ("-log p(x) ~", Right),
        ("paper", Right),
        ("difference", Right),
        ("epochs", Right),
        ("state", Left),
    ]);
    let pair =
        |value: &Option<Nats>| value.as_ref().map_or("-".into(), |v| format!("{:.2} +- {:.2}", v.mean, v.se));
    let difference = |value: &Option<Nats>, paper: f64| {
        value.as_ref().map_or("-".into(), |v| format!("{:+.2}", v.mean - paper))
    };
    for r in records {
        table.row([
            Row::name(r.preset, r.seed),
            pair(&r.test_bound),
            format!("{:.2}", r.paper_bound),
            difference(&r.test_bound, r.paper_bound),
            pair(&r.nll),
            format!("{:.2}", r.paper_nll),
            difference(&r.nll, r.paper_nll),
            r.epochs.to_string(),
            r.state.clone(),
        ]);
    }
    let done = records.iter().filter(|r| r.state == "judged").count();
    let better = |r: &&Record| {
        let lower = |value: &Option<Nats>, paper| value.as_ref().is_some_and(|v| v.mean < paper);
        r.seed == FIRST_SEED && lower(&r.test_bound, r.paper_bound) && lower(&r.nll, r.paper_nll)
    };
    let better = records.iter().filter(better).count();
    let count = records.len();
    let mut text = format!(
        "{table}\n{done} of {count} rows are done; {better} are better than the paper's in both columns\n"
    );
    for preset in REPEATED {
        let of: Vec<&Record> = records.iter().filter(|r| r.preset == preset).collect();
        let values = |f: fn(&Record) -> &Option<Nats>| -> Vec<f64> {
            of.iter().filter_map(|r| f(r).as_ref().map(|v| v.mean)).collect()
        };
        let (bounds, nlls) = (values(|r| &r.test_bound), values(|r| &r.nll));
        if nlls.len() > 1 {
            text += &format!("{preset}, {} seeds: {} and {}\n", nlls.len(), spread(&bounds), spread(&nlls));
        }
    }
    text
}

/// Mean and standard deviation over seeds.
fn spread(values: &[f64]) -> String {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let variance = values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / (n - 1.0);
    format!("{mean:.2} with standard deviation {:.2}", variance.sqrt())
}
