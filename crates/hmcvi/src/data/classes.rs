//! Give each class of each column a column of its own.

use std::sync::Arc;

use super::cells::Cells;
use super::error::DataError;
use super::kind::Kind;
use super::split::{Dataset, Split};
use super::table::Table;

/// Most columns that classes are expanded into: each is an input and an output of a network.
const MOST_COLUMNS: usize = 1 << 16;

impl Dataset {
    /// Data of [`Kind::Class`] with a column for each class: 1 where the row has it, 0 elsewhere. Others stay as they
    /// are.
    ///
    /// A column has the classes from 0 to its largest value in all splits together. The columns that it is replaced by
    /// are called `name=class`, by its number where it has no name, and belong together as [`Table::groups`] says.
    ///
    /// # Errors
    /// [`DataError::Field`] if there are too many classes.
    pub fn one_hot(self) -> Result<Dataset, DataError> {
        if self.kind() != Kind::Class || self.train().groups().is_some() {
            return Ok(self);
        }
        let groups = count(&self)?;
        let names = names(self.train(), &groups);
        self.map(|table| expand(table, &groups, &names))
    }
}

/// Number of classes of each column.
fn count(dataset: &Dataset) -> Result<Vec<usize>, DataError> {
    let mut groups = vec![1; dataset.train().columns()];
    for table in Split::ALL.map(|split| dataset.table(split)) {
        for (column, value) in (0..table.len()).flat_map(|row| table.non_zeros(row)) {
            groups[column] = groups[column].max(value as usize + 1);
        }
    }
    let all: usize = groups.iter().sum();
    if all > MOST_COLUMNS {
        let most = (0..groups.len()).max_by_key(|&column| groups[column]).unwrap_or_default();
        let expected = format!(
            "at most {MOST_COLUMNS}; column {} alone has {}. Classes are numbered from 0, column by column",
            name(dataset.train(), most),
            groups[most]
        );
        return Err(DataError::field(dataset.source(), "number of classes of all columns", all, expected));
    }
    Ok(groups)
}

fn name(table: &Table, column: usize) -> String {
    table.names().map_or_else(|| column.to_string(), |names| names[column].clone())
}

fn names(table: &Table, groups: &[usize]) -> Vec<String> {
    let of_column = |(column, &classes): (usize, &usize)| {
        let name = name(table, column);
        (0..classes).map(move |class| format!("{name}={class}"))
    };
    groups.iter().enumerate().flat_map(of_column).collect()
}

fn expand(table: Table, groups: &[usize], names: &[String]) -> Result<Table, DataError> {
    let firsts: Vec<usize> = groups
        .iter()
        .scan(0, |next, &classes| {
            let first = *next;
            *next += classes;
            Some(first)
        })
        .collect();
    let (rows, columns) = (table.len(), table.columns());
    let mut places: Vec<u32> = (0..rows).flat_map(|_| firsts.iter().map(|&first| first as u32)).collect();
    for (row, places) in places.chunks_mut(columns).enumerate() {
        table.non_zeros(row).for_each(|(column, class)| places[column] += class as u32);
    }
    let starts: Vec<usize> = (0..=rows).map(|row| row * columns).collect();
    let cells = Cells::sparse("classes", names.len(), &starts, &places, &vec![1.0; places.len()])?;
    let (names, groups) = (Some(names.to_vec()), Some(groups.to_vec()));
    Ok(Table { cells: Arc::new(cells), names, groups, shape: None, ..table })
}
