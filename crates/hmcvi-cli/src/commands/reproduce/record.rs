//! Keep what is known of every row in `table1.json`, and how it learnt in `curves.json`. Rows whose run directories are
//! elsewhere keep what is written there: records are small, and outlive the runs.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};

use hmcvi::config::PAPER_TABLE;
use hmcvi::run::Lock;
use hmcvi_record::{AnnealingSettings, Curve, Estimate, ReadError, ReverseQuality, Versioned};
use hmcvi_report::figure::{Chart, chart};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Value, json};

use super::row::{FIRST_SEED, TableRow};
use crate::commands::rows::{Row, State};
use crate::failure::Failure;
use crate::output::{Outputs, drawing_files};

/// Points of a learning curve that are kept.
const POINTS: usize = 100;
/// Bounds that are further below the basic model's, in nats, are not shown.
const DEPTH: f64 = 3.0;
/// Version of both files. Files of version 1 carry none: they are the bare rows, and the bare curves by row.
const SCHEMA: u32 = 2;

/// A value as a positive negative-log-likelihood, in nats.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Nats {
    pub(super) mean: f64,
    pub(super) se: f64,
}

impl From<&Estimate> for Nats {
    fn from(estimate: &Estimate) -> Self {
        Nats { mean: -estimate.mean, se: estimate.standard_error }
    }
}

/// Earlier records say `judged` where this one says `evaluated`.
fn state<'de, D: Deserializer<'de>>(from: D) -> Result<String, D::Error> {
    String::deserialize(from).map(|state| state.replace("judged", "evaluated"))
}

/// The record of one row.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Record {
    pub(super) preset: String,
    /// How far it is.
    #[serde(deserialize_with = "state")]
    pub(super) state: String,
    pub(super) test_bound: Option<Nats>,
    pub(super) nll: Option<Nats>,
    /// Binarisation draws of each test image that both are means over.
    #[serde(default)]
    pub(super) draws: u64,
    /// By quadrature, where there are two dimensions.
    #[serde(default)]
    pub(super) exact_nll: Option<Nats>,
    /// How far that is above importance sampling of the same images.
    #[serde(default)]
    pub(super) exact_above: Option<Estimate>,
    /// By annealed importance sampling, of some images.
    pub(super) annealed_nll: Option<Nats>,
    /// Images that were annealed.
    #[serde(default)]
    pub(super) annealed_images: u64,
    /// How: temperatures, and where chains begin.
    #[serde(default)]
    pub(super) annealed_by: Option<AnnealingSettings>,
    /// How far annealing is above importance sampling of the same images.
    #[serde(default)]
    pub(super) annealed_above: Option<Estimate>,
    pub(super) bdmc_gap: Option<Estimate>,
    /// What better reverse models would add to the bound of some images.
    #[serde(default)]
    pub(super) reverse: Option<ReverseQuality>,
    pub(super) k_hat_high: Option<f64>,
    pub(super) paper_bound: f64,
    pub(super) paper_nll: f64,
    pub(super) epochs: u64,
    pub(super) best_epoch: u64,
    pub(super) batch: usize,
    pub(super) seed: u64,
    pub(super) learning_rate: hmcvi::config::Schedule,
    pub(super) divergences: u64,
    pub(super) skipped: u64,
    pub(super) seconds: f64,
    pub(super) device: String,
    pub(super) command: Vec<String>,
}

