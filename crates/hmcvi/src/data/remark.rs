//! Remark on what a user should know about a data set before a model is trained on it.

use serde::Serialize;

use super::kind::Kind;
use super::summary::{Summary, summarise};
use super::table::Table;

/// How much a remark matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// A fact.
    Info,
    /// A choice that was made for the user.
    Note,
    /// The data is probably not what it is taken for.
    Warning,
}

/// What a remark is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum About {
    /// What the values are taken for.
    Kind,
    /// The range of the values.
    Range,
    /// Columns, such as pixels.
    Columns,
    /// Arrays of an archive or folder.
    Arrays,
    /// Training, validation and test rows.
    Split,
}

/// Something that a user should know about a data set.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Remark {
    /// How much it matters.
    pub severity: Severity,
    /// What it is about.
    pub about: About,
    /// The remark, as a sentence without a full stop.
    pub text: String,
}

impl Remark {
    pub(crate) fn new(severity: Severity, about: About, text: impl Into<String>) -> Self {
        Remark { severity, about, text: text.into() }
    }

    pub(crate) fn note(about: About, text: impl Into<String>) -> Self {
        Remark::new(Severity::Note, about, text)
    }

    pub(crate) fn warning(about: About, text: impl Into<String>) -> Self {
        Remark::new(Severity::Warning, about, text)
    }
}

/// Intensities that never reach the upper half of their range are probably none.
const LARGEST_IS_SMALL: u8 = 128;
/// Most counts are this or less, unless they are zero; hardly any grey pixels are.
const USUAL_COUNT: u8 = 3;
/// One column in so many may be constant in data that is not made of images.
const CONSTANT_COLUMNS: usize = 10;

/// Share of zeros from which a note says that there are mostly zeros.
const MOSTLY: f64 = 0.5;
/// How far intensities that were scaled to [0, 1] may lie outside.
const ROUNDING: f32 = 1e-6;

/// What the values of tables that belong together give reason to say; there is at least one.
pub(super) fn on_values(tables: &[&Table]) -> Vec<Remark> {
    let summary = summarise(tables);
    let range = match summary.kind {
        Kind::Byte => on_bytes(tables),
        Kind::Count => on_counts(&summary),
        Kind::Real => on_fractions(&summary, tables[0].shape().is_some()),
        Kind::Binary | Kind::Class => None,
    };
    let image = tables[0].shape().is_some_and(|(height, _)| height > 1);
    let columns = on_columns(&summary, image, tables[0].noun());
    range.into_iter().chain(columns).collect()
}

fn on_bytes(tables: &[&Table]) -> Option<Remark> {
    let mut counts = [0u64; 256];
    for of_table in tables.iter().filter_map(|table| table.byte_counts()) {
        counts.iter_mut().zip(of_table).for_each(|(all, more)| *all += more);
    }
    let largest = counts.iter().rposition(|&count| count > 0).filter(|&largest| largest > 0)?;
    let small = counts[1..=usize::from(USUAL_COUNT)].iter().sum::<u64>();
    if largest == 1 {
        let text = "every value is 0 or 1, but they are taken for intensities from 0 to 255, so that a 1 is hardly ever \
                    seen; `data.kind = \"binary\"` takes them as they are";
        return Some(Remark::warning(About::Range, text));
    }
    let found = if largest < usize::from(LARGEST_IS_SMALL) {
        format!("the largest value is {largest}")
    } else if 2 * small > counts[1..].iter().sum() {
        format!("most of the values that are not 0 are {USUAL_COUNT} or less")
    } else {
        return None;
    };
    let text = format!(
        "{found}, but values are taken for intensities from 0 to 255 (255 is a pixel that is always 1). \
         `data.kind = \"count\"` takes them for counts, `\"class\"` for classes; grey levels from 0 to {largest} have to \
         be rescaled: numpy.round(x * (255 / {largest})).astype('uint8')"
    );
    Some(Remark::warning(About::Range, text))
}

fn on_counts(summary: &Summary) -> Option<Remark> {
    let text = || format!("{:.1}% of the counts are 0", 100.0 * summary.zeros);
    (summary.zeros > MOSTLY).then(|| Remark::new(Severity::Info, About::Range, text()))
}

/// Grey images are often kept as fractions, of which bytes lose next to nothing.
fn on_fractions(summary: &Summary, image: bool) -> Option<Remark> {
    if summary.min < -ROUNDING || summary.max > 1.0 + ROUNDING {
        return None;
    }
    let text = "all values lie between 0 and 1; if they are intensities, save them as bytes: \
                numpy.save(file, numpy.round(255 * numpy.clip(x, 0, 1)).astype('uint8'))";
    let severity = if image { Severity::Note } else { Severity::Info };
    Some(Remark::new(severity, About::Range, text))
}

fn on_columns(summary: &Summary, image: bool, noun: &str) -> Option<Remark> {
    let (constant, columns) = (summary.constant_columns.len(), summary.columns);
    if constant == 0 {
        return None;
    }
    if constant == columns {
        let text = format!("all {noun}s are equal: there is nothing to learn");
        return Some(Remark::warning(About::Columns, text));
    }
    let found = format!("{constant} of {columns} columns never change");
    Some(if image {
        let text = format!("{found}, as usual for pixels at the border of images");
        Remark::new(Severity::Info, About::Columns, text)
    } else if constant * CONSTANT_COLUMNS > columns {
        let text = format!("{found}; leave them out if they carry no meaning");
        Remark::warning(About::Columns, text)
    } else {
        Remark::new(Severity::Info, About::Columns, found)
    })
}
