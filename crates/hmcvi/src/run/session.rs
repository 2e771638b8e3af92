//! Train into a run directory: begin or resume, save what must not be lost, stop when asked.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use hmcvi_graph::Ranks;
use hmcvi_record::{CHECKPOINT_SCHEMA, CheckpointInfo, Epoch, RunInfo, SCHEMA, SettingsChange, Summary};

use super::agree::agree;
use super::checkpoint::{Checkpoint, Which, initial_sha256, load_initial};
use super::directory::RunDirectory;
use super::error::DirectoryError;
use super::lock::Lock;
use crate::config::RunSpec;
use crate::data::Dataset;
use crate::device::Device;
use crate::device::Turn;
use crate::train::{Batch, Observer, TrainError, Trainer, learnt};

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
    /// Processes that are to share a run mean different ones.
    #[error(
        "process {rank} has another {what} than process 0; all of them need the same program, settings and files"
    )]
    Disagree {
        /// What they have.
        what: &'static str,
        /// The first process that has another.
        rank: usize,
    },
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
    if begin.device.leads() {
        RunDirectory::check_free(path, force)?;
    }
    let spec = begin.spec.for_data(&begin.data).map_err(TrainError::from)?;
    let begin = &Begin { spec, ..begin.clone() };
    agree(begin, None)?;
    let trainer = new_trainer(begin)?;
    let info = info(begin, &trainer);
    let create = || RunDirectory::create(path, &begin.spec, &info, force);
    let (directory, _lock) = begin.device.leads().then(create).transpose()?.unzip();
    watch.begin(&info, 0);
    Session::new(directory, trainer, CheckpointInfo::default(), &[]).run(&begin.spec, watch)
}

/// Goes on with a run. Settings other than those of `train` have to be the ones it began with.
pub fn resume(
    directory: &RunDirectory,
    begin: &Begin,
    watch: &mut dyn Watch,
) -> Result<Outcome, SessionError> {
    let leads = begin.device.leads();
    let _lock = leads.then(|| Lock::take(directory.path())).transpose()?;
    agree(begin, Some(directory))?;
    let before = directory.spec()?;
    let (trainer, state) = match directory.has_checkpoint(Which::Last) {
        true => {
            let Checkpoint { store, info } = directory.checkpoint(Which::Last)?;
            let seconds =
                directory.epochs()?.iter().rfind(|e| e.epoch <= info.epoch).map_or(0.0, |e| e.seconds);
            let (spec, data) = (&begin.spec, begin.data.clone());
            let done = ((info.epoch, info.step, seconds), info.under_way.clone());
            (Trainer::resume(spec, data, &begin.device, store, done)?, info)
        }
        false => (new_trainer(begin)?, CheckpointInfo::default()),
    };
    let first = info(begin, &trainer);
    let mut info = RunInfo { first_step_size: first.first_step_size, ..directory.info().unwrap_or(first) };
    let mut epochs = Vec::new();
    if leads {
        epochs = directory.rewind(state.epoch)?;
        directory.write_spec(&begin.spec)?;
        let seconds = epochs.last().map_or(0.0, |e: &Epoch| e.seconds);
        let done = before.train.is_over(state.epoch, seconds);
        if let Some(change) = change(begin, &before, &state, done) {
            info.changes.push(change);
            directory.write_info(&info)?;
        }
    }
    watch.begin(&info, state.epoch);
    Session::new(leads.then(|| directory.clone()), trainer, state, &epochs).run(&begin.spec, watch)
}

/// What a resumed run does differently from now on, if anything that its numbers depend on.
fn change(begin: &Begin, before: &RunSpec, state: &CheckpointInfo, done: bool) -> Option<SettingsChange> {
    let settings = before.changed_settings(&begin.spec);
    let (command, epoch, step) = (begin.command.clone(), state.epoch, state.step);
    (!settings.is_empty() && step > 0).then_some(SettingsChange {
        command,
        epoch,
        step,
        finished: done,
        settings,
    })
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
        initial_sha256: begin.spec.train.init_from.as_deref().and_then(initial_sha256),
        changes: Vec::new(),
        parameters: trainer.parameters(),
        bytes: trainer.bytes(),
        first_step_size: trainer.first_step_size(),
        image_shape: begin.data.train().shape().map(|(height, width)| [height as u64, width as u64]),
        columns: Some(begin.data.train().columns() as u64),
    }
}

/// A run on its way.
struct Session {
    /// Where it is kept; nowhere by processes that only help.
    directory: Option<RunDirectory>,
    trainer: Trainer,
    /// Where the last finished epoch left off.
    state: CheckpointInfo,
    /// Whether the trainer still has the end of that epoch.
    whole: bool,
    /// The best state, if it was not written yet.
    best: Option<Checkpoint>,
    totals: Totals,
}

/// What is told about all epochs together.
#[derive(Default)]
struct Totals {
    seconds: f64,
    divergences: u64,
    skipped: u64,
}

