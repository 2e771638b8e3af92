//! Say where a data set comes from in one word or path, and open it.

use std::convert::Infallible;
use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::Arc;

use hmcvi_graph::Ranks;
use serde::{Deserialize, Serialize};

use super::error::{DataError, name};
use super::kind::Kind;
use super::read::{
    CsvColumns, Format, KnownSet, MNIST_FILES, Read, Readers, folder_name, has_idx, has_npy, is_mnist,
    list_png, load_idx_folder_among, read_file, read_images, read_npy_folder,
};
use super::split::Dataset;
use super::splitting::Splitting;

/// Where a data set comes from.
///
/// In configurations a string: `embedded`, the path of a folder, `idx:` and the path of a folder, or the path of
/// a file whose end is that of a [`Format`]. A folder that is called `embedded` is written `./embedded`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(from = "String", into = "String")]
pub enum Source {
    /// The subset of MNIST inside the library.
    #[default]
    Embedded,
    /// A folder: MNIST or Fashion-MNIST if it has the names of their four files, else IDX, `.npy` or `.png` files.
    Folder(PathBuf),
    /// A folder of IDX files that need not be MNIST even if they have its names.
    IdxFolder(PathBuf),
    /// A file that ends in `.npy` (one array), `.npz` (named arrays, or a sparse matrix), `.csv`, `.tsv` or `.mtx`, also
    /// with `.gz`.
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
        match Format::of_name(Path::new(text)) {
            Some(_) => Source::File(text.into()),
            None => Source::Folder(text.into()),
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

/// How a file is read, beyond what it says about itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reading {
    /// What values are taken for; see [`Dataset::taken_as`].
    pub kind: Option<Kind>,
    /// How rows are divided that come without test or validation rows. MNIST and folders of IDX files are always divided
    /// as is usual for MNIST.
    pub splitting: Splitting,
    /// Which columns of a text file are taken.
    pub columns: CsvColumns,
    /// Whether columns of a Matrix Market file are rows of the table; see [`read_mtx`](super::read_mtx).
    pub transpose: bool,
}

/// Opens a data set as [`open_as`] does, with the usual reading.
///
/// # Errors
/// As [`open_as`].
pub fn open(source: &Source) -> Result<Dataset, DataError> {
    open_as(source, &Reading::default())
}

/// Opens a data set.
///
/// # Errors
/// If nothing usable is there (the message lists what was looked for), a file cannot be read, its values are not of the
/// kind they are to be taken for, or it does not have what `reading` asks for.
pub fn open_as(source: &Source, reading: &Reading) -> Result<Dataset, DataError> {
    open_with(source, reading, None)
}

/// Opens a data set as [`open_as`] does, in several processes, all of which call this. Each reads and holds a part of
/// the training and the test rows where their format allows it: `.npy` files, `.npz` files and folders of IDX files that
/// are not compressed, other than the known files of MNIST. Validation rows and labels are held by all.
///
/// Whoever looks at such rows gets them from the processes that hold them. All processes therefore have to look at the
/// same rows in the same order. [`Table::is_spread`](super::Table::is_spread) says whether that is so.
///
/// # Errors
/// As [`open_as`], and [`DataError::Disagree`] if processes find other values in a file.
pub fn open_among(source: &Source, reading: &Reading, ranks: &Arc<dyn Ranks>) -> Result<Dataset, DataError> {
    Ok(open_with(source, reading, Some(ranks))?.with_validation_here())
}

fn open_with(source: &Source, reading: &Reading, readers: Readers<'_>) -> Result<Dataset, DataError> {
    let format = match source {
        Source::File(path) => Some(Format::of_name(path).ok_or_else(|| other_file(path))?),
        _ => None,
    };
    check(source, reading, format)?;
    match (source, format) {
        (Source::File(path), Some(format)) => {
            assemble(path, read_file(path, format, reading, readers)?, reading.kind)
        }
        (Source::Folder(path), _) => open_folder(path, reading, readers),
        (Source::IdxFolder(path), _) => {
            check_folder(path)?;
            load_idx_folder_among(path, readers)?.taken_as(reading.kind)
        }
        _ => Dataset::embedded()?.taken_as(reading.kind),
    }
}

/// Refuses wishes that a format cannot fulfil, which would otherwise be ignored.
fn check(source: &Source, reading: &Reading, format: Option<Format>) -> Result<(), DataError> {
    let refuse =
        |key: &str, expected: &str| Err(DataError::field(source.to_string(), key, "given", expected));
    let CsvColumns { selected, labels } = &reading.columns;
    if format != Some(Format::Csv) && (!selected.is_empty() || labels.is_some()) {
        let key = if selected.is_empty() { "`data.labels`" } else { "`data.columns`" };
        return refuse(key, "none: only .csv and .tsv files name their columns");
    }
    if format != Some(Format::Mtx) && reading.transpose {
        return refuse("`data.transpose`", "false: only Matrix Market files are transposed");
    }
    Ok(())
}

fn assemble(path: &Path, read: Read, kind: Option<Kind>) -> Result<Dataset, DataError> {
    let Read { parts, splitting, remark } = read;
    Ok(Dataset::of_kind(stem(path), name(path), splitting, parts, kind)?.with_remark(remark))
}

fn open_folder(path: &Path, reading: &Reading, readers: Readers<'_>) -> Result<Dataset, DataError> {
    let (kind, splitting) = (reading.kind, reading.splitting);
    check_folder(path)?;
    if is_mnist(path) {
        KnownSet::in_folder(path).load(path)?.taken_as(kind)
    } else if has_npy(path, Splitting::Earlier) || !has_idx(path) && has_npy(path, splitting) {
        assemble(path, read_npy_folder(path, splitting, readers)?, kind)
    } else if has_idx(path) {
        load_idx_folder_among(path, readers)?.taken_as(kind)
    } else if !list_png(path)?.is_empty() {
        let (table, remark) = read_images(path)?;
        assemble(path, Read { parts: (table, None, None), splitting, remark }, kind)
    } else {
        let mnist = MNIST_FILES.map(|file| format!("{}[.gz]", file.name)).join(" + ");
        let others = ["train.npy", "x_train.npy", "X.npy", MNIST_FILES[0].name, "*.png"];
        let looked_for = [mnist].into_iter().chain(others.map(str::to_owned)).collect();
        let next = format!("fetch MNIST, or give another folder, {FILES}, or `embedded`");
        Err(DataError::Missing { place: name(path), looked_for, next })
    }
}

/// The files that are read, in words.
const FILES: &str = "a .npy, .npz, .csv, .tsv or .mtx file (also with .gz)";

fn check_folder(path: &Path) -> Result<(), DataError> {
    let metadata = std::fs::metadata(path).map_err(|source| DataError::io(name(path), "open", source))?;
    if metadata.is_dir() { Ok(()) } else { Err(other_file(path)) }
}

fn other_file(path: &Path) -> DataError {
    let expected =
        "a folder, a file that ends in .npy, .npz, .csv, .tsv or .mtx (also with .gz), or `embedded`";
    DataError::Kind { file: name(path), found: "a file with another name", expected }
}

/// What a data set is called that has no other name than that of its file or folder.
fn stem(path: &Path) -> String {
    let last = folder_name(path);
    if path.is_dir() {
        return last;
    }
    let plain = last.strip_suffix(".gz").unwrap_or(&last);
    plain.rsplit_once('.').map_or(plain, |(stem, _)| stem).to_owned()
}
