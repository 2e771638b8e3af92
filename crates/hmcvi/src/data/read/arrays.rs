//! Assemble a data set from arrays that are found by their names.

use super::mnist::is_mnist_train;
use super::npy::NumberArray;
use crate::data::error::DataError;
use crate::data::remark::{About, Remark};
use crate::data::split::{Parts, Split};
use crate::data::splitting::Splitting;
use crate::data::table::Table;

/// Where named arrays come from: an archive or a folder.
pub(super) trait Arrays {
    /// The place, for messages.
    fn place(&self) -> &str;
    /// How messages write the array called `array`.
    fn file(&self, array: &str) -> String;
    /// The names of all arrays.
    fn names(&self) -> Result<Vec<String>, DataError>;
    /// Reads the array called `array`, if there is one.
    fn find(&mut self, array: &str) -> Result<Option<NumberArray>, DataError>;
    /// The same of rows, of which several processes may share the reading.
    fn find_rows(&mut self, array: &str) -> Result<Option<NumberArray>, DataError>;
}

/// The names that the images and the labels of a split go by, without regard to case; the first found is taken.
struct Names {
    images: &'static [&'static str],
    labels: &'static [&'static str],
}

fn names(split: Split) -> Names {
    match split {
        Split::Train => {
            Names { images: &["train", "x_train", "x"], labels: &["y_train", "train_labels", "y"] }
        }
        Split::Validation => Names {
            images: &["validation", "x_validation", "val", "x_val", "valid", "x_valid"],
            labels: &["y_validation", "validation_labels", "y_val", "val_labels", "y_valid", "valid_labels"],
        },
        Split::Test => Names { images: &["test", "x_test"], labels: &["y_test", "test_labels"] },
    }
}

/// The names that were known before [`Splitting`] could be chosen, in lower case only.
fn earlier(names: &Names) -> Names {
    Names { images: &names.images[..2], labels: &names.labels[..1] }
}

/// What is read of a place: rows of all splits, how those are divided that are not there, and what there is to say.
pub(crate) struct Read {
    pub(crate) parts: Parts,
    pub(crate) splitting: Splitting,
    pub(crate) remark: Option<Remark>,
}

/// Reads the arrays of training, validation and test rows and of their labels.
pub(super) fn read(splitting: Splitting, arrays: &mut impl Arrays) -> Result<Read, DataError> {
    let mut search = Search { unused: arrays.names()?, splitting, arrays };
    let Some(train) = search.rows(Split::Train)? else { return Err(search.missing()) };
    let validation = search.rows(Split::Validation)?;
    let test = search.rows(Split::Test)?;
    let remark = search.remark();
    // MNIST has a usual split, wherever it came from.
    let usual = splitting == Splitting::Shuffled && is_mnist_train(&train);
    let splitting = if usual { Splitting::InOrder } else { splitting };
    Ok(Read { parts: (train, validation, test), splitting, remark })
}

/// Whether there are training images under one of the names that `splitting` knows.
pub(super) fn has_train(splitting: Splitting, arrays: &mut impl Arrays) -> bool {
    let Ok(unused) = arrays.names() else { return false };
    let search = Search { unused, splitting, arrays };
    search.name(search.names(Split::Train).images).is_some()
}

/// What is left to be found.
struct Search<'a, A> {
    unused: Vec<String>,
    splitting: Splitting,
    arrays: &'a mut A,
}

impl<A: Arrays> Search<'_, A> {
    fn names(&self, split: Split) -> Names {
        let names = names(split);
        if self.splitting == Splitting::Earlier { earlier(&names) } else { names }
    }

    /// The array that goes by the first of `names` that there is, preferably in lower case.
    fn name(&self, names: &[&str]) -> Option<String> {
        let exact = |known: &str| self.unused.iter().find(|name| *name == known);
        let similar = |known: &str| match self.splitting {
            Splitting::Earlier => None,
            _ => self.unused.iter().find(|name| name.eq_ignore_ascii_case(known)),
        };
        names.iter().find_map(|known| exact(known).or_else(|| similar(known))).cloned()
    }

    /// The array that has nothing beside it, whatever it is called: `numpy.savez` calls it `arr_0`.
    fn only(&self) -> Option<String> {
        let alone = self.unused.len() == 1 && self.splitting != Splitting::Earlier;
        let known = Split::ALL.map(names).map(|n| [n.images, n.labels].concat()).concat();
        let is_known = |array: &str| known.iter().any(|name| name.eq_ignore_ascii_case(array));
        self.unused.first().filter(|name| alone && !is_known(name)).cloned()
    }

    fn rows(&mut self, split: Split) -> Result<Option<Table>, DataError> {
        let names = self.names(split);
        let only = || self.only().filter(|_| split == Split::Train);
        let Some(name) = self.name(names.images).or_else(only) else { return Ok(None) };
        // `y` belongs to `X` alone: beside `x_train` it may be the labels of anything.
        let whole = name.eq_ignore_ascii_case("x");
        let fits = |labels: &&&str| (**labels == "y") == whole;
        let labels: Vec<&str> = names.labels.iter().filter(fits).copied().collect();
        let labels = match self.name(&labels) {
            Some(labels) => {
                self.unused.retain(|name| *name != labels);
                self.arrays.find(&labels)?.map(|found| (found, self.arrays.file(&labels)))
            }
            None => None,
        };
        self.unused.retain(|other| *other != name);
        let Some(rows) = self.arrays.find_rows(&name)? else { return Ok(None) };
        rows.into_rows(&self.arrays.file(&name), labels).map(Some)
    }

    fn missing(&self) -> DataError {
        let found = match &self.unused[..] {
            [] => String::new(),
            names => format!("there are {}; ", names.join(", ")),
        };
        DataError::Missing {
            place: self.arrays.place().to_owned(),
            looked_for: self.names(Split::Train).images.iter().map(|array| self.arrays.file(array)).collect(),
            next: format!("{found}save the training images or rows under one of these names"),
        }
    }

    /// Names what is not used.
    fn remark(&self) -> Option<Remark> {
        if self.unused.is_empty() {
            return None;
        }
        let unused = self.unused.iter().map(|name| self.arrays.file(name)).collect::<Vec<_>>().join(", ");
        let known = Split::ALL.map(|split| self.names(split));
        let known: Vec<&str> = known.iter().flat_map(|n| [n.images, n.labels].concat()).collect();
        let text = format!("not used: {unused}. Arrays are known by the names {}", known.join(", "));
        Some(Remark::warning(About::Arrays, text))
    }
}
