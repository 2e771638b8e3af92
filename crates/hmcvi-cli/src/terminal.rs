//! Write results to standard output and narration to standard error, with colour only where it helps.

use std::io::{IsTerminal, Write};

use serde::Serialize;

use crate::arguments::Output;
use crate::failure::Failure;

/// Where and how things are written.
pub(crate) struct Terminal {
    pub(crate) json: bool,
    pub(crate) quiet: bool,
    colour: bool,
    interactive: bool,
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
        }
    }

    /// Whether lines of progress can be redrawn in place.
    pub(crate) fn interactive(&self) -> bool {
        self.interactive && !self.quiet
    }

    pub(crate) fn colour(&self) -> bool {
        self.colour
    }

    /// A result for a person.
    pub(crate) fn print(&self, text: &str) -> Result<(), Failure> {
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
        if !self.quiet {
            self.line(text);
        }
    }

    /// Something the user should know.
    pub(crate) fn notice(&self, text: &str) {
        if !self.quiet {
            self.line(&format!("{} {text}", self.paint("33", "note:")));
        }
    }

    /// Something that is probably not as the user means it.
    pub(crate) fn warn(&self, text: &str) {
        if !self.quiet {
            self.line(&format!("{} {text}", self.paint("33", "warning:")));
        }
    }

    /// Why the program stops; printed also when quiet.
    pub(crate) fn error(&self, text: &str) {
        self.line(&format!("{} {text}", self.paint("31", "error:")));
    }

    fn paint(&self, code: &str, text: &str) -> String {
        if self.colour { format!("\x1b[{code}m{text}\x1b[0m") } else { text.into() }
    }

    fn line(&self, text: &str) {
        // Nobody is left to tell if standard error is closed.
        let _ = writeln!(std::io::stderr().lock(), "{text}");
    }
}
