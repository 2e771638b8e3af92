//! Show how training and evaluation go: a line redrawn in place, or plain lines where that is not possible.

use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use hmcvi::eval::{self, EvalError, Phase};
use hmcvi::run::{Journal, Watch};
use hmcvi::train::{Batch, Observer};
use hmcvi_record::{Epoch, RunInfo};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::Context;
use crate::failure::Failure;

/// Plain lines come at most this often within an epoch.
const PLAIN_EVERY: Duration = Duration::from_secs(15);

/// A line that is redrawn in place, or none.
fn bar(context: &Context, length: u64) -> ProgressBar {
    if !context.terminal.interactive() {
        return ProgressBar::with_draw_target(Some(length), ProgressDrawTarget::hidden());
    }
    let colour = if context.terminal.colour() { ".cyan" } else { "" };
    let template = format!("{{bar:24{colour}}} {{msg}}");
    let style = ProgressStyle::with_template(&template).unwrap_or_else(|_| ProgressStyle::default_bar());
    let target = ProgressDrawTarget::stderr_with_hz(8);
    ProgressBar::with_draw_target(Some(length), target).with_style(style.progress_chars("=> "))
}

/// Watches a training for a person.
pub(crate) struct Training<'c> {
    context: &'c Context,
    bar: ProgressBar,
    epochs: u64,
    /// An epoch's line appears every so many epochs.
    every: u64,
    begun: Instant,
    first: u64,
    spoken: Instant,
}

impl<'c> Training<'c> {
    pub(crate) fn new(context: &'c Context, epochs: usize, every: usize) -> Self {
        let now = Instant::now();
        let bar = bar(context, 0);
        Training {
            context,
            bar,
            epochs: epochs as u64,
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
            return "?".into();
        }
        clock(self.begun.elapsed().as_secs_f64() * (self.epochs as f64 - done).max(0.0) / here)
    }

    fn line(&self, text: &str) {
        if self.context.terminal.interactive() {
            self.bar.println(text);
        } else {
            self.context.terminal.say(text);
        }
    }

    /// Takes the redrawn line away.
    pub(crate) fn finish(&self) {
        self.bar.finish_and_clear();
    }
}

impl Observer for Training<'_> {
    fn batch(&mut self, batch: &Batch) {
        let done = (batch.epoch - 1) as f64 + batch.images as f64 / batch.of as f64;
        let speed = (done - self.first as f64) * batch.of as f64 / self.begun.elapsed().as_secs_f64();
        let text = format!(
            "epoch {}/{}  bound {:.2}{}{}  {:.0} images/s  left {}",
            batch.epoch,
            self.epochs,
            batch.mean_bound,
            terms(|name| batch.terms.iter().flatten().find(|t| t.0 == name).map(|t| t.1)),
            chain(batch.acceptance_rate, batch.step_size, batch.divergences),
            speed,
            self.left(done),
        );
        if self.context.terminal.interactive() {
            self.bar.set_length(batch.of as u64);
            self.bar.set_position(batch.images as u64);
            self.bar.set_message(text);
        } else if self.spoken.elapsed() >= PLAIN_EVERY {
            self.spoken = Instant::now();
            self.context.terminal.say(&format!("{text}  ({} of {} images)", batch.images, batch.of));
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
        self.line(&format!(
            "{} parameters, {:.0} MB working memory, {}{step}",
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
        let validation = epoch.validation.as_ref().and_then(|v| v.get("bound"));
        let validation = validation
            .map_or(String::new(), |b| format!("  validation {b:.2}{}", if best { " (best)" } else { "" }));
        let skipped = if epoch.skipped > 0 { format!("  skipped {}", epoch.skipped) } else { String::new() };
        self.line(&format!(
            "epoch {}/{}  bound {:.2}{}{validation}{}{skipped}  {:.0} images/s  left {}",
            epoch.epoch,
            self.epochs,
            value("bound").unwrap_or(f64::NAN),
            terms(value),
            chain(value("acceptance_rate"), value("step_size"), epoch.divergences),
            epoch.images_per_second,
            self.left(epoch.epoch as f64),
        ));
    }
}

/// The bound's terms in brackets, shortly named.
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
    if known.is_empty() { String::new() } else { format!(" ({})", known.join(", ")) }
}

fn chain(acceptance_rate: Option<f64>, step_size: Option<f64>, divergences: u64) -> String {
    let acceptance = acceptance_rate.map_or(String::new(), |a| format!("  acceptance {a:.3}"));
    let step = step_size.map_or(String::new(), |s| format!("  step {s:.2e}  divergences {divergences}"));
    acceptance + &step
}

fn clock(seconds: f64) -> String {
    let s = seconds.round() as u64;
    match s / 3600 {
        0 => format!("{}:{:02}", s / 60, s % 60),
        hours => format!("{hours}:{:02}:{:02}", s / 60 % 60, s % 60),
    }
}

/// Watches an evaluation for a person, stops it on request, and keeps its finished parts.
pub(crate) struct Judging<'c> {
    context: &'c Context,
    bar: ProgressBar,
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

/// Thousandths of a phase that its bar has.
const SHARES: f64 = 1000.0;

impl<'c> Judging<'c> {
    pub(crate) fn new(context: &'c Context, parts: Parts) -> Self {
        let (bar, now) = (bar(context, SHARES as u64), Instant::now());
        Judging { context, bar, phase: None, begun: now, first: 0.0, spoken: now, parts }
    }

    /// Takes the redrawn line away, and the journal of finished work.
    pub(crate) fn finish(self) -> Result<(), Failure> {
        self.bar.finish_and_clear();
        self.parts.finish()
    }
}

impl eval::Watch for Judging<'_> {
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
        let text = format!("{}  {:.0}%  left {left}", phase.name(), 100.0 * share);
        if self.context.terminal.interactive() {
            self.bar.set_position((share * SHARES) as u64);
            self.bar.set_message(text);
        } else if begins {
            self.spoken = Instant::now();
            self.context.terminal.say(&format!("computing: {}", phase.name()));
        } else if self.spoken.elapsed() >= PLAIN_EVERY {
            self.spoken = Instant::now();
            self.context.terminal.say(&text);
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
