//! Read text files of columns with a header, separated by commas (or tabs).

use std::collections::BTreeSet;
use std::path::Path;

use super::csv_records::Records;
use super::file::check_memory;
use super::stream::Stream;
use crate::data::cells::Cells;
use crate::data::error::{DataError, name};
use crate::data::kind::Stored;
use crate::data::labels::Labels;
use crate::data::table::Table;

/// Which columns of a text file are taken, by name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CsvColumns {
    /// The columns of the table, in this order; empty: all that are no labels.
    pub selected: Vec<String>,
    /// The column of labels, numbers or text.
    pub labels: Option<String>,
}

/// Reads a `.csv` file, or a `.tsv` file whose columns are separated by tabs (also compressed with gzip).
///
/// The first line names the columns. Cells are numbers, or `true` and `false`, which are 1 and 0.
///
/// # Errors
/// If the file cannot be read, a column does not exist, rows differ in length, or a cell is missing (empty, `NA`, `NaN`
/// and the like) or not numeric: the message names its column, its row and its line.
pub fn read_csv(path: &Path, columns: &CsvColumns) -> Result<Table, DataError> {
    read(Stream::open(path)?, separator(&name(path)), columns)?.taken_as(None)
}

/// Reads a text file that is in memory; `file` names it in errors, and its end says what separates columns.
///
/// # Errors
/// As [`read_csv`].
pub fn read_csv_bytes(file: &str, bytes: &[u8], columns: &CsvColumns) -> Result<Table, DataError> {
    read(Stream::of_bytes(file, bytes)?, separator(file), columns)?.taken_as(None)
}

/// What separates the columns of a file, by its name.
pub(super) fn separator(file: &str) -> u8 {
    let file = file.to_ascii_lowercase();
    if file.trim_end_matches(".gz").ends_with(".tsv") { b'\t' } else { b',' }
}

pub(super) fn read(stream: Stream<'_>, separator: u8, columns: &CsvColumns) -> Result<Table, DataError> {
    let mut records = Records::new(stream, separator);
    let header = header(&mut records)?;
    let choice = Choice::new(records.file(), &header, columns)?;
    let mut cells = Reader { header: &header, values: Vec::new(), whole: true, truth: true };
    let (mut labels, mut row) = (Vec::new(), 0);
    while records.next()? {
        if records.len() != header.len() {
            let field = format!("number of cells in row {row} (line {})", records.line());
            let expected = format!("{} as in the header", header.len());
            return Err(DataError::field(records.file(), field, records.len(), expected));
        }
        choice.selected.iter().try_for_each(|&column| cells.add(&records, row, column))?;
        if let Some(column) = choice.labels {
            labels.push(cells.label(&records, row, column)?);
        }
        check_memory(records.file(), cells.values.len() as u64, size_of::<f32>() as u64)?;
        row += 1;
    }
    let (file, stored) = (records.file(), cells.stored());
    if row == 0 {
        return Err(DataError::field(file, "number of rows after the header", 0, "at least 1"));
    }
    let names = choice.selected.iter().map(|&column| header[column].clone()).collect();
    let table = Table::raw(Cells::dense(file, choice.selected.len(), cells.values)?, stored);
    let table = table.with_names(names)?;
    if choice.labels.is_some() { table.with_labels(Labels::from_text(&labels)) } else { Ok(table) }
}

/// The names of all columns.
fn header(records: &mut Records<'_>) -> Result<Vec<String>, DataError> {
    if !records.next()? {
        return Err(DataError::field(
            records.file(),
            "header",
            "missing",
            "a line with the names of the columns",
        ));
    }
    let names = (0..records.len()).map(|column| records.cell(column).map(str::to_owned));
    let names: Vec<String> = names.collect::<Result<_, _>>()?;
    if names.iter().all(|name| name.parse::<f64>().is_ok()) {
        let expected = "the names of the columns in the first line";
        return Err(DataError::field(records.file(), "header", format!("`{}` …", names[0]), expected));
    }
    if names.len() == 1 && names[0].contains([';', '\t']) {
        let (found, expected) = (format!("`{}`", names[0].escape_debug()), "columns separated by commas");
        return Err(DataError::field(records.file(), "header", found, expected));
    }
    let mut known = BTreeSet::new();
    match names.iter().find(|name| !known.insert(name.as_str())) {
        None => Ok(names),
        Some(twice) => {
            let found = format!("twice a column `{}`", twice.escape_debug());
            Err(DataError::field(records.file(), "header", found, "names that differ"))
        }
    }
}

