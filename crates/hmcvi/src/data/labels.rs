//! Hold a label for each row: a number, or a class that has a name.

use std::collections::BTreeSet;

use super::error::DataError;
use super::hash::Hasher;

/// One label for each row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Labels {
    values: Vec<i64>,
    names: Option<Vec<String>>,
}

impl Labels {
    /// Numbers that stand for themselves.
    pub fn numbers(values: Vec<i64>) -> Labels {
        Labels { values, names: None }
    }

    /// Labels from text: numbers if all are integers, else classes, which are numbered from 0 by their names in
    /// alphabetical order.
    pub fn from_text(texts: &[String]) -> Labels {
        if let Ok(values) = texts.iter().map(|text| text.parse()).collect() {
            return Labels::numbers(values);
        }
        let classes: BTreeSet<&String> = texts.iter().collect();
        let names: Vec<String> = classes.into_iter().cloned().collect();
        // Every text is among the names, so each is found.
        let class = |text: &String| names.binary_search(text).map_or(0, |class| class as i64);
        Labels { values: texts.iter().map(class).collect(), names: Some(names) }
    }

    /// The number of each row's label.
    pub fn values(&self) -> &[i64] {
        &self.values
    }

    /// The names of the classes 0, 1, …, where they have names.
    pub fn names(&self) -> Option<&[String]> {
        self.names.as_deref()
    }

    /// The label of a row where it is a number from 0 to 255, as those of figures are.
    pub fn class(&self, row: usize) -> Option<u8> {
        self.values.get(row).and_then(|&value| value.try_into().ok())
    }

    /// All labels as bytes, where they have no names and are from 0 to 255.
    pub fn bytes(&self) -> Option<Vec<u8>> {
        if self.names.is_some() {
            return None;
        }
        self.values.iter().map(|&value| value.try_into().ok()).collect()
    }

    pub(super) fn split_off(&mut self, first: usize) -> Labels {
        Labels { values: self.values.split_off(first), names: self.names.clone() }
    }

    pub(super) fn select(&self, rows: impl Iterator<Item = usize>) -> Labels {
        Labels { values: rows.map(|row| self.values[row]).collect(), names: self.names.clone() }
    }

    /// Requires a label for each of so many rows, which messages call by a noun.
    pub(super) fn check(&self, file: &str, rows: usize, noun: &str) -> Result<(), DataError> {
        if self.values.len() == rows {
            return Ok(());
        }
        let expected = format!("{rows}, one for each {noun}");
        Err(DataError::field(file, "number of labels", self.values.len(), expected))
    }

    pub(super) fn feed(&self, hasher: &mut Hasher) {
        let names = self.names.as_deref().unwrap_or_default();
        hasher.number(names.len());
        for name in names {
            hasher.number(name.len());
            hasher.update(name.as_bytes());
        }
        self.values.iter().for_each(|value| hasher.update(&value.to_le_bytes()));
    }
}

impl From<Vec<u8>> for Labels {
    fn from(bytes: Vec<u8>) -> Labels {
        Labels::numbers(bytes.into_iter().map(i64::from).collect())
    }
}
