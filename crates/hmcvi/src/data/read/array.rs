//! Hold an array of bytes with its shape, as IDX files deliver it, and turn it into images or labels.

use crate::data::error::DataError;
use crate::data::labels::Labels;
use crate::data::table::Table;

/// A dense array of bytes in row-major order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ByteArray {
    shape: Vec<usize>,
    bytes: Vec<u8>,
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
        Ok(ByteArray { shape, bytes })
    }

    /// The length of each axis.
    pub fn shape(&self) -> &[usize] {
        &self.shape
    }

    /// The values.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Takes `[images, height, width]` or `[images, pixels]` as images; `file` names it in errors.
    ///
    /// Flat images are taken as square if their number of pixels is a square, and have no shape otherwise.
    ///
    /// # Errors
    /// [`DataError::Field`] if the shape or the number of labels does not fit.
    pub fn into_images(self, file: &str, labels: Option<Labels>) -> Result<Table, DataError> {
        match self.shape[..] {
            [_, height, width] => Table::images_of(file, (height, width), self.bytes, labels),
            [_, pixels] => Table::flat_images(file, pixels, self.bytes, labels),
            _ => {
                let expected = "[images, height, width] or [images, pixels]";
                Err(DataError::field(file, "shape", show(&self.shape), expected))
            }
        }
    }

    /// Takes `[images]` as labels; `file` names it in errors.
    ///
    /// # Errors
    /// [`DataError::Field`] if the array has another rank.
    pub fn into_labels(self, file: &str) -> Result<Labels, DataError> {
        match self.shape.len() {
            1 => Ok(self.bytes.into()),
            _ => Err(DataError::field(file, "shape", show(&self.shape), "[images]")),
        }
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
