//! Share the rows of a program out among processes: each takes some of the shards, and all have the sums of all shards
//! afterwards. They are added in the same order as by one process, to the same bits, or process by process.

use std::ops::Range;
use std::sync::Arc;

use super::Executable;
use super::options::{CpuOptions, Cut, shards};
use crate::plan::{Plan, RowStage, Stage};
use crate::ranks::{Parcel, Ranks, add_up, ends, own_part, part, spare};
use crate::real::Real;

/// In which order processes add up sums over rows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Sums {
    /// Shard by shard, as one process does: the same bits on any number of processes.
    #[default]
    Ordered,
    /// First each process its own rows, then process by process. Fewer bytes travel, and there may be more processes than
    /// shards; but results are rounded differently for every number of processes.
    PerProcess,
}

/// The others, and how sums are added up with them.
pub(super) struct Shared<T> {
    ranks: Arc<dyn Ranks>,
    sums: Sums,
    /// Room for the sums of others.
    spare: Vec<T>,
}

impl<T: Real> Executable<T> {
    /// Shares the rows of all runs from now on out among processes, which have to call the same functions of the same
    /// executables in the same order. Results are the same on all of them; with [`Sums::Ordered`] they are those of one
    /// process.
    #[must_use]
    pub fn shared(self, ranks: Arc<dyn Ranks>, sums: Sums) -> Self {
        if ranks.size() == 1 {
            return self;
        }
        let room = if sums == Sums::PerProcess { spare(&*ranks, self.plan.accumulator_len) } else { 0 };
        Executable { shared: Some(Shared { ranks, sums, spare: vec![T::default(); room] }), ..self }
    }

    /// How rows of this run are divided, and which shards this process computes.
    pub(super) fn own_cut(&self) -> (Cut, Range<usize>) {
        let (rows, tile_rows) = (self.engine.memory.batch, self.options.tile_rows);
        let all = shards(rows, &self.options);
        let cut = Cut { first: 0, rows, shards: all, tile_rows };
        match &self.shared {
            None => (cut, 0..all),
            Some(Shared { ranks, sums: Sums::Ordered, .. }) => (cut, own_part(&**ranks, all)),
            Some(Shared { ranks, sums: Sums::PerProcess, .. }) => {
                let own = own_part(&**ranks, rows);
                let shards = if own.is_empty() { 0 } else { shards(own.len(), &self.options) };
                (Cut { first: own.start, rows: own.len(), shards, ..cut }, 0..shards)
            }
        }
    }

    /// The rows that a process computes of a run with so many, which are the only ones that it looks up in data sets.
    pub fn rows_of(&self, rank: usize, rows: usize) -> Range<usize> {
        match &self.shared {
            None => 0..rows,
            Some(shared) => {
                let first = |rank| shared.first_row(rank, rows, &self.options);
                first(rank)..first(rank + 1)
            }
        }
    }

    /// Gets the rows of outputs that other processes computed.
    pub(super) fn gather_rows(&mut self, rows: usize) {
        let Some(shared) = &self.shared else { return };
        let (ranks, first) = (&shared.ranks, |rank| shared.first_row(rank, rows, &self.options));
        for (output, values) in self.plan.outputs.iter().zip(&mut self.outputs) {
            if output.shape.is_batch() {
                let row = output.shape.cols * size_of::<T>();
                let values = bytes(&mut values[..rows * output.shape.cols]);
                ranks.gather(values, &ends(&**ranks, |rank| first(rank) * row));
            }
        }
    }
}

impl<T: Real> Shared<T> {
    /// The first of so many rows that belongs to a process.
    fn first_row(&self, rank: usize, rows: usize, options: &CpuOptions) -> usize {
        let (size, shards) = (self.ranks.size(), shards(rows, options));
        match self.sums {
            Sums::Ordered => part(rank, size, shards) * rows / shards,
            Sums::PerProcess => part(rank, size, rows),
        }
    }

    /// Gets what other processes summed over their rows; answers how many shards are left to be added.
    pub(super) fn share_sums(
        &mut self,
        plan: &Plan,
        stage: &RowStage,
        (shards, own): (usize, &Range<usize>),
        sums: *mut T,
    ) -> usize {
        let (ranks, len) = (&*self.ranks, plan.accumulator_len);
        if len == 0 {
            return shards;
        }
        // SAFETY: there is memory for the sums of the shards of all rows, and nobody else uses it now.
        let sums = unsafe { std::slice::from_raw_parts_mut(sums, shards.max(1) * len) };
        if self.sums == Sums::PerProcess {
            for place in stage.sums.iter().cloned() {
                if own.is_empty() {
                    sums[place.clone()].fill(T::default());
                }
                add_shards(sums, len, place.clone());
                add_up(ranks, &mut sums[place], &mut self.spare);
            }
            return 1;
        }
        let of_process = |rank| part(rank, ranks.size(), shards) * len * size_of::<T>();
        if plan.stages.iter().filter(|stage| matches!(stage, Stage::Rows(_))).count() > 1 {
            // Sums of earlier stages are added again after this one, so all shards stay as they are.
            ranks.gather(bytes(sums), &ends(ranks, of_process));
            return shards;
        }
        // Every process adds up some columns of all shards, in their order, and hands them out: at most a few times the
        // bytes of the sums themselves travel, however many shards there are.
        swap(ranks, sums, len);
        add_shards(sums, len, own_part(ranks, len));
        let of_columns = |rank| part(rank, ranks.size(), len) * size_of::<T>();
        ranks.gather(bytes(&mut sums[..len]), &ends(ranks, of_columns));
        1
    }
}

/// Sends every process its columns of the shards of this one, and gets those of this one of all other shards.
fn swap<T: Real>(ranks: &dyn Ranks, sums: &mut [T], len: usize) {
    let (size, own, shards) = (ranks.size(), ranks.rank(), sums.len() / len);
    let (mut parcels, mut rest) = (Vec::new(), bytes(sums));
    for from in 0..size {
        for _ in part(from, size, shards)..part(from + 1, size, shards) {
            for to in 0..size {
                let columns = part(to + 1, size, len) - part(to, size, len);
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
pub(crate) fn bytes<T: Real>(values: &mut [T]) -> &mut [u8] {
    // SAFETY: floating-point numbers have no padding, all bytes are some number, and the borrow is as long.
    unsafe { std::slice::from_raw_parts_mut(values.as_mut_ptr().cast::<u8>(), size_of_val(values)) }
}
