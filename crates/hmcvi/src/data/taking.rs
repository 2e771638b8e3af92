//! Take the values of tables that belong together for one kind, and hold them as that kind is held.

use std::sync::Arc;

use super::error::DataError;
use super::kind::{self, Choice, Facts, Kind, Stored};
use super::summary::Overview;
use super::table::Table;

impl Table {
    /// Takes the values for `kind`; without one, for what their type and values suggest.
    ///
    /// Intensities are held as bytes, and so is binary data that is not sparse: as 0 and 255.
    ///
    /// # Errors
    /// [`DataError::Field`] with the first value that `kind` does not allow, [`DataError::TooLarge`] if there is no room
    /// for values of that kind.
    pub fn taken_as(mut self, kind: Option<Kind>) -> Result<Table, DataError> {
        take_as("table", &mut [&mut self], kind)?;
        Ok(self)
    }
}

/// Takes tables that belong together for one kind, and says why; there is at least one.
pub(super) fn take_as(
    source: &str,
    tables: &mut [&mut Table],
    kind: Option<Kind>,
) -> Result<Choice, DataError> {
    let all: Vec<&Table> = tables.iter().map(|table| &**table).collect();
    let overview = Overview::of(&all);
    let sparse = all.iter().all(|table| table.is_sparse());
    let declared = all.iter().find_map(|table| table.shape());
    let shape = declared.or_else(|| all[0].image_shape());
    let choice = match kind {
        Some(kind) => {
            check(source, &all, kind, &overview)?;
            Choice { kind, why: "it was asked for".to_owned(), said: None }
        }
        None => {
            let stored = all.iter().map(|table| table.stored()).max().unwrap_or(Stored::Float);
            kind::detect(&Facts { overview: &overview, stored, sparse, image: shape.is_some() })
        }
    };
    // What a file declares of one part holds for all. Bytes that look like images are images only as pixels.
    let shape = if matches!(choice.kind, Kind::Binary | Kind::Byte) { shape } else { declared };
    for table in tables.iter_mut() {
        table.hold_as(source, choice.kind, sparse)?;
        table.shape = shape;
    }
    Ok(choice)
}

impl Table {
    /// Holds the values as a kind is held; binary data is sparse only if all of it is.
    fn hold_as(&mut self, source: &str, kind: Kind, sparse: bool) -> Result<(), DataError> {
        let cells = Arc::unwrap_or_clone(std::mem::take(&mut self.cells));
        let cells = match kind {
            Kind::Byte => cells.into_bytes(source),
            Kind::Binary if !sparse => cells.into_truths(source),
            _ => cells.into_values(source),
        };
        (self.cells, self.kind) = (Arc::new(cells?), kind);
        Ok(())
    }

    /// The number of a row in its file, counted from 0.
    fn in_file(&self, row: usize) -> usize {
        self.rows_in_file().map_or(row, |rows| rows[row] as usize)
    }

    /// The name of a column as messages show it.
    pub(crate) fn column(&self, column: usize) -> String {
        self.names().map_or_else(|| column.to_string(), |names| format!("`{}`", names[column]))
    }
}

/// Refuses values that are not of a kind.
fn check(source: &str, tables: &[&Table], kind: Kind, seen: &Overview) -> Result<(), DataError> {
    let bytes = tables.iter().all(|table| table.stored() == Stored::Byte && table.are_bytes());
    if bytes && (kind == Kind::Byte || kind == Kind::Binary && seen.is_black_and_white()) {
        return Ok(());
    }
    if kind == Kind::Byte && tables.iter().any(|table| table.is_sparse()) {
        // A byte for each zero could take any memory.
        let expected = "another kind, as the table is sparse; save intensities densely, with x.toarray()";
        return Err(DataError::field(source, "`data.kind`", "`byte`", expected));
    }
    for table in tables {
        let mut all = (0..table.len())
            .flat_map(|row| table.non_zeros(row).map(move |(column, value)| (row, column, value)));
        if let Some((row, column, value)) = all.find(|&(_, _, value)| !kind.allows(value)) {
            let field = format!("row {}, column {}", table.in_file(row), table.column(column));
            let expected = format!("{}, as `data.kind` is `{kind}`", kind.allowed());
            return Err(DataError::field(source, field, value, expected));
        }
    }
    Ok(())
}
