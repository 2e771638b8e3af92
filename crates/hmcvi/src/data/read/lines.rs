//! Read the lines of a text file, however it is stored, each of a length that makes sense.

use super::stream::Stream;
use crate::data::error::DataError;

/// Longest line, in bytes.
const LONGEST: usize = 1 << 16;

/// The lines of a stream.
pub(super) struct Lines<'a> {
    stream: Stream<'a>,
    block: Vec<u8>,
    /// What is left of the block.
    left: std::ops::Range<usize>,
    line: Vec<u8>,
    /// Number of the last line, counted from 1.
    pub(super) number: u64,
}

impl<'a> Lines<'a> {
    pub(super) fn new(stream: Stream<'a>) -> Self {
        Lines { stream, block: vec![0; 64 << 10], left: 0..0, line: Vec::new(), number: 0 }
    }

    /// The name of the file.
    pub(super) fn file(&self) -> &str {
        self.stream.name()
    }

    /// Most bytes that can still come.
    pub(super) fn most(&self) -> u64 {
        self.stream.most() + self.left.len() as u64
    }

    /// The next line without its end, or none at the end of the file.
    pub(super) fn next(&mut self) -> Result<Option<&str>, DataError> {
        self.line.clear();
        self.number += 1;
        loop {
            if self.left.is_empty() {
                self.left = 0..self.stream.fill(&mut self.block)?;
                if self.left.is_empty() {
                    return if self.line.is_empty() { Ok(None) } else { self.text().map(Some) };
                }
            }
            let rest = &self.block[self.left.clone()];
            let end = rest.iter().position(|&byte| byte == b'\n');
            let piece = &rest[..end.unwrap_or(rest.len())];
            if self.line.len() + piece.len() > LONGEST {
                let field = format!("length of line {}", self.number);
                let expected = format!("at most {LONGEST} bytes");
                return Err(DataError::field(self.file(), field, "more", expected));
            }
            self.line.extend_from_slice(piece);
            self.left.start += piece.len() + usize::from(end.is_some());
            if end.is_some() {
                return self.text().map(Some);
            }
        }
    }

    fn text(&self) -> Result<&str, DataError> {
        std::str::from_utf8(&self.line)
            .map(str::trim)
            .map_err(|_| DataError::field(self.file(), format!("line {}", self.number), "not UTF-8", "text"))
    }
}
