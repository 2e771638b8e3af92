//! Add up what the batches of an epoch report, and turn it into means per row.

use std::collections::BTreeMap;
use std::sync::Arc;

use hmcvi_record::PartialEpoch;

use super::trainer::Batch;
use crate::device::Results;
use crate::family::{Draw, Dropped, Reported};

/// What programs report beside terms and measures.
const COUNT: &str = "count";
const BOUND: &str = "bound";
const DROPPED: &str = "dropped";
const NO_DENSITY: &str = "no_density";
const DIVERGING: &str = "diverging";
const GRADIENT_NORM: &str = "gradient_norm";
const OTHERS: [&str; 6] = [COUNT, BOUND, DROPPED, NO_DENSITY, DIVERGING, GRADIENT_NORM];

/// What programs report of a draw, and what becomes of it.
#[derive(Debug, Default)]
pub(super) struct Ledger {
    terms: Vec<&'static str>,
    /// Names of the sums of measures, and what becomes of them.
    measures: Vec<(String, Reported)>,
}

impl Ledger {
    pub(super) fn of(draw: &Draw<'_>) -> Self {
        let all = draw.measures.iter().chain(&draw.details);
        Ledger {
            terms: draw.terms.iter().map(|(name, _)| *name).collect(),
            measures: all.map(|m| (m.sum.to_string(), m.reported.clone())).collect(),
        }
    }

    fn names(&self) -> impl Iterator<Item = &str> {
        let measures = self.measures.iter().map(|(name, _)| name.as_str());
        OTHERS.into_iter().chain(self.terms.iter().copied()).chain(measures)
    }
}

/// Sums of what programs report about batches.
#[derive(Default)]
pub(super) struct Sums {
    ledger: Arc<Ledger>,
    sums: BTreeMap<String, f64>,
    rows: f64,
    batches: f64,
    /// Means that were told last.
    told: Vec<(String, f64)>,
}

impl Sums {
    pub(super) fn new(ledger: &Arc<Ledger>) -> Self {
        Sums { ledger: ledger.clone(), ..Sums::default() }
    }

    /// The sums of an epoch's first part, to go on with.
    pub(super) fn of(ledger: &Arc<Ledger>, part: &PartialEpoch) -> Self {
        let sum = |name: &str| Some((name.to_owned(), part.sums.get(name)?.unwrap_or(f64::NAN)));
        let (rows, batches) = (part.images as f64, part.updates as f64);
        Sums { sums: ledger.names().filter_map(sum).collect(), rows, batches, ..Sums::new(ledger) }
    }

    /// The sums of an epoch's first part, to be kept.
    pub(super) fn part(&self) -> PartialEpoch {
        let finite = |(name, sum): (&String, &f64)| (name.clone(), Some(*sum).filter(|s| s.is_finite()));
        PartialEpoch {
            images: self.rows as u64,
            updates: self.batches as u64,
            sums: self.sums.iter().map(finite).collect(),
            ..PartialEpoch::default()
        }
    }

    /// Adds the results of a run with so many rows; returns its mean bound.
    pub(super) fn add(&mut self, results: &Results, run: usize, rows: usize) -> f64 {
        for name in self.ledger.names() {
            let Some(value) = results.get(run, name) else { continue };
            match self.sums.get_mut(name) {
                Some(sum) => *sum += value,
                None => drop(self.sums.insert(name.to_owned(), value)),
            }
        }
        self.rows += rows as f64;
        self.batches += 1.0;
        let value = |name| results.get(run, name).unwrap_or(0.0);
        value(BOUND) / value(COUNT).max(1.0)
    }

    fn sum(&self, name: &str) -> Option<f64> {
        self.sums.get(name).copied()
    }

    /// Rows that have a bound.
    fn counted(&self) -> f64 {
        self.sum(COUNT).unwrap_or(0.0).max(1.0)
    }

    /// The terms of the bound, each as a mean over the rows that have one.
    fn terms(&self) -> impl Iterator<Item = (&str, f64)> {
        self.ledger.terms.iter().filter_map(|name| Some((*name, self.sum(name)? / self.counted())))
    }

    /// What is reported of measures.
    fn measures(&self) -> impl Iterator<Item = (&str, f64)> {
        self.ledger.measures.iter().filter_map(|(name, reported)| {
            let sum = self.sum(name)?;
            match reported {
                Reported::Mean(name) => Some((&**name, sum / self.rows)),
                Reported::ExpMean(name) => Some((*name, (sum / self.rows).exp())),
                Reported::Per(other) => Some((name.as_str(), sum / self.sum(other)?.max(1.0))),
                Reported::No => None,
            }
        })
    }

    pub(super) fn batch(&mut self, epoch: u64, images: usize, of: usize, bound: f64) -> Batch<'_> {
        let mut told = std::mem::take(&mut self.told);
        let all = self.terms().chain(self.measures());
        match told.is_empty() {
            true => told.extend(all.map(|(name, value)| (name.to_owned(), value))),
            false => told.iter_mut().zip(all).for_each(|(told, (_, value))| told.1 = value),
        }
        self.told = told;
        let mean_bound = self.sum(BOUND).unwrap_or(0.0) / self.counted();
        Batch { epoch, images, of, bound, mean_bound, divergences: self.divergences(), means: &self.told }
    }

    /// Rows that have no bound.
    pub(super) fn dropped(&self) -> Dropped {
        let sum = |name| self.sum(name).map_or(0, |sum| sum as u64);
        Dropped { rows: self.rows as u64, dropped: sum(DROPPED), no_density: sum(NO_DENSITY) }
    }

    pub(super) fn divergences(&self) -> u64 {
        self.sum(DIVERGING).map_or(0, |d| d as u64)
    }

    pub(super) fn means(&self) -> BTreeMap<String, f64> {
        let bound = self.sum(BOUND).map(|sum| (BOUND, sum / self.counted()));
        let norm = self.sum(GRADIENT_NORM).map(|sum| (GRADIENT_NORM, sum / self.batches));
        // The share of rows that have no bound; absent where all have one.
        let dropped = Some(self.dropped().share()).filter(|share| *share > 0.0);
        let dropped = dropped.map(|share| (DROPPED, share));
        let all = self.terms().chain(self.measures()).chain(bound).chain(norm).chain(dropped);
        all.map(|(name, value)| (name.to_owned(), value)).collect()
    }
}
