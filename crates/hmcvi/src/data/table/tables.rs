//! Hold tables in three parts, as [`Dataset`](super::super::Dataset) holds images, and choose one kind for all.

use super::super::arrays::Parts;
use super::super::error::DataError;
use super::super::hash::Hasher;
use super::super::remark::{About, Remark};
use super::super::split::{Dataset, Split};
use super::super::splitting::{Splitting, divide};
use super::Table;
use super::kind::{self, Facts, Kind, Stored, WHITE};
use super::summary::{self, Overview, Summary};

/// Rows to train on, to choose settings by and to report on, with the name, origin and hash that identify them.
#[derive(Clone, Debug, PartialEq)]
pub struct Tables {
    name: String,
    source: String,
    sha256: String,
    /// What there is to say about how they were read.
    remarks: Vec<Remark>,
    train: Table,
    validation: Table,
    test: Table,
}

impl Tables {
    /// Joins the parts that there are and takes the others from the training rows: a seventh of them for the test, a
    /// sixth of the rest for validation. All parts are taken for one kind, as [`Table::taken_as`] has it.
    ///
    /// # Errors
    /// [`DataError::Field`] if a part has no rows or other columns than the training rows, or a value is not of `kind`.
    pub fn from_parts(
        name: impl Into<String>,
        source: impl Into<String>,
        splitting: Splitting,
        (train, validation, test): (Table, Option<Table>, Option<Table>),
        kind: Option<Kind>,
    ) -> Result<Tables, DataError> {
        let source = source.into();
        for (split, part) in [(Split::Validation, &validation), (Split::Test, &test)] {
            part.as_ref().map_or(Ok(()), |part| check_columns(&source, split, part, &train))?;
        }
        let (mut train, mut validation, mut test): Parts<Table> = (train, validation, test);
        let parts = [Some(&mut train), validation.as_mut(), test.as_mut()];
        let about_kind = take_as(&source, &mut parts.into_iter().flatten().collect::<Vec<_>>(), kind)?;
        let ([train, validation, test], divided) = divide(splitting, train, validation, test);
        for (split, part) in Split::ALL.iter().zip([&train, &validation, &test]) {
            if part.is_empty() {
                return Err(DataError::field(source, format!("number of {split} rows"), 0, "at least 1"));
            }
        }
        let sha256 = hash([&train, &validation, &test]);
        let remarks = about_kind.into_iter().chain(divided).collect();
        Ok(Tables { name: name.into(), source, sha256, remarks, train, validation, test })
    }

    /// The images of a data set as tables of the same kind.
    ///
    /// # Errors
    /// None for data sets that could be made.
    pub fn from_images(dataset: &Dataset) -> Result<Tables, DataError> {
        let [train, validation, test] = Split::ALL.map(|split| dataset.images(split).to_table());
        let (train, validation, test) = (train?, validation?, test?);
        let parts = (train, Some(validation), Some(test));
        let kind = Some(dataset.kind().into());
        Tables::from_parts(dataset.name(), dataset.source(), Splitting::InOrder, parts, kind)
    }

    pub(super) fn with_remark(mut self, remark: Remark) -> Self {
        self.remarks.push(remark);
        self
    }

    /// The first rows of each split, at most `most`.
    ///
    /// # Errors
    /// [`DataError::Field`] if `most` is 0.
    pub fn limited(self, most: usize) -> Result<Tables, DataError> {
        let first = |table: &Table| table.slice(0..most.min(table.len())).filter(|table| !table.is_empty());
        match [&self.train, &self.validation, &self.test].map(first) {
            [Some(train), Some(validation), Some(test)] => {
                let sha256 = hash([&train, &validation, &test]);
                Ok(Tables { sha256, train, validation, test, ..self })
            }
            _ => Err(DataError::field(self.source, "number of rows", most, "at least 1")),
        }
    }

    /// What the data set is called.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Where it was read from.
    pub fn source(&self) -> &str {
        &self.source
    }

    /// SHA-256 of its content: of what [`Table::sha256`] hashes, for each split.
    pub fn sha256(&self) -> &str {
        &self.sha256
    }

    /// What the values are taken for.
    pub fn kind(&self) -> Kind {
        self.train.kind()
    }

