//! Open a file or folder as tables, by its name.

use std::path::Path;

use super::super::arrays::{self, Array, Parts};
use super::super::error::{DataError, name};
use super::super::folder::{NpyFolder, folder_name};
use super::super::npz::NpzArrays;
use super::super::remark::{About, Remark};
use super::super::splitting::Splitting;
use super::super::stream::Stream;
use super::csv::{self, CsvColumns};
use super::kind::Kind;
use super::npy::NumberArray;
use super::{Table, Tables, csr, mtx, png};

/// How a file is read, beyond what it says about itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TableReading {
    /// What values are taken for; see [`Table::taken_as`].
    pub kind: Option<Kind>,
    /// How rows are divided that come without test or validation rows.
    pub splitting: Splitting,
    /// Which columns of a text file are taken.
    pub columns: CsvColumns,
    /// Whether columns of a Matrix Market file are rows of the table; see [`super::read_mtx`].
    pub transpose: bool,
}

/// The formats that tables are read from.
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
    /// A folder of `.npy` files or of PNG images.
    Folder,
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

/// Opens a file or folder, divides its rows and chooses their kind.
///
/// # Errors
/// If it cannot be read, is of no known format, has values that are not of the kind they are to be taken for, or does
/// not have what `reading` asks for.
pub fn open(path: &Path, reading: &TableReading) -> Result<Tables, DataError> {
    let format = format(path)?;
    check(path, reading, format)?;
    let (parts, remark) = read(path, reading, format)?;
    let tables = Tables::from_parts(stem(path), name(path), reading.splitting, parts, reading.kind)?;
    Ok(match remark {
        Some(remark) => tables.with_remark(remark),
        None => tables,
    })
}

/// The parts that there are, and what there is to say about them.
fn read(
    path: &Path,
    reading: &TableReading,
    format: Format,
) -> Result<(Parts<Table>, Option<Remark>), DataError> {
    let table = match format {
        Format::Npy => NumberArray::read(Stream::open(path)?)?.into_rows(&name(path), None)?,
        Format::Npz => {
            let mut arrays = NpzArrays::<NumberArray>::open(path)?;
            if !csr::is_sparse(&arrays.npz) {
                return arrays::parts(reading.splitting, &mut arrays);
            }
            csr::read(&name(path), &arrays.npz)?
        }
        Format::Csv => csv::read(Stream::open(path)?, csv::separator(&name(path)), &reading.columns)?,
        Format::Mtx => mtx::read(Stream::open(path)?, reading.transpose)?,
        Format::Folder if png::list(path)?.is_empty() => {
            return arrays::parts(reading.splitting, &mut NpyFolder::<NumberArray>::new(path));
        }
        Format::Folder => png::read_png_folder(path)?.to_table()?,
    };
    let remark = (format == Format::Mtx && !reading.transpose).then(about_rows);
    Ok(((table, None, None), remark))
}

fn format(path: &Path) -> Result<Format, DataError> {
    let metadata = std::fs::metadata(path).map_err(|source| DataError::io(name(path), "open", source))?;
    match Format::of_name(path) {
        _ if metadata.is_dir() => Ok(Format::Folder),
        Some(format) => Ok(format),
        None => {
            let expected = "a folder, or a file that ends in .npy, .npz, .csv, .tsv or .mtx (also with .gz)";
            Err(DataError::Kind { file: name(path), found: "a file with another name", expected })
        }
    }
}

/// Refuses wishes that a format cannot fulfil, which would otherwise be ignored.
fn check(path: &Path, reading: &TableReading, format: Format) -> Result<(), DataError> {
    let refuse = |field: &str, expected: &str| Err(DataError::field(name(path), field, "given", expected));
    if format != Format::Csv && reading.columns != CsvColumns::default() {
        return refuse("selection of columns", "none: only .csv and .tsv files name their columns");
    }
    if format != Format::Mtx && reading.transpose {
        return refuse("transposition", "none: only Matrix Market files are transposed");
    }
    Ok(())
}

fn about_rows() -> Remark {
    let text = "rows of the file are rows of the table; if they are genes, or other columns, transpose it";
    Remark::note(About::Columns, text)
}

/// What a data set is called that has no other name than that of its file.
fn stem(path: &Path) -> String {
    let last = folder_name(path);
    if path.is_dir() {
        return last;
    }
    let plain = last.strip_suffix(".gz").unwrap_or(&last);
    plain.rsplit_once('.').map_or(plain, |(stem, _)| stem).to_owned()
}
