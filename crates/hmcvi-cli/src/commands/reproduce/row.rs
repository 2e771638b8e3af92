//! One row of the table: its protocol, its run directory, and how far it is.

use std::path::PathBuf;

use hmcvi::config::{PaperRow, RunSpec, preset};
use hmcvi::run::RunDirectory;
use hmcvi_record::Evaluation;

/// A row and where it is kept.
#[derive(Clone)]
pub(super) struct Row {
    pub(super) paper: &'static PaperRow,
    pub(super) spec: RunSpec,
    pub(super) path: PathBuf,
}

/// How far a row is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    /// Nothing was done yet.
    Missing,
    /// Training is under way: epochs done.
    Training(u64),
    /// Training is done.
    Trained,
    /// Everything is done.
    Judged,
}

/// What the paper leaves open, chosen once for each latent size and the same for all its rows: batch size, epochs, and
/// how the learning rate falls. HMCVI rows begin with the trained basic model.
pub(super) fn protocol(paper: &PaperRow) -> RunSpec {
    let mut spec = preset(paper.preset).unwrap_or_default();
    let (batch, epochs, first, last) = match (paper.latent, paper.chain.hmc_steps) {
        (2, 0) => (200, 3000, 1e-3, 1e-4),
        (2, _) => (500, 1000, 5e-4, 2e-5),
        (_, 0) => (100, 1400, 3e-4, 3e-5),
        (_, _) => (500, 1000, 5e-4, 2e-5),
    };
    (spec.train.batch, spec.train.epochs, spec.train.validate_every) = (batch, epochs, 10);
    (spec.train.learning_rate.first, spec.train.learning_rate.last) = (first, last);
    spec.train.save_seconds = 30.0;
    spec
}

impl Row {
    pub(super) fn directory(&self) -> Option<RunDirectory> {
        RunDirectory::open(&self.path).ok()
    }

    /// The evaluation of the trained model, if it was made.
    pub(super) fn evaluation(&self) -> Option<Evaluation> {
        let directory = self.directory()?;
        let (summary, evaluation) = (directory.summary().ok()?, directory.evaluation().ok().flatten()?);
        let current = summary.best_epoch == evaluation.epoch && evaluation.split == "test";
        (current && evaluation.importance_sampling.is_some()).then_some(evaluation)
    }

    pub(super) fn state(&self) -> State {
        let Some(directory) = self.directory() else { return State::Missing };
        match directory.summary() {
            Ok(summary) if summary.epochs >= self.spec.train.epochs as u64 => match self.evaluation() {
                Some(_) => State::Judged,
                None => State::Trained,
            },
            Ok(summary) => State::Training(summary.epochs),
            Err(_) => State::Training(0),
        }
    }

    /// Whether the basic model that it begins with is trained.
    pub(super) fn is_ready(&self, rows: &[Row]) -> bool {
        let basic = rows.iter().find(|r| r.paper.latent == self.paper.latent && r.paper.chain.hmc_steps == 0);
        let trained = |row: &Row| matches!(row.state(), State::Trained | State::Judged);
        self.paper.chain.hmc_steps == 0 || basic.is_some_and(trained)
    }
}