impl Totals {
    fn add(mut self, epoch: &Epoch) -> Self {
        self.seconds = epoch.seconds;
        self.divergences += epoch.divergences;
        self.skipped += epoch.skipped;
        self
    }
}

/// Stops an epoch when the watcher asks for it, or when the state is to be saved: all processes after the same update.
struct Pausing<'a> {
    watch: &'a mut dyn Watch,
    ranks: Option<Arc<dyn Ranks>>,
    due: Option<Instant>,
    stopped: bool,
}

impl Observer for Pausing<'_> {
    fn batch(&mut self, batch: &Batch<'_>) {
        self.watch.batch(batch);
    }

    fn stop(&mut self) -> bool {
        let any = |flag| self.ranks.as_ref().map_or(flag, |ranks| ranks.any(flag));
        let due = any(self.due.is_some_and(|due| Instant::now() >= due));
        self.stopped |= any(self.watch.stop());
        self.stopped || due
    }
}

impl Session {
    fn new(
        directory: Option<RunDirectory>,
        trainer: Trainer,
        state: CheckpointInfo,
        epochs: &[Epoch],
    ) -> Self {
        let whole = state.under_way.is_none();
        let totals = epochs.iter().fold(Totals::default(), Totals::add);
        let state = CheckpointInfo { under_way: None, ..state };
        Session { directory, trainer, state, whole, best: None, totals }
    }

    fn run(mut self, spec: &RunSpec, watch: &mut dyn Watch) -> Result<Outcome, SessionError> {
        // Also at the end and before an error is returned. Epochs of small data sets take less time than flushing
        // their state to a disk, so not every one of them is saved.
        let save_every = Duration::from_secs_f64(spec.train.save_seconds);
        let mut saved = Instant::now();
        let mut turn = self.trainer.turn();
        while !self.trainer.is_over() {
            if turn.as_ref().is_some_and(Turn::is_over) {
                drop(turn.take());
                turn = self.trainer.turn();
            }
            let keeps = self.directory.is_some() && !save_every.is_zero();
            let (due, ranks) = (keeps.then(|| saved + save_every), self.trainer.device().ranks().cloned());
            let mut pausing = Pausing { watch, ranks, due, stopped: false };
            let epoch = match self.trainer.epoch(&mut pausing) {
                Ok(Some(epoch)) => epoch,
                Ok(None) => {
                    let interrupted = pausing.stopped;
                    self.save()?;
                    let summary = self.summarise(spec)?;
                    if interrupted {
                        return Ok(Outcome { summary, interrupted });
                    }
                    saved = Instant::now();
                    continue;
                }
                Err(error) => {
                    // Where the device is lost, what was saved before is what there is.
                    if self.whole {
                        self.save().and_then(|()| Ok(self.summarise(spec)?)).ok();
                    }
                    return Err(error.into());
                }
            };
            self.whole = true;
            let best = self.note(&epoch);
            if best {
                let Checkpoint { store, info } = self.checkpoint()?;
                self.best = Some(Checkpoint { store: learnt(&store), info });
            }
            if let Some(directory) = &self.directory {
                directory.append_epoch(&epoch)?;
            }
            watch.epoch(&epoch, best);
            self.totals = std::mem::take(&mut self.totals).add(&epoch);
            if saved.elapsed() >= save_every {
                self.save()?;
                self.summarise(spec)?;
                saved = Instant::now();
            }
        }
        self.save()?;
        Ok(Outcome { summary: self.summarise(spec)?, interrupted: false })
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

    /// Where training is: in an epoch, or at the end of the last one.
    fn checkpoint(&self) -> Result<Checkpoint, SessionError> {
        let state = self.state.clone();
        Ok(match self.trainer.under_way() {
            None => Checkpoint { store: self.trainer.finished_store()?, info: state },
            Some(part) => {
                let (step, under_way) = (self.trainer.updates_done(), Some(part.clone()));
                Checkpoint { store: self.trainer.store()?, info: CheckpointInfo { step, under_way, ..state } }
            }
        })
    }

    /// Writes the best state if it is new, then the last one; nothing before the first update.
    fn save(&mut self) -> Result<(), SessionError> {
        let Some(directory) = &self.directory else { return Ok(()) };
        if let Some(best) = self.best.take() {
            directory.write_checkpoint(Which::Best, &best)?;
        }
        if self.state.epoch > 0 || self.trainer.under_way().is_some() {
            directory.write_checkpoint(Which::Last, &self.checkpoint()?)?;
        }
        Ok(())
    }

    fn summarise(&self, spec: &RunSpec) -> Result<Summary, DirectoryError> {
        let summary = Summary {
            schema: SCHEMA,
            epochs: self.state.epoch,
            best_epoch: self.state.best_epoch,
            best_validation_bound: self.state.best_validation_bound,
            seconds: self.totals.seconds,
            divergences: self.totals.divergences,
            skipped: self.totals.skipped,
            finished: spec.train.is_over(self.state.epoch, self.totals.seconds),
        };
        self.directory.as_ref().map_or(Ok(()), |directory| directory.write_summary(&summary))?;
        Ok(summary)
    }
}
