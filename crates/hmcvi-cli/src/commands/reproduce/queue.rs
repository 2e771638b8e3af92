//! Train and evaluate rows side by side, until all are done or the time is over.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

use hmcvi::data::Dataset;
use hmcvi::device::Device;
use hmcvi::eval::{self, EvalError, EvaluationOptions, Phase, QuadratureOptions, evaluate};
use hmcvi::run::{Journal, Lock, RunDirectory, Watch, Which, resume, start};
use hmcvi::train::Observer;
use hmcvi_record::{Epoch, files};
use serde_json::json;

use super::overview::Overview;
use super::row::{Row, State};
use crate::Context;
use crate::commands::eval::record;
use crate::commands::train::begin;
use crate::failure::Failure;
use crate::progress::Parts;

/// How long and how much.
pub(super) struct Limits {
    pub(super) until: Option<Instant>,
    pub(super) jobs: usize,
    /// Images that basic rows and the best ones are annealed on.
    pub(super) annealed: usize,
    /// Images whose reverse models are looked at.
    pub(super) reversed: usize,
    /// Whether rows of two dimensions are integrated over.
    pub(super) quadrature: bool,
}

/// Lines of one row come at most this often.
const SPEAK_EVERY: Duration = Duration::from_secs(15);

/// Rows by their numbers: those under way, and those that failed, with the reason.
#[derive(Default)]
struct Progress {
    busy: BTreeSet<usize>,
    failed: BTreeMap<usize, String>,
}

/// What the workers share.
struct Shared<'a> {
    context: &'a Context,
    rows: &'a [Row],
    data: &'a Arc<Dataset>,
    limits: &'a Limits,
    overview: Overview<'a>,
    progress: Mutex<Progress>,
    changed: Condvar,
}

/// Works on rows until none is left that can be worked on.
pub(super) fn work(
    context: &Context,
    rows: &[Row],
    data: &Arc<Dataset>,
    device: &Device,
    limits: &Limits,
) -> Result<(), Failure> {
    let (overview, progress) = (Overview::new(rows), Mutex::default());
    let shared = Shared { context, rows, data, limits, overview, progress, changed: Condvar::new() };
    std::thread::scope(|scope| {
        for _ in 0..limits.jobs {
            scope.spawn(|| shared.worker(device));
        }
    });
    let progress = shared.progress.into_inner().unwrap_or_else(PoisonError::into_inner);
    match progress.failed.first_key_value() {
        Some((i, why)) => Err(Failure::Other(format!("{}: {why}", rows[*i].title()))),
        None => Ok(()),
    }
}