fn record(row: &TableRow) -> Record {
    let directory = row.directory();
    // What the run was made with, which the protocol may not be any more.
    let train = directory.as_ref().and_then(|d| d.spec().ok()).map_or(row.spec.train.clone(), |s| s.train);
    let summary = directory.as_ref().and_then(|d| d.summary().ok());
    let info = directory.as_ref().and_then(|d| d.info().ok());
    let evaluation = row.evaluation();
    let sampling = evaluation.as_ref().and_then(|e| e.importance_sampling.as_ref());
    let quadrature = evaluation.as_ref().and_then(|e| e.quadrature.as_ref());
    let annealing = evaluation.as_ref().and_then(|e| e.annealing.as_ref());
    Record {
        preset: row.paper.preset.into(),
        state: row.progress(),
        test_bound: evaluation.as_ref().map(|e| (&e.bound).into()),
        nll: sampling.map(|s| (&s.log_likelihood).into()),
        draws: evaluation.as_ref().map_or(0, |e| e.draws),
        exact_nll: quadrature.map(|q| (&q.log_likelihood).into()),
        exact_above: quadrature.and_then(|q| q.above_importance_sampling),
        annealed_nll: annealing.map(|a| (&a.log_likelihood).into()),
        annealed_images: annealing.map_or(0, |a| a.images),
        annealed_by: annealing.map(|a| a.settings.clone()),
        annealed_above: annealing.and_then(|a| a.above_importance_sampling),
        bdmc_gap: evaluation.as_ref().and_then(|e| Some(e.bidirectional.as_ref()?.gap)),
        reverse: evaluation.as_ref().and_then(|e| e.reverse),
        k_hat_high: sampling.map(|s| s.k_hat_high),
        paper_bound: row.paper.bound,
        paper_nll: row.paper.nll,
        epochs: summary.as_ref().map_or(0, |s| s.epochs),
        best_epoch: summary.as_ref().map_or(0, |s| s.best_epoch),
        batch: train.batch,
        seed: row.spec.seed,
        learning_rate: train.learning_rate,
        divergences: summary.as_ref().map_or(0, |s| s.divergences),
        skipped: summary.as_ref().map_or(0, |s| s.skipped),
        seconds: summary.as_ref().map_or(0.0, |s| s.seconds),
        device: info.as_ref().map_or(String::new(), |i| i.device.clone()),
        command: info.map_or(Vec::new(), |i| i.command),
    }
}

impl Record {
    pub(super) fn title(&self) -> String {
        TableRow::name(&self.preset, self.seed)
    }

    /// Place in the table, with other seeds behind it.
    fn place(&self) -> (u64, Option<usize>) {
        (self.seed, PAPER_TABLE.iter().position(|p| p.preset == self.preset))
    }
}

/// `table1.json`.
#[derive(Default, Serialize, Deserialize)]
struct Table {
    schema: u32,
    rows: Vec<Record>,
}

impl Versioned for Table {
    const SCHEMAS: RangeInclusive<u32> = 1..=SCHEMA;
    const UNNUMBERED: Option<u32> = Some(1);

    fn upgrade(schema: u32, rows: Value) -> Value {
        json!({ "schema": schema, "rows": rows })
    }
}

/// Bound on validation images by epoch, for every row.
type Curves = BTreeMap<String, Vec<(f64, f64)>>;

/// `curves.json`.
#[derive(Default, Deserialize)]
struct Learnt {
    curves: Curves,
}

impl Versioned for Learnt {
    const SCHEMAS: RangeInclusive<u32> = 1..=SCHEMA;
    const UNNUMBERED: Option<u32> = Some(1);

    fn upgrade(_: u32, curves: Value) -> Value {
        json!({ "curves": curves })
    }
}

fn curve(row: &TableRow) -> Option<Vec<(f64, f64)>> {
    let epochs = row.directory()?.epochs().ok()?;
    let point = |e: &hmcvi_record::Epoch| Some((e.epoch as f64, *e.validation.as_ref()?.get("bound")?));
    let all: Vec<(f64, f64)> = epochs.iter().filter_map(point).collect();
    let every = all.len().div_ceil(POINTS).max(1);
    // The last one is always there.
    let mut some: Vec<(f64, f64)> = all.iter().rev().step_by(every).copied().collect();
    some.reverse();
    let short = |x: f64| (x * 1e3).round() / 1e3;
    Some(some.into_iter().map(|(epoch, bound)| (epoch, short(bound))).collect())
}

/// The files that the folder holds beside the run directories.
const TABLE: &str = "table1.json";
const CURVES: &str = "curves.json";
const MARKDOWN: &str = "table1.md";
/// Latent sizes, each with a chart.
const LATENT: [usize; 2] = [2, 20];

/// Claims them. A table that can be read makes them this command's own, to be brought up to date.
pub(super) fn outputs(out: &Path) -> Result<Outputs, Failure> {
    Lock::check_free(out)?;
    let ours = read::<Table>(&out.join(TABLE))?.is_some();
    let charts = LATENT.iter().flat_map(|latent| drawing_files(&chart_stem(out, *latent)));
    Outputs::claim(charts.chain([TABLE, CURVES, MARKDOWN].map(|name| out.join(name))), ours)
}

fn chart_stem(out: &Path, latent: usize) -> PathBuf {
    out.join(format!("learning-curves-{latent}d"))
}

