//! One row of a sweep: its settings, its run directory, and whether what is there was made with these settings.

use std::path::{Path, PathBuf};

use hmcvi::config::RunSpec;
use hmcvi::data::Split;
use hmcvi::eval::EvaluationOptions;
use hmcvi::run::RunDirectory;

use super::file::Case;
use crate::commands::rows::Row;
use crate::failure::Failure;

pub(super) struct SweepRow {
    pub(super) case: Case,
    pub(super) spec: RunSpec,
    pub(super) path: PathBuf,
    pub(super) split: Split,
}

impl SweepRow {
    /// Checks that what is in its folder was made with its settings; only more epochs can be added to it.
    pub(super) fn check_settings(&self) -> Result<(), Failure> {
        let Some(directory) = self.directory() else { return Ok(()) };
        let before = directory.spec()?;
        let changed: Vec<String> = before
            .changed_settings(&self.spec)
            .into_iter()
            .filter(|c| c.key != "train.epochs")
            .map(|c| format!("`{}` was {}", c.key, c.from.unwrap_or_else(|| "not set".into())))
            .collect();
        if changed.is_empty() {
            return Ok(());
        }
        let text = format!(
            "{}: the run in {} has other settings: {}",
            self.title(),
            self.path.display(),
            changed.join(", ")
        );
        Err(Failure::Usage(text).then(
            "give --force to begin rows with other settings again, choose another folder with --out, or change the file back",
        ))
    }

    /// Removes a run with other settings.
    pub(super) fn begin_again(&self) -> Result<(), Failure> {
        match self.check_settings() {
            Err(_) if self.directory().is_some() => Ok(RunDirectory::clear(&self.path)?),
            other => other,
        }
    }
}

impl Row for SweepRow {
    fn title(&self) -> String {
        self.case.title.clone()
    }

    fn path(&self) -> &Path {
        &self.path
    }

    fn spec(&self) -> &RunSpec {
        &self.spec
    }

    fn split(&self) -> Split {
        self.split
    }

    fn begins_with(&self, other: &Self) -> bool {
        self.case.after.as_ref() == Some(&other.case.title)
    }

    fn options(&self, _: &[Self]) -> EvaluationOptions {
        EvaluationOptions::new(&self.spec)
    }
}
