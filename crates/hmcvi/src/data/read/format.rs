//! Read a file by the format that its name suggests.

use std::path::Path;

use super::arrays::Read;
use super::npy::NumberArray;
use super::part::Readers;
use super::stream::Stream;
use super::{csv, mtx, npz};
use crate::data::error::{DataError, name};
use crate::data::remark::{About, Remark};
use crate::data::source::Reading;
use crate::data::table::Table;

/// The formats of files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Format {
    /// One array of NumPy.
    Npy,
    /// Named arrays of NumPy, or a sparse matrix of SciPy.
    Npz,
    /// Text in columns.
    Csv,
    /// Matrix Market.
    Mtx,
}

impl Format {
    /// The format that the name of a file suggests, without regard to `.gz` at its end; none for other names, such as
    /// those of folders.
    pub fn of_name(path: &Path) -> Option<Format> {
        let file = path.file_name()?.to_string_lossy().to_ascii_lowercase();
        match file.strip_suffix(".gz").unwrap_or(&file).rsplit_once('.')?.1 {
            "npy" => Some(Format::Npy),
            "npz" => Some(Format::Npz),
            "csv" | "tsv" => Some(Format::Csv),
            "mtx" => Some(Format::Mtx),
            _ => None,
        }
    }
}

/// Reads a file, of which several processes may share the reading; its kind is still to be chosen.
pub(crate) fn read_file(
    path: &Path,
    format: Format,
    reading: &Reading,
    readers: Readers<'_>,
) -> Result<Read, DataError> {
    let read = |train: Table, remark: Option<Remark>| Read {
        parts: (train, None, None),
        splitting: reading.splitting,
        remark,
    };
    match format {
        Format::Npz => npz::read_npz(path, reading.splitting, readers),
        Format::Npy => Ok(read(NumberArray::read_rows(path, readers)?.into_rows(&name(path), None)?, None)),
        Format::Csv => {
            let separator = csv::separator(&name(path));
            Ok(read(csv::read(Stream::open(path)?, separator, &reading.columns)?, None))
        }
        Format::Mtx => {
            let remark = (!reading.transpose).then(about_rows);
            Ok(read(mtx::read(Stream::open(path)?, reading.transpose)?, remark))
        }
    }
}

fn about_rows() -> Remark {
    let text = "rows of the file are rows of the table; if they are genes, or other columns, `data.transpose = true` \
                exchanges rows and columns";
    Remark::note(About::Columns, text)
}
