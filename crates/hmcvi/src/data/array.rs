//! Hold an array of bytes with its shape, as the file formats deliver it, and turn it into images or labels.

use super::arrays::Array;
use super::error::DataError;
use super::images::Images;
use super::npy;
use super::stream::Stream;

/// A dense array of bytes in row-major order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ByteArray {
    shape: Vec<usize>,
    bytes: Vec<u8>,
    boolean: bool,
}

impl ByteArray {
    /// Joins a shape and its values.
    ///
    /// # Errors
    /// [`DataError::Field`] if the number of values is not the product of the shape.
    pub fn new(shape: Vec<usize>, bytes: Vec<u8>) -> Result<Self, DataError> {
        if count(&shape) != Some(bytes.len() as u64) {
            let expected = format!("the product of the shape {}", show(&shape));
            return Err(DataError::field("array", "number of values", bytes.len(), expected));
        }
        Ok(ByteArray { shape, bytes, boolean: false })
    }

    /// An array of truth values. Callers have checked the shape and that each value is 0 or 1.
    pub(crate) fn boolean(self) -> Self {
        ByteArray { boolean: true, ..self }
    }

    /// The length of each axis.
    pub fn shape(&self) -> &[usize] {
        &self.shape
    }

    /// The values.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Whether the values are truth values, 0 or 1.
    pub fn is_boolean(&self) -> bool {
        self.boolean
    }

    /// Takes `[images, height, width]` or `[images, pixels]` as images; `file` names it in errors.
    ///
    /// Flat images are taken as square if their number of pixels is a square, else as one row of
    /// pixels. Truth values become 0 and 255.
    ///
    /// # Errors
    /// [`DataError::Field`] if the shape or the number of labels does not fit.
    pub fn into_images(mut self, file: &str, labels: Option<Vec<u8>>) -> Result<Images, DataError> {
        let (height, width) = match self.shape[..] {
            [_, height, width] => (height, width),
            [_, pixels] => flat(pixels),
            _ => {
                let expected = "[images, height, width] or [images, pixels]";
                return Err(DataError::field(file, "shape", show(&self.shape), expected));
            }
        };
        if self.boolean {
            self.bytes.iter_mut().for_each(|value| *value *= 255);
        }
        Images::named(file, height, width, self.bytes, labels)
    }

    /// Takes `[images]` as labels; `file` names it in errors.
    ///
    /// # Errors
    /// [`DataError::Field`] if the array has another rank.
    pub fn into_labels(self, file: &str) -> Result<Vec<u8>, DataError> {
        match self.shape.len() {
            1 => Ok(self.bytes),
            _ => Err(DataError::field(file, "shape", show(&self.shape), "[images]")),
        }
    }
}

impl Array for ByteArray {
    type Rows = Images;

    fn read(stream: Stream<'_>) -> Result<Self, DataError> {
        npy::read(stream)
    }

    fn into_rows(self, file: &str, labels: Option<(Self, String)>) -> Result<Images, DataError> {
        let labels = labels.map(|(labels, file)| labels.into_labels(&file)).transpose()?;
        self.into_images(file, labels)
    }
}

/// Number of values of a shape, unless it is beyond counting.
pub(crate) fn count(shape: &[usize]) -> Option<u64> {
    shape.iter().try_fold(1u64, |product, &length| product.checked_mul(length as u64))
}

/// A shape as messages show it.
pub(crate) fn show(shape: &[usize]) -> String {
    format!("{shape:?}")
}

fn flat(pixels: usize) -> (usize, usize) {
    let side = pixels.isqrt();
    if side * side == pixels { (side, side) } else { (1, pixels) }
}