/// The numbers of the columns that are taken.
struct Choice {
    selected: Vec<usize>,
    labels: Option<usize>,
}

impl Choice {
    fn new(file: &str, header: &[String], columns: &CsvColumns) -> Result<Choice, DataError> {
        let find = |wanted: &String| {
            header.iter().position(|name| name == wanted).ok_or_else(|| DataError::Missing {
                place: file.to_owned(),
                looked_for: vec![format!("column `{wanted}`")],
                next: format!("there are {}", some(header)),
            })
        };
        let labels = columns.labels.as_ref().map(find).transpose()?;
        let mut selected = columns.selected.iter().map(find).collect::<Result<Vec<_>, _>>()?;
        if selected.is_empty() {
            selected = (0..header.len()).filter(|&column| Some(column) != labels).collect();
            if let Some(unnamed) = selected.iter().find(|&&column| header[column].is_empty()) {
                let expected = "a name; if it numbers the rows, save the table without it, as \
                                to_csv(file, index=False) of pandas does, or select the columns to be read";
                return Err(DataError::field(file, format!("name of column {unnamed}"), "empty", expected));
            }
        }
        if selected.is_empty() {
            return Err(DataError::field(file, "number of columns beside the labels", 0, "at least 1"));
        }
        Ok(Choice { selected, labels })
    }
}

/// The names of columns as messages show them: not more than a few.
fn some(header: &[String]) -> String {
    const MOST: usize = 10;
    let names: Vec<String> =
        header.iter().take(MOST).map(|name| format!("`{}`", name.escape_debug())).collect();
    let more = header.len().saturating_sub(MOST);
    names.join(", ") + &if more > 0 { format!(" and {more} more") } else { String::new() }
}

/// What missing values are written as, in lower case.
const MISSING: [&str; 7] = ["", "na", "n/a", "nan", "null", "none", "?"];

/// Values read so far.
struct Reader<'a> {
    header: &'a [String],
    values: Vec<f32>,
    /// Whether all are written as integers.
    whole: bool,
    /// Whether all are truth values.
    truth: bool,
}

impl Reader<'_> {
    fn add(&mut self, records: &Records<'_>, row: usize, column: usize) -> Result<(), DataError> {
        let text = records.cell(column)?;
        if let Some(&(_, value)) =
            [("true", 1.0), ("false", 0.0)].iter().find(|(word, _)| text.eq_ignore_ascii_case(word))
        {
            self.values.push(value);
            return Ok(());
        }
        self.truth = false;
        self.whole &= text.bytes().all(|byte| byte.is_ascii_digit() || matches!(byte, b'-' | b'+'));
        let found = quoted(text);
        let (found, expected) = match text.parse::<f64>() {
            _ if is_missing(text) => {
                (format!("missing ({found})"), "a number; fill in missing values, or leave out their rows")
            }
            Ok(value) if (value as f32).is_finite() => {
                self.values.push(value as f32);
                return Ok(());
            }
            Ok(_) => (found, "a finite number that single precision can hold"),
            Err(_) => {
                let expected = "a number; name the column as that of the labels (`data.labels`), select other columns \
                                (`data.columns`), or replace its texts by numbers (one column of 0 and 1 for each class)";
                (found, expected)
            }
        };
        Err(DataError::field(records.file(), self.place(records, row, column), found, expected))
    }

    fn label(&self, records: &Records<'_>, row: usize, column: usize) -> Result<String, DataError> {
        let text = records.cell(column)?;
        if !is_missing(text) {
            return Ok(text.to_owned());
        }
        let found = format!("missing ({})", quoted(text));
        Err(DataError::field(records.file(), self.place(records, row, column), found, "a label"))
    }

    fn place(&self, records: &Records<'_>, row: usize, column: usize) -> String {
        format!("column {} in row {row} (line {})", quoted(&self.header[column]), records.line())
    }

    fn stored(&self) -> Stored {
        match (self.truth, self.whole) {
            (true, _) => Stored::Bool,
            (_, true) => Stored::Integer,
            _ => Stored::Float,
        }
    }
}

fn is_missing(text: &str) -> bool {
    MISSING.iter().any(|missing| text.eq_ignore_ascii_case(missing))
}

fn quoted(text: &str) -> String {
    format!("`{}`", text.chars().take(40).collect::<String>().escape_debug())
}
