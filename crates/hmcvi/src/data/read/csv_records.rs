//! Cut a text file into records and cells, quoted or not.

use csv_core::{ReadRecordResult, Reader, ReaderBuilder};

use super::stream::Stream;
use crate::data::error::DataError;

/// Longest record, in bytes. Without a limit, a quote that is never closed would take the whole file for one cell.
const LONGEST: usize = 16 << 20;
/// The mark that some programs put before UTF-8.
const BYTE_ORDER_MARK: &[u8] = "\u{feff}".as_bytes();

/// The records of a stream, of which one is in memory.
pub(super) struct Records<'a> {
    stream: Stream<'a>,
    reader: Reader,
    block: Vec<u8>,
    left: std::ops::Range<usize>,
    /// The cells of the record without their quotes, one after the other.
    text: Vec<u8>,
    /// Where they end.
    ends: Vec<usize>,
    cells: usize,
    line_feeds: u64,
    last: u8,
}

impl<'a> Records<'a> {
    pub(super) fn new(stream: Stream<'a>, separator: u8) -> Self {
        Records {
            stream,
            reader: ReaderBuilder::new().delimiter(separator).build(),
            block: vec![0; 64 << 10],
            left: 0..0,
            text: vec![0; 1 << 10],
            ends: vec![0; 1 << 6],
            cells: 0,
            line_feeds: 0,
            last: b'\n',
        }
    }

    /// The name of the file.
    pub(super) fn file(&self) -> &str {
        self.stream.name()
    }

    /// The line on which the record ends, counted from 1.
    pub(super) fn line(&self) -> u64 {
        self.line_feeds + u64::from(self.last != b'\n')
    }

    /// Number of cells of the record.
    pub(super) fn len(&self) -> usize {
        self.cells
    }

    /// The text of a cell of the record, without spaces around it.
    pub(super) fn cell(&self, index: usize) -> Result<&str, DataError> {
        let start = if index == 0 { 0 } else { self.ends[index - 1] };
        let text = std::str::from_utf8(&self.text[start..self.ends[index]]).map_err(|_| {
            DataError::field(
                self.file(),
                format!("cell {index} in line {}", self.line()),
                "not UTF-8",
                "text",
            )
        })?;
        Ok(text.trim())
    }

    /// Goes to the next record, if there is one.
    pub(super) fn next(&mut self) -> Result<bool, DataError> {
        let (mut written, mut cells) = (0, 0);
        loop {
            if self.left.is_empty() {
                // At the end nothing comes any more, which tells the reader so.
                let first = self.stream.given() == 0;
                self.left = 0..self.stream.fill(&mut self.block)?;
                if first && self.block[self.left.clone()].starts_with(BYTE_ORDER_MARK) {
                    self.left.start = BYTE_ORDER_MARK.len();
                }
            }
            let input = &self.block[self.left.clone()];
            let (result, read, text, ends) =
                self.reader.read_record(input, &mut self.text[written..], &mut self.ends[cells..]);
            self.line_feeds += input[..read].iter().filter(|&&byte| byte == b'\n').count() as u64;
            self.last = input[..read].last().copied().unwrap_or(self.last);
            (self.left.start, written, cells) = (self.left.start + read, written + text, cells + ends);
            match result {
                ReadRecordResult::InputEmpty => {}
                ReadRecordResult::OutputFull if self.text.len() >= LONGEST => return Err(self.too_long()),
                ReadRecordResult::OutputFull => self.text.resize(2 * self.text.len(), 0),
                ReadRecordResult::OutputEndsFull => self.ends.resize(2 * self.ends.len(), 0),
                ReadRecordResult::Record => {
                    self.cells = cells;
                    return Ok(true);
                }
                ReadRecordResult::End => return Ok(false),
            }
        }
    }

    fn too_long(&self) -> DataError {
        let field = format!("length of the record before line {}", self.line() + 1);
        let expected = format!("at most {LONGEST} bytes; is a quote not closed?");
        DataError::field(self.file(), field, "more", expected)
    }
}
