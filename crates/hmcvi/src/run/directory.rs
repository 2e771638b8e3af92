//! Lay out a run directory, and read and write its files.

use std::fs;
use std::path::{Path, PathBuf};

use hmcvi_record::{Epoch, Evaluation, RunInfo, Summary, Versioned, files, read, refuse_newer};
use serde::Serialize;

use super::checkpoint::{Checkpoint, Which};
use super::error::DirectoryError;
use super::failure::failure;
use super::lock::Lock;
use super::{atomic, metrics, readme};
use crate::config::RunSpec;

/// A run directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunDirectory {
    path: PathBuf,
}

/// Files that belong to a run, and that replacing it removes.
const FILES: [&str; 15] = [
    files::CONFIG,
    files::INFO,
    files::METRICS,
    files::LAST,
    files::BEST,
    files::SUMMARY,
    files::EVALUATION,
    files::EVALUATION_IMAGES,
    files::EVALUATION_PARTS,
    files::PREVIOUS_EVALUATION,
    files::PREVIOUS_EVALUATION_IMAGES,
    files::REPORT,
    files::REPORT_DATA,
    files::FAILURE,
    files::README,
];

/// Whether a file of this name belongs to a run, and replacing the run removes it.
fn belongs(name: &str) -> bool {
    FILES.contains(&name) || name.starts_with(files::EVENTS)
}

/// Checks that a folder is free for what `marker` is a file of, without changing anything. `left` are names of files
/// that may be left of what never began.
pub(super) fn check_free(
    path: &Path,
    force: bool,
    marker: &str,
    left: impl Fn(&str) -> bool,
) -> Result<(), DirectoryError> {
    let is_there = path.join(marker).exists();
    if is_there && !force {
        return Err(match marker {
            files::FIT_CONFIG => DirectoryError::FitExists(path.into()),
            _ => DirectoryError::Exists(path.into()),
        });
    }
    let entries = match fs::read_dir(path) {
        Ok(entries) => entries,
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(()),
        Err(e) => return Err(DirectoryError::io(path, "open", e)),
    };
    let ours = |name: &str| match name {
        files::LOCK => Lock::is_ours(path),
        name => name.starts_with(atomic::TEMPORARY) || left(name),
    };
    let foreign =
        |e: std::io::Result<fs::DirEntry>| e.map_or(true, |e| !e.file_name().to_str().is_some_and(ours));
    if !is_there && entries.into_iter().any(foreign) {
        return Err(DirectoryError::Foreign(path.into()));
    }
    Ok(())
}

/// Takes a folder, without the files in it that belong to what is replaced.
pub(super) fn begin(path: &Path, belongs: impl Fn(&str) -> bool) -> Result<Lock, DirectoryError> {
    fs::create_dir_all(path).map_err(|e| DirectoryError::io(path, "create the folder", e))?;
    let lock = Lock::take(path)?;
    remove_if(path, belongs)?;
    Ok(lock)
}

/// Removes files of a folder by their names.
pub(super) fn remove_if(folder: &Path, belongs: impl Fn(&str) -> bool) -> Result<(), DirectoryError> {
    let entries = fs::read_dir(folder).map_err(|e| DirectoryError::io(folder, "open", e))?;
    for entry in entries.flatten().filter(|e| e.file_name().to_str().is_some_and(&belongs)) {
        let file = entry.path();
        fs::remove_file(&file).map_err(|e| DirectoryError::io(&file, "remove", e))?;
    }
    Ok(())
}

impl RunDirectory {
    /// Checks that a run may begin at `path`, without changing anything.
    pub fn check_free(path: &Path, force: bool) -> Result<(), DirectoryError> {
        // What is left of a run that ended before it began: settings make it a run, and are written after its record.
        let began = || RunDirectory { path: path.into() }.info().is_ok();
        let failed = || failure(path).is_some();
        let left = |name: &str| name == files::INFO && began() || name == files::FAILURE && failed();
        check_free(path, force, files::CONFIG, left)
    }

    /// Begins a run. A run that is there is replaced with `force` only, and of it the files that this
    /// module knows, nothing else. The settings make it a run: they are written after its record.
    pub fn create(
        path: &Path,
        spec: &RunSpec,
        info: &RunInfo,
        force: bool,
    ) -> Result<(Self, Lock), DirectoryError> {
        Self::check_free(path, force)?;
        let lock = begin(path, belongs)?;
        let directory = RunDirectory { path: path.into() };
        directory.write_info(info)?;
        directory.write_spec(spec)?;
        Ok((directory, lock))
    }

