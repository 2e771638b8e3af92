//! Hold rows in three parts: those to train on, those to choose settings by and those to report on.

use serde::{Deserialize, Serialize};

use super::error::DataError;
use super::hashing;
use super::kind::{Choice, Kind};
use super::remark::{self, About, Remark};
use super::splitting::{Splitting, divide};
use super::summary::{self, Summary};
use super::table::Table;
use super::taking::take_as;

/// A part of a data set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Split {
    /// To train on.
    Train,
    /// To choose settings by.
    Validation,
    /// To report on.
    Test,
}

impl Split {
    /// Every split, in the usual order.
    pub const ALL: [Split; 3] = [Split::Train, Split::Validation, Split::Test];

    /// The name in configurations and records.
    pub fn name(self) -> &'static str {
        match self {
            Split::Train => "train",
            Split::Validation => "validation",
            Split::Test => "test",
        }
    }
}

impl std::fmt::Display for Split {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

/// Training rows, and those for validation and test where there are any.
pub(crate) type Parts = (Table, Option<Table>, Option<Table>);

/// Rows in three splits, with the name, origin and hash that identify them in records.
#[derive(Clone, Debug, PartialEq)]
pub struct Dataset {
    name: String,
    source: String,
    sha256: String,
    /// Why the values are taken for what they are.
    why: Option<String>,
    /// What there is to say about how it was read.
    remarks: Vec<Remark>,
    train: Table,
    validation: Table,
    test: Table,
}

impl Dataset {
    /// Joins three splits. If they are of several kinds, [`Dataset::taken_as`] finds one for all.
    ///
    /// # Errors
    /// [`DataError::Field`] if a split has no rows, or rows of another size than the training rows.
    pub fn new(
        name: impl Into<String>,
        source: impl Into<String>,
        train: Table,
        validation: Table,
        test: Table,
    ) -> Result<Self, DataError> {
        let source = source.into();
        for (split, table) in [(Split::Train, &train), (Split::Validation, &validation), (Split::Test, &test)]
        {
            if table.is_empty() {
                let field = format!("number of {split} {}s", table.noun());
                return Err(DataError::field(source, field, 0, "at least 1"));
            }
            check_size(&source, split, table, &train)?;
        }
        let sha256 = hashing::of_splits([&train, &validation, &test]);
        let (name, why, remarks) = (name.into(), None, Vec::new());
        let held = |table: &Table| (table.kind(), table.are_bytes());
        let alike = held(&train) == held(&validation) && held(&train) == held(&test);
        let dataset = Dataset { name, source, sha256, why, remarks, train, validation, test };
        if alike { Ok(dataset) } else { dataset.taken_as(None) }
    }

    /// Joins the parts that there are and takes the others from the training rows: a seventh of them for the test, a
    /// sixth of the rest for validation.
    ///
    /// # Errors
    /// As [`Dataset::new`].
    pub fn from_parts(
        name: impl Into<String>,
        source: impl Into<String>,
        splitting: Splitting,
        (train, validation, test): (Table, Option<Table>, Option<Table>),
    ) -> Result<Self, DataError> {
        let ([train, validation, test], remark) = divide(splitting, train, validation, test);
        let mut dataset = Dataset::new(name, source, train, validation, test)?;
        dataset.remarks.extend(remark);
        Ok(dataset)
    }

    /// As [`Dataset::from_parts`], of parts whose kind is still to be chosen.
    pub(crate) fn of_kind(
        name: impl Into<String>,
        source: impl Into<String>,
        splitting: Splitting,
        (mut train, mut validation, mut test): Parts,
        kind: Option<Kind>,
    ) -> Result<Self, DataError> {
        let source = source.into();
        for (split, part) in [(Split::Validation, &validation), (Split::Test, &test)] {
            part.as_ref().map_or(Ok(()), |part| check_size(&source, split, part, &train))?;
        }
        // Before rows are shuffled, so that messages name the rows of the file.
        let parts = [Some(&mut train), validation.as_mut(), test.as_mut()];
        let choice = take_as(&source, &mut parts.into_iter().flatten().collect::<Vec<_>>(), kind)?;
        let dataset = Dataset::from_parts(name, source, splitting, (train, validation, test))?;
        Ok(dataset.with_choice(choice))
    }

