//! Assemble a data set from arrays that are found by their names.

use super::array::ByteArray;
use super::error::DataError;
use super::images::Images;
use super::split::{Dataset, Split};

/// Where named arrays come from: an archive or a folder.
pub(crate) trait Arrays {
    /// The place, for messages.
    fn place(&self) -> &str;
    /// How messages write the array called `array`.
    fn file(&self, array: &str) -> String;
    /// Reads the array called `array`, if there is one.
    fn find(&mut self, array: &str) -> Result<Option<ByteArray>, DataError>;
}

/// The names of the images and of the labels of a split; the second ones are those of Keras' `mnist.npz`.
fn names(split: Split) -> ([&'static str; 2], &'static str) {
    match split {
        Split::Train => (["train", "x_train"], "y_train"),
        Split::Validation => (["validation", "x_validation"], "y_validation"),
        Split::Test => (["test", "x_test"], "y_test"),
    }
}

/// Makes a data set of the arrays `train`, `validation`, `test` and their labels.
pub(crate) fn assemble(name: &str, source: &str, arrays: &mut dyn Arrays) -> Result<Dataset, DataError> {
    let Some(train) = images(Split::Train, arrays)? else {
        let (images, _) = names(Split::Train);
        return Err(DataError::Missing {
            place: arrays.place().to_owned(),
            looked_for: images.iter().map(|array| arrays.file(array)).collect(),
            next: "save the training images under one of these names".to_owned(),
        });
    };
    let validation = images(Split::Validation, arrays)?;
    let test = images(Split::Test, arrays)?;
    Dataset::from_parts(name, source, train, validation, test)
}

fn images(split: Split, arrays: &mut dyn Arrays) -> Result<Option<Images>, DataError> {
    let (candidates, labels) = names(split);
    for array in candidates {
        if let Some(found) = arrays.find(array)? {
            let labels = match arrays.find(labels)? {
                Some(found) => Some(found.into_labels(&arrays.file(labels))?),
                None => None,
            };
            return found.into_images(&arrays.file(array), labels).map(Some);
        }
    }
    Ok(None)
}
