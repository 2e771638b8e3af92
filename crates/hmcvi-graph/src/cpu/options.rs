//! Say how a program is to be prepared for the CPU.

use std::ops::Range;

use pulp::Arch;

/// How a program is prepared for the CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CpuOptions {
    /// Most rows that a run may have.
    pub rows: usize,
    /// Threads; 0 for one per core. The results do not depend on it.
    pub threads: usize,
    /// Most rows that go through the row stage together; fewer where the values of so many would not fit
    /// the cache. Sums over rows are rounded differently for different values.
    pub tile_rows: usize,
    /// Most shards that a batch is divided into. Sums over rows are rounded differently for
    /// different values.
    pub shards: usize,
    /// Instructions that may be used. The results do not depend on it.
    pub instructions: Instructions,
    /// How threads divide a batch. The results do not depend on it.
    pub split: Split,
}

/// How threads divide a batch: all but the first are for comparisons.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Split {
    /// What should take the least time.
    #[default]
    Best,
    /// Each takes whole shards.
    Shards,
    /// Several share the rows of a shard where there are as many threads as shards.
    Rows,
}

/// Instructions that a program may use on the CPU: all but the first are for comparisons.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Instructions {
    /// The fastest that this machine has.
    #[default]
    Fastest,
    /// Up to AVX2 with fused multiply-adds.
    Avx2,
    /// Those that every machine of its kind has: very slow, since fused multiply-adds are computed step by step.
    Portable,
}

impl CpuOptions {
    /// The usual settings for batches of up to `rows` rows.
    pub fn for_rows(rows: usize) -> Self {
        let shards = (rows / ROWS_OF_MANY_SHARDS).clamp(FEW_SHARDS, MOST_SHARDS);
        let (instructions, split) = (Instructions::Fastest, Split::Best);
        CpuOptions { rows, threads: 0, tile_rows: 80, shards, instructions, split }
    }
}

impl CpuOptions {
    /// The settings with everything decided.
    pub(super) fn settled(self) -> Self {
        let cores = || std::thread::available_parallelism().map_or(1, |n| n.get());
        CpuOptions {
            rows: self.rows.max(1),
            threads: if self.threads == 0 { cores() } else { self.threads },
            tile_rows: self.tile_rows.max(1),
            shards: self.shards.max(1),
            instructions: self.instructions,
            split: self.split,
        }
    }
}

impl Instructions {
    pub(super) fn arch(self) -> Arch {
        match self {
            Instructions::Fastest => Arch::new(),
            Instructions::Avx2 => avx2(Arch::new()),
            Instructions::Portable => Arch::Scalar,
        }
    }
}

/// What was found, if it is no more than AVX2.
fn avx2(found: Arch) -> Arch {
    #[cfg(target_arch = "x86_64")]
    if let (Arch::V4(_), Some(v3)) = (found, pulp::x86::V3::try_new()) {
        return Arch::V3(v3);
    }
    found
}

/// Shards that batches are divided into up to this number; beyond, there is one for so many rows, so that more processes
/// can share large batches. The sums of each take memory.
const FEW_SHARDS: usize = 16;
const ROWS_OF_MANY_SHARDS: usize = 160;
const MOST_SHARDS: usize = 256;

/// Rows below which a shard is not worth while, once there are two.
const SHARD_ROWS: usize = 40;

/// Shards for a batch: a power of two, so that they divide evenly among threads; at least two where
/// there is anything to divide.
pub(super) fn shards(rows: usize, options: &CpuOptions) -> usize {
    let few = if rows >= 16 { 2 } else { 1 };
    let most = (rows / SHARD_ROWS).max(few).min(options.shards);
    1 << most.ilog2()
}

/// How rows of a run are divided, by their number alone.
#[derive(Clone, Copy)]
pub(super) struct Cut {
    /// The first of them.
    pub(super) first: usize,
    pub(super) rows: usize,
    pub(super) shards: usize,
    pub(super) tile_rows: usize,
}

impl Cut {
    fn rows_of(self, shard: usize) -> Range<usize> {
        let cut = |shard| self.first + shard * self.rows / self.shards;
        cut(shard)..cut(shard + 1)
    }

    /// Tiles of a shard, into which its rows are divided evenly.
    pub(super) fn tiles(self, shard: usize) -> usize {
        self.rows_of(shard).len().div_ceil(self.tile_rows)
    }

    /// Rows of a shard's tile, if it has so many.
    pub(super) fn tile(self, shard: usize, tile: usize) -> Option<Range<usize>> {
        let (rows, tiles) = (self.rows_of(shard), self.tiles(shard));
        let cut = |tile| rows.start + tile * rows.len() / tiles;
        (tile < tiles).then(|| cut(tile)..cut(tile + 1))
    }
}