    /// Takes the values of all splits for `kind`; without one, for what their type and values suggest, as
    /// [`Table::taken_as`] does.
    ///
    /// # Errors
    /// As [`Table::taken_as`].
    pub fn taken_as(mut self, kind: Option<Kind>) -> Result<Dataset, DataError> {
        let mut tables = [&mut self.train, &mut self.validation, &mut self.test];
        let choice = take_as(&self.source, &mut tables, kind)?;
        Ok(self.rehashed().with_choice(choice))
    }

    fn with_choice(mut self, choice: Choice) -> Self {
        self.remarks.extend(choice.said.map(|text| Remark::note(About::Kind, text)));
        Dataset { why: Some(choice.why), ..self }
    }

    /// The first rows of each split, at most `most`.
    ///
    /// # Errors
    /// As [`Dataset::new`], if `most` is 0.
    pub fn limited(self, most: usize) -> Result<Self, DataError> {
        if most == 0 {
            let field = format!("number of {} {}s", Split::Train, self.train.noun());
            return Err(DataError::field(self.source, field, 0, "at least 1"));
        }
        self.map(|table| Ok(table.split_at(most).0))
    }

    /// The same data with another table in place of each.
    pub(super) fn map(
        self,
        change: impl Fn(Table) -> Result<Table, DataError>,
    ) -> Result<Dataset, DataError> {
        let (train, validation, test) = (change(self.train)?, change(self.validation)?, change(self.test)?);
        Ok(Dataset { train, validation, test, ..self }.rehashed())
    }

    /// The same with all validation rows in this process.
    pub(super) fn with_validation_here(self) -> Dataset {
        Dataset { validation: self.validation.here(), ..self }
    }

    fn rehashed(self) -> Self {
        let sha256 = hashing::of_splits([&self.train, &self.validation, &self.test]);
        Dataset { sha256, ..self }
    }

    pub(crate) fn with_remark(mut self, remark: Option<Remark>) -> Self {
        self.remarks.extend(remark);
        self
    }

    /// What the values are taken for.
    pub fn kind(&self) -> Kind {
        self.train.kind()
    }

    /// Why the values are taken for that, where it was decided when they were read.
    pub fn why(&self) -> Option<&str> {
        self.why.as_deref()
    }

    /// What a user should know: choices that were made while reading, and signs that the data is not what it is
    /// taken for.
    pub fn remarks(&self) -> Vec<Remark> {
        self.remarks.iter().cloned().chain(remark::on_values(&self.tables())).collect()
    }

    /// Describes the values of all splits together.
    pub fn summary(&self) -> Summary {
        summary::summarise(&self.tables())
    }

    /// What the data set is called.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Where it was read from.
    pub fn source(&self) -> &str {
        &self.source
    }

    /// SHA-256 of its content, which does not depend on the format or the place it was read from.
    ///
    /// Of data that is held as bytes, such as images, the bytes hashed are: height and width (1 and the number of columns
    /// without a shape); for each split the number of rows, the bytes, 1 or 0 for whether there are labels, and the
    /// labels. Numbers count as eight bytes, the lowest first. Labels other than numbers from 0 to 255 begin with 2 in
    /// place of 1, and follow as [`Table::sha256`] has them, which is also how all other data is hashed, split by split.
    pub fn sha256(&self) -> &str {
        &self.sha256
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

    fn tables(&self) -> [&Table; 3] {
        Split::ALL.map(|split| self.table(split))
    }
}

/// Refuses rows of another size than the training rows.
fn check_size(source: &str, split: Split, table: &Table, train: &Table) -> Result<(), DataError> {
    let (shapes, columns) = ((table.image_shape(), train.image_shape()), (table.columns(), train.columns()));
    match shapes {
        (Some(found), Some(expected)) if found != expected => {
            let show = |(height, width): (usize, usize)| format!("{height} x {width}");
            let field = format!("size of the {split} images");
            let expected = format!("{} as the training images", show(expected));
            Err(DataError::field(source, field, show(found), expected))
        }
        _ if columns.0 != columns.1 => {
            let field = format!("number of columns of the {split} rows");
            let expected = format!("{} as those of the training rows", columns.1);
            Err(DataError::field(source, field, columns.0, expected))
        }
        _ => Ok(()),
    }
}
