//! Carry a subset of MNIST in the library, so that everything runs without a download.
//!
//! `assets/mnist-subset/README.md` says how the files were made, and gives their hashes and licence.

use super::idx::read_idx_bytes;
use crate::data::error::DataError;
use crate::data::split::Dataset;

const IMAGES: &[u8] = include_bytes!("../../../assets/mnist-subset/images-idx3-ubyte.gz");
const LABELS: &[u8] = include_bytes!("../../../assets/mnist-subset/labels-idx1-ubyte.gz");

/// Images of the training file that were taken; the last thousand of them are for validation.
const FROM_TRAIN: usize = 6_000;
const TRAIN: usize = 5_000;

impl Dataset {
    /// Real MNIST images: the first 5,000 of the training file to train on, the next 1,000 for validation, and
    /// the first 1,000 of the test file, all with labels.
    ///
    /// # Errors
    /// None in practice: the files are part of the library, and its tests read them.
    pub fn embedded() -> Result<Dataset, DataError> {
        let labels = read_idx_bytes("embedded labels", LABELS)?.into_labels("embedded labels")?;
        let images =
            read_idx_bytes("embedded images", IMAGES)?.into_images("embedded images", Some(labels))?;
        let (train, test) = images.split_at(FROM_TRAIN);
        let (train, validation) = train.split_at(TRAIN);
        Dataset::new("mnist-subset", "embedded", train, validation, test)
    }
}