impl Shared<'_> {
    fn over(&self) -> bool {
        self.context.interrupt.requested() || self.limits.until.is_some_and(|until| Instant::now() >= until)
    }

    fn worker(&self, device: &Device) {
        while let Some(i) = self.next() {
            let done = device
                .beside(self.limits.jobs)
                .map_err(Failure::from)
                .and_then(|device| self.advance(&self.rows[i], &device));
            let mut progress = self.progress.lock().unwrap_or_else(PoisonError::into_inner);
            progress.busy.remove(&i);
            if let Err(why) = done {
                progress.failed.insert(i, why.to_string());
                self.context.terminal.error(&why.about(&self.rows[i].title()));
            }
            self.changed.notify_all();
        }
    }

    /// Whether something is left to do for a row.
    fn is_open(&self, row: &Row) -> bool {
        let annealed = || row.evaluation().is_some_and(|e| e.annealing.is_some());
        row.state() != State::Evaluated || self.annealed(row) && !annealed()
    }

    fn annealed(&self, row: &Row) -> bool {
        self.limits.annealed > 0 && row.is_annealed(self.rows)
    }

    /// The next row to work on; waits while basic models are under way that others begin with.
    fn next(&self) -> Option<usize> {
        let mut progress = self.progress.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            if self.over() {
                return None;
            }
            let open: Vec<usize> = (0..self.rows.len())
                .filter(|i| !progress.busy.contains(i) && !progress.failed.contains_key(i))
                .filter(|i| self.is_open(&self.rows[*i]))
                .collect();
            if let Some(i) = open.iter().copied().find(|i| self.rows[*i].is_ready(self.rows)) {
                progress.busy.insert(i);
                return Some(i);
            }
            if open.is_empty() || progress.busy.is_empty() {
                return None;
            }
            let waited = self.changed.wait_timeout(progress, Duration::from_millis(500));
            progress = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Trains a row, or goes on with it, and evaluates it.
    fn advance(&self, row: &Row, device: &Device) -> Result<(), Failure> {
        let begin = begin(row.spec.clone(), self.data.clone(), device.clone());
        let mut watching = Watching::new(self, row);
        let interrupted = match row.state() {
            State::Missing => start(&row.path, false, &begin, &mut watching)?.interrupted,
            State::Training(_) => {
                let directory = RunDirectory::open(&row.path)?;
                resume(&directory, &begin, &mut watching)?.interrupted
            }
            State::Trained | State::Evaluated => false,
        };
        if interrupted || self.over() { Ok(()) } else { self.evaluate(row, device) }
    }

    fn evaluate(&self, row: &Row, device: &Device) -> Result<(), Failure> {
        let directory = RunDirectory::open(&row.path)?;
        let _lock = Lock::take(directory.path())?;
        let checkpoint = directory.checkpoint(Which::Best)?;
        let annealed = self.annealed(row).then(|| (row.annealing(), self.limits.annealed));
        let options = EvaluationOptions {
            quadrature: (self.limits.quadrature && row.paper.latent == 2).then(QuadratureOptions::default),
            annealing: annealed,
            bidirectional: annealed,
            reverse: if row.is_basic() { 0 } else { self.limits.reversed },
            ..EvaluationOptions::new(&row.spec)
        };
        let of = json!({ "options": options, "state": checkpoint.info, "data": self.data.sha256() });
        let journal = Journal::open(&directory.file(files::EVALUATION_PARTS), &of)?;
        let mut watching = Watching::new(self, row);
        watching.parts = Some(journal).into();
        let evaluated =
            match evaluate(&row.spec, &checkpoint.store, self.data.test(), &options, device, &mut watching) {
                Err(EvalError::Stopped) => return Ok(()),
                other => other?,
            };
        let names = ("test", Which::Best.name());
        let record = record(&row.spec, &checkpoint, self.data, &evaluated, &options, names);
        directory.write_evaluation(&record, &evaluated.images)?;
        watching.parts.finish()
    }
}

/// Watches one row among others: lines with its name.
struct Watching<'a> {
    shared: &'a Shared<'a>,
    row: &'a Row,
    begun: Instant,
    first: u64,
    spoken: Instant,
    parts: Parts,
}

impl<'a> Watching<'a> {
    fn new(shared: &'a Shared<'a>, row: &'a Row) -> Self {
        let now = Instant::now();
        let spoken = now.checked_sub(SPEAK_EVERY).unwrap_or(now);
        Watching { shared, row, begun: now, first: 0, spoken, parts: Parts::default() }
    }

    fn say(&mut self, text: impl FnOnce() -> String) {
        if self.spoken.elapsed() >= SPEAK_EVERY {
            self.spoken = Instant::now();
            self.shared.context.terminal.say(&format!("{:<10} {}", self.row.title(), text()));
        }
    }
}

impl Observer for Watching<'_> {
    fn stop(&mut self) -> bool {
        self.shared.over()
    }
}

impl Watch for Watching<'_> {
    fn begin(&mut self, _: &hmcvi_record::RunInfo, done: u64) {
        (self.first, self.begun) = (done, Instant::now());
    }

    fn epoch(&mut self, epoch: &Epoch, _: bool) {
        if let Some(line) = self.shared.overview.note(self.row, epoch.epoch) {
            self.shared.context.terminal.say(&line);
        }
        let all = self.row.spec.train.epochs as u64;
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

impl eval::Watch for Watching<'_> {
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
