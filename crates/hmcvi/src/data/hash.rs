//! Name content by its SHA-256, in lower-case hexadecimal.

use std::io::{self, Read};

use hmac_sha256::Hash;

/// A hash that grows with the content it is fed.
#[derive(Default)]
pub(crate) struct Hasher(Hash);

impl Hasher {
    pub(crate) fn update(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    /// Feeds a number as eight bytes, the lowest first.
    pub(crate) fn number(&mut self, number: usize) {
        self.update(&(number as u64).to_le_bytes());
    }

    /// Feeds everything a reader gives and returns how many bytes that were.
    pub(crate) fn read(&mut self, mut reader: impl Read) -> io::Result<u64> {
        let mut block = vec![0; 64 << 10];
        let mut length = 0;
        loop {
            match reader.read(&mut block) {
                Ok(0) => return Ok(length),
                Ok(count) => {
                    self.update(&block[..count]);
                    length += count as u64;
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }

    pub(crate) fn finish(self) -> String {
        hexadecimal(&self.0.finalize(), "")
    }
}

/// Bytes as two digits each.
pub(crate) fn hexadecimal(bytes: &[u8], separator: &str) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect::<Vec<_>>().join(separator)
}
