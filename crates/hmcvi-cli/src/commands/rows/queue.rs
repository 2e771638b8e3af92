//! Train and evaluate rows side by side, until all are done or the time is over.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

use hmcvi::data::Dataset;
use hmcvi::device::Device;
use hmcvi::eval::{self, EvalError, Phase, evaluate};
use hmcvi::run::{
    DirectoryError, Journal, Lock, RunDirectory, SessionError, Watch, Which, failure, forget_failure,
    note_failure, resume, start,
};
use hmcvi::train::Observer;
use hmcvi_record::{Epoch, files};
use serde_json::json;

use super::overview::Overview;
use super::{Row, Share, State};
use crate::Context;
use crate::commands::eval::record;
use crate::commands::train::begin;
use crate::failure::Failure;
use crate::progress::Parts;

/// How long and how much.
pub(crate) struct Limits {
    pub(crate) until: Option<Instant>,
    pub(crate) jobs: usize,
}

/// What is worked on.
pub(crate) struct Work<'a, R> {
    pub(crate) context: &'a Context,
    /// All rows, also those that other processes work on.
    pub(crate) rows: &'a [R],
    /// The data of each of them.
    pub(crate) data: &'a [Arc<Dataset>],
    /// Those that this process works on.
    pub(crate) share: &'a Share,
    pub(crate) limits: Limits,
}

/// Lines of one row come at most this often.
const SPEAK_EVERY: Duration = Duration::from_secs(15);
/// How long a row that another process has is left alone before it is looked at again.
const LOOK_AGAIN: Duration = Duration::from_secs(2);

/// Rows by their numbers.
#[derive(Default)]
struct Progress {
    /// Under way here.
    busy: BTreeSet<usize>,
    /// Failed here, with the reason.
    failed: BTreeMap<usize, String>,
    /// Under way in other processes, when they were last seen.
    elsewhere: BTreeMap<usize, Instant>,
}

/// How an attempt at a row ended.
enum Attempt {
    /// It is done, or the time is over.
    Ended,
    /// Another process has it.
    Elsewhere,
}

/// What the workers share.
struct Shared<'a, R> {
    work: Work<'a, R>,
    /// Rows of other processes that those of this one begin with.
    needed: BTreeSet<usize>,
    overview: Overview<'a, R>,
    progress: Mutex<Progress>,
    changed: Condvar,
}

/// Works on rows until none is left that can be worked on.
pub(crate) fn work<R: Row>(work: Work<'_, R>, device: &Device) -> Result<(), Failure> {
    let rows = work.rows;
    let own = &work.share.own;
    let wanted = |i: &usize| own.iter().any(|own| rows[*own].begins_with(&rows[*i]));
    let needed = (0..rows.len()).filter(|i| !own.contains(i)).filter(wanted).collect();
    let overview = Overview::new(rows, own);
    let shared = Shared { work, needed, overview, progress: Mutex::default(), changed: Condvar::new() };
    std::thread::scope(|scope| {
        for _ in 0..shared.work.limits.jobs {
            scope.spawn(|| shared.worker(device));
        }
    });
    let progress = shared.progress.into_inner().unwrap_or_else(PoisonError::into_inner);
    match progress.failed.first_key_value() {
        Some((i, why)) => Err(Failure::Other(format!("{}: {why}", rows[*i].title()))),
        None => Ok(()),
    }
}

