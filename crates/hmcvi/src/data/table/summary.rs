//! Summarise a table in numbers, and remark on what a user should know about it.

use serde::Serialize;

use super::super::remark::{self, About, Remark, Severity};
use super::Table;
use super::kind::{Kind, Stored, WHITE};

/// What there is to know about the values of a table.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Summary {
    /// Number of rows.
    pub rows: usize,
    /// Number of columns.
    pub columns: usize,
    /// What the values are taken for.
    pub kind: Kind,
    /// Whether only values that are not zero are stored.
    pub sparse: bool,
    /// Least value.
    pub min: f32,
    /// Largest value.
    pub max: f32,
    /// Mean of all values.
    pub mean: f64,
    /// Share of the values that are zero.
    pub zeros: f64,
    /// Columns that have one value in all rows, counted from 0.
    pub constant_columns: Vec<usize>,
}

/// What all values have in common.
#[derive(Clone, Debug)]
pub(super) struct Overview {
    pub(super) values: u64,
    pub(super) zeros: u64,
    pub(super) ones: u64,
    pub(super) whites: u64,
    pub(super) least: f32,
    pub(super) largest: f32,
    pub(super) sum: f64,
    /// Whether all are integers.
    pub(super) integers: bool,
}

impl Overview {
    pub(super) fn of(tables: &[&Table]) -> Overview {
        let (least, largest) = (f32::INFINITY, f32::NEG_INFINITY);
        let (values, zeros) = (0, 0);
        let mut seen =
            Overview { values, zeros, ones: 0, whites: 0, least, largest, sum: 0.0, integers: true };
        let mut stored = 0;
        for table in tables {
            seen.values += table.len() as u64 * table.columns() as u64;
            for (_, value) in (0..table.len()).flat_map(|row| table.non_zeros(row)) {
                stored += 1;
                seen.add(value);
            }
        }
        seen.zeros = seen.values - stored;
        if seen.zeros > 0 {
            (seen.least, seen.largest) = (seen.least.min(0.0), seen.largest.max(0.0));
        }
        seen
    }

    /// Whether the values are pixels of which 255 can stand for 1.
    pub(super) fn is_black_and_white(&self, stored: Stored, shape: Option<(usize, usize)>) -> bool {
        stored == Stored::Byte
            && shape.is_some()
            && self.whites > 0
            && self.zeros + self.whites == self.values
    }

    fn add(&mut self, value: f32) {
        self.ones += u64::from(value == 1.0);
        self.whites += u64::from(value == WHITE);
        (self.least, self.largest) = (self.least.min(value), self.largest.max(value));
        self.sum += f64::from(value);
        self.integers &= value.fract() == 0.0;
    }
}

/// The columns that have one value in all rows of all tables, which are equally wide.
fn constant_columns(tables: &[&Table]) -> Vec<usize> {
    let rows: usize = tables.iter().map(|table| table.len()).sum();
    let columns = tables.first().map_or(0, |table| table.columns());
    // For each column its values that are not zero: how many, the first, and whether all are equal to it.
    let mut seen = vec![(0usize, 0f32, true); columns];
    for (column, value) in
        tables.iter().flat_map(|table| (0..table.len()).flat_map(|row| table.non_zeros(row)))
    {
        let (count, first, equal) = &mut seen[column];
        if *count == 0 {
            *first = value;
        }
        *count += 1;
        *equal &= *first == value;
    }
    let constant = |(count, _, equal): &(usize, f32, bool)| *count == 0 || *count == rows && *equal;
    (0..columns).filter(|&column| constant(&seen[column])).collect()
}

/// Summarises tables that belong together; there is at least one.
pub(super) fn summarise(tables: &[&Table]) -> Summary {
    let seen = Overview::of(tables);
    Summary {
        rows: tables.iter().map(|table| table.len()).sum(),
        columns: tables[0].columns(),
        kind: tables[0].kind(),
        sparse: tables[0].is_sparse(),
        min: seen.least,
        max: seen.largest,
        mean: seen.sum / seen.values.max(1) as f64,
        zeros: seen.zeros as f64 / seen.values.max(1) as f64,
        constant_columns: constant_columns(tables),
    }
}

/// Share of zeros from which a note says that there are mostly zeros.
const MOSTLY: f64 = 0.5;

/// What the values give reason to say.
pub(super) fn remarks(tables: &[&Table]) -> Vec<Remark> {
    let summary = summarise(tables);
    let mostly = (summary.kind == Kind::Count && summary.zeros > MOSTLY).then(|| {
        let text = format!("{:.1}% of the counts are 0", 100.0 * summary.zeros);
        Remark::new(Severity::Info, About::Range, text)
    });
    let image = tables[0].shape().is_some();
    let constant = remark::columns(summary.constant_columns.len(), summary.columns, image, "rows");
    mostly.into_iter().chain(constant).collect()
}
