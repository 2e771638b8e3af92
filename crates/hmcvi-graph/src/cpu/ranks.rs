//! Share the rows of a program out among processes: each takes some of the shards, and all have the sums of all shards
//! afterwards. They are then added in the same order as by one process, to the same bits.

use std::ops::Range;

use super::Executable;
use crate::plan::Stage;
use crate::real::Real;

/// Bytes that one process has and another one gets.
#[derive(Debug)]
pub struct Parcel<'a> {
    /// They.
    pub bytes: &'a mut [u8],
    /// The process that has them.
    pub from: usize,
    /// The process that gets them.
    pub to: usize,
}

/// Processes that run the same programs with the same values in the same order, and each a part of the rows.
pub trait Ranks: Send + Sync {
    /// Number of this process, from 0.
    fn rank(&self) -> usize;

    /// Number of processes.
    fn size(&self) -> usize;

    /// Hands out what every process has filled in. The part of process `r` ends at byte `ends[r]`, where the next one
    /// begins; afterwards all processes have all parts. Does not return where that cannot be done.
    fn gather(&self, bytes: &mut [u8], ends: &[usize]);

    /// Passes bytes from process to process. Both ends list them in the same order.
    fn pass(&self, parcels: Vec<Parcel<'_>>);

    /// Whether any of the processes says so.
    fn any(&self, flag: bool) -> bool {
        let mut flags = vec![0; self.size()];
        flags[self.rank()] = u8::from(flag);
        let ends: Vec<usize> = (1..=self.size()).collect();
        self.gather(&mut flags, &ends);
        flags.contains(&1)
    }

    /// What process 0 has; what others give does not matter.
    fn of_first(&self, bytes: Vec<u8>) -> Vec<u8> {
        let own = if self.rank() == 0 { bytes } else { Vec::new() };
        let mut length = (own.len() as u64).to_le_bytes();
        self.gather(&mut length, &vec![size_of::<u64>(); self.size()]);
        let length = u64::from_le_bytes(length) as usize;
        let mut all = own;
        all.resize(length, 0);
        self.gather(&mut all, &vec![length; self.size()]);
        all
    }

    /// What every process has, in their order.
    fn of_all(&self, bytes: &[u8]) -> Vec<Vec<u8>> {
        let (size, word) = (self.size(), size_of::<u64>());
        let mut lengths = vec![0; size * word];
        lengths[self.rank() * word..][..word].copy_from_slice(&(bytes.len() as u64).to_le_bytes());
        let words: Vec<usize> = (1..=size).map(|rank| rank * word).collect();
        self.gather(&mut lengths, &words);
        let length = |chunk: &[u8]| u64::from_le_bytes(chunk.try_into().unwrap_or_default()) as usize;
        let mut end = 0;
        let ends: Vec<usize> = lengths
            .chunks_exact(word)
            .map(|chunk| {
                end += length(chunk);
                end
            })
            .collect();
        let begin = |rank: usize| if rank == 0 { 0 } else { ends[rank - 1] };
        let mut all = vec![0; end];
        all[begin(self.rank())..ends[self.rank()]].copy_from_slice(bytes);
        self.gather(&mut all, &ends);
        (0..size).map(|rank| all[begin(rank)..ends[rank]].to_vec()).collect()
    }
}

impl<T: Real> Executable<T> {
    /// Shards that this process computes.
    pub(super) fn own_shards(&self, shards: usize) -> Range<usize> {
        match &self.ranks {
            None => 0..shards,
            Some(ranks) => {
                part(ranks.rank(), ranks.size(), shards)..part(ranks.rank() + 1, ranks.size(), shards)
            }
        }
    }

