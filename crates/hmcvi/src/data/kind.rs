//! Say what the values of a data set stand for, by what was asked for or by the values themselves.

use serde::{Deserialize, Serialize};

use super::error::DataError;
use super::remark::{About, Remark};
use super::split::{Dataset, Split};

/// What values are taken for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Kind {
    /// Intensities from 0 to 255, such as grey pixels: each is the probability of a 1.
    #[default]
    Byte,
    /// Exactly 0 or 1, held as the bytes 0 and 255.
    Binary,
}

impl Kind {
    /// The name in configurations and records.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Byte => "byte",
            Kind::Binary => "binary",
        }
    }
}

impl std::fmt::Display for Kind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

/// The byte of a 1 in files of binary data: as numbers, or as black and white (which is also how arrays of truth
/// values are held).
const ONES: [u8; 2] = [1, Kind::ONE];

impl Kind {
    /// The byte of a 1 in memory.
    pub(crate) const ONE: u8 = 255;
}

impl Dataset {
    /// Takes the values for `kind`; without one, for binary data where they are of two kinds, 0 and 1 or 0 and 255,
    /// and for bytes elsewhere.
    ///
    /// Binary data is held as the bytes 0 and 255, so that its hash does not depend on how it was stored.
    ///
    /// # Errors
    /// [`DataError::Field`] if the data is to be binary and has other values.
    pub fn taken_as(self, kind: Option<Kind>) -> Result<Dataset, DataError> {
        match (kind, two_values(&self)) {
            (Some(Kind::Byte), _) | (None, Err(_) | Ok([_, false] | [false, _])) => Ok(self),
            (Some(Kind::Binary), Err(other)) => {
                Err(DataError::field(self.source(), "a value", other, "0 or 1, as `data.kind` is `binary`"))
            }
            (Some(Kind::Binary), Ok(_)) => self.into_binary(),
            (None, Ok([true, true])) => {
                let text = "there are only two values, so the data is taken for binary: exactly 0 and 1";
                Ok(self.into_binary()?.with_remark(Remark::note(About::Kind, text)))
            }
        }
    }

    fn into_binary(self) -> Result<Dataset, DataError> {
        self.map_values(Kind::Binary, |byte| if byte == 0 { 0 } else { Kind::ONE })
    }
}

/// Whether there are zeros and ones, or the first value that is neither.
fn two_values(dataset: &Dataset) -> Result<[bool; 2], u8> {
    let (mut zero, mut one) = (false, None);
    for &byte in Split::ALL.iter().flat_map(|&split| dataset.images(split).bytes()) {
        match byte {
            0 => zero = true,
            _ if one == Some(byte) => {}
            _ if one.is_none() && ONES.contains(&byte) => one = Some(byte),
            _ => return Err(byte),
        }
    }
    Ok([zero, one.is_some()])
}
