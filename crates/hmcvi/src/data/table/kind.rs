//! Say what the values of a table stand for, by what was asked for or by the values themselves, and why.

use serde::{Deserialize, Serialize};

use super::summary::Overview;

/// What values are taken for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Kind {
    /// Exactly 0 or 1.
    Binary,
    /// Integer intensities from 0 to 255, such as grey pixels.
    Byte,
    /// Non-negative integers: how often something was seen.
    Count,
    /// Any numbers.
    Real,
    /// Non-negative integers that number classes. Never detected, only chosen.
    Class,
}

impl Kind {
    /// Every kind.
    pub const ALL: [Kind; 5] = [Kind::Binary, Kind::Byte, Kind::Count, Kind::Real, Kind::Class];

    /// The name in configurations and records.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Binary => "binary",
            Kind::Byte => "byte",
            Kind::Count => "count",
            Kind::Real => "real",
            Kind::Class => "class",
        }
    }

    /// Whether a value can be of this kind.
    pub(super) fn allows(self, value: f32) -> bool {
        let whole_to = |most: f32| value.fract() == 0.0 && (0.0..=most).contains(&value);
        match self {
            Kind::Binary => whole_to(1.0),
            Kind::Byte => whole_to(255.0),
            Kind::Count | Kind::Class => whole_to(MOST_COUNT),
            Kind::Real => true,
        }
    }

    /// What [`Kind::allows`], in words.
    pub(super) fn allowed(self) -> &'static str {
        match self {
            Kind::Binary => "0 or 1",
            Kind::Byte => "an integer from 0 to 255",
            Kind::Count | Kind::Class => "an integer from 0 to 16777215",
            Kind::Real => "a number",
        }
    }
}

impl std::fmt::Display for Kind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

impl From<super::super::kind::Kind> for Kind {
    fn from(kind: super::super::kind::Kind) -> Kind {
        match kind {
            super::super::kind::Kind::Byte => Kind::Byte,
            super::super::kind::Kind::Binary => Kind::Binary,
        }
    }
}

/// The type of numbers that a file declares, or that its text shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stored {
    /// Truth values.
    Bool,
    /// Unsigned integers of eight bits.
    Byte,
    /// Other integers.
    Integer,
    /// Numbers in floating point.
    Float,
}

/// Below 2^24, single precision holds every integer exactly; at 2^24, an integer may have been rounded to it.
pub(super) const MOST_COUNT: f32 = 16_777_215.0;
/// Pixels reach the upper half of their range, counts in bytes hardly ever do.
const LARGE: f32 = 128.0;
/// The byte of white pixels, which stands for 1 where all others are 0.
pub(super) const WHITE: f32 = 255.0;
/// Flat images have at least so many pixels on each side; smaller squares are tables.
const SMALLEST_SIDE: usize = 8;

/// What there is to know before a kind is chosen.
pub(super) struct Facts<'a> {
    pub(super) overview: &'a Overview,
    pub(super) stored: Stored,
    pub(super) sparse: bool,
    /// Whether rows are images, or bytes that could be square images.
    pub(super) image: bool,
}

/// The choice of a kind.
pub(super) struct Choice {
    pub(super) kind: Kind,
    /// The reason, as the end of a sentence that began with the kind.
    pub(super) why: String,
}

/// The side of the images that rows of bytes can be, where `columns` is a square.
pub(super) fn square(columns: usize) -> Option<usize> {
    let side = columns.isqrt();
    (side * side == columns && side >= SMALLEST_SIDE).then_some(side)
}

/// Chooses a kind by type and values.
pub(super) fn detect(facts: &Facts<'_>) -> Choice {
    let Facts { overview: seen, stored, sparse, image } = *facts;
    let pixels = stored == Stored::Byte && image && !sparse;
    let two = |others: u64| seen.zeros > 0 && others > 0 && seen.zeros + others == seen.values;
    let counts = seen.integers && seen.least >= 0.0 && seen.largest <= MOST_COUNT;
    let (kind, why) = if stored == Stored::Bool {
        (Kind::Binary, "the values are truth values")
    } else if two(seen.ones) {
        (Kind::Binary, "every value is 0 or 1")
    } else if pixels && two(seen.whites) {
        (Kind::Binary, "every pixel is 0 or 255, which stands for 1")
    } else if pixels && seen.largest >= LARGE {
        (Kind::Byte, "rows of bytes that reach beyond 127 and have the shape of an image are pixels")
    } else if counts && stored != Stored::Float {
        (Kind::Count, "all values are non-negative integers")
    } else if counts && sparse {
        (Kind::Count, "the table is sparse and all values are non-negative integers")
    } else if counts {
        (Kind::Real, FLOATS)
    } else {
        return Choice { kind: Kind::Real, why: why_real(seen) };
    };
    Choice { kind, why: why.to_owned() }
}

const FLOATS: &str = "they are stored as floating-point numbers, although all are non-negative integers; if they are \
                      counts, choose the kind `count`";

fn why_real(seen: &Overview) -> String {
    if !seen.integers {
        "some values are not integers".to_owned()
    } else if seen.least < 0.0 {
        format!("the least value is {}, and counts are not negative", seen.least)
    } else {
        format!(
            "the largest value is {}; single precision rounds integers beyond 16777215, so they cannot be counts",
            seen.largest
        )
    }
}
