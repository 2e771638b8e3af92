//! Read the sparse matrices of SciPy: `scipy.sparse.save_npz` of a matrix in CSR format.

use super::npy::{NumberArray, read_header, read_values};
use super::npz::Npz;
use super::stream::Stream;
use crate::data::cells::Cells;
use crate::data::error::DataError;
use crate::data::sparse::check_sparse;
use crate::data::table::Table;

/// The names of the arrays of every sparse matrix of SciPy, whatever its format.
const NAMES: [&str; 3] = ["data", "format", "shape"];

/// Whether an archive holds one sparse matrix.
pub(super) fn is_sparse(npz: &Npz) -> bool {
    let names = npz.names();
    NAMES.iter().all(|known| names.iter().any(|name| name == known))
}

/// Reads the sparse matrix of an archive; `file` names it in errors.
pub(super) fn read(file: &str, npz: &Npz) -> Result<Table, DataError> {
    check_format(stream(file, npz, "format")?)?;
    let shape = read_values(stream(file, npz, "shape")?, |value| value)?;
    let [rows, columns] = shape[..] else {
        return Err(DataError::field(file, "number of axes", shape.len(), "2, rows and columns"));
    };
    let indices = read_values(stream(file, npz, "indices")?, index)?;
    check_sparse(file, rows as u64, columns as u64, indices.len() as u64)?;
    let starts = read_values(stream(file, npz, "indptr")?, |value| index(value) as usize)?;
    if starts.len() as u64 != rows as u64 + 1 {
        let expected = format!("{}, one more than there are rows", rows as u64 + 1);
        return Err(DataError::field(file, "number of starts of rows", starts.len(), expected));
    }
    let (values, stored) = NumberArray::read_flat(stream(file, npz, "data")?)?;
    Ok(Table::raw(Cells::sparse(file, columns as usize, &starts, &indices, &values)?, stored))
}

/// A position; those that cannot be one become the largest, which never is.
fn index(value: f64) -> u32 {
    if value >= 0.0 && value.fract() == 0.0 { value.min(f64::from(u32::MAX)) as u32 } else { u32::MAX }
}

fn stream<'a>(file: &str, npz: &'a Npz, array: &str) -> Result<Stream<'a>, DataError> {
    npz.stream(array)?.ok_or_else(|| DataError::Missing {
        place: file.to_owned(),
        looked_for: vec![array.to_owned()],
        next: "save the matrix again with scipy.sparse.save_npz(file, x.tocsr())".to_owned(),
    })
}

/// Longest name of a format, in bytes of UTF-32.
const LONGEST: u64 = 64;

fn check_format(mut stream: Stream<'_>) -> Result<(), DataError> {
    let header = read_header(&mut stream)?;
    let text = stream.block("the name of the format", stream.most().min(LONGEST))?;
    // A string of bytes (`|S3`) or of UTF-32 (`<U3`), padded with zeros.
    let text: Vec<u8> = text.into_iter().filter(|&byte| byte != 0).collect();
    let found = String::from_utf8_lossy(&text).escape_debug().to_string();
    if header.shape.is_empty() && found == "csr" {
        return Ok(());
    }
    let expected = "`csr`; save it with scipy.sparse.save_npz(file, x.tocsr())";
    Err(DataError::field(stream.name(), "format of the sparse matrix", format!("`{found}`"), expected))
}
