//! One row of the table: its protocol, its run directory, and how far it is.

use std::path::PathBuf;

use hmcvi::config::{PaperRow, RunSpec, Schedule, ScheduleKind, preset};
use hmcvi::eval::{AnnealingOptions, AnnealingStart};
use hmcvi::run::{DirectoryError, RunDirectory};
use hmcvi_record::Evaluation;

/// A row and where it is kept.
#[derive(Clone)]
pub(super) struct Row {
    pub(super) paper: &'static PaperRow,
    pub(super) spec: RunSpec,
    pub(super) path: PathBuf,
}

/// The seed of the table's rows; others repeat some of them.
pub(super) const FIRST_SEED: u64 = 1;

/// Rows that are repeated with other seeds.
pub(super) const REPEATED: [&str; 2] = ["basic-20d", "hmcvi-20"];

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
    Evaluated,
}

/// What the paper leaves open, chosen once for each latent size and the same for all its rows: batch size, epochs, and the
/// learning rate. It stays what it is, as in the paper, and parameters are averaged over the last epochs; it rises first where
/// a decoder has yet to learn what its dimensions are good for. In 20 dimensions paths stay long until reverse models know what
/// they are good for. In two, gradients of the basic model are long by nature and not shortened. HMCVI rows begin with the
/// trained basic model.
pub(super) fn protocol(paper: &PaperRow) -> RunSpec {
    let mut spec = preset(paper.preset).unwrap_or_default();
    let train = &mut spec.train;
    let (batch, epochs, rate, warm_up) = match (paper.latent, paper.chain.hmc_steps) {
        (2, 0) => (200, 4000, 1e-3, 0.08),
        (_, 0) => (100, 3000, 1e-3, 0.1),
        (2, _) => (500, 600, 2e-4, 0.0),
        (_, _) => (500, 600, 2e-3, 0.0),
    };
    (train.batch, train.epochs, train.validate_every, train.save_seconds) = (batch, epochs, 20, 30.0);
    train.learning_rate = Schedule { first: rate, last: rate, kind: ScheduleKind::Constant, warm_up };
    train.average = 0.1;
    match (paper.latent, paper.chain.hmc_steps) {
        (2, 0) => train.adam.max_grad_norm = 0.0,
        (2, _) | (_, 0) => {}
        (_, _) => train.hold_step_size = 4,
    }
    spec
}

impl Row {
    /// The row's name, with its seed where that is not the first.
    pub(super) fn name(preset: &str, seed: u64) -> String {
        if seed == FIRST_SEED { preset.into() } else { format!("{preset}-seed-{seed}") }
    }

    /// What the row is called.
    pub(super) fn title(&self) -> String {
        Self::name(self.paper.preset, self.spec.seed)
    }

    /// Whether it is a row of the table rather than a repetition of one with another seed.
    pub(super) fn is_first(&self) -> bool {
        self.spec.seed == FIRST_SEED
    }

    /// Whether it is trained without HMC steps.
    pub(super) fn is_basic(&self) -> bool {
        self.paper.chain.hmc_steps == 0
    }

    /// What an epoch costs, relative to the basic model: a force and its derivative for every leapfrog step.
    pub(super) fn cost(&self) -> f64 {
        1.0 + 3.0 * (self.paper.chain.hmc_steps * self.paper.chain.leapfrog_steps) as f64
    }

    pub(super) fn directory(&self) -> Option<RunDirectory> {
        RunDirectory::open(&self.path).ok()
    }

    /// Checks that its folder is free or holds a run.
    pub(super) fn check_place(&self) -> Result<(), DirectoryError> {
        match RunDirectory::open(&self.path) {
            Ok(directory) => directory.spec().and(directory.info()).map(drop),
            Err(DirectoryError::NotARun(_)) => RunDirectory::check_free(&self.path, false),
            Err(error) => Err(error),
        }
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
                Some(_) => State::Evaluated,
                None => State::Trained,
            },
            Ok(summary) => State::Training(summary.epochs),
            Err(_) => State::Training(0),
        }
    }

    /// Whether the basic model that it begins with is trained.
    pub(super) fn is_ready(&self, rows: &[Row]) -> bool {
        let same = |r: &&Row| r.paper.latent == self.paper.latent && r.spec.seed == self.spec.seed;
        let basic = rows.iter().filter(same).find(|r| r.is_basic());
        let trained = |row: &Row| matches!(row.state(), State::Trained | State::Evaluated);
        self.is_basic() || basic.is_some_and(trained)
    }

    /// How it is annealed. Posteriors in the plane have several modes, of which the encoder may know a wrong one: chains
    /// begin at the prior, and go slowly.
    pub(super) fn annealing(&self) -> AnnealingOptions {
        match self.paper.latent {
            2 => AnnealingOptions {
                start: AnnealingStart::Prior,
                temperatures: 16_000,
                ..AnnealingOptions::default()
            },
            _ => AnnealingOptions::default(),
        }
    }

    /// Whether it is to be annealed: basic rows, and of each latent size the row with the best likelihood, once all
    /// are evaluated.
    pub(super) fn is_annealed(&self, rows: &[Row]) -> bool {
        if !self.is_first() || self.is_basic() {
            return self.is_first();
        }
        let likelihood = |row: &Row| Some(row.evaluation()?.importance_sampling?.log_likelihood.mean);
        let rivals: Vec<&Row> =
            rows.iter().filter(|r| r.is_first() && r.paper.latent == self.paper.latent).collect();
        let all: Option<Vec<f64>> = rivals.iter().map(|r| likelihood(r)).collect();
        let best = |all: Vec<f64>| likelihood(self).is_some_and(|own| all.iter().all(|other| own >= *other));
        all.is_some_and(best)
    }
}