impl<R: Row> Shared<'_, R> {
    fn over(&self) -> bool {
        let limits = &self.work.limits;
        self.work.context.interrupt.requested() || limits.until.is_some_and(|until| Instant::now() >= until)
    }

    fn worker(&self, device: &Device) {
        while let Some(i) = self.next() {
            let row = &self.work.rows[i];
            let done = device
                .beside(self.work.limits.jobs)
                .map_err(Failure::from)
                .and_then(|device| self.advance(i, &device));
            let mut progress = self.progress.lock().unwrap_or_else(PoisonError::into_inner);
            progress.busy.remove(&i);
            match done {
                Ok(Attempt::Ended) => {}
                Ok(Attempt::Elsewhere) => drop(progress.elsewhere.insert(i, Instant::now())),
                Err(why) => {
                    progress.failed.insert(i, why.to_string());
                    // Where it cannot be noted, as on a full disk, it is still said.
                    drop(note_failure(row.path(), &why.to_string()));
                    self.work.context.terminal.error(&why.about(&row.title()));
                }
            }
            self.changed.notify_all();
        }
    }

    /// Whether something is left to do for a row.
    fn is_open(&self, i: usize) -> bool {
        let (row, rows) = (&self.work.rows[i], self.work.rows);
        if self.needed.contains(&i) && !self.work.share.helps {
            return !row.is_trained();
        }
        // Who helps leaves alone what others have failed at.
        if !self.work.share.own.contains(&i) && failure(row.path()).is_some() {
            return false;
        }
        row.state() != State::Evaluated || row.evaluation().is_some_and(|e| row.lacks(&e, rows))
    }

    /// Rows in the order in which this process looks at them.
    fn candidates(&self) -> impl Iterator<Item = usize> {
        let Share { own, helps } = self.work.share;
        let others = (0..self.work.rows.len()).filter(|i| !own.contains(i) && !self.needed.contains(i));
        own.union(&self.needed).copied().chain(others.filter(|_| *helps))
    }

    /// The next row to work on; waits while rows are under way that others begin with.
    fn next(&self) -> Option<usize> {
        let mut progress = self.progress.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            if self.over() {
                return None;
            }
            progress.elsewhere.retain(|_, seen| seen.elapsed() < LOOK_AGAIN);
            let open: Vec<usize> = self
                .candidates()
                .filter(|i| !progress.busy.contains(i) && !progress.failed.contains_key(i))
                .filter(|i| self.is_open(*i))
                .collect();
            let is_free = |i: &usize| !progress.elsewhere.contains_key(i);
            let ready = |i: &usize| self.work.rows[*i].is_ready(self.work.rows);
            if let Some(i) = open.iter().copied().filter(is_free).find(ready) {
                progress.busy.insert(i);
                return Some(i);
            }
            if open.is_empty() || progress.busy.is_empty() && progress.elsewhere.is_empty() {
                return None;
            }
            let waited = self.changed.wait_timeout(progress, Duration::from_millis(500));
            progress = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Trains a row, or goes on with it, and evaluates it.
    fn advance(&self, i: usize, device: &Device) -> Result<Attempt, Failure> {
        let row = &self.work.rows[i];
        let begin = begin(row.spec().clone(), self.work.data[i].clone(), device.clone());
        let mut watching = Watching::new(self, i);
        let outcome = match row.state() {
            State::Missing => start(row.path(), false, &begin, &mut watching),
            State::Training(_) => RunDirectory::open(row.path())
                .map_err(SessionError::from)
                .and_then(|directory| resume(&directory, &begin, &mut watching)),
            State::Trained | State::Evaluated => return self.evaluate(i, device),
        };
        let interrupted = match outcome {
            Ok(outcome) => outcome.interrupted,
            Err(SessionError::Directory(why)) if is_elsewhere(&why, row) => return Ok(Attempt::Elsewhere),
            Err(why) => return Err(why.into()),
        };
        if interrupted || self.over() || self.needed.contains(&i) && !self.work.share.helps {
            return Ok(Attempt::Ended);
        }
        self.evaluate(i, device)
    }

    fn evaluate(&self, i: usize, device: &Device) -> Result<Attempt, Failure> {
        let (row, data) = (&self.work.rows[i], &self.work.data[i]);
        let directory = RunDirectory::open(row.path())?;
        let _lock = match Lock::take(directory.path()) {
            Err(why) if is_elsewhere(&why, row) => return Ok(Attempt::Elsewhere),
            lock => lock?,
        };
        let checkpoint = directory.checkpoint(Which::Best)?;
        let options = row.options(self.work.rows);
        let of = json!({ "options": options, "state": checkpoint.info, "data": data.sha256() });
        let journal = Journal::open(&directory.file(files::EVALUATION_PARTS), &of)?;
        let mut watching = Watching::new(self, i);
        watching.parts = Some(journal).into();
        let (spec, split) = (row.spec(), row.split());
        let table = data.table(split);
        let evaluated = match evaluate(spec, &checkpoint.store, table, &options, device, &mut watching) {
            Err(EvalError::Stopped) => return Ok(Attempt::Ended),
            other => other?,
        };
        let names = (split.name(), Which::Best.name());
        let record = record(spec, &checkpoint, data, &evaluated, &options, names);
        directory.write_evaluation(&record, &evaluated.images)?;
        watching.parts.finish()?;
        forget_failure(row.path())?;
        Ok(Attempt::Ended)
    }
}

