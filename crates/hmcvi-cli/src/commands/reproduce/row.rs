//! One row of the table: its protocol, its run directory, and how far it is.

use std::path::{Path, PathBuf};

use hmcvi::config::{PaperRow, RunSpec, Schedule, ScheduleKind, preset};
use hmcvi::data::Split;
use hmcvi::eval::{AnnealingOptions, AnnealingStart, EvaluationOptions, QuadratureOptions};
use hmcvi_record::Evaluation;

use crate::commands::rows::Row;

/// What evaluations of rows have beside bound and importance sampling.
#[derive(Clone, Copy)]
pub(super) struct Extras {
    /// Images that basic rows and the best ones are annealed on.
    pub(super) annealed: usize,
    /// Images whose reverse models are looked at.
    pub(super) reversed: usize,
    /// Whether rows of two dimensions are integrated over.
    pub(super) quadrature: bool,
}

/// A row and where it is kept.
#[derive(Clone)]
pub(super) struct TableRow {
    pub(super) paper: &'static PaperRow,
    pub(super) spec: RunSpec,
    pub(super) path: PathBuf,
    pub(super) extras: Extras,
}

/// The seed of the table's rows; others repeat some of them.
pub(super) const FIRST_SEED: u64 = 1;

/// Rows that are repeated with other seeds.
pub(super) const REPEATED: [&str; 2] = ["basic-20d", "hmcvi-20"];

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

impl TableRow {
    /// The row's name, with its seed where that is not the first.
    pub(super) fn name(preset: &str, seed: u64) -> String {
        if seed == FIRST_SEED { preset.into() } else { format!("{preset}-seed-{seed}") }
    }

    /// Whether it is a row of the table rather than a repetition of one with another seed.
    fn is_first(&self) -> bool {
        self.spec.seed == FIRST_SEED
    }

    /// Whether it is trained without HMC steps.
    fn is_basic(&self) -> bool {
        self.paper.chain.hmc_steps == 0
    }

    /// How it is annealed. Posteriors in the plane have several modes, of which the encoder may know a wrong one: chains
    /// begin at the prior, and go slowly.
    fn annealing(&self) -> AnnealingOptions {
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
    fn is_annealed(&self, rows: &[TableRow]) -> bool {
        if self.extras.annealed == 0 || !self.is_first() || self.is_basic() {
            return self.extras.annealed > 0 && self.is_first();
        }
        let likelihood = |row: &TableRow| Some(row.evaluation()?.importance_sampling?.log_likelihood.mean);
        let rivals: Vec<&TableRow> =
            rows.iter().filter(|r| r.is_first() && r.paper.latent == self.paper.latent).collect();
        let all: Option<Vec<f64>> = rivals.iter().map(|r| likelihood(r)).collect();
        let best = |all: Vec<f64>| likelihood(self).is_some_and(|own| all.iter().all(|other| own >= *other));
        all.is_some_and(best)
    }
}

impl Row for TableRow {
    fn title(&self) -> String {
        Self::name(self.paper.preset, self.spec.seed)
    }

    fn path(&self) -> &Path {
        &self.path
    }

    fn spec(&self) -> &RunSpec {
        &self.spec
    }

    fn split(&self) -> Split {
        Split::Test
    }

    /// HMCVI rows begin with the basic model of their size and seed.
    fn begins_with(&self, other: &Self) -> bool {
        let same = other.paper.latent == self.paper.latent && other.spec.seed == self.spec.seed;
        same && other.is_basic() && !self.is_basic()
    }

    fn options(&self, rows: &[Self]) -> EvaluationOptions {
        let annealed = self.is_annealed(rows).then(|| (self.annealing(), self.extras.annealed));
        let plane = self.extras.quadrature && self.paper.latent == 2;
        EvaluationOptions {
            quadrature: plane.then(QuadratureOptions::default),
            annealing: annealed,
            bidirectional: annealed,
            reverse: if self.is_basic() { 0 } else { self.extras.reversed },
            ..EvaluationOptions::new(&self.spec)
        }
    }

    fn lacks(&self, evaluation: &Evaluation, rows: &[Self]) -> bool {
        evaluation.annealing.is_none() && self.is_annealed(rows)
    }
}