/// What is known of the rows that were asked for; all that is known is written into the folder.
pub(super) fn collect(rows: &[TableRow], out: &Path) -> Result<Vec<Record>, Failure> {
    let (table, curves) = (out.join(TABLE), out.join(CURVES));
    // Parts that end at the same time write one after the other.
    let _lock = out.is_dir().then(|| Lock::wait(out)).transpose()?;
    let outputs = outputs(out)?;
    let mut known = read::<Table>(&table)?.unwrap_or_default().rows;
    let mut learnt = read::<Learnt>(&curves)?.unwrap_or_default().curves;
    for row in rows {
        let fresh = record(row);
        let same = known.iter().position(|r| r.title() == fresh.title());
        match same {
            Some(i) if row.state() != State::Missing || fresh.state != "missing" => known[i] = fresh,
            Some(_) => (),
            None => known.push(fresh),
        }
        learnt.extend(curve(row).map(|points| (row.title(), points)));
    }
    known.sort_by_key(Record::place);
    if out.is_dir() {
        let all = Table { schema: SCHEMA, rows: known.clone() };
        let text = serde_json::to_string_pretty(&all).map_err(|e| Failure::Other(e.to_string()))?;
        outputs.write(&table, (text + "\n").as_bytes())?;
        outputs.write(&curves, lines(&learnt)?.as_bytes())?;
        outputs.write(&out.join(MARKDOWN), super::table::markdown(&known).as_bytes())?;
        charts(&known, &learnt, (out, &outputs))?;
    }
    let asked = |r: &Record| rows.iter().any(|row| row.title() == r.title());
    Ok(known.into_iter().filter(asked).collect())
}

/// A file of the folder, if it is there.
fn read<T: Versioned>(file: &Path) -> Result<Option<T>, Failure> {
    let text = match std::fs::read_to_string(file) {
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        text => text.map_err(|e| Failure::Other(format!("cannot read {}: {e}", file.display())))?,
    };
    hmcvi_record::read(file, &text).map(Some).map_err(|e| match e {
        ReadError::Newer { .. } => Failure::Other(e.to_string()),
        _ => Failure::Other(format!("{e}; move it away to begin again")),
    })
}

/// JSON with a line for each row.
fn lines(curves: &Curves) -> Result<String, Failure> {
    let line = |(name, points): (&String, &Vec<(f64, f64)>)| {
        Ok(format!("{}: {}", serde_json::to_string(name)?, serde_json::to_string(points)?))
    };
    let all: Result<Vec<String>, serde_json::Error> = curves.iter().map(line).collect();
    let all = all.map_err(|e| Failure::Other(e.to_string()))?.join(",\n");
    Ok(format!("{{\n\"schema\": {SCHEMA},\n\"curves\": {{\n{all}\n}}\n}}\n"))
}

/// A chart for each latent size: how the rows learnt, beside the basic model that they began with.
fn charts(records: &[Record], curves: &Curves, (out, outputs): (&Path, &Outputs)) -> Result<(), Failure> {
    for latent in LATENT {
        let basic = format!("basic-{latent}d");
        let Some(level) = curves.get(&basic).and_then(|points| points.iter().map(|p| p.1).reduce(f64::max))
        else {
            continue;
        };
        let is_size = |r: &Record| PAPER_TABLE.iter().any(|p| p.preset == r.preset && p.latent == latent);
        // More lines than these could not be told apart.
        let of_size = |r: &&Record| r.seed == FIRST_SEED && is_size(r);
        let line = |r: &Record| {
            let points = curves.get(&r.title())?.iter().filter(|p| p.1 > level - DEPTH).copied();
            Some(Curve { name: r.title(), points: points.collect() })
        };
        let rows = records.iter().filter(of_size).filter(|r| r.preset != basic);
        let mut lines: Vec<Curve> = rows.filter_map(line).filter(|c| !c.points.is_empty()).collect();
        let Some(last) = lines.iter().flat_map(|c| &c.points).map(|p| p.0).reduce(f64::max) else { continue };
        lines.insert(0, Curve { name: basic, points: vec![(0.0, level), (last, level)] });
        let data = Chart {
            title: format!("Bound on validation images, {latent} latent dimensions"),
            x: "epoch".into(),
            y: "bound [nats]".into(),
            curves: lines,
        };
        outputs.write_drawing(&chart_stem(out, latent), &chart(&data)?)?;
    }
    Ok(())
}