    /// Gets what other processes summed over their shards; answers how many shards are left to be added.
    pub(super) fn share_sums(&self) -> usize {
        let (len, shards) = (self.plan.accumulator_len, self.engine.memory.shards);
        let Some(ranks) = self.ranks.as_deref().filter(|_| len > 0) else { return shards };
        // SAFETY: the memory holds the sums of all shards, and nobody else uses it now.
        let sums = unsafe { std::slice::from_raw_parts_mut(self.engine.memory.accumulators, shards * len) };
        let stages = self.plan.stages.iter().filter(|stage| matches!(stage, Stage::Rows(_))).count();
        if stages > 1 {
            // Sums of earlier stages are added again after this one, so all shards stay as they are.
            ranks.gather(
                bytes(sums),
                &ends(ranks, |rank| part(rank, ranks.size(), shards) * len * size_of::<T>()),
            );
            return shards;
        }
        // Every process adds up some columns of all shards, in their order, and hands them out: at most a few times the
        // bytes of the sums themselves travel, however many shards there are.
        swap(ranks, sums, len);
        let cut = |rank| rank * len / ranks.size();
        add_shards(sums, len, cut(ranks.rank())..cut(ranks.rank() + 1));
        ranks.gather(bytes(&mut sums[..len]), &ends(ranks, |rank| cut(rank) * size_of::<T>()));
        1
    }

    /// Gets the rows of outputs that other processes computed.
    pub(super) fn gather_rows(&mut self, rows: usize) {
        let Some(ranks) = self.ranks.as_deref() else { return };
        let (size, shards) = (ranks.size(), super::options::shards(rows, &self.options));
        for (output, values) in self.plan.outputs.iter().zip(&mut self.outputs) {
            if output.shape.is_batch() {
                let row = output.shape.cols * size_of::<T>();
                let values = bytes(&mut values[..rows * output.shape.cols]);
                ranks.gather(values, &ends(ranks, |rank| part(rank, size, shards) * rows / shards * row));
            }
        }
    }
}

/// Where the parts of all processes end, of which `begin` says where they begin.
fn ends(ranks: &dyn Ranks, begin: impl Fn(usize) -> usize) -> Vec<usize> {
    (1..=ranks.size()).map(begin).collect()
}

/// The first shard of a process.
fn part(rank: usize, size: usize, shards: usize) -> usize {
    rank * shards / size
}

/// Sends every process its columns of the shards of this one, and gets those of this one of all other shards.
fn swap<T: Real>(ranks: &dyn Ranks, sums: &mut [T], len: usize) {
    let (size, own, shards) = (ranks.size(), ranks.rank(), sums.len() / len);
    let (mut parcels, mut rest) = (Vec::new(), bytes(sums));
    for from in 0..size {
        for _ in part(from, size, shards)..part(from + 1, size, shards) {
            for to in 0..size {
                let columns = (to + 1) * len / size - to * len / size;
                let (bytes, others) = rest.split_at_mut(columns * size_of::<T>());
                if from != to && (from == own || to == own) && columns > 0 {
                    parcels.push(Parcel { bytes, from, to });
                }
                rest = others;
            }
        }
    }
    ranks.pass(parcels);
}

/// Values that are added up together, to stay in cache while shards are gone through.
const BLOCK: usize = 4096;

/// Adds some columns of all shards to those of the first, one shard after the other.
fn add_shards<T: Real>(sums: &mut [T], len: usize, columns: Range<usize>) {
    let (first, others) = sums.split_at_mut(len);
    for start in columns.clone().step_by(BLOCK) {
        let block = start..columns.end.min(start + BLOCK);
        for shard in others.chunks_exact(len) {
            for (sum, value) in first[block.clone()].iter_mut().zip(&shard[block.clone()]) {
                *sum = *sum + *value;
            }
        }
    }
}

/// Numbers as they are in memory.
fn bytes<T: Real>(values: &mut [T]) -> &mut [u8] {
    // SAFETY: floating-point numbers have no padding, all bytes are some number, and the borrow is as long.
    unsafe { std::slice::from_raw_parts_mut(values.as_mut_ptr().cast::<u8>(), size_of_val(values)) }
}
