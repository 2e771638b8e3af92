//! Spread rows over processes: each holds some rows of a file, and gets others from the processes that hold them.
//!
//! Reading rows is therefore something that all processes have to do together, in the same order. Whoever goes through
//! a table from the first row to the last does so: rows come in blocks, which all processes get.

use std::fmt;
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use hmcvi_graph::{Parcel, Ranks};

use super::cells::Cells;

/// Bytes of the rows that all processes get at a time when a table is gone through.
const BLOCK: usize = 4 << 20;

/// Rows of which every process holds some.
pub(super) struct Spread {
    ranks: Arc<dyn Ranks>,
    /// First row of the file that each process holds, and at the end the number of all rows.
    begins: Arc<[usize]>,
    /// What this process holds.
    own: Arc<Cells>,
    /// The row of the file that each row of the table is.
    rows: Arc<[u32]>,
    /// Rows that all processes got last: their number among the blocks, and what they are.
    block: Mutex<Option<(usize, Arc<Cells>)>>,
}

/// The rows of a file with so many that a process holds.
pub(super) fn held(ranks: &dyn Ranks, rank: usize, rows: usize) -> Range<usize> {
    let first = |rank: usize| rank * rows / ranks.size();
    first(rank)..first(rank + 1)
}

impl Spread {
    /// All rows of a file, of which this process has read those that it [holds](held).
    pub(super) fn new(ranks: &Arc<dyn Ranks>, rows: usize, own: Cells) -> Self {
        let begins = (0..=ranks.size()).map(|rank| held(&**ranks, rank, rows).start).collect();
        let rows = (0..rows as u32).collect();
        Spread { ranks: ranks.clone(), begins, own: Arc::new(own), rows, block: Mutex::default() }
    }

    pub(super) fn rows(&self) -> usize {
        self.rows.len()
    }

    /// What this process holds, which shows how rows are held.
    pub(super) fn own(&self) -> &Cells {
        &self.own
    }

    /// Bytes of memory in this process.
    pub(super) fn memory(&self) -> usize {
        self.own.memory() + size_of_val(&self.rows[..])
    }

    /// The same rows, held in another way.
    pub(super) fn held_as<E>(self, change: impl FnOnce(Cells) -> Result<Cells, E>) -> Result<Spread, E> {
        let own = Arc::new(change(Arc::unwrap_or_clone(self.own))?);
        Ok(Spread { own, block: Mutex::default(), ..self })
    }

    /// Some of the rows, in the order in which they are given; they stay where they are.
    pub(super) fn select(&self, order: impl Iterator<Item = usize>) -> Spread {
        Spread { rows: order.map(|row| self.rows[row]).collect(), ..self.clone() }
    }

    /// The block of rows that a row is in, and its place there. All processes get it.
    pub(super) fn block(&self, row: usize) -> (Arc<Cells>, usize) {
        let per_block = (BLOCK / self.own.row_bytes()).max(1);
        let number = row / per_block;
        let mut last = self.block.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, cells)) = last.as_ref().filter(|(found, _)| *found == number) {
            return (cells.clone(), row % per_block);
        }
        let rows = number * per_block..self.rows().min((number + 1) * per_block);
        let cells = Arc::new(self.for_all(rows));
        *last = Some((number, cells.clone()));
        (cells, row % per_block)
    }

    /// Rows of the table that all processes get.
    pub(super) fn for_all(&self, rows: Range<usize>) -> Cells {
        let (rows, width) = (&self.rows[rows], self.own.row_bytes());
        // Bytes travel process by process.
        let mut places: Vec<usize> = (0..rows.len()).collect();
        places.sort_by_key(|&place| self.holder(rows[place]));
        let mut sorted = vec![0; rows.len() * width];
        for (&place, bytes) in places.iter().zip(sorted.chunks_exact_mut(width)) {
            self.put_own(rows[place], bytes);
        }
        let end = |rank| places.partition_point(|&place| self.holder(rows[place]) <= rank) * width;
        self.ranks.gather(&mut sorted, &(0..self.ranks.size()).map(end).collect::<Vec<_>>());
        let mut bytes = vec![0; sorted.len()];
        for (&place, row) in places.iter().zip(sorted.chunks_exact(width)) {
            bytes[place * width..][..width].copy_from_slice(row);
        }
        self.own.like(bytes)
    }

    /// Rows of the table of which every process gets a part, and this one those of its own part; at least one row, as
    /// programs ask for, where that is empty.
    pub(super) fn for_each(&self, rows: &[u32], parts: &[Range<usize>]) -> Cells {
        let (me, width) = (self.ranks.rank(), self.own.row_bytes());
        let wanted = |rank: usize| rows[parts[rank].clone()].iter().map(|&row| self.rows[row as usize]);
        let others = || (0..self.ranks.size()).filter(|&rank| rank != me);
        let mut sent: Vec<Vec<u8>> = vec![Vec::new(); self.ranks.size()];
        for to in others() {
            for row in wanted(to).filter(|&row| self.holder(row) == me) {
                let start = sent[to].len();
                sent[to].resize(start + width, 0);
                self.put_own(row, &mut sent[to][start..]);
            }
        }
        let mut got = vec![0; self.ranks.size()];
        wanted(me).for_each(|row| got[self.holder(row)] += width);
        let mut got: Vec<Vec<u8>> = got.into_iter().map(|length| vec![0; length]).collect();
        let outward = sent.iter_mut().enumerate().map(|(to, bytes)| Parcel { bytes, from: me, to });
        let inward = got.iter_mut().enumerate().map(|(from, bytes)| Parcel { bytes, from, to: me });
        let between = |parcel: &Parcel<'_>| parcel.from != parcel.to && !parcel.bytes.is_empty();
        self.ranks.pass(outward.chain(inward).filter(between).collect());
        let mut rest: Vec<&[u8]> = got.iter().map(Vec::as_slice).collect();
        let mut bytes = vec![0; parts[me].len().max(1) * width];
        for (row, to) in wanted(me).zip(bytes.chunks_exact_mut(width)) {
            let holder = self.holder(row);
            if holder == me {
                self.put_own(row, to);
            } else {
                let (first, others) = rest[holder].split_at(width);
                to.copy_from_slice(first);
                rest[holder] = others;
            }
        }
        self.own.like(bytes)
    }

    /// The process that holds a row of the file.
    fn holder(&self, row: u32) -> usize {
        self.begins.partition_point(|&begin| begin <= row as usize) - 1
    }

    /// Puts the bytes of a row of the file there, if this process holds it.
    fn put_own(&self, row: u32, to: &mut [u8]) {
        let me = self.ranks.rank();
        if self.holder(row) == me {
            self.own.put_row(row as usize - self.begins[me], to);
        }
    }
}

impl Clone for Spread {
    fn clone(&self) -> Self {
        let (ranks, begins, own) = (self.ranks.clone(), self.begins.clone(), self.own.clone());
        Spread { ranks, begins, own, rows: self.rows.clone(), block: Mutex::default() }
    }
}

impl PartialEq for Spread {
    /// Whether it is known without the other processes that the rows are the same.
    fn eq(&self, other: &Self) -> bool {
        self.own == other.own && self.begins == other.begins && self.rows == other.rows
    }
}

impl fmt::Debug for Spread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Spread { begins, own, rows, .. } = self;
        f.debug_struct("Spread").field("begins", begins).field("own", own).field("rows", rows).finish()
    }
}
