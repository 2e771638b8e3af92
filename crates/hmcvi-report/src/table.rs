//! Lay out tables for a terminal, readable without colour.

use std::fmt;

/// Where a column's cells stand.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Align {
    /// At the left, as words do.
    #[default]
    Left,
    /// At the right, as numbers do.
    Right,
}

/// Rows of cells under titles.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Table {
    columns: Vec<(String, Align)>,
    rows: Vec<Vec<String>>,
}

impl Table {
    /// A table with these columns.
    pub fn new<S: Into<String>>(columns: impl IntoIterator<Item = (S, Align)>) -> Self {
        Table {
            columns: columns.into_iter().map(|(title, align)| (title.into(), align)).collect(),
            rows: Vec::new(),
        }
    }

    /// Adds a row; missing cells are empty.
    pub fn row<S: Into<String>>(&mut self, cells: impl IntoIterator<Item = S>) {
        let mut cells: Vec<String> = cells.into_iter().map(Into::into).collect();
        cells.resize(self.columns.len(), String::new());
        self.rows.push(cells);
    }

    fn line<'c>(&self, widths: &[usize], cells: impl Iterator<Item = &'c String>) -> String {
        let cell = |((text, width), (_, align)): ((&String, &usize), &(String, Align))| match align {
            Align::Left => format!("{text:<width$}"),
            Align::Right => format!("{text:>width$}"),
        };
        let cells: Vec<String> = cells.zip(widths).zip(&self.columns).map(cell).collect();
        cells.join("  ").trim_end().to_owned()
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let width = |c: usize| {
            let cells = self.rows.iter().map(|row| row[c].chars().count());
            cells.chain([self.columns[c].0.chars().count()]).max().unwrap_or(0)
        };
        let widths: Vec<usize> = (0..self.columns.len()).map(width).collect();
        writeln!(f, "{}", self.line(&widths, self.columns.iter().map(|c| &c.0)))?;
        writeln!(f, "{}", "-".repeat(widths.iter().sum::<usize>() + 2 * widths.len().saturating_sub(1)))?;
        for row in &self.rows {
            writeln!(f, "{}", self.line(&widths, row.iter()))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_stand_at_the_right() {
        let mut table = Table::new([("name", Align::Left), ("n", Align::Right)]);
        table.row(["a", "10"]);
        table.row(["bcdef", "9"]);
        assert_eq!(table.to_string(), "name    n\n---------\na      10\nbcdef   9\n");
    }
}
