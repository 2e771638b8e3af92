//! Hold images as tables of bytes with a shape.

use std::ops::Range;

use super::cells::Cells;
use super::error::DataError;
use super::kind::Stored;
use super::labels::Labels;
use super::table::Table;

impl Table {
    /// Images of `height` x `width` pixels, one byte each, which are intensities; [`Table::taken_as`] can take them for
    /// something else.
    ///
    /// # Errors
    /// [`DataError::Field`] if an image has no pixels, if the bytes are no whole number of images, or if there is not
    /// one label for each image.
    pub fn images(
        height: usize,
        width: usize,
        bytes: Vec<u8>,
        labels: Option<Labels>,
    ) -> Result<Table, DataError> {
        Table::images_of("images", (height, width), bytes, labels)
    }

    /// As [`Table::images`], with the name of the file for errors.
    pub(super) fn images_of(
        file: &str,
        (height, width): (usize, usize),
        bytes: Vec<u8>,
        labels: Option<Labels>,
    ) -> Result<Table, DataError> {
        let pixels = Table::pixels(file, (height, width))?;
        if !bytes.len().is_multiple_of(pixels) {
            let expected = format!("a multiple of {height} x {width}");
            return Err(DataError::field(file, "number of bytes", bytes.len(), expected));
        }
        Table::of_pixels(file, (height, width), Cells::bytes(pixels, bytes), labels)
    }

    fn pixels(file: &str, (height, width): (usize, usize)) -> Result<usize, DataError> {
        match height.checked_mul(width) {
            Some(pixels) if pixels > 0 => Ok(pixels),
            _ => {
                let found = format!("{height} x {width}");
                Err(DataError::field(file, "size of an image", found, "at least 1 x 1 pixels"))
            }
        }
    }

    /// The same of pixels that are in cells already.
    pub(super) fn of_pixels(
        file: &str,
        shape: (usize, usize),
        cells: Cells,
        labels: Option<Labels>,
    ) -> Result<Table, DataError> {
        Table { shape: Some(shape), ..Table::raw(cells, Stored::Byte) }.labelled(file, labels)
    }

    /// The same of images whose height and width are not known: they are square, or have no shape.
    pub(super) fn flat_images(
        file: &str,
        pixels: usize,
        bytes: Vec<u8>,
        labels: Option<Labels>,
    ) -> Result<Table, DataError> {
        Ok(Table::images_of(file, (1, pixels), bytes, labels)?.flat())
    }

    /// Rows of bytes as images whose height and width are not known.
    pub(super) fn flat(self) -> Table {
        let flat = Table { shape: None, ..self };
        Table { shape: flat.image_shape(), ..flat }
    }

    /// The shape that images have whose file does not tell: bytes without names are taken for square images.
    pub(super) fn image_shape(&self) -> Option<(usize, usize)> {
        let side = self.columns().isqrt();
        let square = self.names.is_none() && side > 1 && side * side == self.columns();
        let bytes = matches!(self.stored(), Stored::Byte | Stored::Bool) && self.are_bytes();
        self.shape.or((square && bytes).then_some((side, side)))
    }

    /// What messages call a row; an `s` makes it several.
    pub(super) fn noun(&self) -> &'static str {
        if self.image_shape().is_some() { "image" } else { "row" }
    }

    /// How often each byte occurs, where the values are held so.
    pub(super) fn byte_counts(&self) -> Option<[u64; 256]> {
        let mut counts = [0; 256];
        self.cells.each_bytes(|bytes| bytes.iter().for_each(|&byte| counts[usize::from(byte)] += 1));
        self.are_bytes().then_some(counts)
    }

    /// The bytes of the rows in `range`, if all of them exist and are held so.
    pub fn byte_rows(&self, range: Range<usize>) -> Option<&[u8]> {
        let columns = self.columns();
        self.bytes()?.get(range.start.checked_mul(columns)?..range.end.checked_mul(columns)?)
    }
}
