//! Write a row stage: the kernel that packs right operands, and the steps that tiles go through.

use std::collections::HashMap;
use std::fmt::Write;

use super::group::{Argument, Call};
use super::hazards::{Access, Place, Share};
use super::kernel::SharedMemory;
use super::schedule::{Product, Room, Schedule};
use super::{Grid, Launch, Writer, find_entry, head};
use crate::cuda::layout::{Area, Tiling, fixed_offset};
use crate::plan::{Base, Block, Pack, RowStage, Step, View};

/// Places of a row stage's values.
pub(super) struct RowPlaces {
    offsets: Vec<usize>,
    /// Columns of a tile's memory, and of what a block has for itself.
    pub(super) width: usize,
    pub(super) own_width: usize,
    pub(super) tile_rows: usize,
    pub(super) cluster: usize,
    pub(super) schedule: Schedule,
    /// Places of sums over rows among those of a tile, by target and row, and their length.
    pub(super) sums: HashMap<(usize, usize), usize>,
    pub(super) sums_len: usize,
}

impl RowPlaces {
    fn new(stage: &RowStage, schedule: Schedule, tile_rows: usize, cluster: usize) -> Self {
        let (shared, width) = stage.places_with_products_last(|i| !schedule.own[i]);
        let (own, own_width) = stage.places_with_products_last(|i| schedule.own[i]);
        let offsets = (0..shared.len()).map(|i| if schedule.own[i] { own[i] } else { shared[i] }).collect();
        let (sums, sums_len) = (HashMap::new(), 0);
        RowPlaces { offsets, width, own_width, tile_rows, cluster, schedule, sums, sums_len }
    }

    /// The base of a view.
    pub(super) fn base(&self, writer: &Writer<'_>, view: View) -> usize {
        if self.schedule.is_own(view) { writer.bases.area(Area::Own) } else { writer.bases.of(view.base) }
    }

    /// Address of a view's first row in this tile.
    pub(super) fn argument(&self, writer: &Writer<'_>, view: View) -> Argument {
        let offset = match view.base {
            Base::Tile(i) => self.offsets[i] * self.tile_rows + view.offset,
            _ => fixed_offset(writer.plan, view),
        };
        Argument::Address { base: self.base(writer, view), offset }
    }

    /// What a step with such a view does to the tile.
    pub(super) fn access(&self, view: View, cols: usize, share: Share, writes: bool) -> Option<Access> {
        let Base::Tile(i) = view.base else { return None };
        let start = self.offsets[i] + view.offset;
        let columns = start..start + cols;
        let place = if self.schedule.own[i] { Place::Own(columns) } else { Place::Tile(columns) };
        Some(Access { place, share, writes })
    }

    /// Where a tile's share of a sum goes among the tile's sums, and whether it is the first one there.
    pub(super) fn sum(&mut self, into: Block, cols: usize) -> (usize, bool) {
        let at = self.sums_len;
        let place = *self.sums.entry((into.target, into.row)).or_insert(at);
        let first = place == at;
        self.sums_len += if first { cols } else { 0 };
        (place, first)
    }

    /// Offset of a view behind its base for all tiles, and values from tile to tile. Of what every block has for itself it
    /// is that of the first one.
    pub(super) fn whole(&self, view: View) -> (usize, usize) {
        let values = self.tile_rows
            * if self.schedule.is_own(view) { self.own_width * self.cluster } else { self.width };
        match view.base {
            Base::Tile(i) => (self.offsets[i] * self.tile_rows + view.offset, values),
            _ => (view.offset, view.stride * self.tile_rows),
        }
    }

    /// Where a slot begins in shared memory.
    pub(super) fn slot_offset(&self, slot: usize) -> usize {
        self.schedule.slots[..slot].iter().sum()
    }
}

/// Blocks of 16 that a right operand is deep.
fn blocks(depth: usize) -> usize {
    depth.div_ceil(16)
}

