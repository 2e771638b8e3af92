//! Check and sort the values of sparse rows.

use hmcvi_graph::SparseRows;

use super::error::DataError;

/// Rows and columns that a sparse file may declare beyond sixteen for each of its values: tables of counts have rows
/// without any, but memory is needed for each.
const EMPTY: u64 = 1 << 14;

/// Checks numbers of rows and columns that a sparse file with `entries` values declares.
pub(super) fn check_sparse(file: &str, rows: u64, columns: u64, entries: u64) -> Result<(), DataError> {
    let most = EMPTY.saturating_add(entries.saturating_mul(16)).min(u64::from(u32::MAX));
    for (field, found) in [("number of rows", rows), ("number of columns", columns)] {
        if found == 0 || found > most {
            let expected = format!("from 1 to {most}, as there are {entries} values");
            return Err(DataError::field(file, field, found, expected));
        }
    }
    Ok(())
}

/// Compressed sparse rows, which may come in any order within a row. Zeros are left out.
pub(super) fn rows(
    file: &str,
    width: usize,
    starts: &[usize],
    columns: &[u32],
    values: &[f32],
) -> Result<SparseRows, DataError> {
    check_starts(file, starts, columns.len(), values.len())?;
    let mut kept = Kept { starts: vec![0], columns: Vec::new(), values: Vec::new() };
    let mut entries: Vec<(u32, f32)> = Vec::new();
    for (row, bounds) in starts.windows(2).enumerate() {
        let range = bounds[0]..bounds[1];
        entries.clear();
        entries.extend(columns[range.clone()].iter().copied().zip(values[range].iter().copied()));
        kept.push(file, row, width, &mut entries)?;
    }
    SparseRows::new(width, kept.starts, kept.columns, kept.values)
        .map_err(|error| DataError::field(file, "sparse table", error, "ascending columns"))
}

/// A value that is neither NaN nor infinite, or why it is not; adding zero makes a negative zero positive.
pub(super) fn finite(file: &str, row: usize, column: usize, value: f32) -> Result<f32, DataError> {
    if value.is_finite() {
        return Ok(value + 0.0);
    }
    let field = format!("row {row}, column {column} (counted from 0)");
    let found = if value.is_nan() { "NaN".to_owned() } else { value.to_string() };
    let expected = "a finite number that single precision can hold; fill in or leave out missing values";
    Err(DataError::field(file, field, found, expected))
}

/// The values of sparse rows that are kept, while they come.
struct Kept {
    starts: Vec<usize>,
    columns: Vec<u32>,
    values: Vec<f32>,
}

impl Kept {
    /// Checks a row, sorts it and adds it.
    fn push(
        &mut self,
        file: &str,
        row: usize,
        width: usize,
        entries: &mut [(u32, f32)],
    ) -> Result<(), DataError> {
        entries.sort_by_key(|&(column, _)| column);
        if let Some(&(last, _)) = entries.last().filter(|(last, _)| *last as usize >= width) {
            let expected = format!("less than the number of columns, {width}");
            return Err(DataError::field(file, format!("column of a value in row {row}"), last, expected));
        }
        if let Some(twice) = entries.windows(2).find(|pair| pair[0].0 == pair[1].0) {
            let field = format!("row {row}, column {} (counted from 0)", twice[0].0);
            return Err(DataError::field(file, field, "given twice", "one value for each row and column"));
        }
        for (column, value) in entries.iter_mut() {
            *value = finite(file, row, *column as usize, *value)?;
        }
        for &(column, value) in entries.iter().filter(|(_, value)| *value != 0.0) {
            self.columns.push(column);
            self.values.push(value);
        }
        self.starts.push(self.values.len());
        Ok(())
    }
}

fn check_starts(file: &str, starts: &[usize], columns: usize, values: usize) -> Result<(), DataError> {
    if columns != values {
        let expected = format!("{values}, one for each value");
        return Err(DataError::field(file, "number of column indices", columns, expected));
    }
    let ends = starts.len() > 1 && starts[0] == 0 && starts.last() == Some(&values);
    if !ends || starts.windows(2).any(|pair| pair[0] > pair[1]) {
        let expected = format!("ascending numbers from 0 to the number of values, {values}");
        return Err(DataError::field(file, "starts of the rows", "something else", expected));
    }
    Ok(())
}
