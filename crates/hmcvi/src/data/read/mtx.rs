//! Read Matrix Market files: sparse matrices as text, one line for each value that is not zero.

use std::path::Path;

use super::file::check_memory;
use super::lines::Lines;
use super::stream::Stream;
use crate::data::cells::Cells;
use crate::data::error::DataError;
use crate::data::kind::Stored;
use crate::data::sparse::check_sparse;
use crate::data::table::Table;

/// Reads a Matrix Market file (also one compressed with gzip) in coordinate format: `integer`, `real` or `pattern`
/// values (which are 1) of a `general` matrix.
///
/// Rows of the file are rows of the table. Files of single cells usually have genes in rows and cells in columns:
/// `transpose` takes columns of the file for rows of the table.
///
/// # Errors
/// If the file cannot be read, has another format, or has other values than it declares.
pub fn read_mtx(path: &Path, transpose: bool) -> Result<Table, DataError> {
    read(Stream::open(path)?, transpose)?.taken_as(None)
}

/// Reads a Matrix Market file that is in memory; `file` names it in errors.
///
/// # Errors
/// As [`read_mtx`].
pub fn read_mtx_bytes(file: &str, bytes: &[u8], transpose: bool) -> Result<Table, DataError> {
    read(Stream::of_bytes(file, bytes)?, transpose)?.taken_as(None)
}

/// The types of values that can be read.
#[derive(Clone, Copy, PartialEq)]
enum Field {
    Integer,
    Real,
    Pattern,
}

/// Fewest bytes of a value: row, column and the end of the line.
const SHORTEST: u64 = 4;

pub(super) fn read(stream: Stream<'_>, transpose: bool) -> Result<Table, DataError> {
    let mut lines = Lines::new(stream);
    let field = banner(&mut lines)?;
    let [rows, columns, entries] = sizes(&mut lines)?;
    check_sparse(lines.file(), rows, columns, entries)?;
    check_memory(lines.file(), entries, size_of::<Entry>() as u64)?;
    let mut values = Vec::new();
    while let Some(entry) = entry(&mut lines, field, [rows, columns])? {
        if values.len() as u64 == entries {
            return Err(wrong_count(lines.file(), "more", entries));
        }
        values.push(if transpose { Entry { row: entry.column, column: entry.row, ..entry } } else { entry });
    }
    if values.len() as u64 != entries {
        return Err(wrong_count(lines.file(), values.len(), entries));
    }
    let (rows, columns) = if transpose { (columns, rows) } else { (rows, columns) };
    let stored = match field {
        Field::Integer => Stored::Integer,
        Field::Real => Stored::Float,
        Field::Pattern => Stored::Bool,
    };
    Ok(Table::raw(cells(lines.file(), rows as usize, columns as usize, &values)?, stored))
}

fn wrong_count(file: &str, found: impl ToString, entries: u64) -> DataError {
    let expected = format!("{entries} as declared; the file is damaged, copy or fetch it again");
    DataError::field(file, "number of values", found, expected)
}

/// The first line: `%%MatrixMarket matrix coordinate integer general`.
fn banner(lines: &mut Lines<'_>) -> Result<Field, DataError> {
    let line = lines.next()?.unwrap_or_default().to_ascii_lowercase();
    let refuse = |field: &str, found: &str, expected: &str| {
        Err(DataError::field(lines.file(), field, format!("`{}`", found.escape_debug()), expected))
    };
    let words: Vec<&str> = line.split_ascii_whitespace().collect();
    let ["%%matrixmarket", "matrix", format, field, symmetry] = words[..] else {
        let line: String = line.chars().take(60).collect();
        return refuse("first line", &line, "`%%MatrixMarket matrix coordinate` and the type of the values");
    };
    if format != "coordinate" {
        return refuse("format", format, "`coordinate`; save dense matrices as .npy or .csv");
    }
    let field = match field {
        "integer" => Field::Integer,
        "real" | "double" => Field::Real,
        "pattern" => Field::Pattern,
        other => return refuse("type of the values", other, "`integer`, `real` or `pattern`"),
    };
    if symmetry != "general" {
        let expected =
            "`general`; the rows of a table are observations, which a symmetric matrix does not have";
        return refuse("symmetry", symmetry, expected);
    }
    Ok(field)
}

