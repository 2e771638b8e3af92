//! Read a part of a file's rows in each of several processes, where the file has them one after the other as they are.
//!
//! Every process also reads the part of the next one, without keeping it, and compares hashes: files that differ between
//! machines are found out where they matter.

use std::fs::File;
use std::io::{BufReader, Read};
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use hmcvi_graph::Ranks;
use rawzip::{FileReader, RangeReader, ReaderAt};

use super::file;
use super::stream::Stream;
use crate::data::cells::Cells;
use crate::data::error::{DataError, name};
use crate::data::hash::Hasher;
use crate::data::spread::{Spread, held};

/// Processes that read a part each; without them, this one reads all.
pub(crate) type Readers<'a> = Option<&'a Arc<dyn Ranks>>;

/// Bytes that are read at a time.
const BLOCK: usize = 1 << 20;

/// Some bytes of a file, such as all of them, or one of the files in an archive.
pub(super) struct Place<'a> {
    pub(super) name: String,
    pub(super) file: &'a FileReader,
    pub(super) bytes: Range<u64>,
}

/// Rows in a place: where they begin there, how many there are, and the bytes of each.
#[derive(Clone, Copy)]
pub(super) struct Rows {
    pub(super) start: u64,
    pub(super) count: usize,
    pub(super) width: usize,
}

/// Opens a file and hands it out as a place.
pub(super) fn with_file<T>(
    path: &Path,
    look: impl FnOnce(&Place<'_>) -> Result<T, DataError>,
) -> Result<T, DataError> {
    let (opened, length): (File, u64) = file::open(path)?;
    look(&Place { name: name(path), file: &FileReader::from(opened), bytes: 0..length })
}

impl Place<'_> {
    /// Its bytes in order, to read what stands before the rows.
    pub(super) fn stream(&self) -> Stream<'_> {
        let length = self.bytes.end - self.bytes.start;
        let reader = BufReader::new(RangeReader::new(self.file, self.bytes.clone()).take(length));
        Stream::of_reader(self.name.clone(), reader, length, false)
    }

    /// Reads the own part of the rows, if all processes find the same rows in files of the same length; otherwise nobody
    /// does. `found` says what a process takes them for, and `cells` makes cells of the bytes of rows, of which the first
    /// has this number.
    pub(super) fn read_part(
        &self,
        ranks: &Arc<dyn Ranks>,
        found: Option<(String, Rows)>,
        cells: impl FnOnce(usize, Blocks<'_>) -> Result<Cells, DataError>,
    ) -> Result<Option<Cells>, DataError> {
        // Rows are counted in 32 bits, and have to fill the rest of the place.
        let fits = |(_, rows): &(String, Rows)| {
            let end =
                (rows.count as u64).checked_mul(rows.width as u64).and_then(|b| b.checked_add(rows.start));
            u32::try_from(rows.count).is_ok()
                && rows.count > 0
                && rows.width > 0
                && end == Some(self.bytes.end - self.bytes.start)
        };
        let found = found.filter(fits);
        let facts = found.as_ref().map(|(kind, r)| (kind, self.bytes.end, r.start, r.count, r.width));
        let facts = ranks.of_all(format!("{facts:?}").as_bytes());
        if let Some(rank) = facts.iter().position(|other| *other != facts[0]) {
            let (file, what) = (self.name.clone(), "values");
            return Err(DataError::Disagree { file, what, rank, other: 0 });
        }
        let Some((_, rows)) = found else { return Ok(None) };
        let (me, size) = (ranks.rank(), ranks.size());
        let part = |rank: usize| held(&**ranks, rank, rows.count);
        let blocks = |rank: usize| Blocks::new(self, rows, part(rank));
        let mut own = blocks(me);
        let mut hasher = Hasher::default();
        own.hasher = Some(&mut hasher);
        let cells = cells(part(me).start, own)?;
        let mut next = Hasher::default();
        blocks((me + 1) % size).each(|bytes| {
            next.update(bytes);
            Ok(())
        })?;
        let hashes = ranks.of_all(format!("{} {}", hasher.finish(), next.finish()).as_bytes());
        let of = |rank: usize, which: usize| {
            hashes[rank].split(|byte| *byte == b' ').nth(which).unwrap_or_default()
        };
        if let Some(other) = (0..size).find(|&rank| of(rank, 1) != of((rank + 1) % size, 0)) {
            let (file, rank, what) = (self.name.clone(), (other + 1) % size, "values");
            return Err(DataError::Disagree { file, what, rank, other });
        }
        Ok(Some(Cells::spread(Spread::new(ranks, rows.count, cells))))
    }
}

/// Bytes of some rows, a few at a time.
pub(super) struct Blocks<'a> {
    place: &'a Place<'a>,
    rows: Rows,
    part: Range<usize>,
    hasher: Option<&'a mut Hasher>,
}

impl<'a> Blocks<'a> {
    fn new(place: &'a Place<'a>, rows: Rows, part: Range<usize>) -> Self {
        Blocks { place, rows, part, hasher: None }
    }

    /// Number of bytes.
    pub(super) fn len(&self) -> usize {
        self.part.len() * self.rows.width
    }

    /// Hands out all bytes, in pieces of which each has some whole rows.
    pub(super) fn each(self, mut look: impl FnMut(&[u8]) -> Result<(), DataError>) -> Result<(), DataError> {
        let Blocks { place, rows, part, mut hasher } = self;
        let per_block = (BLOCK / rows.width).max(1);
        let mut block = vec![0; per_block.min(part.len()) * rows.width];
        for first in part.clone().step_by(per_block) {
            let bytes = &mut block[..per_block.min(part.end - first) * rows.width];
            let at = place.bytes.start + rows.start + (first * rows.width) as u64;
            let failed = |source| DataError::io(place.name.clone(), "read", source);
            place.file.read_exact_at(bytes, at).map_err(failed)?;
            if let Some(hasher) = &mut hasher {
                hasher.update(bytes);
            }
            look(bytes)?;
        }
        Ok(())
    }

    /// All bytes together.
    pub(super) fn all(self) -> Result<Vec<u8>, DataError> {
        let mut all = Vec::with_capacity(self.len());
        self.each(|bytes| {
            all.extend_from_slice(bytes);
            Ok(())
        })?;
        Ok(all)
    }
}
