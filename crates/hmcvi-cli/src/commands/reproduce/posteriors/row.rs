//! One row of the table: its settings, its fit, and what that is held against.

use std::path::{Path, PathBuf};

use hmcvi::config::FitSpec;
use hmcvi::run::{DirectoryError, FitDirectory};
use hmcvi_report::FitData;

use super::known::{PUBLISHED, Published, REFERENCES};
use super::record::Place;
use super::reference::{self, Reference};
use crate::commands::report::fits;
use crate::failure::Failure;

/// A posterior, and where its fit is kept.
pub(super) struct Row {
    pub(super) about: About,
    /// The built-in model.
    pub(super) model: &'static str,
    pub(super) spec: FitSpec,
    pub(super) path: PathBuf,
}

/// What is known of a posterior.
pub(super) enum About {
    /// Reference draws, in this folder.
    Reference { posterior: &'static str, folder: Option<PathBuf> },
    /// A published bound.
    Published(&'static Published),
}

/// What all rows have in common.
pub(super) struct Common<'c> {
    pub(super) folder: Option<&'c Path>,
    /// The folder with Stan programs, if these are to be fitted.
    pub(super) programs: Option<&'c Path>,
    pub(super) place: Place<'c>,
    pub(super) seed: u64,
    pub(super) draws: usize,
    pub(super) assignments: &'c [String],
}

/// All rows of the table.
pub(super) fn all(common: &Common<'_>) -> Result<Vec<Row>, Failure> {
    let mut rows = Vec::new();
    for known in &REFERENCES {
        let folder = common.folder.map(Path::to_path_buf);
        let data = common.folder.map(|folder| reference::data(folder, known.posterior));
        let data = data.map(absolute);
        let model = match common.programs {
            Some(folder) => absolute(reference::program(folder, known.posterior)),
            None => known.model.into(),
        };
        let spec = FitSpec { data, ..usual(model, common) };
        let about = About::Reference { posterior: known.posterior, folder };
        rows.push(Row::new(about, known.model, spec, common, known.settings)?);
    }
    // There are no programs of these.
    for published in PUBLISHED.iter().filter(|_| common.programs.is_none()) {
        let (model, settings) = (published.model, published.settings);
        let spec = usual(model.into(), common);
        rows.push(Row::new(About::Published(published), model, spec, common, settings)?);
    }
    Ok(rows)
}

fn absolute(file: PathBuf) -> String {
    std::path::absolute(&file).unwrap_or(file).display().to_string()
}

fn usual(model: String, common: &Common<'_>) -> FitSpec {
    let Common { seed, draws, .. } = *common;
    FitSpec { model, check: true, evidence: true, seed, draws, ..FitSpec::default() }
}

impl Row {
    fn new(
        about: About,
        model: &'static str,
        spec: FitSpec,
        common: &Common<'_>,
        own: &[&str],
    ) -> Result<Self, Failure> {
        let spec = spec.with_assignments(own)?.with_assignments(common.assignments)?;
        Ok(Row { about, model, spec, path: common.place.folder().join(model) })
    }

    /// What it is called in the table.
    pub(super) fn name(&self) -> &str {
        match &self.about {
            About::Reference { posterior, .. } => posterior,
            About::Published(published) => published.model,
        }
    }

    /// Refuses to begin where files are missing, or where there is something else than this fit.
    pub(super) fn check(&self, force: bool) -> Result<(), Failure> {
        if let About::Reference { posterior, folder } = &self.about {
            let Some(folder) = folder else {
                return Err(Failure::Usage("there are no reference draws".into()).then(
                    "name their folder with `--reference` or HMCVI_POSTERIORDB, or choose rows with published bounds: \
                     `--models seeds,brownian`",
                ));
            };
            reference::check(folder, posterior)?;
            if self.spec.model != self.model && !Path::new(&self.spec.model).is_file() {
                return Err(Failure::Data(format!("there is no {}", self.spec.model)).then(
                    "`--stan` names a folder with a Stan program for each posterior, named as in posteriordb",
                ));
            }
        }
        match FitDirectory::open(&self.path) {
            Err(DirectoryError::NotAFit(_)) => Ok(FitDirectory::check_free(&self.path, false)?),
            Err(error) => Err(error.into()),
            Ok(directory) if force || directory.spec()? == self.spec => Ok(()),
            Ok(_) => Err(Failure::Usage(format!(
                "the fit in {} was made with other settings; add --force to make it again, or choose another place with \
                 --out",
                self.path.display()
            ))),
        }
    }

    /// Whether its fit is there, with these settings and complete.
    pub(super) fn is_done(&self) -> bool {
        self.started().is_some()
    }

    /// When its fit began, in seconds since 1970, where that is there with these settings and complete.
    pub(super) fn started(&self) -> Option<u64> {
        let directory = FitDirectory::open(&self.path).ok()?;
        let record = directory.record().ok().flatten().filter(|record| record.finished)?;
        directory.spec().is_ok_and(|spec| spec == self.spec).then_some(record.started)
    }

    /// Its fit, if that is done.
    pub(super) fn fit(&self) -> Result<Option<FitData>, Failure> {
        if self.is_done() { fits::one(&self.path).map(Some) } else { Ok(None) }
    }

    /// The reference draws, where there are any.
    pub(super) fn reference(&self) -> Result<Option<Reference>, Failure> {
        match &self.about {
            About::Reference { posterior, folder: Some(folder) } => {
                reference::read(folder, posterior).map(Some)
            }
            _ => Ok(None),
        }
    }
}
