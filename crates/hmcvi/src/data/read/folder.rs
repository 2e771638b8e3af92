//! Load any data set from a folder of IDX files or of `.npy` files.

use std::path::Path;

use super::arrays::{self, Arrays, Read};
use super::file;
use super::idx::{read_idx, read_images};
use super::mnist::idx_names;
use super::npy::NumberArray;
use super::part::Readers;
use super::stream::Stream;
use crate::data::error::{DataError, name};
use crate::data::split::{Dataset, Split};
use crate::data::splitting::Splitting;
use crate::data::table::Table;

/// The first words of the names of a split's IDX files.
fn idx_stems(split: Split) -> &'static [&'static str] {
    match split {
        Split::Train => &["train"],
        Split::Validation => &["validation"],
        Split::Test => &["t10k", "test"],
    }
}

fn idx_candidates(split: Split, kind: &str) -> Vec<String> {
    idx_stems(split).iter().flat_map(|stem| idx_names(&format!("{stem}-{kind}-ubyte"))).collect()
}

/// Loads a folder with IDX files that are named as those of MNIST, whatever their sizes and content.
///
/// `train-images-idx3-ubyte` is needed; `t10k-images-…` (or `test-images-…`), `validation-images-…` and the
/// `…-labels-idx1-ubyte` are taken if they are there. All may be compressed. Splits that are not there are the last
/// of the training images, as is usual for MNIST.
///
/// # Errors
/// If the training images are missing, or a file cannot be read or does not fit the others.
pub fn load_idx_folder(folder: &Path) -> Result<Dataset, DataError> {
    load_idx_folder_among(folder, None)
}

/// The same, of which several processes may share the reading.
pub(crate) fn load_idx_folder_among(folder: &Path, readers: Readers<'_>) -> Result<Dataset, DataError> {
    let Some(train) = idx_images(folder, Split::Train, readers)? else {
        return Err(DataError::Missing {
            place: name(folder),
            looked_for: idx_candidates(Split::Train, "images-idx3"),
            next: "name the training images so".to_owned(),
        });
    };
    let validation = idx_images(folder, Split::Validation, readers)?;
    let test = idx_images(folder, Split::Test, readers)?;
    let parts = (train, validation, test);
    Dataset::from_parts(folder_name(folder), name(folder), Splitting::InOrder, parts)
}

fn idx_images(folder: &Path, split: Split, readers: Readers<'_>) -> Result<Option<Table>, DataError> {
    let Some(path) = file::find(folder, &idx_candidates(split, "images-idx3")) else {
        return Ok(None);
    };
    let labels = match file::find(folder, &idx_candidates(split, "labels-idx1")) {
        Some(path) => Some(read_idx(&path)?.into_labels(&name(&path))?),
        None => None,
    };
    read_images(&path, labels, readers).map(Some)
}

/// Whether [`load_idx_folder`] would find training images.
pub(crate) fn has_idx(folder: &Path) -> bool {
    file::find(folder, &idx_candidates(Split::Train, "images-idx3")).is_some()
}

/// Reads a folder of `.npy` files that are named as the arrays of an `.npz` file: `train.npy`, `x_train.npy` or `X.npy`,
/// and, if they are there, those of the other splits and of labels.
pub(crate) fn read_npy_folder(
    folder: &Path,
    splitting: Splitting,
    readers: Readers<'_>,
) -> Result<Read, DataError> {
    arrays::read(splitting, &mut NpyFolder::new(folder, readers))
}

/// Whether [`read_npy_folder`] would find training rows.
pub(crate) fn has_npy(folder: &Path, splitting: Splitting) -> bool {
    arrays::has_train(splitting, &mut NpyFolder::new(folder, None))
}

/// The `.npy` files of a folder.
struct NpyFolder<'a> {
    folder: &'a Path,
    place: String,
    readers: Readers<'a>,
}

impl<'a> NpyFolder<'a> {
    fn new(folder: &'a Path, readers: Readers<'a>) -> Self {
        NpyFolder { folder, place: name(folder), readers }
    }
}

impl Arrays for NpyFolder<'_> {
    fn place(&self) -> &str {
        &self.place
    }

    fn file(&self, array: &str) -> String {
        format!("{array}.npy")
    }

    fn names(&self) -> Result<Vec<String>, DataError> {
        let failed = |source| DataError::io(self.place.clone(), "open", source);
        let mut names = Vec::new();
        for entry in std::fs::read_dir(self.folder).map_err(failed)? {
            let file = entry.map_err(failed)?.file_name();
            names.extend(file.to_str().and_then(|file| file.strip_suffix(".npy")).map(str::to_owned));
        }
        // Folders are listed in any order, which must not matter.
        names.sort();
        Ok(names)
    }

    fn find(&mut self, array: &str) -> Result<Option<NumberArray>, DataError> {
        let file = file::find(self.folder, &[self.file(array)]);
        file.map(|path| NumberArray::read(Stream::open(&path)?)).transpose()
    }

    fn find_rows(&mut self, array: &str) -> Result<Option<NumberArray>, DataError> {
        let file = file::find(self.folder, &[self.file(array)]);
        file.map(|path| NumberArray::read_rows(&path, self.readers)).transpose()
    }
}

/// What a data set is called that has no other name than that of its folder.
pub(crate) fn folder_name(folder: &Path) -> String {
    folder.file_name().map_or_else(|| name(folder), |last| last.to_string_lossy().into_owned())
}
