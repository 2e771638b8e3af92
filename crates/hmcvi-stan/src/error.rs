//! Say what is wrong with a program: where, with the text underlined, and what to write instead.

use std::fmt;
use std::sync::Arc;

/// A part of the text, in bytes.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub(crate) struct Span {
    /// First byte.
    pub(crate) from: u32,
    /// Byte after the last.
    pub(crate) to: u32,
}

impl Span {
    /// The text from here to the end of another part.
    pub(crate) fn until(self, end: Span) -> Span {
        Span { from: self.from, to: end.to.max(self.to) }
    }
}

/// What is wrong, before the text of the program is at hand.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Problem {
    pub(crate) span: Option<Span>,
    pub(crate) message: String,
}

impl Problem {
    pub(crate) fn at(span: Span, message: impl Into<String>) -> Self {
        Problem { span: Some(span), message: message.into() }
    }

    /// The same with a place, if it has none.
    pub(crate) fn or_at(self, span: Span) -> Self {
        Problem { span: self.span.or(Some(span)), ..self }
    }

    pub(crate) fn in_text(self, source: &Source) -> StanError {
        let place = self.span.map(|span| Place::of(source, span));
        StanError { message: self.message, place }
    }
}

/// The text of a program, and where its lines come from.
#[derive(Clone, Debug)]
pub(crate) struct Source {
    pub(crate) text: Arc<str>,
    /// File and line of each line; none if all are of the program itself.
    origins: Arc<[(Option<Arc<str>>, usize)]>,
}

impl Source {
    pub(crate) fn joined(text: String, origins: Vec<(Option<Arc<str>>, usize)>) -> Self {
        Source { text: text.into(), origins: origins.into() }
    }
}

impl From<&str> for Source {
    fn from(text: &str) -> Self {
        Source { text: text.into(), origins: Arc::new([]) }
    }
}

impl From<String> for Problem {
    fn from(message: String) -> Self {
        Problem { span: None, message }
    }
}

impl From<&str> for Problem {
    fn from(message: &str) -> Self {
        Problem { span: None, message: message.into() }
    }
}

pub(crate) type Result<T> = std::result::Result<T, Problem>;

/// A program that cannot be run, or data that it cannot take. Displayed with the line of the program underlined.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct StanError {
    message: String,
    place: Option<Place>,
}

#[derive(Clone, PartialEq, Eq, Debug)]
struct Place {
    /// The file, if it is not that of the program.
    file: Option<Arc<str>>,
    line: usize,
    column: usize,
    text: String,
    length: usize,
}

impl Place {
    fn of(source: &Source, span: Span) -> Self {
        let text = &*source.text;
        let mut from = (span.from as usize).min(text.len());
        while !text.is_char_boundary(from) {
            from -= 1;
        }
        let start = text[..from].rfind('\n').map_or(0, |at| at + 1);
        let end = text[from..].find('\n').map_or(text.len(), |at| from + at);
        let to = (span.to as usize).clamp(from, end);
        let length = text.get(from..to).map_or(1, |part| part.chars().count()).max(1);
        let line = text[..from].matches('\n').count();
        let (file, line) = source.origins.get(line).cloned().unwrap_or((None, line + 1));
        Place {
            file,
            line,
            column: text[start..from].chars().count() + 1,
            text: text[start..end].trim_end().replace('\t', " "),
            length,
        }
    }
}

impl StanError {
    /// What is wrong with a file rather than with what it says.
    pub(crate) fn of_file(message: String) -> Self {
        StanError { message, place: None }
    }

    /// What is wrong, without the place.
    pub fn message(&self) -> &str {
        &self.message
    }

    /// The file, if the place is in one that the program includes.
    pub fn file(&self) -> Option<&str> {
        self.place.as_ref()?.file.as_deref()
    }

    /// Line of the program or of the file that it includes, from 1, if the problem has one.
    pub fn line(&self) -> Option<usize> {
        self.place.as_ref().map(|place| place.line)
    }

    /// Column of the program, from 1, if the problem has one.
    pub fn column(&self) -> Option<usize> {
        self.place.as_ref().map(|place| place.column)
    }
}

impl fmt::Display for StanError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(place) = &self.place else { return f.write_str(&self.message) };
        if let Some(file) = &place.file {
            write!(f, "{file}, ")?;
        }
        writeln!(f, "line {}, column {}: {}", place.line, place.column, self.message)?;
        writeln!(f, "{:>5} | {}", place.line, place.text)?;
        write!(f, "      | {}{}", " ".repeat(place.column - 1), "^".repeat(place.length))
    }
}

impl std::error::Error for StanError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_text_is_underlined() {
        let text = "data {\n  int N;\n}\n";
        let error = Problem::at(Span { from: 9, to: 12 }, "no").in_text(&text.into());
        assert_eq!(error.to_string(), "line 2, column 3: no\n    2 |   int N;\n      |   ^^^");
        assert_eq!(Problem::at(Span { from: 90, to: 99 }, "no").in_text(&"é".into()).column(), Some(2));
    }
}
