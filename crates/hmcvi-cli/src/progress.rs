//! Show how training and evaluation go: a line redrawn in place, or plain lines where that is not possible.

use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use hmcvi::eval::{self, EvalError, Phase};
use hmcvi::run::{Journal, Watch};
use hmcvi::train::{Batch, Observer};
use hmcvi_record::{Epoch, RunInfo};

use crate::Context;
use crate::failure::Failure;
use crate::line::{Line, Rank};

/// Plain lines come at most this often within an epoch.
pub(crate) const PLAIN_EVERY: Duration = Duration::from_secs(15);

/// Watches a training for a person.
pub(crate) struct Training<'c> {
    context: &'c Context,
    epochs: u64,
    /// What rows of the data are called.
    rows: &'static str,
    /// An epoch's line appears every so many epochs.
    every: u64,
    begun: Instant,
    first: u64,
    spoken: Instant,
}

impl<'c> Training<'c> {
    pub(crate) fn new(context: &'c Context, epochs: usize, every: usize, rows: &'static str) -> Self {
        let now = Instant::now();
        Training {
            context,
            epochs: epochs as u64,
            rows,
            every: every.max(1) as u64,
            begun: now,
            first: 0,
            spoken: now,
        }
    }

    /// Time left, from the epochs of this sitting.
    fn left(&self, done: f64) -> String {
        let here = done - self.first as f64;
        if here <= 0.0 {
            return "left ?".into();
        }
        let seconds = self.begun.elapsed().as_secs_f64() * (self.epochs as f64 - done).max(0.0) / here;
        format!("left {}", clock(seconds))
    }

    /// What a line about an epoch begins with.
    fn opening(&self, line: Line, epoch: u64, bound: f64) -> Line {
        line.part(Rank::Vital, format!("epoch {epoch}/{}", self.epochs))
            .part(Rank::Vital, format!("bound {bound:.2}"))
    }

    /// Takes the redrawn line away.
    pub(crate) fn finish(&self) {
        self.context.terminal.erase_progress();
    }
}

impl Observer for Training<'_> {
    fn batch(&mut self, batch: &Batch<'_>) {
        let share = batch.images as f64 / batch.of as f64;
        let done = (batch.epoch - 1) as f64 + share;
        let speed = (done - self.first as f64) * batch.of as f64 / self.begun.elapsed().as_secs_f64();
        let line = self
            .opening(Line::with_bar(share), batch.epoch, batch.mean_bound)
            .part(Rank::Detail, terms(|name| batch.mean(name)));
        let line = chain(line, batch.mean("acceptance_rate"), batch.mean("step_size"), batch.divergences)
            .part(Rank::Useful, format!("{speed:.0} {}/s", self.rows))
            .part(Rank::Important, self.left(done));
        if self.context.terminal.interactive() {
            self.context.terminal.progress(&line);
        } else if self.spoken.elapsed() >= PLAIN_EVERY {
            self.spoken = Instant::now();
            let line = line.part(Rank::Useful, format!("({} of {} {})", batch.images, batch.of, self.rows));
            self.context.terminal.say_line(&line);
        }
    }

    fn stop(&mut self) -> bool {
        self.context.interrupt.requested()
    }
}

impl Watch for Training<'_> {
    fn begin(&mut self, info: &RunInfo, epochs_done: u64) {
        (self.first, self.begun) = (epochs_done, Instant::now());
        let step = info.first_step_size.map_or(String::new(), |s| format!(", first step size {s:.3e}"));
        self.context.terminal.say(&format!(
            "{} parameters, {:.0} MB of working memory, {}{step}",
            info.parameters,
            info.bytes as f64 / 1e6,
            info.device
        ));
    }

    fn epoch(&mut self, epoch: &Epoch, best: bool) {
        if !epoch.epoch.is_multiple_of(self.every) && epoch.epoch != self.epochs {
            return;
        }
        self.spoken = Instant::now();
        let value = |name: &str| epoch.train.get(name).copied();
        let best = if best { " (best)" } else { "" };
        let validation = epoch.validation.as_ref().and_then(|v| v.get("bound"));
        let skipped = if epoch.skipped > 0 { format!("skipped {}", epoch.skipped) } else { String::new() };
        let line = self
            .opening(Line::default(), epoch.epoch, value("bound").unwrap_or(f64::NAN))
            .part(Rank::Detail, terms(value))
            .part(Rank::Vital, validation.map_or(String::new(), |b| format!("validation {b:.2}{best}")));
        let line = chain(line, value("acceptance_rate"), value("step_size"), epoch.divergences)
            .part(Rank::Important, skipped)
            .part(Rank::Useful, format!("{:.0} {}/s", epoch.images_per_second, self.rows))
            .part(Rank::Important, self.left(epoch.epoch as f64));
        self.context.terminal.say_line(&line);
    }
}

