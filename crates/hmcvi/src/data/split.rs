//! Hold images in three parts: those to train on, those to choose settings by and those to report on.

use serde::{Deserialize, Serialize};

use super::error::DataError;
use super::hash::Hasher;
use super::images::Images;
use super::kind::Kind;
use super::remark::{self, Remark};
use super::splitting::{Splitting, divide};

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

/// Images in three splits, with the name, origin and hash that identify them in records.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dataset {
    name: String,
    source: String,
    sha256: String,
    kind: Kind,
    /// What there is to say about how it was read.
    remarks: Vec<Remark>,
    train: Images,
    validation: Images,
    test: Images,
}

impl Dataset {
    /// Joins three splits of bytes; [`Dataset::taken_as`] can take them for something else.
    ///
    /// # Errors
    /// [`DataError::Field`] if a split has no images or images of another size than the training images.
    pub fn new(
        name: impl Into<String>,
        source: impl Into<String>,
        train: Images,
        validation: Images,
        test: Images,
    ) -> Result<Self, DataError> {
        let source = source.into();
        for (split, images) in
            [(Split::Train, &train), (Split::Validation, &validation), (Split::Test, &test)]
        {
            check(&source, split, images, &train)?;
        }
        let sha256 = hash([&train, &validation, &test]);
        let (name, kind, remarks) = (name.into(), Kind::Byte, Vec::new());
        Ok(Dataset { name, source, sha256, kind, remarks, train, validation, test })
    }

    /// Joins the parts that there are and takes the others from the training images: a seventh of them for the test,
    /// a sixth of the rest for validation.
    ///
    /// # Errors
    /// As [`Dataset::new`].
    pub fn from_parts(
        name: impl Into<String>,
        source: impl Into<String>,
        splitting: Splitting,
        (train, validation, test): (Images, Option<Images>, Option<Images>),
    ) -> Result<Self, DataError> {
        let ([train, validation, test], remark) = divide(splitting, train, validation, test);
        let mut dataset = Dataset::new(name, source, train, validation, test)?;
        dataset.remarks.extend(remark);
        Ok(dataset)
    }

    /// The first images of each split, at most `most`.
    ///
    /// # Errors
    /// As [`Dataset::new`], if `most` is 0.
    pub fn limited(self, most: usize) -> Result<Self, DataError> {
        let Dataset { name, source, kind, remarks, train, validation, test, .. } = self;
        let [train, validation, test] = [train, validation, test].map(|images| images.split_at(most).0);
        Ok(Dataset { kind, remarks, ..Dataset::new(name, source, train, validation, test)? })
    }

    /// The same data with every value replaced, taken for `kind`.
    pub(crate) fn map_values(self, kind: Kind, value: impl Fn(u8) -> u8) -> Result<Self, DataError> {
        let Dataset { name, source, remarks, train, validation, test, .. } = self;
        let [train, validation, test] = [train, validation, test].map(|images| images.map_values(&value));
        Ok(Dataset { kind, remarks, ..Dataset::new(name, source, train, validation, test)? })
    }

    pub(crate) fn with_remark(mut self, remark: Remark) -> Self {
        self.remarks.push(remark);
        self
    }

    /// What the values are taken for.
    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// What a user should know: choices that were made while reading, and signs that the data is not what it is
    /// taken for.
    pub fn remarks(&self) -> Vec<Remark> {
        self.remarks.iter().cloned().chain(remark::on_values(self)).collect()
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
    /// The bytes hashed are: height and width; for each split the number of images, the pixels, 1 or 0 for whether
    /// there are labels, and the labels. Numbers count as eight bytes, the lowest first.
    pub fn sha256(&self) -> &str {
        &self.sha256
    }

    /// Images to train on.
    pub fn train(&self) -> &Images {
        &self.train
    }

    /// Images to choose settings by.
    pub fn validation(&self) -> &Images {
        &self.validation
    }

    /// Images to report on.
    pub fn test(&self) -> &Images {
        &self.test
    }

    /// The images of a split.
    pub fn images(&self, split: Split) -> &Images {
        match split {
            Split::Train => &self.train,
            Split::Validation => &self.validation,
            Split::Test => &self.test,
        }
    }
}

fn check(source: &str, split: Split, images: &Images, train: &Images) -> Result<(), DataError> {
    if images.is_empty() {
        let field = format!("number of {split} images");
        return Err(DataError::field(source, field, 0, "at least 1"));
    }
    if (images.height(), images.width()) != (train.height(), train.width()) {
        let field = format!("size of the {split} images");
        let found = format!("{} x {}", images.height(), images.width());
        let expected = format!("{} x {} as the training images", train.height(), train.width());
        return Err(DataError::field(source, field, found, expected));
    }
    Ok(())
}

fn hash(splits: [&Images; 3]) -> String {
    let mut hasher = Hasher::default();
    hasher.number(splits[0].height());
    hasher.number(splits[0].width());
    for images in splits {
        hasher.number(images.len());
        hasher.update(images.bytes());
        hasher.number(usize::from(images.labels().is_some()));
        hasher.update(images.labels().unwrap_or_default());
    }
    hasher.finish()
}
