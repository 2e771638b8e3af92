//! Say what the values of a table stand for, by their type and by the values themselves, and why.

use serde::{Deserialize, Serialize};

use super::summary::Overview;

/// What values are taken for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Kind {
    /// Exactly 0 or 1.
    Binary,
    /// Intensities from 0 to 255, such as grey pixels: each is the probability of a 1.
    Byte,
    /// Non-negative integers: how often something was seen.
    Count,
    /// Any numbers.
    Real,
    /// Integers from 0 that number classes, column by column. Never detected, only chosen.
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

    /// What the values are, as part of a sentence.
    pub fn words(self) -> &'static str {
        match self {
            Kind::Binary => "binary data, exactly 0 and 1",
            Kind::Byte => "intensities from 0 to 255",
            Kind::Count => "counts",
            Kind::Real => "real numbers",
            Kind::Class => "classes",
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

/// The type of numbers that a file declares, or that its text shows: each can hold those before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
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
/// Pixels reach the upper half of their range, counts hardly ever end there.
const PIXELS: std::ops::RangeInclusive<f32> = 128.0..=255.0;

/// What there is to know before a kind is chosen.
pub(super) struct Facts<'a> {
    pub(super) overview: &'a Overview,
    pub(super) stored: Stored,
    pub(super) sparse: bool,
    /// Whether rows are images.
    pub(super) image: bool,
}

/// The choice of a kind.
pub(super) struct Choice {
    pub(super) kind: Kind,
    /// The reason, as the end of a sentence that began with the kind.
    pub(super) why: String,
    /// What a user is told, where there was a choice.
    pub(super) said: Option<String>,
}

impl Choice {
    fn new(kind: Kind, why: impl Into<String>) -> Choice {
        let why = why.into();
        let said = Some(format!("the values are treated as {}: {why}", kind.words()));
        Choice { kind, why, said }
    }
}

/// Chooses a kind by type and values.
pub(super) fn detect(facts: &Facts<'_>) -> Choice {
    let Facts { overview: seen, stored, sparse, image } = *facts;
    let counts = seen.integers && seen.least >= 0.0 && seen.largest <= MOST_COUNT;
    let pixels = counts && PIXELS.contains(&seen.largest);
    if !sparse && matches!(stored, Stored::Byte | Stored::Bool) {
        of_bytes(seen, stored)
    } else if stored == Stored::Bool {
        Choice::new(Kind::Binary, "the values are truth values")
    } else if seen.are_two(seen.ones) {
        Choice::new(Kind::Binary, "every value is 0 or 1")
    } else if pixels && image && stored == Stored::Integer {
        Choice::new(Kind::Byte, "integers up to 255 that have the shape of images are pixels")
    } else if counts && stored != Stored::Float {
        let other =
            if pixels { "; if they are intensities from 0 to 255, choose the kind `byte`" } else { "" };
        Choice::new(Kind::Count, format!("all values are non-negative integers{other}"))
    } else if counts && sparse {
        Choice::new(Kind::Count, "the table is sparse and all values are non-negative integers")
    } else if counts {
        Choice::new(Kind::Real, if pixels { WHOLE_PIXELS } else { WHOLE })
    } else {
        Choice::new(Kind::Real, why_real(seen))
    }
}

/// Bytes are pixels, unless there are only two of them.
fn of_bytes(seen: &Overview, stored: Stored) -> Choice {
    if seen.are_two(seen.ones) || seen.are_two(seen.whites) {
        let said = "there are only two values, so the data is taken for binary: exactly 0 and 1";
        Choice {
            kind: Kind::Binary,
            why: "there are only two values".to_owned(),
            said: Some(said.to_owned()),
        }
    } else if stored == Stored::Bool {
        Choice::new(Kind::Binary, "the values are truth values")
    } else {
        // The usual, about which nothing has to be said.
        Choice { kind: Kind::Byte, why: "bytes are intensities from 0 to 255".to_owned(), said: None }
    }
}

const WHOLE: &str = "they are stored as floating-point numbers, although all are non-negative integers; if they are \
                     counts, choose the kind `count`";
const WHOLE_PIXELS: &str = "they are stored as floating-point numbers, although all are non-negative integers; if they \
                            are counts, choose the kind `count`, if they are intensities from 0 to 255, `byte`";

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
