//! Divide rows of data, such as images, of which the author gave none for test or validation.
//!
//! Where there are no test rows, a seventh of all training rows is taken; where there are no validation rows, a
//! sixth of the training rows that remain (both rounded up). For MNIST, whose author gives 60,000 training and
//! 10,000 test images, this is the usual 50,000 / 10,000 / 10,000, and so it is for one array of all 70,000.

use std::collections::BTreeSet;

use hmcvi_graph::random::{self, Key};
use serde::{Deserialize, Serialize};

use super::remark::{About, Remark};
use super::table::Table;

/// Which of the training rows are taken for validation and test.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Splitting {
    /// The last after a shuffle with a fixed seed, so that files that are sorted by class do no harm.
    #[default]
    Shuffled,
    /// The last in the order of the file, as for series whose rows depend on each other.
    InOrder,
    /// As before this could be chosen: in order, and arrays such as `x_val`, whose names were not known, are left
    /// out. Runs that began then keep their data so.
    Earlier,
}

impl Splitting {
    /// The name in configurations and records.
    pub fn name(self) -> &'static str {
        match self {
            Splitting::Shuffled => "shuffled",
            Splitting::InOrder => "in-order",
            Splitting::Earlier => "earlier",
        }
    }
}

/// Seed of the shuffle. It is not the run's, so that all runs on a file see the same split. Any number does, as long as
/// it never changes.
pub const SPLIT_SEED: u64 = 0;
const STREAM_SPLIT: u16 = u16::MAX - 2;

const TEST_SHARE: usize = 7;
const VALIDATION_SHARE: usize = 6;

/// The three parts, and what was done to get them.
pub(crate) fn divide(
    splitting: Splitting,
    train: Table,
    validation: Option<Table>,
    test: Option<Table>,
) -> ([Table; 3], Option<Remark>) {
    let taken = match (&validation, &test) {
        (Some(_), Some(_)) => None,
        (None, Some(_)) => Some("validation"),
        (Some(_), None) => Some("test"),
        (None, None) => Some("test or validation"),
    };
    let shuffled = splitting == Splitting::Shuffled && taken.is_some();
    let train = if shuffled { shuffle(&train) } else { train };
    let (train, test) = given_or_last(train, test, TEST_SHARE);
    let (train, validation) = given_or_last(train, validation, VALIDATION_SHARE);
    let parts = [train, validation, test];
    let remark = taken.map(|taken| describe(splitting, taken, &parts));
    (parts, remark)
}

fn shuffle(rows: &Table) -> Table {
    rows.in_order(&permutation(rows.len(), Key { seed: SPLIT_SEED, stream: STREAM_SPLIT, step: 0, row: 0 }))
}

/// A permutation of `0..n` that depends on the key alone (Fisher and Yates).
pub(crate) fn permutation(n: usize, key: Key) -> Vec<u32> {
    let mut uniform = vec![0f64; n];
    random::uniform(key, &mut uniform);
    let mut order: Vec<u32> = (0..n as u32).collect();
    for i in (1..n).rev() {
        order.swap(i, (uniform[i] * (i + 1) as f64) as usize);
    }
    order
}

fn given_or_last(train: Table, given: Option<Table>, share: usize) -> (Table, Table) {
    match given {
        Some(given) => (train, given),
        None => {
            let first = train.len() - train.len().div_ceil(share);
            train.split_at(first)
        }
    }
}

fn describe(splitting: Splitting, taken: &str, parts: &[Table; 3]) -> Remark {
    let [train, validation, test] = parts.each_ref().map(Table::len);
    let (row, rows) = (parts[0].noun(), format!("{}s", parts[0].noun()));
    let sizes = format!("{train} training, {validation} validation and {test} test {rows}");
    if splitting == Splitting::Shuffled {
        let how = format!("some of the training {rows}, shuffled with the seed {SPLIT_SEED}, are taken");
        return Remark::note(About::Split, format!("there are no {taken} {rows}, so {how}: {sizes}"));
    }
    let text = format!("there are no {taken} {rows}, so the last training {rows} are taken: {sizes}");
    if has_new_classes(parts) {
        let why =
            format!("Some are of classes that no training {row} has, as in a file that is sorted by class");
        return Remark::warning(
            About::Split,
            format!("{text}. {why}; `data.split = \"shuffled\"` avoids that"),
        );
    }
    Remark::note(About::Split, text)
}

/// Whether validation or test rows have labels that no training row has.
fn has_new_classes([train, validation, test]: &[Table; 3]) -> bool {
    let classes = |table: &Table| Some(table.labels()?.values().iter().copied().collect::<BTreeSet<i64>>());
    let Some(known) = classes(train) else { return false };
    [validation, test].into_iter().filter_map(classes).any(|classes| !classes.is_subset(&known))
}
