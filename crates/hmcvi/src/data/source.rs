//! Say where a data set comes from in one word or path, and open it.

use std::convert::Infallible;
use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::arrays;
use super::error::{DataError, name};
use super::folder::{has_idx, has_npy, load_idx_folder, load_npy_folder};
use super::kind::Kind;
use super::mnist::{MNIST_FILES, is_mnist, load_mnist};
use super::npy::read_npy;
use super::npz::NpzArrays;
use super::split::Dataset;
use super::splitting::Splitting;

/// Where a data set comes from.
///
/// In configurations a string: `embedded`, the path of a folder, `idx:` and the path of a folder, or the path of
/// a file that ends in `.npy` or `.npz`. A folder that is called `embedded` is written `./embedded`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(from = "String", into = "String")]
pub enum Source {
    /// The subset of MNIST inside the library.
    #[default]
    Embedded,
    /// A folder: MNIST if it has the names of its four files, else IDX or `.npy` files.
    Folder(PathBuf),
    /// A folder of IDX files that need not be MNIST even if they have its names, as those of Fashion-MNIST do.
    IdxFolder(PathBuf),
    /// A file that ends in `.npy` (one array of images) or `.npz` (named arrays).
    File(PathBuf),
}

impl From<&str> for Source {
    fn from(text: &str) -> Self {
        if text == "embedded" {
            return Source::Embedded;
        }
        if let Some(folder) = text.strip_prefix("idx:") {
            return Source::IdxFolder(folder.into());
        }
        match extension(Path::new(text)) {
            Extension::Npy | Extension::Npz => Source::File(text.into()),
            Extension::Other => Source::Folder(text.into()),
        }
    }
}

impl From<String> for Source {
    fn from(text: String) -> Self {
        text.as_str().into()
    }
}

impl FromStr for Source {
    type Err = Infallible;

    fn from_str(text: &str) -> Result<Self, Infallible> {
        Ok(text.into())
    }
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Source::Embedded => f.write_str("embedded"),
            Source::IdxFolder(path) => write!(f, "idx:{}", path.display()),
            Source::Folder(path) | Source::File(path) => write!(f, "{}", path.display()),
        }
    }
}

impl From<Source> for String {
    fn from(source: Source) -> String {
        source.to_string()
    }
}

#[derive(PartialEq)]
enum Extension {
    Npy,
    Npz,
    Other,
}

fn extension(path: &Path) -> Extension {
    match path.extension() {
        Some(extension) if extension.eq_ignore_ascii_case("npy") => Extension::Npy,
        Some(extension) if extension.eq_ignore_ascii_case("npz") => Extension::Npz,
        _ => Extension::Other,
    }
}

/// How a file is read, beyond what it says about itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Reading {
    /// What values are taken for; see [`Dataset::taken_as`].
    pub kind: Option<Kind>,
    /// How arrays are divided that come without test or validation images. MNIST and folders of IDX files are always
    /// divided as is usual for MNIST.
    pub splitting: Splitting,
}

/// Opens a data set as [`open_as`] does, with the usual reading.
///
/// # Errors
/// As [`open_as`].
pub fn open(source: &Source) -> Result<Dataset, DataError> {
    open_as(source, Reading::default())
}

/// Opens a data set.
///
/// # Errors
/// If nothing usable is there (the message lists what was looked for), a file cannot be read, or its values are not
/// of the kind they are to be taken for.
pub fn open_as(source: &Source, reading: Reading) -> Result<Dataset, DataError> {
    let splitting = reading.splitting;
    let dataset = match source {
        Source::Embedded => Dataset::embedded(),
        Source::Folder(path) => open_folder(path, splitting),
        Source::IdxFolder(path) => {
            check_folder(path)?;
            load_idx_folder(path)
        }
        Source::File(path) if extension(path) == Extension::Npz => open_npz(path, splitting),
        Source::File(path) => open_npy(path, splitting),
    };
    dataset?.taken_as(reading.kind)
}

fn open_folder(path: &Path, splitting: Splitting) -> Result<Dataset, DataError> {
    check_folder(path)?;
    if is_mnist(path) {
        load_mnist(path)
    } else if has_npy(path, Splitting::Earlier) || !has_idx(path) && has_npy(path, splitting) {
        load_npy_folder(path, splitting)
    } else if has_idx(path) {
        load_idx_folder(path)
    } else {
        let mnist = MNIST_FILES.map(|file| format!("{}[.gz]", file.name)).join(" + ");
        let looked_for =
            vec![mnist, "train.npy".into(), "x_train.npy".into(), "X.npy".into(), MNIST_FILES[0].name.into()];
        let next = "fetch MNIST, or give another folder, a .npy or .npz file, or `embedded`".to_owned();
        Err(DataError::Missing { place: name(path), looked_for, next })
    }
}

fn check_folder(path: &Path) -> Result<(), DataError> {
    let metadata = std::fs::metadata(path).map_err(|source| DataError::io(name(path), "open", source))?;
    if metadata.is_dir() {
        return Ok(());
    }
    let expected = "a folder, a file that ends in .npy or .npz, or `embedded`";
    Err(DataError::Kind { file: name(path), found: "a file", expected })
}

fn stem(path: &Path) -> String {
    path.file_stem().map_or_else(|| name(path), |stem| stem.to_string_lossy().into_owned())
}

fn open_npy(path: &Path, splitting: Splitting) -> Result<Dataset, DataError> {
    let images = read_npy(path)?.into_images(&name(path), None)?;
    Dataset::from_parts(stem(path), name(path), splitting, (images, None, None))
}

fn open_npz(path: &Path, splitting: Splitting) -> Result<Dataset, DataError> {
    let mut arrays = NpzArrays::open(path)?;
    arrays::assemble(&stem(path), &name(path), splitting, &mut arrays)
}