/// The bound's terms in brackets, with short names.
fn terms(value: impl Fn(&str) -> Option<f64>) -> String {
    let names = [
        ("log_joint", "joint"),
        ("initial_entropy", "entropy"),
        ("momentum_entropy", "momenta"),
        ("reverse_momentum", "reverse"),
        ("final_momentum", "final"),
        ("acceptance", "accept"),
    ];
    let known: Vec<String> =
        names.iter().filter_map(|(name, short)| Some(format!("{short} {:.1}", value(name)?))).collect();
    if known.is_empty() { String::new() } else { format!("({})", known.join(", ")) }
}

/// Adds how the HMC steps do; divergences matter where there are any.
fn chain(line: Line, acceptance_rate: Option<f64>, step_size: Option<f64>, divergences: u64) -> Line {
    let acceptance = acceptance_rate.map_or(String::new(), |a| format!("acceptance {a:.3}"));
    let line = line.part(Rank::Useful, acceptance);
    let Some(step) = step_size else { return line };
    let rank = if divergences > 0 { Rank::Important } else { Rank::Detail };
    line.part(Rank::Useful, format!("step {step:.2e}")).part(rank, format!("divergences {divergences}"))
}

pub(crate) fn clock(seconds: f64) -> String {
    let s = seconds.round() as u64;
    match s / 3600 {
        0 => format!("{}:{:02}", s / 60, s % 60),
        hours => format!("{hours}:{:02}:{:02}", s / 60 % 60, s % 60),
    }
}

/// Watches an evaluation for a person, stops it on request, and keeps its finished parts.
pub(crate) struct Evaluating<'c> {
    context: &'c Context,
    phase: Option<Phase>,
    /// When the phase began, with which share done, and when a line was last printed.
    begun: Instant,
    first: f64,
    spoken: Instant,
    parts: Parts,
}

/// Finished parts of an evaluation, where they are kept.
#[derive(Default)]
pub(crate) struct Parts(Option<Journal>);

impl Parts {
    pub(crate) fn recall(&self, part: &str) -> Option<serde_json::Value> {
        self.0.as_ref()?.recall(part).cloned()
    }

    pub(crate) fn keep(&mut self, part: &str, value: &serde_json::Value) -> Result<(), EvalError> {
        let Some(journal) = &mut self.0 else { return Ok(()) };
        journal.keep(part, value).map_err(|e| EvalError::Keep(e.to_string()))
    }

    /// Forgets them: the evaluation is complete.
    pub(crate) fn finish(self) -> Result<(), Failure> {
        self.0.map_or(Ok(()), |journal| Ok(journal.finish()?))
    }
}

impl From<Option<Journal>> for Parts {
    fn from(journal: Option<Journal>) -> Self {
        Parts(journal)
    }
}

impl<'c> Evaluating<'c> {
    pub(crate) fn new(context: &'c Context, parts: Parts) -> Self {
        let now = Instant::now();
        Evaluating { context, phase: None, begun: now, first: 0.0, spoken: now, parts }
    }

    /// Takes the redrawn line away, and the journal of finished work.
    pub(crate) fn finish(self) -> Result<(), Failure> {
        self.context.terminal.erase_progress();
        self.parts.finish()
    }
}

impl eval::Watch for Evaluating<'_> {
    fn progress(&mut self, phase: Phase, share: f64) -> ControlFlow<()> {
        let begins = self.phase != Some(phase);
        if begins {
            (self.phase, self.begun, self.first) = (Some(phase), Instant::now(), share);
        }
        let here = share - self.first;
        let left = match here > 0.0 {
            true => clock(self.begun.elapsed().as_secs_f64() * (1.0 - share).max(0.0) / here),
            false => "?".into(),
        };
        let line = Line::with_bar(share)
            .part(Rank::Vital, phase.name())
            .part(Rank::Vital, format!("{:.0}%", 100.0 * share))
            .part(Rank::Important, format!("left {left}"));
        if self.context.terminal.interactive() {
            self.context.terminal.progress(&line);
        } else if begins {
            self.spoken = Instant::now();
            self.context.terminal.say(&format!("computing: {}", phase.name()));
        } else if self.spoken.elapsed() >= PLAIN_EVERY {
            self.spoken = Instant::now();
            self.context.terminal.say_line(&line);
        }
        if self.context.interrupt.requested() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }

    fn recall(&mut self, part: &str) -> Option<serde_json::Value> {
        self.parts.recall(part)
    }

    fn keep(&mut self, part: &str, value: &serde_json::Value) -> Result<(), EvalError> {
        self.parts.keep(part, value)
    }
}