/// Whether another process began or holds the row since its state was looked at.
fn is_elsewhere(why: &DirectoryError, row: &impl Row) -> bool {
    match why {
        DirectoryError::Locked { .. } => true,
        DirectoryError::Exists(_) => row.state() != State::Missing,
        _ => false,
    }
}

/// Watches one row among others: lines with its name.
struct Watching<'a, R> {
    shared: &'a Shared<'a, R>,
    number: usize,
    begun: Instant,
    first: u64,
    spoken: Instant,
    parts: Parts,
}

impl<'a, R: Row> Watching<'a, R> {
    fn new(shared: &'a Shared<'a, R>, number: usize) -> Self {
        let now = Instant::now();
        let spoken = now.checked_sub(SPEAK_EVERY).unwrap_or(now);
        Watching { shared, number, begun: now, first: 0, spoken, parts: Parts::default() }
    }

    fn row(&self) -> &'a R {
        &self.shared.work.rows[self.number]
    }

    fn say(&mut self, text: impl FnOnce() -> String) {
        if self.spoken.elapsed() >= SPEAK_EVERY {
            self.spoken = Instant::now();
            self.shared.work.context.terminal.say(&format!("{:<10} {}", self.row().title(), text()));
        }
    }
}

impl<R: Row> Observer for Watching<'_, R> {
    fn stop(&mut self) -> bool {
        self.shared.over()
    }
}

impl<R: Row> Watch for Watching<'_, R> {
    fn begin(&mut self, _: &hmcvi_record::RunInfo, done: u64) {
        (self.first, self.begun) = (done, Instant::now());
    }

    fn epoch(&mut self, epoch: &Epoch, _: bool) {
        if let Some(line) = self.shared.overview.note(self.number, epoch.epoch) {
            self.shared.work.context.terminal.say(&line);
        }
        let all = self.row().spec().train.epochs as u64;
        let each = self.begun.elapsed().as_secs_f64() / (epoch.epoch - self.first).max(1) as f64;
        self.say(|| {
            let bound = |map: &BTreeMap<String, f64>| map.get("bound").copied();
            let look = epoch.validation.as_ref().and_then(bound);
            format!(
                "epoch {}/{all}  bound {:.2}{}  divergences {}  {:.0} images/s  left {:.0} s",
                epoch.epoch,
                bound(&epoch.train).unwrap_or(f64::NAN),
                look.map_or(String::new(), |b| format!("  validation {b:.2}")),
                epoch.divergences,
                epoch.images_per_second,
                each * (all - epoch.epoch.min(all)) as f64
            )
        });
    }
}

impl<R: Row> eval::Watch for Watching<'_, R> {
    fn progress(&mut self, phase: Phase, share: f64) -> ControlFlow<()> {
        self.say(|| format!("{}  {:.0}%", phase.name(), 100.0 * share));
        if self.shared.over() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }

    fn recall(&mut self, part: &str) -> Option<serde_json::Value> {
        self.parts.recall(part)
    }

    fn keep(&mut self, part: &str, value: &serde_json::Value) -> Result<(), EvalError> {
        self.parts.keep(part, value)
    }
}
