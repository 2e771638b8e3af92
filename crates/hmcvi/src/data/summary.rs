//! Summarise a table in numbers.

use serde::Serialize;

use super::cells::ONE;
use super::kind::Kind;
use super::table::Table;

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
    /// What tables that belong together have in common.
    pub(super) fn of(tables: &[&Table]) -> Overview {
        let (least, largest) = (f32::INFINITY, f32::NEG_INFINITY);
        let (values, zeros) = (0, 0);
        let mut seen =
            Overview { values, zeros, ones: 0, whites: 0, least, largest, sum: 0.0, integers: true };
        let mut stored = 0;
        for table in tables {
            seen.values += table.len() as u64 * table.columns() as u64;
            let mut add = |value, times| {
                stored += times;
                seen.add(value, times);
            };
            match table.byte_counts() {
                Some(counts) => {
                    let found = (0..=u8::MAX).zip(counts).filter(|&(byte, count)| byte > 0 && count > 0);
                    found.for_each(|(byte, count)| add(table.cells.byte_value(byte), count));
                }
                None => {
                    let all = (0..table.len()).flat_map(|row| table.non_zeros(row));
                    all.for_each(|(_, value)| add(value, 1));
                }
            }
        }
        seen.zeros = seen.values - stored;
        if seen.zeros > 0 {
            (seen.least, seen.largest) = (seen.least.min(0.0), seen.largest.max(0.0));
        }
        seen
    }

    fn mean(&self) -> f64 {
        self.sum / self.values.max(1) as f64
    }

    /// Whether there are zeros and so many others, and nothing else.
    pub(super) fn are_two(&self, others: u64) -> bool {
        self.zeros > 0 && others > 0 && self.zeros + others == self.values
    }

    /// Whether every value is 0 or 255.
    pub(super) fn is_black_and_white(&self) -> bool {
        self.whites > 0 && self.zeros + self.whites == self.values
    }

    fn add(&mut self, value: f32, times: u64) {
        self.ones += if value == 1.0 { times } else { 0 };
        self.whites += if value == f32::from(ONE) { times } else { 0 };
        (self.least, self.largest) = (self.least.min(value), self.largest.max(value));
        // Exact for bytes: their sum stays below 2^53 for any array that fits the limits.
        self.sum += f64::from(value) * times as f64;
        self.integers &= value.fract() == 0.0;
    }
}

/// The columns that have one value in all rows of all tables, which are equally wide.
fn constant_columns(tables: &[&Table]) -> Vec<usize> {
    let bytes: Option<Vec<&[u8]>> = tables.iter().map(|table| table.bytes()).collect();
    match (bytes, tables.first()) {
        (Some(bytes), Some(first)) => constant_pixels(&bytes, first.columns()),
        _ => constant_values(tables),
    }
}

fn constant_pixels(tables: &[&[u8]], columns: usize) -> Vec<usize> {
    let mut rows = tables.iter().flat_map(|bytes| bytes.chunks_exact(columns));
    let Some(first) = rows.next() else { return Vec::new() };
    let mut constant = vec![true; columns];
    for row in rows {
        for ((constant, value), first) in constant.iter_mut().zip(row).zip(first) {
            *constant &= value == first;
        }
    }
    (0..columns).filter(|&column| constant[column]).collect()
}

fn constant_values(tables: &[&Table]) -> Vec<usize> {
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

/// Mean of all values of a table.
pub(super) fn mean(table: &Table) -> f64 {
    Overview::of(&[table]).mean()
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
        mean: seen.mean(),
        zeros: seen.zeros as f64 / seen.values.max(1) as f64,
        constant_columns: constant_columns(tables),
    }
}