/// Rows, columns and number of values: the first line that is no comment.
fn sizes(lines: &mut Lines<'_>) -> Result<[u64; 3], DataError> {
    let text = content(lines)?.unwrap_or_default();
    let numbers: Result<Vec<u64>, _> = text.split_ascii_whitespace().map(str::parse).collect();
    match numbers.as_deref() {
        Ok(&[rows, columns, entries]) if entries.saturating_mul(SHORTEST) <= lines.most() + 1 => {
            Ok([rows, columns, entries])
        }
        Ok(&[_, _, entries]) => Err(DataError::Truncated {
            file: lines.file().to_owned(),
            field: "the values",
            found: lines.most(),
            expected: entries.saturating_mul(SHORTEST),
        }),
        _ => {
            let field = format!("line {}", lines.number);
            let expected = "the numbers of rows, columns and values";
            Err(DataError::field(lines.file(), field, quoted(&text), expected))
        }
    }
}

/// The next line that is neither empty nor a comment.
fn content(lines: &mut Lines<'_>) -> Result<Option<String>, DataError> {
    loop {
        match lines.next()? {
            None => return Ok(None),
            Some(line) if line.is_empty() || line.starts_with('%') => {}
            Some(line) => return Ok(Some(line.to_owned())),
        }
    }
}

fn quoted(text: &str) -> String {
    format!("`{}`", text.chars().take(60).collect::<String>().escape_debug())
}

/// A value in its place, counted from 0.
#[derive(Clone, Copy)]
struct Entry {
    row: u32,
    column: u32,
    value: f32,
}

fn entry(lines: &mut Lines<'_>, field: Field, sizes: [u64; 2]) -> Result<Option<Entry>, DataError> {
    let Some(text) = content(lines)? else { return Ok(None) };
    let found = parse(&text, field).filter(|&(place, _)| (0..2).all(|i| (1..=sizes[i]).contains(&place[i])));
    match found {
        // Sizes are checked to be below 2^32.
        Some(([row, column], value)) => {
            Ok(Some(Entry { row: (row - 1) as u32, column: (column - 1) as u32, value: value as f32 }))
        }
        None => {
            let value = match field {
                Field::Integer => " and an integer",
                Field::Real => " and a finite number",
                Field::Pattern => "",
            };
            let expected = format!("a row from 1 to {}, a column from 1 to {}{value}", sizes[0], sizes[1]);
            Err(DataError::field(lines.file(), format!("line {}", lines.number), quoted(&text), expected))
        }
    }
}

fn parse(text: &str, field: Field) -> Option<([u64; 2], f64)> {
    let mut words = text.split_ascii_whitespace();
    let place = [words.next()?.parse().ok()?, words.next()?.parse().ok()?];
    let value = match field {
        Field::Pattern => 1.0,
        Field::Integer => words.next()?.parse::<i64>().ok()? as f64,
        Field::Real => words.next()?.parse().ok().filter(|value: &f64| (*value as f32).is_finite())?,
    };
    words.next().is_none().then_some((place, value))
}

/// Sorts the values into rows.
fn cells(file: &str, rows: usize, width: usize, entries: &[Entry]) -> Result<Cells, DataError> {
    let mut starts = vec![0usize; rows + 1];
    entries.iter().for_each(|entry| starts[entry.row as usize + 1] += 1);
    for row in 0..rows {
        starts[row + 1] += starts[row];
    }
    let mut next = starts.clone();
    let (mut columns, mut values) = (vec![0; entries.len()], vec![0.0; entries.len()]);
    for entry in entries {
        let at = &mut next[entry.row as usize];
        (columns[*at], values[*at]) = (entry.column, entry.value);
        *at += 1;
    }
    Cells::sparse(file, width, &starts, &columns, &values)
}
