//! Let processes that share the rows of a program exchange what they have: bytes, and sums that are added up in a fixed
//! order.

use std::ops::Range;
use std::time::Duration;

use crate::cpu::bytes;
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

    /// How long others may take to answer before [`too_late`](Self::too_late) is called; for ever without it.
    fn patience(&self) -> Option<Duration> {
        None
    }

    /// Ends the job, because others did not answer in time.
    fn too_late(&self) {}

    /// Whether it is measured where the time goes.
    fn measures(&self) -> bool {
        false
    }

    /// Exchanges so many bytes in another way than through this process, which may be measured.
    fn measured(&self, _bytes: usize, exchange: &mut dyn FnMut()) {
        exchange();
    }

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

/// A process without others.
#[derive(Clone, Copy, Debug, Default)]
pub struct Alone;

impl Ranks for Alone {
    fn rank(&self) -> usize {
        0
    }

    fn size(&self) -> usize {
        1
    }

    fn gather(&self, _: &mut [u8], _: &[usize]) {}

    fn pass(&self, _: Vec<Parcel<'_>>) {}
}

/// The first of so many things that belongs to a process.
pub(crate) fn part(rank: usize, size: usize, things: usize) -> usize {
    rank * things / size
}

/// Those of so many things that belong to this process.
pub(crate) fn own_part(ranks: &dyn Ranks, things: usize) -> Range<usize> {
    part(ranks.rank(), ranks.size(), things)..part(ranks.rank() + 1, ranks.size(), things)
}

/// Where the parts of all processes end, of which `begin` says where they begin.
pub(crate) fn ends(ranks: &dyn Ranks, begin: impl Fn(usize) -> usize) -> Vec<usize> {
    (1..=ranks.size()).map(begin).collect()
}

/// Room that [`add_up`] needs for so many sums.
pub(crate) fn spare(ranks: &dyn Ranks, len: usize) -> usize {
    (ranks.size() - 1) * len.div_ceil(ranks.size())
}

/// Adds up what all processes have, in their order: each gets some values of all others, adds them up and hands out the
/// sums. That is twice the bytes of the values for each process, however many there are.
pub(crate) fn add_up<T: Real>(ranks: &dyn Ranks, values: &mut [T], spare: &mut [T]) {
    let (own, size, len) = (ranks.rank(), ranks.size(), values.len());
    let mine = own_part(ranks, len);
    let (mut parcels, mut rest, mut room) = (Vec::new(), bytes(values), bytes(spare));
    for to in 0..size {
        let length = (part(to + 1, size, len) - part(to, size, len)) * size_of::<T>();
        let (here, others) = rest.split_at_mut(length);
        rest = others;
        if to != own && length > 0 {
            parcels.push(Parcel { bytes: here, from: own, to });
        }
    }
    for from in (0..size).filter(|from| *from != own && !mine.is_empty()) {
        let (here, others) = room.split_at_mut(mine.len() * size_of::<T>());
        room = others;
        parcels.push(Parcel { bytes: here, from, to: own });
    }
    ranks.pass(parcels);
    if !mine.is_empty() {
        let sums = &mut values[mine.clone()];
        let (before, after) = spare[..(size - 1) * mine.len()].split_at_mut(own * mine.len());
        let mut before = before.chunks_exact_mut(mine.len());
        if let Some(first) = before.next() {
            before.for_each(|next| add(first, next));
            sums.iter_mut().zip(first).for_each(|(sum, value)| *sum = *value + *sum);
        }
        after.chunks_exact(mine.len()).for_each(|next| add(sums, next));
    }
    ranks.gather(bytes(values), &ends(ranks, |rank| part(rank, size, len) * size_of::<T>()));
}

fn add<T: Real>(sums: &mut [T], values: &[T]) {
    sums.iter_mut().zip(values).for_each(|(sum, value)| *sum = *sum + *value);
}
