//! One row of a sweep: its settings, its run directory, and whether what is there was made with these settings.

use std::path::{Path, PathBuf};

use hmcvi::config::RunSpec;
use hmcvi::data::Split;
use hmcvi::eval::{AnnealingOptions, EvaluationOptions, QuadratureOptions};
use hmcvi::model::likelihood::LikelihoodKind;
use hmcvi::run::RunDirectory;
use hmcvi_record::Evaluation;

use super::file::Case;
use crate::commands::rows::Row;
use crate::failure::Failure;

/// What is asked for beside the usual estimates.
#[derive(Clone, Copy)]
pub(super) struct Extras {
    /// Annealing of images and of simulated data points.
    pub(super) images: Option<(AnnealingOptions, usize)>,
    pub(super) simulated: Option<(AnnealingOptions, usize)>,
    /// Quadrature, where it is possible.
    pub(super) quadrature: bool,
}

pub(super) struct SweepRow {
    pub(super) case: Case,
    pub(super) spec: RunSpec,
    pub(super) path: PathBuf,
    pub(super) split: Split,
    pub(super) extras: Extras,
}

impl SweepRow {
    /// Whether its likelihood is to be computed by quadrature, and can be.
    fn takes_quadrature(&self) -> bool {
        let model = &self.spec.model;
        self.extras.quadrature && model.latent == 2 && model.likelihood() == LikelihoodKind::Bernoulli
    }

    /// Checks that what is in its folder was made with its settings; only more epochs and seconds can be added to it.
    pub(super) fn check_settings(&self) -> Result<(), Failure> {
        let Some(directory) = self.directory() else { return Ok(()) };
        let before = directory.spec()?;
        let changed: Vec<String> = before
            .changed_settings(&self.spec)
            .into_iter()
            .filter(|c| c.key != "train.epochs" && c.key != "train.seconds")
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
        let Extras { images, simulated, .. } = self.extras;
        EvaluationOptions {
            annealing: images,
            bidirectional: simulated,
            quadrature: self.takes_quadrature().then(QuadratureOptions::default),
            ..EvaluationOptions::new(&self.spec)
        }
    }

    fn lacks(&self, evaluation: &Evaluation, _: &[Self]) -> bool {
        let Extras { images, simulated, .. } = self.extras;
        images.is_some() && evaluation.annealing.is_none()
            || self.takes_quadrature() && evaluation.quadrature.is_none()
            || simulated.is_some() && evaluation.bidirectional.is_none()
    }
}
