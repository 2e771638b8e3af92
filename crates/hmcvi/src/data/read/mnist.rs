//! Load and verify the MNIST data set from a folder with its four files.

use std::path::{Path, PathBuf};

use super::array::{self, ByteArray};
use super::file;
use super::idx;
use super::stream::Stream;
use crate::data::error::{DataError, name};
use crate::data::split::Dataset;
use crate::data::table::Table;

/// An IDX file that is known by its hash.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KnownFile {
    /// The name without `.gz`, such as `train-images-idx3-ubyte`.
    pub name: &'static str,
    /// Its shape.
    pub shape: &'static [usize],
    /// Its length in bytes, not compressed.
    pub length: u64,
    /// The hash of its content, not compressed.
    pub sha256: &'static str,
}

/// The four files of MNIST: training images and labels, test images and labels.
pub const MNIST_FILES: [KnownFile; 4] = [
    KnownFile {
        name: "train-images-idx3-ubyte",
        shape: &[60_000, 28, 28],
        length: 47_040_016,
        sha256: "ba891046e6505d7aadcbbe25680a0738ad16aec93bde7f9b65e87a2fc25776db",
    },
    KnownFile {
        name: "train-labels-idx1-ubyte",
        shape: &[60_000],
        length: 60_008,
        sha256: "65a50cbbf4e906d70832878ad85ccda5333a97f0f4c3dd2ef09a8a9eef7101c5",
    },
    KnownFile {
        name: "t10k-images-idx3-ubyte",
        shape: &[10_000, 28, 28],
        length: 7_840_016,
        sha256: "0fa7898d509279e482958e8ce81c8e77db3f2f8254e26661ceb7762c4d494ce7",
    },
    KnownFile {
        name: "t10k-labels-idx1-ubyte",
        shape: &[10_000],
        length: 10_008,
        sha256: "ff7bcfd416de33731a308c3f266cc351222c34898ecbeaf847f06e48f7ec33f2",
    },
];

impl KnownFile {
    /// Every name this file goes by: compressed or not, and with a dot as some mirrors write it.
    pub fn names(&self) -> [String; 4] {
        idx_names(self.name)
    }

    /// Finds the file in a folder under any of its names.
    pub fn find(&self, folder: &Path) -> Option<PathBuf> {
        file::find(folder, &self.names())
    }

    /// Checks the content of a file.
    pub fn verify(&self, path: &Path) -> Result<(), DataError> {
        let (found, _) = Stream::open(path)?.hash(self.length)?;
        self.check_hash(path, found)
    }

    fn load(&self, folder: &Path) -> Result<ByteArray, DataError> {
        let path = self.find(folder).ok_or_else(|| missing(folder, &[self]))?;
        let array = idx::read_idx(&path)?;
        if array.shape() != self.shape {
            let found = array::show(array.shape());
            let expected = format!("{} as in MNIST ({})", array::show(self.shape), OTHER);
            return Err(DataError::field(name(&path), "shape", found, expected));
        }
        self.check_hash(&path, idx::sha256_of(array.shape(), array.bytes())?)?;
        Ok(array)
    }

    fn check_hash(&self, path: &Path, found: String) -> Result<(), DataError> {
        if found == self.sha256 {
            return Ok(());
        }
        Err(DataError::Hash {
            file: name(path),
            found,
            expected: self.sha256.to_owned(),
            next: format!("delete the file and fetch it again ({OTHER})"),
        })
    }
}

/// What to do with a folder that has the names of MNIST's files but other content.
const OTHER: &str = "or, if the folder holds another data set, give it as `idx:FOLDER`";

/// The names of an IDX file: plain and compressed, with a dash or a dot before `idx`.
pub(crate) fn idx_names(dashed: &str) -> [String; 4] {
    let dotted = dashed.replace("-idx", ".idx");
    [dashed.to_owned(), format!("{dashed}.gz"), dotted.clone(), format!("{dotted}.gz")]
}

/// Whether a folder has the four files, by their names alone.
pub(crate) fn is_mnist(folder: &Path) -> bool {
    MNIST_FILES.iter().all(|file| file.find(folder).is_some())
}

/// Checks the four files in a folder against the hashes of MNIST and returns their paths.
///
/// # Errors
/// [`DataError::Missing`] names every file that is not there, [`DataError::Hash`] the first that differs.
pub fn verify_mnist(folder: &Path) -> Result<Vec<PathBuf>, DataError> {
    let absent: Vec<_> = MNIST_FILES.iter().filter(|file| file.find(folder).is_none()).collect();
    if !absent.is_empty() {
        return Err(missing(folder, &absent));
    }
    let paths: Vec<_> = MNIST_FILES.iter().filter_map(|file| file.find(folder)).collect();
    for (file, path) in MNIST_FILES.iter().zip(&paths) {
        file.verify(path)?;
    }
    Ok(paths)
}

/// Images of the training file to train on; the others are for validation.
const TRAIN: usize = 50_000;

/// Loads MNIST: 50,000 training, 10,000 validation and 10,000 test images, each file checked by its hash.
///
/// The validation images are the last 10,000 of the training file.
///
/// # Errors
/// If a file is missing, cannot be read or is not the one of MNIST.
pub fn load_mnist(folder: &Path) -> Result<Dataset, DataError> {
    let [train_images, train_labels, test_images, test_labels] = &MNIST_FILES;
    let load = |images: &KnownFile, labels: &KnownFile| {
        let labels = labels.load(folder)?.into_labels(labels.name)?;
        images.load(folder)?.into_images(images.name, Some(labels))
    };
    let test = load(test_images, test_labels)?;
    let train = load(train_images, train_labels)?;
    let (train, validation) = train.split_at(TRAIN);
    Dataset::new("mnist", name(folder), train, validation, test)
}

/// Whether these are the training images of MNIST.
pub(super) fn is_mnist_train(table: &Table) -> bool {
    let [file, ..] = &MNIST_FILES;
    let (Some((height, width)), Some(bytes)) = (table.image_shape(), table.bytes()) else { return false };
    let shape = [table.len(), height, width];
    shape == file.shape && idx::sha256_of(&shape, bytes).is_ok_and(|found| found == file.sha256)
}

fn missing(folder: &Path, files: &[&KnownFile]) -> DataError {
    DataError::Missing {
        place: name(folder),
        looked_for: files.iter().map(|file| format!("{}[.gz]", file.name)).collect(),
        next: "put the files there or fetch MNIST".to_owned(),
    }
}
