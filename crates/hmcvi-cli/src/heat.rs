//! Choose what a heat map shows of the rows of a table: the largest columns, on a scale that fits what the values are.

use std::borrow::Cow;

use hmcvi::data::{Kind, Table};
use hmcvi_report::Scene;
use hmcvi_report::figure::{HeatMap, heat_map};

use crate::failure::Failure;

/// Most columns and rows of a part that are shown.
const COLUMNS: usize = 40;
pub(crate) const ROWS: usize = 200;
/// Standardised values are shown up to here, so that a single one does not make all others pale.
const FAR: f32 = 3.0;

/// The columns of a table as heat maps show them.
pub(crate) struct Columns {
    names: Vec<String>,
    kind: Kind,
    /// Mean and standard deviation of each.
    moments: Vec<(f64, f64)>,
}

impl Columns {
    /// As their training rows are.
    pub(crate) fn of(table: &Table) -> Columns {
        let values = (0..table.len()).flat_map(|row| table.non_zeros(row));
        let names = table.names().map_or_else(|| numbered(table.columns()), <[String]>::to_vec);
        Columns { names, kind: table.kind(), moments: moments(table.columns(), table.len(), values) }
    }

    /// As decoded rows are, where the data is gone.
    pub(crate) fn of_values(kind: Kind, columns: usize, values: &[f32]) -> Columns {
        let cells = values.iter().enumerate().map(|(i, v)| (i % columns, *v));
        let moments = moments(columns, values.len() / columns, cells);
        Columns { names: numbered(columns), kind, moments }
    }

    pub(crate) fn names(&self) -> &[String] {
        &self.names
    }

    /// Which columns are shown, in words.
    pub(crate) fn shown_in_words(&self) -> String {
        match self.names.len() {
            all if all > COLUMNS => format!("the {COLUMNS} columns of {all} with the largest means"),
            all => format!("all {all} columns, those with the largest means first"),
        }
    }

    /// What the numbers on the scale are.
    fn scale(&self) -> &'static str {
        match self.kind {
            Kind::Count => "log(1 + x)",
            Kind::Real => "standard deviations from the mean",
            _ => "value",
        }
    }

    /// The same in a sentence.
    pub(crate) fn scale_in_words(&self) -> &'static str {
        match self.kind {
            Kind::Count => "log(1 + x)",
            Kind::Real => {
                "how many standard deviations of the training rows a value is above their mean, up to 3 either way"
            }
            _ => "the values themselves",
        }
    }

    /// Parts with their names and values of all columns as a heat map of some.
    pub(crate) fn heat_map<'a>(
        &self,
        title: &str,
        parts: impl IntoIterator<Item = (&'a str, &'a [f32])>,
    ) -> Result<Scene, Failure> {
        let shown = self.largest();
        let rows = |values: &[f32]| -> Vec<f32> {
            let rows = values.chunks_exact(self.names.len()).take(ROWS);
            rows.flat_map(|row| shown.iter().map(|&column| self.scaled(column, row[column]))).collect()
        };
        Ok(heat_map(&HeatMap {
            title: title.into(),
            columns: shown.iter().map(|&column| self.names[column].clone()).collect(),
            parts: parts.into_iter().map(|(name, values)| (name.to_owned(), rows(values))).collect(),
            scale: self.scale().into(),
        })?)
    }

    /// The columns with the largest means, the largest first.
    fn largest(&self) -> Vec<usize> {
        let mut columns: Vec<usize> = (0..self.names.len()).collect();
        columns.sort_by(|&a, &b| self.moments[b].0.total_cmp(&self.moments[a].0));
        columns.truncate(COLUMNS);
        columns
    }

    fn scaled(&self, column: usize, value: f32) -> f32 {
        let (mean, deviation) = self.moments[column];
        match self.kind {
            Kind::Count => value.ln_1p(),
            // A column that never changes has no scale of its own.
            Kind::Real if deviation == 0.0 => (value - mean as f32).clamp(-FAR, FAR),
            Kind::Real => (((f64::from(value) - mean) / deviation) as f32).clamp(-FAR, FAR),
            _ => value,
        }
    }
}

/// Names for columns that have none. No plain numbers: a line of those would be read as values.
fn numbered(columns: usize) -> Vec<String> {
    (0..columns).map(|column| format!("x{column}")).collect()
}

/// Mean and standard deviation of every column, from all values that are not zero.
fn moments(columns: usize, rows: usize, cells: impl Iterator<Item = (usize, f32)>) -> Vec<(f64, f64)> {
    let mut sums = vec![(0f64, 0f64); columns];
    for (column, value) in cells {
        let value = f64::from(value);
        sums[column].0 += value;
        sums[column].1 += value * value;
    }
    let rows = rows.max(1) as f64;
    let moment = |(sum, squares): (f64, f64)| {
        let mean = sum / rows;
        (mean, (squares / rows - mean * mean).max(0.0).sqrt())
    };
    sums.into_iter().map(moment).collect()
}

/// Lines of a CSV file: the names of the columns, then rows, each after the name of its part where there are several.
pub(crate) fn csv(names: &[String], parts: &[(&str, &[f32])]) -> String {
    let several = parts.len() > 1;
    let mut lines = String::new();
    let first = several.then_some(Cow::Borrowed("part"));
    let header: Vec<Cow<'_, str>> = first.into_iter().chain(names.iter().map(|name| quoted(name))).collect();
    lines += &(header.join(",") + "\n");
    for (part, values) in parts {
        for row in values.chunks_exact(names.len()) {
            let first = several.then(|| (*part).to_owned());
            let cells: Vec<String> = first.into_iter().chain(row.iter().map(f32::to_string)).collect();
            lines += &(cells.join(",") + "\n");
        }
    }
    lines
}

/// A name as a field of a CSV file.
fn quoted(name: &str) -> Cow<'_, str> {
    match name.contains([',', '"', '\n', '\r']) {
        true => format!("\"{}\"", name.replace('"', "\"\"")).into(),
        false => name.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn large_columns_come_first_and_values_are_scaled_by_their_kind() {
        let columns = Columns::of_values(Kind::Real, 2, &[1.0, 10.0, 3.0, 30.0]);
        assert_eq!(columns.largest(), [1, 0]);
        // Means 2 and 20, standard deviations 1 and 10.
        assert_eq!(
            [columns.scaled(0, 3.0), columns.scaled(1, 0.0), columns.scaled(1, 1e6)],
            [1.0, -2.0, 3.0]
        );
        let counts = Columns { kind: Kind::Count, ..columns };
        assert_eq!(counts.scaled(0, 0.0), 0.0);
        // log(1 + 1)
        assert_eq!(counts.scaled(1, 1.0), std::f32::consts::LN_2);
    }

    #[test]
    fn names_in_csv_files_are_quoted_where_they_must_be() {
        let names = ["a".to_owned(), "b, \"c\"".to_owned()];
        assert_eq!(csv(&names, &[("", &[1.0, -0.5])]), "a,\"b, \"\"c\"\"\"\n1,-0.5\n");
        let two = csv(&names[..1], &[("before", &[1.0]), ("after", &[2.0])]);
        assert_eq!(two, "part,a\nbefore,1\nafter,2\n");
    }
}
