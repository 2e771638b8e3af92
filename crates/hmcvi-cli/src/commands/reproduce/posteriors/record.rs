//! Keep what is known of every posterior in `posteriors.json`. Records are small, and outlive the folders of the fits.

use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};

use hmcvi::config::FitSpec;
use hmcvi::run::Lock;
use hmcvi_record::{BoundTogether, Estimate, FitEvidence, ReadError, Versioned};
use serde::{Deserialize, Serialize};

use super::against::Against;
use super::apart::Apart;
use super::row::{About, Row};
use crate::failure::Failure;
use crate::output::Outputs;

/// Version of the file.
const SCHEMA: u32 = 1;
/// What is known of one posterior.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Record {
    /// Its name in the table.
    pub(super) name: String,
    /// The built-in model.
    pub(super) model: String,
    /// What came of its fit; nothing as long as there is none.
    pub(super) found: Option<Found>,
}

/// What came of a fit.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Found {
    pub(super) dimension: u64,
    /// The command that makes the same fit.
    pub(super) command: String,
    pub(super) hmc_steps: usize,
    pub(super) leapfrog_steps: usize,
    pub(super) draws: u64,
    pub(super) bound: Option<Estimate>,
    /// The bound of several draws together.
    pub(super) together: Option<BoundTogether>,
    pub(super) k_hat: Option<f64>,
    pub(super) evidence: Option<FitEvidence>,
    /// Of fitting alone.
    pub(super) seconds: f64,
    /// Seconds since 1970 when it began, which tells it from others.
    #[serde(default)]
    pub(super) started: u64,
    /// How far it is from reference draws, where there are any.
    pub(super) against: Option<Against>,
    /// How far it is from the posterior, where there are reference draws.
    #[serde(default)]
    pub(super) apart: Option<Apart>,
    /// The best published bound, where there is one.
    pub(super) published: Option<PublishedBound>,
}

/// The best published bound.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct PublishedBound {
    pub(super) bound: f64,
    /// Whose it is.
    pub(super) by: String,
    /// The log evidence, where it is known.
    pub(super) log_evidence: Option<f64>,
}

/// How a bound stands to the best published one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Standing {
    /// It is at least as high.
    Reached,
    /// That of several draws together is at least as high.
    ReachedTogether,
    /// It is lower.
    Below,
    /// The published bound is above the log evidence of this density: it is of another one.
    OfAnother,
}

/// Standard errors that a published bound has to be above the log evidence, so that it is of another density.
const ERRORS: f64 = 3.0;

impl Found {
    /// What a fit found, held against what is known of the posterior; what is known of that fit already is not found again.
    pub(super) fn of(row: &Row, before: Option<&Found>) -> Result<Option<Self>, Failure> {
        let same = |before: &&Found| {
            row.started() == Some(before.started) && before.against.is_some() == before.apart.is_some()
        };
        if let Some(before) = before.filter(same) {
            return Ok(Some(before.clone()));
        }
        let Some(fit) = row.fit()? else { return Ok(None) };
        let (record, spec) = (&fit.record, &row.spec);
        let reference = row.reference()?;
        let against = reference.as_ref().map(|reference| super::against::against(&fit, reference));
        let apart = reference.as_ref().map(|reference| super::apart::apart(row, &fit, reference));
        let bound = record.bound.zip(record.bound_standard_error);
        Ok(Some(Found {
            dimension: record.dimension,
            command: command(spec),
            hmc_steps: spec.chain.hmc_steps,
            leapfrog_steps: spec.chain.leapfrog_steps,
            draws: record.draws,
            bound: bound.map(|(mean, standard_error)| Estimate { mean, standard_error }),
            together: record.bound_together,
            k_hat: record.k_hat,
            evidence: record.evidence.clone(),
            seconds: record.seconds,
            started: record.started,
            against: against.transpose()?,
            apart: apart.transpose()?,
            published: match &row.about {
                About::Published(published) => Some(PublishedBound {
                    bound: published.bound,
                    by: published.by.into(),
                    log_evidence: published.log_evidence,
                }),
                About::Reference { .. } => None,
            },
        }))
    }

    /// The bracket of the log evidence, where that is not known without one.
    pub(super) fn bracket(&self) -> Option<&FitEvidence> {
        let known = self.published.as_ref().is_some_and(|published| published.log_evidence.is_some());
        self.evidence.as_ref().filter(|_| !known)
    }

    /// How the bound stands to the published one, where there is one.
    pub(super) fn standing(&self) -> Option<Standing> {
        let (published, bound) = (self.published.as_ref()?.bound, self.bound?);
        let above = self.evidence.as_ref().is_some_and(|evidence| {
            evidence.is_bracket && published > evidence.upper.mean + ERRORS * evidence.upper.standard_error
        });
        Some(match () {
            () if bound.mean >= published => Standing::Reached,
            () if self.together.is_some_and(|together| together.mean >= published) => {
                Standing::ReachedTogether
            }
            () if above => Standing::OfAnother,
            () => Standing::Below,
        })
    }
}

