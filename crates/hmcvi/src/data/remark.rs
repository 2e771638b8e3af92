//! Remark on what a user should know about a data set before a model is trained on it.

use serde::Serialize;

use super::kind::Kind;
use super::split::{Dataset, Split};

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
    /// Columns, that is pixels.
    Columns,
    /// Arrays of an archive or folder.
    Arrays,
    /// Training, validation and test images.
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

/// What the values themselves give reason to say.
pub(crate) fn on_values(dataset: &Dataset) -> Vec<Remark> {
    let range = (dataset.kind() == Kind::Byte).then(|| range(dataset)).flatten();
    let (train, constant) = (dataset.train(), constant_columns(dataset));
    range.into_iter().chain(columns(constant, train.pixels(), train.height() > 1, "images")).collect()
}

fn range(dataset: &Dataset) -> Option<Remark> {
    let mut counts = [0u64; 256];
    for images in Split::ALL.map(|split| dataset.images(split)) {
        images.bytes().iter().for_each(|&byte| counts[usize::from(byte)] += 1);
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
        "{found}, but values are taken for intensities from 0 to 255 (255 is a pixel that is always 1). Counts and \
         classes are not supported; grey levels from 0 to {largest} have to be rescaled: \
         numpy.round(x * (255 / {largest})).astype('uint8')"
    );
    Some(Remark::warning(About::Range, text))
}

/// What there is to say about columns of which some are `constant`.
pub(crate) fn columns(constant: usize, columns: usize, image: bool, rows: &str) -> Option<Remark> {
    if constant == 0 {
        return None;
    }
    if constant == columns {
        let text = format!("all {rows} are equal: there is nothing to learn");
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

/// Number of columns that have one value in all images of all splits.
fn constant_columns(dataset: &Dataset) -> usize {
    let Some(first) = dataset.train().row(0) else { return 0 };
    let mut constant = vec![true; first.len()];
    for images in Split::ALL.map(|split| dataset.images(split)) {
        for row in images.bytes().chunks(first.len()) {
            for ((constant, value), first) in constant.iter_mut().zip(row).zip(first) {
                *constant &= value == first;
            }
        }
    }
    constant.into_iter().filter(|&constant| constant).count()
}