    /// Removes a run from its folder: the files that this module knows, nothing else.
    pub fn clear(path: &Path) -> Result<(), DirectoryError> {
        Self::open(path)?;
        begin(path, belongs).map(drop)
    }

    /// Opens the directory of a run. One with a record of a later version is refused as a whole: its other files may
    /// have changed as well, and nothing of it shall be replaced by older forms.
    pub fn open(path: &Path) -> Result<Self, DirectoryError> {
        if !path.join(files::CONFIG).is_file() {
            return Err(match path.join(files::FIT_CONFIG).is_file() {
                true => DirectoryError::NoRunButAFit(path.into()),
                false => DirectoryError::NotARun(path.into()),
            });
        }
        let directory = RunDirectory { path: path.into() };
        directory.refuse_newer::<RunInfo>(files::INFO)?;
        directory.refuse_newer::<Summary>(files::SUMMARY)?;
        directory.refuse_newer::<Evaluation>(files::EVALUATION)?;
        Ok(directory)
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Path of a file in it.
    pub fn file(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    /// The settings.
    pub fn spec(&self) -> Result<RunSpec, DirectoryError> {
        let file = self.file(files::CONFIG);
        let text = fs::read_to_string(&file).map_err(|e| DirectoryError::io(&file, "read", e))?;
        RunSpec::from_record(&text).map_err(|source| DirectoryError::Config { file, source })
    }

    /// Writes the settings, and the explanation that quotes them.
    pub fn write_spec(&self, spec: &RunSpec) -> Result<(), DirectoryError> {
        atomic::write(&self.file(files::CONFIG), spec.to_toml().as_bytes())?;
        atomic::write(&self.file(files::README), readme::text(&self.path, spec).as_bytes())
    }

    /// Who made the run.
    pub fn info(&self) -> Result<RunInfo, DirectoryError> {
        self.read_json(files::INFO)
    }

    /// Writes who made the run.
    pub fn write_info(&self, info: &RunInfo) -> Result<(), DirectoryError> {
        self.write_json(files::INFO, info)
    }

    /// The outcome so far.
    pub fn summary(&self) -> Result<Summary, DirectoryError> {
        self.read_json(files::SUMMARY)
    }

    /// Writes the outcome so far.
    pub fn write_summary(&self, summary: &Summary) -> Result<(), DirectoryError> {
        self.write_json(files::SUMMARY, summary)
    }

    /// Adds an epoch to the metrics.
    pub fn append_epoch(&self, epoch: &Epoch) -> Result<(), DirectoryError> {
        metrics::append(&self.file(files::METRICS), epoch)
    }

    /// All epochs.
    pub fn epochs(&self) -> Result<Vec<Epoch>, DirectoryError> {
        metrics::read(&self.file(files::METRICS))
    }

    /// Drops epochs after `last` from the metrics, and returns the others.
    pub fn rewind(&self, last: u64) -> Result<Vec<Epoch>, DirectoryError> {
        metrics::rewind(&self.file(files::METRICS), last)
    }

    /// Whether a checkpoint is there.
    pub fn has_checkpoint(&self, which: Which) -> bool {
        self.file(which.file()).is_file()
    }

    /// Reads a checkpoint.
    pub fn checkpoint(&self, which: Which) -> Result<Checkpoint, DirectoryError> {
        Checkpoint::read(&self.file(which.file()))
    }

    /// Writes a checkpoint in one piece.
    pub fn write_checkpoint(&self, which: Which, checkpoint: &Checkpoint) -> Result<(), DirectoryError> {
        checkpoint.write(&self.file(which.file()))
    }

    pub(super) fn read_json<T: Versioned>(&self, name: &str) -> Result<T, DirectoryError> {
        let file = self.file(name);
        let text = fs::read_to_string(&file).map_err(|e| DirectoryError::io(&file, "read", e))?;
        Ok(read(&file, &text)?)
    }

    /// Files that are not there, or damaged, are for those to refuse who need them.
    fn refuse_newer<T: Versioned>(&self, name: &str) -> Result<(), DirectoryError> {
        let file = self.file(name);
        Ok(refuse_newer::<T>(&file, &fs::read_to_string(&file).unwrap_or_default())?)
    }

    pub(super) fn write_json<T: Serialize>(&self, name: &str, value: &T) -> Result<(), DirectoryError> {
        let text = serde_json::to_string_pretty(value).expect("plain values become JSON") + "\n";
        atomic::write(&self.file(name), text.as_bytes())
    }
}
