//! Describe a data set in numbers.

use serde::Serialize;

use super::images::Images;
use super::kind::Kind;
use super::remark::Remark;
use super::split::{Dataset, Split};

/// What there is to know about a data set at a glance.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct DatasetInfo {
    /// What it is called.
    pub name: String,
    /// Where it was read from.
    pub source: String,
    /// SHA-256 of its content; see [`Dataset::sha256`].
    pub sha256: String,
    /// Pixels from top to bottom.
    pub height: usize,
    /// Pixels from left to right.
    pub width: usize,
    /// What the values are taken for.
    pub kind: Kind,
    /// What a user should know about it; see [`Dataset::remarks`].
    pub remarks: Vec<Remark>,
    /// Training, validation and test images, in this order.
    pub splits: Vec<SplitInfo>,
}

/// What there is to know about one split.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SplitInfo {
    /// Which one.
    pub split: Split,
    /// Number of images.
    pub images: usize,
    /// Mean of all pixels, from 0 to 255.
    pub mean_pixel: f64,
    /// Number of images with the label 0, 1, …, up to the largest label of the data set.
    pub class_counts: Option<Vec<usize>>,
}

/// Describes a data set.
pub fn info(dataset: &Dataset) -> DatasetInfo {
    let labels = Split::ALL.iter().filter_map(|&split| dataset.images(split).labels());
    let classes = labels.flatten().max().map_or(0, |&largest| usize::from(largest) + 1);
    DatasetInfo {
        name: dataset.name().to_owned(),
        source: dataset.source().to_owned(),
        sha256: dataset.sha256().to_owned(),
        height: dataset.train().height(),
        width: dataset.train().width(),
        kind: dataset.kind(),
        remarks: dataset.remarks(),
        splits: Split::ALL.map(|split| split_info(split, dataset.images(split), classes)).to_vec(),
    }
}

fn split_info(split: Split, images: &Images, classes: usize) -> SplitInfo {
    // Exact: a sum of bytes stays far below 2^64, and below 2^53 for any array that fits the limits.
    let sum: u64 = images.bytes().iter().map(|&byte| u64::from(byte)).sum();
    SplitInfo {
        split,
        images: images.len(),
        mean_pixel: sum as f64 / images.bytes().len().max(1) as f64,
        class_counts: images.labels().map(|labels| count(labels, classes)),
    }
}

fn count(labels: &[u8], classes: usize) -> Vec<usize> {
    let mut counts = vec![0; classes];
    for &label in labels {
        counts[usize::from(label)] += 1;
    }
    counts
}
