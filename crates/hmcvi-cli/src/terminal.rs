//! Write results to standard output and narration to standard error, with colour and a line redrawn in place only where
//! they help.

use std::io::{IsTerminal, Write};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use serde::Serialize;

use crate::arguments::Output;
use crate::failure::Failure;
use crate::line::Line;

/// Columns where the terminal does not say how many it has.
const USUAL_COLUMNS: usize = 80;
/// The line of progress is redrawn at most this often.
const REDRAW_EVERY: Duration = Duration::from_millis(125);

/// Where and how things are written.
pub(crate) struct Terminal {
    pub(crate) json: bool,
    pub(crate) quiet: bool,
    colour: bool,
    interactive: bool,
    live: Mutex<Live>,
    /// Number of this process among those that work together: the first one speaks for all.
    process: AtomicUsize,
}

/// The line that is redrawn in place. Between draws the cursor stays at its first column: a terminal that is made
/// narrower may wrap the line, but keeps the cursor at its beginning, so that erasing from there on leaves nothing behind.
/// What the terminal echoes, such as `^C`, is overwritten too.
#[derive(Default)]
struct Live {
    /// When it was last drawn, while it is there.
    drawn: Option<Instant>,
    /// No line is drawn any more.
    closed: bool,
}

const ERASE_BELOW: &str = "\x1b[J";

impl Live {
    fn erase(&mut self) {
        if self.drawn.take().is_some() {
            let _ = write!(std::io::stderr().lock(), "\r{ERASE_BELOW}");
        }
    }
}

impl Terminal {
    pub(crate) fn new(output: &Output) -> Self {
        let interactive = std::io::stderr().is_terminal();
        let no_color = output.no_color || std::env::var_os("NO_COLOR").is_some_and(|v| !v.is_empty());
        let dumb = std::env::var_os("TERM").is_some_and(|t| t == "dumb");
        Terminal {
            json: output.json,
            quiet: output.quiet,
            colour: interactive && !no_color && !dumb,
            interactive: interactive && !dumb,
            live: Mutex::default(),
            process: AtomicUsize::new(0),
        }
    }

    /// Keeps quiet from now on, apart from errors, unless this is the first of several processes.
    #[cfg(feature = "mpi")]
    pub(crate) fn speak_for(&self, process: usize) {
        self.process.store(process, Ordering::Relaxed);
    }

    /// Whether another process speaks for this one.
    pub(crate) fn is_silent(&self) -> bool {
        self.process.load(Ordering::Relaxed) > 0
    }

    /// Whether lines of progress can be redrawn in place.
    pub(crate) fn interactive(&self) -> bool {
        self.interactive && !self.quiet && !self.is_silent()
    }

    /// Redraws the line of progress, unless it was drawn just now.
    pub(crate) fn progress(&self, line: &Line) {
        let mut live = self.live();
        if !self.interactive() || live.closed || live.drawn.is_some_and(|then| then.elapsed() < REDRAW_EVERY)
        {
            return;
        }
        let (bar, text) = line.fitted(columns());
        let bar = self.paint("36", &bar);
        let _ = write!(std::io::stderr().lock(), "\r{bar}{text}{ERASE_BELOW}\r");
        live.drawn = Some(Instant::now());
    }

    /// Takes the line of progress away.
    pub(crate) fn erase_progress(&self) {
        self.live().erase();
    }

    /// Takes the line of progress away for good.
    pub(crate) fn end_progress(&self) {
        let mut live = self.live();
        live.erase();
        live.closed = true;
    }

    /// Says how things stand, in one row of the terminal if there is one.
    pub(crate) fn say_line(&self, line: &Line) {
        self.say(&if self.interactive() { line.fitted(columns()).1 } else { line.text() });
    }

    /// A result for a person.
    pub(crate) fn print(&self, text: &str) -> Result<(), Failure> {
        if self.is_silent() {
            return Ok(());
        }
        self.erase_progress();
        let mut out = std::io::stdout().lock();
        match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
            // The reader has seen enough, as `head` does.
            Err(e) if e.kind() == std::io::ErrorKind::BrokenPipe => Ok(()),
            Err(e) => Err(Failure::Other(format!("cannot write to standard output: {e}"))),
            Ok(()) => Ok(()),
        }
    }

    /// A result for a program.
    pub(crate) fn print_json<T: Serialize>(&self, value: &T) -> Result<(), Failure> {
        let text = serde_json::to_string_pretty(value).map_err(|e| Failure::Other(e.to_string()))?;
        self.print(&(text + "\n"))
    }

    /// A line of narration.
    pub(crate) fn say(&self, text: &str) {
        if !self.quiet && !self.is_silent() {
            self.line(text);
        }
    }

    /// Something the user should know.
    pub(crate) fn notice(&self, text: &str) {
        if !self.quiet && !self.is_silent() {
            self.line(&format!("{} {text}", self.paint("33", "note:")));
        }
    }

    /// Something that is probably not as the user means it.
    pub(crate) fn warn(&self, text: &str) {
        if !self.quiet && !self.is_silent() {
            self.line(&format!("{} {text}", self.paint("33", "warning:")));
        }
    }

    /// Why the program stops; printed also when quiet.
    pub(crate) fn error(&self, failure: &Failure) {
        if self.json {
            self.line(&failure.json());
        } else {
            self.line(&format!("{} {failure}", self.paint("31", "error:")));
        }
    }

    fn paint(&self, code: &str, text: &str) -> String {
        if self.colour && !text.is_empty() { format!("\x1b[{code}m{text}\x1b[0m") } else { text.into() }
    }

    fn line(&self, text: &str) {
        let mut live = self.live();
        live.erase();
        // Nobody is left to tell if standard error is closed.
        let _ = writeln!(std::io::stderr().lock(), "{text}");
    }

    fn live(&self) -> MutexGuard<'_, Live> {
        self.live.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Columns that a line may fill: all but the last, in which some terminals wrap already.
fn columns() -> usize {
    let size = terminal_size::terminal_size_of(std::io::stderr());
    size.map_or(USUAL_COLUMNS, |(width, _)| usize::from(width.0)).saturating_sub(1)
}
