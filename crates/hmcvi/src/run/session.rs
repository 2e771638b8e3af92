//! Train into a run directory: begin or resume, save what must not be lost, stop when asked.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use hmcvi_record::{CHECKPOINT_SCHEMA, CheckpointInfo, Epoch, RunInfo, SCHEMA, Summary};

use super::checkpoint::{Checkpoint, Which, load_initial};
use super::directory::RunDirectory;
use super::error::DirectoryError;
use super::lock::Lock;
use crate::config::RunSpec;
use crate::data::Dataset;
use crate::device::Device;
use crate::train::{Observer, TrainError, Trainer};

/// A training that cannot begin or go on.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SessionError {
    /// The run directory.
    #[error(transparent)]
    Directory(#[from] DirectoryError),
    /// The training itself.
    #[error(transparent)]
    Train(#[from] TrainError),
}

/// Watches a run; all methods do nothing unless implemented.
pub trait Watch: Observer {
    /// Before the first update, with the number of epochs that were done in earlier sittings.
    fn begin(&mut self, _info: &RunInfo, _epochs_done: u64) {}
    /// After every epoch, and whether its validation bound is the best so far.
    fn epoch(&mut self, _epoch: &Epoch, _best: bool) {}
}

/// Watches nothing.
impl Watch for () {}

/// What a run begins with.
#[derive(Clone)]
pub struct Begin {
    /// Settings.
    pub spec: RunSpec,
    /// Data.
    pub data: Arc<Dataset>,
    /// Where it runs.
    pub device: Device,
    /// Version of the program, for the record.
    pub version: String,
    /// The command, for the record.
    pub command: Vec<String>,
    /// Seconds since 1970, for the record.
    pub started: u64,
}

/// How a sitting ended.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    /// The run so far.
    pub summary: Summary,
    /// Whether the watcher stopped it before all epochs were done.
    pub interrupted: bool,
}

/// Begins a run at `path`.
pub fn start(
    path: &Path,
    force: bool,
    begin: &Begin,
    watch: &mut dyn Watch,
) -> Result<Outcome, SessionError> {
    RunDirectory::check_free(path, force)?;
    let trainer = new_trainer(begin)?;
    let info = info(begin, &trainer);
    let (directory, _lock) = RunDirectory::create(path, &begin.spec, &info, force)?;
    watch.begin(&info, 0);
    Session { directory, trainer, state: CheckpointInfo::default(), best: None, epochs: Vec::new() }
        .run(&begin.spec, watch)
}

/// Goes on with a run. Settings other than those of `train` have to be the ones it began with.
pub fn resume(
    directory: &RunDirectory,
    begin: &Begin,
    watch: &mut dyn Watch,
) -> Result<Outcome, SessionError> {
    let directory = directory.clone();
    let _lock = Lock::take(directory.path())?;
    directory.write_spec(&begin.spec)?;
    let (trainer, state) = match directory.has_checkpoint(Which::Last) {
        true => {
            let Checkpoint { store, info } = directory.checkpoint(Which::Last)?;
            let seconds =
                directory.epochs()?.iter().rfind(|e| e.epoch <= info.epoch).map_or(0.0, |e| e.seconds);
            let (spec, data) = (&begin.spec, begin.data.clone());
            (Trainer::resume(spec, data, &begin.device, store, (info.epoch, info.step, seconds))?, info)
        }
        false => (new_trainer(begin)?, CheckpointInfo::default()),
    };
    let epochs = directory.rewind(state.epoch)?;
    let first = info(begin, &trainer);
    let info = RunInfo { first_step_size: first.first_step_size, ..directory.info().unwrap_or(first) };
    watch.begin(&info, state.epoch);
    Session { directory, trainer, state, best: None, epochs }.run(&begin.spec, watch)
}

fn new_trainer(begin: &Begin) -> Result<Trainer, SessionError> {
    let init = begin.spec.train.init_from.as_deref().map(load_initial).transpose()?;
    Ok(Trainer::new(&begin.spec, begin.data.clone(), &begin.device, init.as_ref())?)
}

