//! Describe a data set in numbers.

use serde::Serialize;

use super::kind::Kind;
use super::labels::Labels;
use super::remark::Remark;
use super::split::{Dataset, Split};
use super::table::Table;

/// What there is to know about a data set at a glance.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct DatasetInfo {
    /// What it is called.
    pub name: String,
    /// Where it was read from.
    pub source: String,
    /// SHA-256 of its content; see [`Dataset::sha256`].
    pub sha256: String,
    /// Rows of all splits.
    pub rows: usize,
    /// Columns, such as pixels.
    pub columns: usize,
    /// Pixels from top to bottom, where rows are images.
    pub height: Option<usize>,
    /// Pixels from left to right, where rows are images.
    pub width: Option<usize>,
    /// The names of the columns, where they have names.
    pub column_names: Option<Vec<String>>,
    /// What the values are taken for.
    pub kind: Kind,
    /// Why.
    pub why: Option<String>,
    /// Whether only values that are not zero are stored.
    pub sparse: bool,
    /// Share of the values that are zero.
    pub zeros: f64,
    /// Least value.
    pub min: f32,
    /// Largest value.
    pub max: f32,
    /// The names of the classes of labels 0, 1, …, where they have names.
    pub class_names: Option<Vec<String>>,
    /// What a user should know about it; see [`Dataset::remarks`].
    pub remarks: Vec<Remark>,
    /// Training, validation and test rows, in this order.
    pub splits: Vec<SplitInfo>,
}

/// What there is to know about one split.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SplitInfo {
    /// Which one.
    pub split: Split,
    /// Number of rows.
    pub rows: usize,
    /// Mean of all values.
    pub mean: f64,
    /// Whether rows have labels.
    pub labels: bool,
    /// Number of rows with the label 0, 1, …, up to the largest label of the data set, where all are from 0 to 255.
    pub class_counts: Option<Vec<usize>>,
}

/// Describes a data set.
pub fn info(dataset: &Dataset) -> DatasetInfo {
    let (summary, train) = (dataset.summary(), dataset.train());
    DatasetInfo {
        name: dataset.name().to_owned(),
        source: dataset.source().to_owned(),
        sha256: dataset.sha256().to_owned(),
        rows: summary.rows,
        columns: summary.columns,
        height: train.shape().map(|shape| shape.0),
        width: train.shape().map(|shape| shape.1),
        column_names: train.names().map(<[String]>::to_vec),
        kind: dataset.kind(),
        why: dataset.why().map(str::to_owned),
        sparse: summary.sparse,
        zeros: summary.zeros,
        min: summary.min,
        max: summary.max,
        class_names: train.labels().and_then(Labels::names).map(<[String]>::to_vec),
        remarks: dataset.remarks(),
        splits: splits(dataset),
    }
}

fn splits(dataset: &Dataset) -> Vec<SplitInfo> {
    let labels = Split::ALL.iter().filter_map(|&split| dataset.table(split).labels());
    let values = labels.flat_map(Labels::values);
    // None if a label is no class that could be counted so.
    let classes = values.map(|&label| u8::try_from(label).ok().map(|label| usize::from(label) + 1));
    let classes = classes.into_iter().try_fold(0, |most: usize, label| Some(most.max(label?)));
    Split::ALL.map(|split| split_info(split, dataset.table(split), classes)).to_vec()
}

fn split_info(split: Split, table: &Table, classes: Option<usize>) -> SplitInfo {
    let labels = table.labels();
    let class_counts = labels.zip(classes).map(|(labels, classes)| count(labels, classes));
    SplitInfo { split, rows: table.len(), mean: table.mean(), labels: labels.is_some(), class_counts }
}

fn count(labels: &Labels, classes: usize) -> Vec<usize> {
    let mut counts = vec![0; classes];
    let known = labels.values().iter().filter_map(|&label| counts_at(label, classes));
    known.for_each(|label| counts[label] += 1);
    counts
}

fn counts_at(label: i64, classes: usize) -> Option<usize> {
    usize::try_from(label).ok().filter(|&label| label < classes)
}
