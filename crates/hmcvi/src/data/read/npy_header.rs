//! Parse and print the header of a `.npy` file: a Python dictionary with the type, order and shape.

use crate::data::error::DataError;

/// What a `.npy` file says about its values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Header {
    /// NumPy's code for the type, such as `|u1`.
    pub(super) descr: String,
    /// Whether the first axis runs fastest.
    pub(super) fortran_order: bool,
    /// The length of each axis.
    pub(super) shape: Vec<usize>,
}

/// The first bytes of every `.npy` file.
pub(super) const MAGIC: &[u8; 6] = b"\x93NUMPY";

/// Most axes that NumPy allows.
const MOST_AXES: usize = 64;

impl Header {
    /// Parses the dictionary; `file` names the file in errors.
    pub(super) fn parse(file: &str, text: &[u8]) -> Result<Header, DataError> {
        let mut parser = Parser { file, text, at: 0 };
        let (mut descr, mut fortran_order, mut shape) = (None, None, None);
        parser.expect(b'{')?;
        while !parser.accept(b'}') {
            let key = parser.string("a key in quotes")?;
            parser.expect(b':')?;
            match key.as_str() {
                "descr" => descr = Some(parser.descr()?),
                "fortran_order" => fortran_order = Some(parser.truth()?),
                "shape" => shape = Some(parser.shape()?),
                _ => return Err(parser.failed_with(&key, "the keys descr, fortran_order and shape")),
            }
            if !parser.accept(b',') {
                parser.expect(b'}')?;
                break;
            }
        }
        parser.end()?;
        match (descr, fortran_order, shape) {
            (Some(descr), Some(fortran_order), Some(shape)) => Ok(Header { descr, fortran_order, shape }),
            _ => Err(parser.failed_with("incomplete", "the keys descr, fortran_order and shape")),
        }
    }

    /// The start of a `.npy` file with this header: magic, version 1.0, dictionary, padded to 64 bytes.
    pub(super) fn print(&self, file: &str) -> Result<Vec<u8>, DataError> {
        let axes: String = self.shape.iter().map(|length| format!("{length}, ")).collect();
        let axes = if self.shape.len() > 1 { axes.trim_end_matches(", ") } else { axes.trim_end() };
        let order = if self.fortran_order { "True" } else { "False" };
        let mut text =
            format!("{{'descr': '{}', 'fortran_order': {order}, 'shape': ({axes}), }}", self.descr);
        // Magic, version and length take ten bytes, the line feed one.
        let padding = (64 - (10 + text.len() + 1) % 64) % 64;
        text.extend(std::iter::repeat_n(' ', padding));
        text.push('\n');
        let length = u16::try_from(text.len())
            .map_err(|_| DataError::field(file, "number of axes", self.shape.len(), "at most 64"))?;
        let mut start = MAGIC.to_vec();
        start.extend([1, 0]);
        start.extend(length.to_le_bytes());
        start.extend(text.into_bytes());
        Ok(start)
    }
}

/// A place in the text of a header.
struct Parser<'a> {
    file: &'a str,
    text: &'a [u8],
    at: usize,
}

impl Parser<'_> {
    fn skip_space(&mut self) {
        while self.text.get(self.at).is_some_and(u8::is_ascii_whitespace) {
            self.at += 1;
        }
    }

    fn peek(&mut self) -> Option<u8> {
        self.skip_space();
        self.text.get(self.at).copied()
    }

    fn accept(&mut self, wanted: u8) -> bool {
        let found = self.peek() == Some(wanted);
        self.at += usize::from(found);
        found
    }

    fn expect(&mut self, wanted: u8) -> Result<(), DataError> {
        if self.accept(wanted) { Ok(()) } else { Err(self.failed(&format!("`{}`", char::from(wanted)))) }
    }

    fn string(&mut self, expected: &str) -> Result<String, DataError> {
        let quote = match self.peek() {
            Some(quote @ (b'\'' | b'"')) => quote,
            _ => return Err(self.failed(expected)),
        };
        let start = self.at + 1;
        let rest = self.text.get(start..).unwrap_or_default();
        let Some(length) = rest.iter().position(|&byte| byte == quote) else {
            return Err(self.failed("a closing quote"));
        };
        self.at = start + length + 1;
        Ok(String::from_utf8_lossy(&rest[..length]).into_owned())
    }

    fn descr(&mut self) -> Result<String, DataError> {
        if self.peek() == Some(b'[') {
            return Err(DataError::Type {
                file: self.file.to_owned(),
                found: "a record with several fields".to_owned(),
                expected: "one type of numbers",
                next: "save each field as an array of its own".to_owned(),
            });
        }
        self.string("a type in quotes")
    }

    fn truth(&mut self) -> Result<bool, DataError> {
        self.skip_space();
        let rest = self.text.get(self.at..).unwrap_or_default();
        let (value, length) = match rest {
            _ if rest.starts_with(b"True") => (true, 4),
            _ if rest.starts_with(b"False") => (false, 5),
            _ => return Err(self.failed("True or False")),
        };
        self.at += length;
        Ok(value)
    }

    fn shape(&mut self) -> Result<Vec<usize>, DataError> {
        self.expect(b'(')?;
        let mut shape = Vec::new();
        while !self.accept(b')') {
            if shape.len() == MOST_AXES {
                return Err(self.failed("at most 64 axes"));
            }
            shape.push(self.number()?);
            if !self.accept(b',') {
                self.expect(b')')?;
                break;
            }
        }
        Ok(shape)
    }

    fn number(&mut self) -> Result<usize, DataError> {
        self.skip_space();
        let rest = self.text.get(self.at..).unwrap_or_default();
        let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
        let number = std::str::from_utf8(&rest[..digits]).ok().and_then(|digits| digits.parse().ok());
        let number = number.ok_or_else(|| self.failed("the length of an axis"))?;
        self.at += digits;
        // Python 2 wrote long integers with this letter.
        self.accept(b'L');
        Ok(number)
    }

    fn end(&mut self) -> Result<(), DataError> {
        match self.peek() {
            None => Ok(()),
            Some(_) => Err(self.failed("the end of the header")),
        }
    }

    fn failed(&self, expected: &str) -> DataError {
        let rest = self.text.get(self.at..).unwrap_or_default();
        let found = String::from_utf8_lossy(&rest[..rest.len().min(24)]);
        self.failed_with(&format!("`{}` at byte {}", found.escape_debug(), self.at), expected)
    }

    fn failed_with(&self, found: &str, expected: &str) -> DataError {
        DataError::field(self.file, "header", found, expected)
    }
}