    /// Rows to train on.
    pub fn train(&self) -> &Table {
        &self.train
    }

    /// Rows to choose settings by.
    pub fn validation(&self) -> &Table {
        &self.validation
    }

    /// Rows to report on.
    pub fn test(&self) -> &Table {
        &self.test
    }

    /// The rows of a split.
    pub fn table(&self, split: Split) -> &Table {
        match split {
            Split::Train => &self.train,
            Split::Validation => &self.validation,
            Split::Test => &self.test,
        }
    }

    /// Describes the values of all splits together.
    pub fn summary(&self) -> Summary {
        summary::summarise(&[&self.train, &self.validation, &self.test])
    }

    /// What a user should know: choices that were made while reading, and what the values give reason to say.
    pub fn remarks(&self) -> Vec<Remark> {
        let values = summary::remarks(&[&self.train, &self.validation, &self.test]);
        self.remarks.iter().cloned().chain(values).collect()
    }
}

fn check_columns(source: &str, split: Split, part: &Table, train: &Table) -> Result<(), DataError> {
    let show = |table: &Table| match table.shape() {
        Some((height, width)) => format!("{height} x {width}"),
        None => table.columns().to_string(),
    };
    if (part.columns(), part.shape()) == (train.columns(), train.shape()) {
        return Ok(());
    }
    let expected = format!("{} as those of the training rows", show(train));
    Err(DataError::field(source, format!("number of columns of the {split} rows"), show(part), expected))
}

fn hash(tables: [&Table; 3]) -> String {
    let mut hasher = Hasher::default();
    tables.into_iter().for_each(|table| table.feed(&mut hasher));
    hasher.finish()
}

/// Treats tables that belong together as one kind, and says why where none was asked for.
pub(super) fn take_as(
    source: &str,
    tables: &mut [&mut Table],
    kind: Option<Kind>,
) -> Result<Option<Remark>, DataError> {
    let Some(first) = tables.first() else { return Ok(None) };
    let (stored, sparse, shape) = (first.stored(), first.is_sparse(), image_shape(first));
    let all: Vec<&Table> = tables.iter().map(|table| &**table).collect();
    let overview = Overview::of(&all);
    let found = kind::detect(&Facts { overview: &overview, stored, sparse, image: shape.is_some() });
    let taken = kind.unwrap_or(found.kind);
    let white_is_one = taken == Kind::Binary && !sparse && overview.is_black_and_white(stored, shape);
    if kind.is_some() && !white_is_one {
        all.iter().try_for_each(|table| check_kind(source, table, taken))?;
    }
    for table in tables.iter_mut() {
        table.kind = taken;
        if white_is_one {
            table.replace(|value| value / WHITE);
        }
        if taken == Kind::Byte || white_is_one {
            table.shape = shape;
        }
    }
    let remark =
        || Remark::note(About::Kind, format!("the values are treated as {}: {}", words(taken), found.why));
    Ok(kind.is_none().then(remark))
}

/// The shape of a table, or the one that its rows have if they are bytes and turn out to be pixels.
fn image_shape(table: &Table) -> Option<(usize, usize)> {
    let bytes = table.stored() == Stored::Byte && !table.is_sparse();
    let square = || kind::square(table.columns()).filter(|_| bytes).map(|side| (side, side));
    table.shape().or_else(square)
}

fn words(kind: Kind) -> &'static str {
    match kind {
        Kind::Binary => "binary data, exactly 0 and 1",
        Kind::Byte => "intensities from 0 to 255",
        Kind::Count => "counts",
        Kind::Real => "real numbers",
        Kind::Class => "classes",
    }
}

fn check_kind(source: &str, table: &Table, kind: Kind) -> Result<(), DataError> {
    let all = (0..table.len())
        .flat_map(|row| table.non_zeros(row).map(move |(column, value)| (row, column, value)));
    match all.into_iter().find(|&(_, _, value)| !kind.allows(value)) {
        None => Ok(()),
        Some((row, column, value)) => {
            let field = format!("row {row}, column {}", table.column(column));
            let expected = format!("{}, as the kind of the data is `{kind}`", kind.allowed());
            Err(DataError::field(source, field, value, expected))
        }
    }
}
