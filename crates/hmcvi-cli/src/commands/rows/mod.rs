//! Train and evaluate many runs, each in a folder of its own, alone or shared out among processes. The folders are all
//! the state there is: whatever ended, and however it ended, the next process sees what is done and what is left.

mod overview;
mod part;
mod queue;

use std::path::Path;

use hmcvi::config::RunSpec;
use hmcvi::data::Split;
use hmcvi::eval::EvaluationOptions;
use hmcvi::run::{DirectoryError, Lock, RunDirectory, failure};
use hmcvi_record::Evaluation;

pub(crate) use part::{Part, Share, cost_of};
pub(crate) use queue::{Limits, Work, work};

/// How far a row is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    /// Nothing was done yet.
    Missing,
    /// Training is under way: epochs done.
    Training(u64),
    /// Training is done.
    Trained,
    /// Everything is done.
    Evaluated,
}

/// One run among many.
pub(crate) trait Row: Sync + Sized {
    /// What it is called.
    fn title(&self) -> String;
    /// Its folder.
    fn path(&self) -> &Path;
    fn spec(&self) -> &RunSpec;
    /// Part of the data that it is evaluated on.
    fn split(&self) -> Split;
    /// Whether it begins with the trained model of another row.
    fn begins_with(&self, other: &Self) -> bool;
    /// How it is evaluated, all rows considered.
    fn options(&self, rows: &[Self]) -> EvaluationOptions;
    /// Whether an evaluation leaves out what it is to have.
    fn lacks(&self, _evaluation: &Evaluation, _rows: &[Self]) -> bool {
        false
    }

    fn directory(&self) -> Option<RunDirectory> {
        RunDirectory::open(self.path()).ok()
    }

    /// Checks that its folder is free or holds a run.
    fn check_place(&self) -> Result<(), DirectoryError> {
        match RunDirectory::open(self.path()) {
            Ok(directory) => directory.spec().and(directory.info()).map(drop),
            Err(DirectoryError::NotARun(_)) => RunDirectory::check_free(self.path(), false),
            Err(error) => Err(error),
        }
    }

    /// The evaluation of the trained model, if it was made.
    fn evaluation(&self) -> Option<Evaluation> {
        let directory = self.directory()?;
        let (summary, evaluation) = (directory.summary().ok()?, directory.evaluation().ok().flatten()?);
        let current = summary.best_epoch == evaluation.epoch && evaluation.split == self.split().name();
        (current && evaluation.importance_sampling.is_some()).then_some(evaluation)
    }

    fn state(&self) -> State {
        let Some(directory) = self.directory() else { return State::Missing };
        match directory.summary() {
            Ok(summary) if self.spec().train.is_over(summary.epochs, summary.seconds) => {
                match self.evaluation() {
                    Some(_) => State::Evaluated,
                    None => State::Trained,
                }
            }
            Ok(summary) => State::Training(summary.epochs),
            Err(_) => State::Training(0),
        }
    }

    fn is_trained(&self) -> bool {
        matches!(self.state(), State::Trained | State::Evaluated)
    }

    /// Whether all that it begins with is trained.
    fn is_ready(&self, rows: &[Self]) -> bool {
        rows.iter().filter(|other| self.begins_with(other)).all(Row::is_trained)
    }

    /// How far it is, in words: `evaluated` is done.
    fn progress(&self) -> String {
        let epochs = self.spec().train.epochs;
        match (self.state(), Lock::is_held(self.path()), failure(self.path())) {
            (State::Evaluated, false, _) => "evaluated".into(),
            (State::Trained | State::Evaluated, true, _) => "running, being evaluated".into(),
            (State::Training(done), true, _) => format!("running, {done} of {epochs} epochs"),
            (State::Missing, true, _) => "running".into(),
            (_, false, Some(why)) => format!("failed: {}", why.lines().next().unwrap_or_default()),
            (State::Training(done), false, None) => format!("stopped, {done} of {epochs} epochs"),
            (State::Trained, false, None) => "trained".into(),
            (State::Missing, false, None) => "missing".into(),
        }
    }
}
