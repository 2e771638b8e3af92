//! Name the content of tables by its SHA-256, whatever file it came from.

use super::hash::Hasher;
use super::labels::Labels;
use super::table::Table;

impl Table {
    /// SHA-256 of the content, which depends on neither the format of the file nor the way it is stored in memory.
    ///
    /// The bytes hashed are: rows, columns, height and width (0 without a shape); for each row the number of its values
    /// that are not zero, and the column and the value of each, as four bytes; 1 or 0 for whether there are labels; the
    /// number of their names, each name with its length; the labels. Other numbers count as eight bytes. The lowest
    /// byte comes first. Names of columns do not count.
    pub fn sha256(&self) -> String {
        let mut hasher = Hasher::default();
        self.feed(&mut hasher);
        hasher.finish()
    }

    fn feed(&self, hasher: &mut Hasher) {
        let (height, width) = self.shape().unwrap_or_default();
        for number in [self.len(), self.columns(), height, width] {
            hasher.number(number);
        }
        let mut row_bytes = Vec::new();
        for row in 0..self.len() {
            row_bytes.clear();
            for (column, value) in self.non_zeros(row) {
                row_bytes.extend((column as u32).to_le_bytes());
                row_bytes.extend(value.to_le_bytes());
            }
            hasher.number(row_bytes.len() / 8);
            hasher.update(&row_bytes);
        }
        hasher.number(usize::from(self.labels().is_some()));
        self.labels().into_iter().for_each(|labels| labels.feed(hasher));
    }

    fn feed_bytes(&self, hasher: &mut Hasher) {
        hasher.number(self.len());
        self.cells.each_bytes(|bytes| hasher.update(bytes));
        match (self.labels(), self.labels().and_then(Labels::bytes)) {
            (None, _) => hasher.number(0),
            (Some(_), Some(labels)) => {
                hasher.number(1);
                hasher.update(&labels);
            }
            (Some(labels), None) => {
                hasher.number(2);
                labels.feed(hasher);
            }
        }
    }
}

/// The hash of three splits that [`Dataset::sha256`](super::Dataset::sha256) describes.
pub(super) fn of_splits(splits: [&Table; 3]) -> String {
    let mut hasher = Hasher::default();
    if splits.iter().all(|table| table.are_bytes()) {
        let (height, width) = splits[0].shape().unwrap_or((1, splits[0].columns()));
        hasher.number(height);
        hasher.number(width);
        splits.into_iter().for_each(|table| table.feed_bytes(&mut hasher));
    } else {
        splits.into_iter().for_each(|table| table.feed(&mut hasher));
    }
    hasher.finish()
}
