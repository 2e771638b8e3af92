//! Write the metrics of a training as event files of TensorBoard.
//!
//! An event file is a sequence of records: eight bytes of length, a checksum of these, the content, and a checksum of
//! that. Contents are protocol buffers of a few fields, which are written here by hand.

use std::collections::BTreeMap;
use std::io::{self, Write};

use crc::{CRC_32_ISCSI, Crc};
use hmcvi_record::Epoch;

/// CRC-32C, the checksum of records.
const CHECKSUM: Crc<u32> = Crc::<u32>::new(&CRC_32_ISCSI);
/// Checksums of data that holds checksums are weak, so they are turned and shifted by this.
const MASK: u32 = 0xa282_ead8;
/// The version of the format, which the first record names.
const VERSION: &str = "brain.Event:2";

/// Fields of an event, of a summary and its values, and of a session's log, by their numbers in the format.
mod field {
    pub(super) const WALL_TIME: u64 = 1;
    pub(super) const STEP: u64 = 2;
    pub(super) const FILE_VERSION: u64 = 3;
    pub(super) const SUMMARY: u64 = 5;
    pub(super) const SESSION_LOG: u64 = 7;
    pub(super) const VALUE: u64 = 1;
    pub(super) const TAG: u64 = 1;
    pub(super) const SIMPLE_VALUE: u64 = 2;
    pub(super) const STATUS: u64 = 1;
}

/// A session begins: readers forget later steps that an earlier one had written.
const START: u64 = 1;

/// Writes events; each is whole before the next begins, so that a reader can follow.
#[derive(Debug)]
pub struct EventWriter<W> {
    out: W,
}

impl<W: Write> EventWriter<W> {
    /// Begins a file at a time in seconds since 1970.
    pub fn new(out: W, time: f64) -> io::Result<Self> {
        let mut writer = EventWriter { out };
        let mut event = Message::at(time, 0);
        event.bytes(field::FILE_VERSION, VERSION.as_bytes());
        writer.record(&event.0)?;
        Ok(writer)
    }

    /// Says that training goes on with this update, and that others of this number or a later one do not count.
    pub fn go_on(&mut self, step: u64, time: f64) -> io::Result<()> {
        let mut log = Message::default();
        log.number(field::STATUS, START);
        let mut event = Message::at(time, step);
        event.bytes(field::SESSION_LOG, &log.0);
        self.record(&event.0)
    }

    /// Writes all numbers of an epoch under the number of its last update.
    pub fn epoch(&mut self, epoch: &Epoch, time: f64) -> io::Result<()> {
        let mut summary = Message::default();
        for (tag, value) in scalars(epoch) {
            let mut scalar = Message::default();
            scalar.bytes(field::TAG, tag.as_bytes());
            scalar.single(field::SIMPLE_VALUE, value as f32);
            summary.bytes(field::VALUE, &scalar.0);
        }
        let mut event = Message::at(time, epoch.step);
        event.bytes(field::SUMMARY, &summary.0);
        self.record(&event.0)
    }

    fn record(&mut self, content: &[u8]) -> io::Result<()> {
        let length = (content.len() as u64).to_le_bytes();
        let mut whole = Vec::with_capacity(content.len() + 16);
        whole.extend(length);
        whole.extend(masked(&length).to_le_bytes());
        whole.extend(content);
        whole.extend(masked(content).to_le_bytes());
        self.out.write_all(&whole)?;
        self.out.flush()
    }
}

fn masked(bytes: &[u8]) -> u32 {
    CHECKSUM.checksum(bytes).rotate_right(15).wrapping_add(MASK)
}

/// The numbers of an epoch with the names under which TensorBoard groups them.
fn scalars(epoch: &Epoch) -> Vec<(String, f64)> {
    let named = |group: &str, values: &BTreeMap<String, f64>| -> Vec<(String, f64)> {
        values.iter().map(|(name, value)| (format!("{group}/{name}"), *value)).collect()
    };
    let mut all = named("train", &epoch.train);
    all.extend(epoch.validation.iter().flat_map(|values| named("validation", values)));
    all.extend([
        ("run/epoch".into(), epoch.epoch as f64),
        ("run/learning_rate".into(), epoch.learning_rate),
        ("run/images_per_second".into(), epoch.images_per_second),
        ("run/divergences".into(), epoch.divergences as f64),
        ("run/skipped".into(), epoch.skipped as f64),
    ]);
    all
}

/// Fields of a protocol buffer, one after the other.
#[derive(Default)]
struct Message(Vec<u8>);

impl Message {
    /// An event's time and step.
    fn at(time: f64, step: u64) -> Self {
        let mut event = Message::default();
        // Wire type 1: eight bytes.
        event.varint(field::WALL_TIME << 3 | 1);
        event.0.extend(time.to_le_bytes());
        event.number(field::STEP, step);
        event
    }

    fn varint(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.0.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.0.push(value as u8);
    }

    /// Wire type 0: a number of as many bytes as it takes.
    fn number(&mut self, field: u64, value: u64) {
        self.varint(field << 3);
        self.varint(value);
    }

    /// Wire type 2: a length and so many bytes.
    fn bytes(&mut self, field: u64, bytes: &[u8]) {
        self.varint(field << 3 | 2);
        self.varint(bytes.len() as u64);
        self.0.extend(bytes);
    }

    /// Wire type 5: four bytes.
    fn single(&mut self, field: u64, value: f32) {
        self.varint(field << 3 | 5);
        self.0.extend(value.to_le_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checksums_are_those_of_the_standard() {
        // RFC 3720, appendix B.4: 32 bytes of zeros.
        assert_eq!(CHECKSUM.checksum(&[0; 32]), 0x8a91_36aa);
        assert_eq!(masked(&[0; 32]), 0x8a91_36aa_u32.rotate_right(15).wrapping_add(0xa282_ead8));
    }

    #[test]
    fn numbers_take_as_many_bytes_as_they_need() {
        let mut message = Message::default();
        message.number(1, 150);
        // The example of the protocol buffers' own description.
        assert_eq!(message.0, [0x08, 0x96, 0x01]);
    }
}
