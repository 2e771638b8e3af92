//! Turn bytes into the values of pixels: probabilities, or binary draws from them.
//!
//! Training binarises inside its compiled program. The functions here are the reference for that, and serve
//! tests and figures.

use serde::{Deserialize, Serialize};

use super::error::DataError;

/// How a pixel becomes the value that a model sees.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Binarisation {
    /// The probability itself, a grey value.
    None,
    /// One where the probability is at least one half, else zero.
    Threshold,
    /// One with the probability, else zero: a fresh draw whenever an image is seen.
    #[default]
    Stochastic,
}

/// What a byte is divided by to give a probability.
///
/// The paper divides by 256, most others by 255. This alone moves the negative log-likelihood of MNIST by the
/// better part of a nat, so it is recorded with every result.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(try_from = "u16", into = "u16")]
#[cfg_attr(test, schemars(extend("enum" = [256, 255])))]
pub enum PixelScale {
    /// From 0 to 255/256.
    #[default]
    P256,
    /// From 0 to 1.
    P255,
}

impl PixelScale {
    /// The number that bytes are divided by.
    pub fn divisor(self) -> u16 {
        match self {
            PixelScale::P256 => 256,
            PixelScale::P255 => 255,
        }
    }

    /// The probability that a pixel is one.
    pub fn probability(self, byte: u8) -> f64 {
        f64::from(byte) / f64::from(self.divisor())
    }
}

impl From<PixelScale> for u16 {
    fn from(scale: PixelScale) -> u16 {
        scale.divisor()
    }
}

impl TryFrom<u16> for PixelScale {
    type Error = DataError;

    fn try_from(divisor: u16) -> Result<Self, DataError> {
        match divisor {
            256 => Ok(PixelScale::P256),
            255 => Ok(PixelScale::P255),
            _ => Err(DataError::field("settings", "pixel_scale", divisor, "256 or 255")),
        }
    }
}

impl Binarisation {
    /// Whether each look at an image takes random numbers.
    pub fn is_random(self) -> bool {
        self == Binarisation::Stochastic
    }

    /// The value of one pixel, given a uniform draw from `[0, 1)`.
    pub fn pixel(self, scale: PixelScale, byte: u8, uniform: f32) -> f32 {
        let probability = scale.probability(byte);
        match self {
            Binarisation::None => probability as f32,
            Binarisation::Threshold => f32::from(probability >= 0.5),
            Binarisation::Stochastic => f32::from(f64::from(uniform) < probability),
        }
    }

    /// The values of many pixels, given one uniform draw from `[0, 1)` for each of them.
    ///
    /// Only [`Binarisation::Stochastic`] needs the draws; for the others `uniforms` may be empty.
    ///
    /// # Errors
    /// [`DataError::Field`] if there is not one draw for each pixel.
    pub fn pixels(self, scale: PixelScale, bytes: &[u8], uniforms: &[f32]) -> Result<Vec<f32>, DataError> {
        if self.is_random() && uniforms.len() != bytes.len() {
            let expected = format!("{}, one for each pixel", bytes.len());
            return Err(DataError::field(
                "binarisation",
                "number of uniform draws",
                uniforms.len(),
                expected,
            ));
        }
        let uniforms = uniforms.iter().copied().chain(std::iter::repeat(0.0));
        Ok(bytes.iter().zip(uniforms).map(|(&byte, uniform)| self.pixel(scale, byte, uniform)).collect())
    }
}