impl Writer<'_> {
    pub(super) fn row_stage(&mut self, number: usize, stage: &RowStage) {
        let Tiling { cluster, .. } = self.tiling;
        let tile_rows = self.tiling.tile_rows();
        let deepest = self.deepest();
        // Shared memory beside the lists and the first-level cache.
        let values = (self.shared.min(192 << 10) / size_of::<f32>())
            .saturating_sub(self.scratch_of_products() + LISTS);
        let schedule = Schedule::new(stage, Room { tile_rows, cluster, deepest, values });
        let mut places = RowPlaces::new(stage, schedule, tile_rows, cluster);
        let tiles = self.tiling.tiles();
        self.tiles = self.tiles.max(places.width * tile_rows * tiles);
        self.own = self.own.max(places.own_width * tile_rows * tiles * cluster);
        let packs = self.pack(number, &stage.packs, deepest);
        let mut calls = Vec::new();
        for (i, step) in stage.steps.iter().enumerate() {
            match step {
                Step::Group(group) => calls.extend(self.row_group(i, group, &mut places)),
                Step::Product { a, pack, out } => {
                    for (at, &packed) in packs[*pack].iter().enumerate() {
                        let part = Part { depth: deepest, number: at, packed };
                        let how = places.schedule.products[&i];
                        calls.push(self.product(*a, &stage.packs[*pack], *out, part, how, &places));
                    }
                }
                Step::Rowwise(step) => calls.push(self.rowwise(step, &places)),
                Step::Accumulate { .. } => {}
                Step::FixedProduct { .. } => unreachable!("products of fixed matrices are in fixed stages"),
                Step::Wide(_) => unreachable!("plans for GPUs keep wide values"),
            }
        }
        let memory = SharedMemory {
            operands: places.schedule.slots.iter().sum(),
            result: places.schedule.result,
            scratch: calls.iter().map(|call| call.scratch.next_multiple_of(4)).max().unwrap_or(0),
        };
        // Products of inputs that are summed over rows need no steps of their own.
        if !calls.is_empty() {
            self.rows_kernel(number, &calls, memory, &places);
        }
        self.sums(number, stage, &places);
    }

    /// Most columns of a left operand that shared memory has room for, beside the scratch memory.
    fn deepest(&self) -> usize {
        let values = (self.shared.min(192 << 10) / size_of::<f32>())
            .saturating_sub(self.scratch_of_products() + LISTS);
        (values / self.tiling.tile_rows()).saturating_sub(16).max(16) / 16 * 16
    }

    fn scratch_of_products(&self) -> usize {
        self.tiling.threads / 32 * self.tiling.row_tiles * 128
    }

    /// Writes the kernel that packs operands, cut to a depth that can be staged; returns their places.
    fn pack(&mut self, number: usize, packs: &[Pack], deepest: usize) -> Vec<Vec<usize>> {
        if packs.is_empty() {
            return Vec::new();
        }
        let (mut table, mut places, mut first, mut at, mut count) = (String::new(), Vec::new(), 0, 0, 0);
        for pack in packs {
            let (row, col) = if pack.transposed { (1, pack.view.stride) } else { (pack.view.stride, 1) };
            let mut parts = Vec::new();
            for from in (0..pack.depth).step_by(deepest) {
                let depth = deepest.min(pack.depth - from);
                let offset = fixed_offset(self.plan, pack.view) + from * row;
                let size = blocks(depth) * pack.cols.div_ceil(8) * 32;
                let (base, cols, blocks) = (self.bases.of(pack.view.base), pack.cols, blocks(depth));
                let _ = writeln!(
                    table,
                    "{{{first}, {base}, {offset}, {row}, {col}, {depth}, {cols}, {blocks}, {at}, {size}}},"
                );
                parts.push(at);
                at += size;
                first += size.div_ceil(256);
                count += 1;
            }
            places.push(parts);
        }
        self.packed = self.packed.max(4 * at);
        let packed = self.bases.area(Area::Packed);
        let _ = write!(self.kernels, "__constant__ Packing packings_{number}[] = {{\n{table}}};\n");
        self.kernels.push_str(&head(&format!("pack_{number}"), "__launch_bounds__(256)"));
        self.kernels.push_str(&find_entry(&format!("packings_{number}"), count));
        let _ = write!(
            self.kernels,
            "pack(packings_{number}[i], table, reinterpret_cast<float4*>(table[{packed}]));\n}}\n"
        );
        let kernel = format!("pack_{number}");
        self.launches.push(Launch { kernel, grid: Grid::Blocks(first), threads: 256, shared: 0 });
        places
    }

    /// A call that multiplies by one part of a right operand.
    fn product(
        &mut self,
        a: View,
        pack: &Pack,
        out: View,
        part: Part,
        how: Product,
        places: &RowPlaces,
    ) -> Call {
        let from = part.number * part.depth;
        let depth = part.depth.min(pack.depth - from);
        let left = View { offset: a.offset + from, ..a };
        let own = places.schedule.is_own(out);
        let wide = if [left.offset, a.stride, depth].iter().all(|n| n.is_multiple_of(4)) { 4 } else { 1 };
        // Tiles that a warp takes at a time, and blocks whose weights it has on their way.
        let tiles = pack.cols.div_ceil(8);
        let share = if own { tiles } else { tiles.div_ceil(self.tiling.cluster) };
        let (at_once, ahead) = match share.div_ceil(self.tiling.threads / 32) {
            1 => (1, 8),
            2 => (2, 4),
            _ => (4, 2),
        };
        let warps = self.tiling.threads / 32;
        let splits = if share <= warps { (warps / share).min(blocks(depth)).ilog2() as usize } else { 0 };
        let flags =
            [matches!(a.base, Base::Input(_)), part.number > 0, !how.is_there, how.near, how.kept, own];
        let flags = flags.iter().enumerate().map(|(i, on)| usize::from(*on) << i).sum();
        let text = format!(
            "product<{at_once}, {ahead}, {wide}>(x, step.y, ADDRESS(0), FIRST(3), SECOND(3), FIRST(5), \
             reinterpret_cast<const float4*>(ADDRESS(1)), ADDRESS(2), FIRST(4), SECOND(4), SECOND(5), FIRST(6), SECOND(6));\n"
        );
        let packed = Argument::Address { base: self.bases.area(Area::Packed), offset: 4 * part.packed };
        let arguments = vec![
            places.argument(self, left),
            packed,
            places.argument(self, out),
            Argument::Numbers(a.stride, depth),
            Argument::Numbers(out.stride, pack.cols),
            Argument::Numbers(flags, splits),
            Argument::Numbers(places.slot_offset(how.slot), places.schedule.result_stride),
        ];
        let columns = Share::Columns(pack.cols);
        let local = |place, writes| Access { place, share: Share::All, writes };
        let mut accesses = vec![local(Place::Slot(how.slot), !how.is_there), local(Place::Scratch, true)];
        if !how.is_there {
            accesses.extend(places.access(left, depth, Share::All, false));
        }
        if how.near {
            accesses.push(local(Place::Result, true));
        }
        if how.kept {
            accesses.extend(places.access(out, pack.cols, columns, true));
        }
        let label = format!("product [{depth}, {}]{}", pack.cols, if how.is_there { "" } else { " copied" });
        Call { label, text, arguments, accesses, scratch: self.scratch_of_products(), waits: true }
    }
}

/// Values of shared memory that the lists of steps may take.
const LISTS: usize = 9 << 10;

/// One part of a right operand that is too deep to be staged at once.
struct Part {
    depth: usize,
    number: usize,
    packed: usize,
}
