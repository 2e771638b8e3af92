//! Hold grey images of one size as bytes, with their labels where there are any.

use std::ops::Range;

use super::error::DataError;

/// Images of `height` x `width` pixels, one byte each, row after row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Images {
    height: usize,
    width: usize,
    bytes: Vec<u8>,
    labels: Option<Vec<u8>>,
    /// Row of each image in its file, where the order is another.
    rows_in_file: Option<Vec<u32>>,
}

impl Images {
    /// Joins pixels, and labels if there are any.
    ///
    /// # Errors
    /// [`DataError::Field`] if an image has no pixels, if the bytes are no whole number of images, or
    /// if there is not one label for each image.
    pub fn new(
        height: usize,
        width: usize,
        bytes: Vec<u8>,
        labels: Option<Vec<u8>>,
    ) -> Result<Self, DataError> {
        Images::named("images", height, width, bytes, labels)
    }

    /// As [`Images::new`], with the name of the file for errors.
    pub(crate) fn named(
        file: &str,
        height: usize,
        width: usize,
        bytes: Vec<u8>,
        labels: Option<Vec<u8>>,
    ) -> Result<Self, DataError> {
        let pixels = match height.checked_mul(width) {
            Some(pixels) if pixels > 0 => pixels,
            _ => {
                let found = format!("{height} x {width}");
                return Err(DataError::field(file, "size of an image", found, "at least 1 x 1 pixels"));
            }
        };
        if !bytes.len().is_multiple_of(pixels) {
            let expected = format!("a multiple of {height} x {width}");
            return Err(DataError::field(file, "number of bytes", bytes.len(), expected));
        }
        let images = bytes.len() / pixels;
        match &labels {
            Some(labels) if labels.len() != images => {
                let expected = format!("{images}, one for each image");
                Err(DataError::field(file, "number of labels", labels.len(), expected))
            }
            _ => Ok(Images { height, width, bytes, labels, rows_in_file: None }),
        }
    }

    /// Pixels from top to bottom.
    pub fn height(&self) -> usize {
        self.height
    }

    /// Pixels from left to right.
    pub fn width(&self) -> usize {
        self.width
    }

    /// Pixels of one image.
    pub fn pixels(&self) -> usize {
        self.height * self.width
    }

    /// Number of images.
    pub fn len(&self) -> usize {
        self.bytes.len() / self.pixels()
    }

    /// Whether there are no images.
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// The pixels of all images, one image after the other.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// One label for each image.
    pub fn labels(&self) -> Option<&[u8]> {
        self.labels.as_deref()
    }

    /// The row of each image in the file it came from, counted from 0, where they were shuffled.
    pub fn rows_in_file(&self) -> Option<&[u32]> {
        self.rows_in_file.as_deref()
    }

    /// The pixels of image `index`, if there is one.
    pub fn row(&self, index: usize) -> Option<&[u8]> {
        self.rows(index..index.checked_add(1)?)
    }

    /// The pixels of the images in `range`, if all of them exist.
    pub fn rows(&self, range: Range<usize>) -> Option<&[u8]> {
        let pixels = self.pixels();
        self.bytes.get(range.start.checked_mul(pixels)?..range.end.checked_mul(pixels)?)
    }

    /// A copy of the images in `range`, with their labels, if all of them exist.
    pub fn slice(&self, range: Range<usize>) -> Option<Images> {
        let bytes = self.rows(range.clone())?.to_vec();
        let labels = self.labels.as_ref().map(|labels| labels[range.clone()].to_vec());
        let rows_in_file = self.rows_in_file.as_ref().map(|rows| rows[range].to_vec());
        Some(Images { height: self.height, width: self.width, bytes, labels, rows_in_file })
    }

    /// Cuts the images in two: the first `first` (or all, if there are fewer) and the rest.
    pub fn split_at(mut self, first: usize) -> (Images, Images) {
        let first = first.min(self.len());
        let bytes = self.bytes.split_off(first * self.pixels());
        let labels = self.labels.as_mut().map(|labels| labels.split_off(first));
        let rows_in_file = self.rows_in_file.as_mut().map(|rows| rows.split_off(first));
        self.bytes.shrink_to_fit();
        let rest = Images { height: self.height, width: self.width, bytes, labels, rows_in_file };
        (self, rest)
    }

    /// The images in another order, with the rows they had; `order` is a permutation.
    pub(crate) fn in_order(&self, order: &[u32]) -> Images {
        let pixels = self.pixels();
        let row = |index: &u32| &self.bytes[*index as usize * pixels..][..pixels];
        Images {
            bytes: order.iter().flat_map(row).copied().collect(),
            labels: self.labels.as_ref().map(|labels| order.iter().map(|&i| labels[i as usize]).collect()),
            rows_in_file: Some(order.to_vec()),
            ..*self
        }
    }

    /// The images with every value replaced.
    pub(crate) fn map_values(mut self, value: impl Fn(u8) -> u8) -> Images {
        self.bytes.iter_mut().for_each(|byte| *byte = value(*byte));
        self
    }
}