fn info(begin: &Begin, trainer: &Trainer) -> RunInfo {
    RunInfo {
        schema: SCHEMA,
        version: begin.version.clone(),
        command: begin.command.clone(),
        started: begin.started,
        device: trainer.device().describe(),
        data: begin.data.source().into(),
        data_sha256: begin.data.sha256().into(),
        parameters: trainer.parameters(),
        bytes: trainer.bytes(),
        first_step_size: trainer.first_step_size(),
    }
}

/// A run on its way.
struct Session {
    directory: RunDirectory,
    trainer: Trainer,
    /// Where the last finished epoch left off.
    state: CheckpointInfo,
    /// The best state, if it was not written yet.
    best: Option<Checkpoint>,
    epochs: Vec<Epoch>,
}

impl Session {
    fn run(mut self, spec: &RunSpec, watch: &mut dyn Watch) -> Result<Outcome, SessionError> {
        let all = spec.train.epochs as u64;
        // Also at the end and before an error is returned. Epochs of small data sets take less time than flushing
        // their state to a disk, so not every one of them is saved.
        let save_every = Duration::from_secs_f64(spec.train.save_seconds);
        let mut saved = Instant::now();
        while self.state.epoch < all {
            let epoch = match self.trainer.epoch(watch) {
                Ok(Some(epoch)) => epoch,
                Ok(None) => {
                    self.save()?;
                    let summary = self.summarise(all)?;
                    return Ok(Outcome { summary, interrupted: true });
                }
                Err(error) => {
                    // Where the device is lost, what was saved before is what there is.
                    self.save().and_then(|()| Ok(self.summarise(all)?)).ok();
                    return Err(error.into());
                }
            };
            let best = self.note(&epoch);
            if best {
                self.best = Some(self.checkpoint()?);
            }
            self.directory.append_epoch(&epoch)?;
            watch.epoch(&epoch, best);
            self.epochs.push(epoch);
            if saved.elapsed() >= save_every {
                self.save()?;
                self.summarise(all)?;
                saved = Instant::now();
            }
        }
        self.save()?;
        Ok(Outcome { summary: self.summarise(all)?, interrupted: false })
    }

    /// Brings the state up to date; returns whether the validation bound is the best so far.
    fn note(&mut self, epoch: &Epoch) -> bool {
        (self.state.schema, self.state.epoch, self.state.step) = (CHECKPOINT_SCHEMA, epoch.epoch, epoch.step);
        let bound = epoch.validation.as_ref().and_then(|v| v.get("bound")).copied();
        let better =
            |bound: f64| bound.is_finite() && self.state.best_validation_bound.is_none_or(|b| bound > b);
        let best = bound.is_some_and(better);
        if best {
            (self.state.best_epoch, self.state.best_validation_bound) = (epoch.epoch, bound);
        }
        best
    }

    /// The end of the last finished epoch.
    fn checkpoint(&self) -> Result<Checkpoint, SessionError> {
        Ok(Checkpoint { store: self.trainer.finished_store()?, info: self.state })
    }

    /// Writes the best state if it is new, then the last one; nothing before the first epoch.
    fn save(&mut self) -> Result<(), SessionError> {
        if let Some(best) = self.best.take() {
            self.directory.write_checkpoint(Which::Best, &best)?;
        }
        if self.state.epoch > 0 {
            self.directory.write_checkpoint(Which::Last, &self.checkpoint()?)?;
        }
        Ok(())
    }

    fn summarise(&self, all: u64) -> Result<Summary, DirectoryError> {
        let summary = Summary {
            schema: SCHEMA,
            epochs: self.state.epoch,
            best_epoch: self.state.best_epoch,
            best_validation_bound: self.state.best_validation_bound,
            seconds: self.epochs.last().map_or(0.0, |e| e.seconds),
            divergences: self.epochs.iter().map(|e| e.divergences).sum(),
            skipped: self.epochs.iter().map(|e| e.skipped).sum(),
            finished: self.state.epoch >= all,
        };
        self.directory.write_summary(&summary)?;
        Ok(summary)
    }
}
