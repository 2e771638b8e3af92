//! Split images into those to train on, those to choose by and those to report on.
//!
//! One rule serves every data set. What its author has split stays split. Where there are no test images, the
//! last seventh of all training images is taken; where there are no validation images, the last sixth of the
//! training images that remain (both rounded up). For MNIST, whose author gives 60,000 training and 10,000 test
//! images, this is the usual split 50,000 / 10,000 / 10,000, and so it is for one array of all 70,000.

use serde::{Deserialize, Serialize};

use super::error::DataError;
use super::hash::Hasher;
use super::images::Images;

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
    train: Images,
    validation: Images,
    test: Images,
}

impl Dataset {
    /// Joins three splits.
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
        Ok(Dataset { name: name.into(), source, sha256, train, validation, test })
    }

    /// Joins the parts that there are and takes the others from the training images, by the rule of this module.
    ///
    /// # Errors
    /// As [`Dataset::new`].
    pub fn from_parts(
        name: impl Into<String>,
        source: impl Into<String>,
        train: Images,
        validation: Option<Images>,
        test: Option<Images>,
    ) -> Result<Self, DataError> {
        let (train, test) = given_or_last(train, test, 7);
        let (train, validation) = given_or_last(train, validation, 6);
        Dataset::new(name, source, train, validation, test)
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

fn given_or_last(train: Images, given: Option<Images>, part: usize) -> (Images, Images) {
    match given {
        Some(given) => (train, given),
        None => {
            let first = train.len() - train.len().div_ceil(part);
            train.split_at(first)
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