/// The command that makes a fit, with the settings that are not the usual ones.
fn command(spec: &FitSpec) -> String {
    let usual = FitSpec { model: spec.model.clone(), ..FitSpec::default() };
    let mut words = vec![format!("hmcvi fit {}", spec.model)];
    // Built-in models have their data.
    let data = spec.data.as_ref().filter(|_| spec.model.ends_with(".stan"));
    words.extend(data.map(|file| format!("--data {file}")));
    for (flag, set) in [("--check", spec.check), ("--evidence", spec.evidence)] {
        words.extend(set.then(|| flag.to_owned()));
    }
    words.push(format!("--draws {} --seed {}", spec.draws, spec.seed));
    let changed = changes(&values(&usual), &values(spec));
    let known = ["check", "evidence", "draws", "seed", "data"];
    let mut other = changed.into_iter().filter(|(key, _)| !known.contains(&key.as_str())).peekable();
    if other.peek().is_some() {
        words.push("--set".into());
    }
    words.extend(other.map(|(key, value)| format!("{key}={value}")));
    words.join(" ")
}

fn values(spec: &FitSpec) -> serde_json::Value {
    serde_json::to_value(spec).unwrap_or_default()
}

/// Settings that differ, by their names.
fn changes(usual: &serde_json::Value, own: &serde_json::Value) -> Vec<(String, serde_json::Value)> {
    let Some(own) = own.as_object() else { return Vec::new() };
    let mut all = Vec::new();
    for (key, value) in own {
        match usual.get(key) {
            Some(same) if same == value => {}
            Some(before) if value.is_object() => {
                all.extend(
                    changes(before, value).into_iter().map(|(inner, v)| (format!("{key}.{inner}"), v)),
                );
            }
            _ => all.push((key.clone(), value.clone())),
        }
    }
    all
}

/// `posteriors.json`.
#[derive(Default, Serialize, Deserialize)]
struct Table {
    schema: u32,
    rows: Vec<Record>,
}

impl Versioned for Table {
    const SCHEMAS: RangeInclusive<u32> = 1..=SCHEMA;
}

/// Where a table and its fits are kept.
#[derive(Clone, Copy)]
pub(super) struct Place<'p> {
    out: &'p Path,
    /// What the folder of the fits is called, and the files beside it.
    name: &'static str,
}

impl<'p> Place<'p> {
    /// The place for fits of Stan programs, or for those of built-in models.
    pub(super) fn new(out: &'p Path, stan: bool) -> Self {
        Place { out, name: if stan { "posteriors-stan" } else { "posteriors" } }
    }

    /// The folder of the fits.
    pub(super) fn folder(self) -> PathBuf {
        self.out.join(self.name)
    }

    /// The table, as JSON and as a document.
    fn files(self) -> [PathBuf; 2] {
        ["json", "md"].map(|end| self.folder().with_extension(end))
    }

    /// Claims the files. A table that can be read makes them this command's own, to be brought up to date.
    pub(super) fn outputs(self) -> Result<Outputs, Failure> {
        Lock::check_free(self.out)?;
        let files = self.files();
        let ours = read(&files[0])?.is_some();
        Outputs::claim(files, ours)
    }

    /// What is known of the rows that were asked for; all that is known is written into the folder.
    pub(super) fn collect(self, rows: &[&Row], all: &[Row]) -> Result<Vec<Record>, Failure> {
        // Parts that come to an end at the same time write one after the other.
        let is_there = self.out.is_dir();
        let _lock = is_there.then(|| Lock::wait(self.out)).transpose()?;
        let outputs = self.outputs()?;
        let [json, markdown] = self.files();
        let known = read(&json)?.unwrap_or_default().rows;
        let mut records = Vec::new();
        for row in all {
            let before = known.iter().find(|record| record.name == row.name());
            let asked = rows.iter().find(|asked| asked.name() == row.name());
            let before = before.and_then(|record| record.found.as_ref());
            let fresh = asked.map(|row| Found::of(row, before)).transpose()?.flatten();
            let found = fresh.or_else(|| before.cloned());
            records.push(Record { name: row.name().into(), model: row.model.into(), found });
        }
        if is_there {
            let table = Table { schema: SCHEMA, rows: records.clone() };
            let text = serde_json::to_string_pretty(&table).map_err(|e| Failure::Other(e.to_string()))?;
            outputs.write(&json, (text + "\n").as_bytes())?;
            outputs.write(&markdown, super::table::markdown(&records).as_bytes())?;
        }
        records.retain(|record| rows.iter().any(|row| row.name() == record.name));
        Ok(records)
    }
}

fn read(file: &Path) -> Result<Option<Table>, Failure> {
    let text = match std::fs::read_to_string(file) {
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        text => text.map_err(|e| Failure::Other(format!("cannot read {}: {e}", file.display())))?,
    };
    hmcvi_record::read(file, &text).map(Some).map_err(|e| match e {
        ReadError::Newer { .. } => Failure::Other(e.to_string()),
        _ => Failure::Other(format!("{e}; move it away to begin again")),
    })
}
