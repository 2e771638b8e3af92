//! Write a row stage: the kernel that packs right operands, and the one that takes tiles through all steps.

use std::collections::HashMap;
use std::fmt::Write;

use super::group::{Argument, Call};
use super::hazards::{Access, Hazards, Place, Share, Wait};
use super::{Grid, Launch, Writer, head};
use crate::cuda::layout::{Area, FIRST_POINTER, fixed_offset};
use crate::plan::{Base, Block, Named, Pack, RowStage, Step, View};

/// Places of a row stage's values.
pub(super) struct RowPlaces {
    offsets: Vec<usize>,
    /// Columns of a tile's memory.
    pub(super) width: usize,
    tile_rows: usize,
    /// Places of sums over rows among those of a tile, by target and row, and their length.
    pub(super) sums: HashMap<(usize, usize), usize>,
    pub(super) sums_len: usize,
}

impl RowPlaces {
    /// Address of a view's first row in this tile.
    pub(super) fn argument(&self, writer: &Writer<'_>, view: View) -> Argument {
        let offset = match view.base {
            Base::Tile(i) => self.offsets[i] * self.tile_rows + view.offset,
            _ => fixed_offset(writer.plan, view),
        };
        Argument::Address { base: writer.bases.of(view.base), offset }
    }

    /// What a step with such a view does to the tile.
    pub(super) fn access(&self, view: View, cols: usize, share: Share, writes: bool) -> Option<Access> {
        let Base::Tile(i) = view.base else { return None };
        let start = self.offsets[i] + view.offset;
        Some(Access { place: Place::Tile(start..start + cols), share, writes })
    }

    /// Where a tile's share of a sum goes among the tile's sums, and whether it is the first one there.
    pub(super) fn sum(&mut self, into: Block, cols: usize) -> (usize, bool) {
        let at = self.sums_len;
        let place = *self.sums.entry((into.target, into.row)).or_insert(at);
        let first = place == at;
        self.sums_len += if first { cols } else { 0 };
        (place, first)
    }

    /// Offset of a view behind its base for all tiles, and values from tile to tile.
    pub(super) fn whole(&self, view: View) -> (usize, usize) {
        match view.base {
            Base::Tile(i) => (self.offsets[i] * self.tile_rows + view.offset, self.width * self.tile_rows),
            _ => (view.offset, view.stride * self.tile_rows),
        }
    }
}

/// Blocks of 16 that a right operand is deep.
fn blocks(depth: usize) -> usize {
    depth.div_ceil(16)
}

impl Writer<'_> {
    pub(super) fn row_stage(&mut self, number: usize, stage: &RowStage) {
        let (offsets, width) = stage.places_with_products_last();
        let tile_rows = self.tiling.tile_rows();
        let mut places = RowPlaces { offsets, width, tile_rows, sums: HashMap::new(), sums_len: 0 };
        self.tiles = self.tiles.max(width * tile_rows * self.tiling.tiles());
        let deepest = self.deepest();
        let packs = self.pack(number, &stage.packs, deepest);
        let mut calls = Vec::new();
        let (mut staged, mut scratch) = (0, 0);
        for step in &stage.steps {
            match step {
                Step::Group(group) => calls.extend(self.row_group(group, &mut places)),
                Step::Product { a, pack, out } => {
                    for (at, &packed) in packs[*pack].iter().enumerate() {
                        let part = Part { depth: deepest, number: at, packed };
                        let (call, stride) = self.product(*a, &stage.packs[*pack], *out, part, &places);
                        staged = staged.max(stride * tile_rows);
                        calls.push(call);
                    }
                }
                Step::Accumulate { .. } => {}
                Step::FixedProduct { .. } => unreachable!("products of fixed matrices are in fixed stages"),
            }
        }
        calls.iter().for_each(|call| scratch = scratch.max(call.scratch.next_multiple_of(4)));
        // Products of inputs that are summed over rows need no steps of their own.
        if !calls.is_empty() {
            let words = self.rows_kernel(number, &calls, staged + scratch, scratch, &places);
            let shared = (staged + scratch + words) * size_of::<f32>();
            let kernel = format!("rows_{number}");
            self.launches.push(Launch { kernel, grid: Grid::Tiles, threads: self.tiling.threads, shared });
        }
        self.sums(number, stage, &places);
    }

    /// Most columns of a left operand that shared memory has room for, beside the scratch memory.
    fn deepest(&self) -> usize {
        let scratch = self.scratch_of_products() + 4 * self.tiling.threads;
        let values = (self.shared.min(200 << 10) / size_of::<f32>()).saturating_sub(scratch);
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
        let _ = write!(
            self.kernels,
            "int i = 0;\nwhile (i + 1 < {count} && blockIdx.x >= packings_{number}[i + 1].first_block) ++i;\n\
             pack(packings_{number}[i], table, reinterpret_cast<float4*>(table[{packed}]));\n}}\n"
        );
        let kernel = format!("pack_{number}");
        self.launches.push(Launch { kernel, grid: Grid::Blocks(first), threads: 256, shared: 0 });
        places
    }

    /// A call that multiplies by one part of a right operand, and the staged row's length.
    fn product(&mut self, a: View, pack: &Pack, out: View, part: Part, places: &RowPlaces) -> (Call, usize) {
        let from = part.number * part.depth;
        let depth = part.depth.min(pack.depth - from);
        let left = View { offset: a.offset + from, ..a };
        let wide = if [left.offset, a.stride, depth].iter().all(|n| n.is_multiple_of(4)) { 4 } else { 1 };
        let given = matches!(a.base, Base::Input(_));
        // Tiles that a warp takes at a time, and blocks whose weights it has on their way.
        let share = pack.cols.div_ceil(8).div_ceil(self.tiling.cluster);
        let (at_once, ahead) = match share.div_ceil(self.tiling.threads / 32) {
            1 => (1, 8),
            2 => (2, 4),
            _ => (4, 2),
        };
        let warps = self.tiling.threads / 32;
        let splits = if share <= warps { (warps / share).min(blocks(depth)).ilog2() as usize } else { 0 };
        let text = format!(
            "product<{at_once}, {ahead}, {wide}>(x, ADDRESS(0), FIRST(3), SECOND(3), FIRST(5) & 1, \
             reinterpret_cast<const float4*>(ADDRESS(1)), ADDRESS(2), FIRST(4), SECOND(4), FIRST(5) & 2, SECOND(5));\n"
        );
        let packed = Argument::Address { base: self.bases.area(Area::Packed), offset: 4 * part.packed };
        let arguments = vec![
            places.argument(self, left),
            packed,
            places.argument(self, out),
            Argument::Numbers(a.stride, depth),
            Argument::Numbers(out.stride, pack.cols),
            Argument::Numbers(usize::from(given) + 2 * usize::from(part.number > 0), splits),
        ];
        let columns = Share::Columns(pack.cols);
        let own = |place| Access { place, share: Share::All, writes: true };
        let mut accesses = vec![own(Place::Stage), own(Place::Scratch)];
        accesses.extend(places.access(left, depth, Share::All, false));
        accesses.extend(places.access(out, pack.cols, columns, true));
        let label = format!("product [{depth}, {}]", pack.cols);
        (Call { label, text, arguments, accesses, scratch: self.scratch_of_products() }, 16 * blocks(depth))
    }

    /// Writes the kernel: a loop over the steps, whose texts are cases of one switch. Steps with the same
    /// text differ in their addresses only, which come from a list. Returns the values of shared memory
    /// that the lists take.
    fn rows_kernel(
        &mut self,
        number: usize,
        calls: &[Call],
        used: usize,
        scratch: usize,
        places: &RowPlaces,
    ) -> usize {
        let (mut cases, mut known) = (String::new(), HashMap::new());
        let (mut steps, mut list, mut count) = (String::new(), String::new(), 0);
        let mut hazards = Hazards::default();
        for call in calls {
            let next = known.len();
            let case = *known.entry(call.text.as_str()).or_insert_with(|| {
                let _ = writeln!(cases, "case {next}: {{\n{}}} break;", call.text);
                next
            });
            let wait = match hazards.step(call.accesses.clone()) {
                wait if self.tiling.cluster > 1 => wait as u32,
                wait => u32::from(wait != Wait::None),
            };
            let _ = write!(steps, "{{{case}, {wait}, {count}, 0}}, ");
            for argument in &call.arguments {
                let _ = match argument {
                    Argument::Address { base, offset } => write!(list, "{{{offset}u, {base}u}}, "),
                    Argument::Numbers(x, y) => write!(list, "{{{x}u, {y}u | NUMBERS}}, "),
                };
            }
            count += call.arguments.len();
        }
        // Lists are read from shared memory where there is room beside the operands and the first-level cache.
        let words = 4 * calls.len() + 2 * count;
        let near = (used + words) * size_of::<f32>() <= self.shared.min(160 << 10);
        let _ = writeln!(self.kernels, "static __device__ const int4 steps_{number}[] = {{{steps}}};");
        let _ = writeln!(
            self.kernels,
            "static __device__ const uint2 arguments_{number}[] = {{{list}{{0u, 0u}}}};"
        );
        let cluster = self.tiling.cluster;
        let cluster = if cluster > 1 { format!("__cluster_dims__({cluster}, 1, 1)") } else { String::new() };
        let text = &mut self.kernels;
        let address = if near { "NEAR" } else { "FAR" };
        let _ = writeln!(text, "#undef ADDRESS\n#define ADDRESS(i) {address}_ADDRESS(i)");
        text.push_str(&head(&format!("rows_{number}"), &format!("__launch_bounds__(THREADS, 1) {cluster}")));
        let _ = write!(
            text,
            "extern __shared__ float4 memory[];\n__shared__ float* base[ALL_BASES];\nTile x;\n\
             x.run = reinterpret_cast<const Run*>(words);\nx.stage = reinterpret_cast<float*>(memory);\n\
             x.scratch = x.stage + {};\nx.rows = x.run->rows;\nx.index = blockIdx.x / CLUSTER;\n\
             x.rank = blockIdx.x % CLUSTER;\nx.first = x.index * ROWS;\n\
             for (int i = threadIdx.x; i < BASES; i += THREADS) base[i] = reinterpret_cast<float*>(table[i]);\n",
            used - scratch
        );
        let runs = self.bases.with_run() - self.bases.len();
        let _ = writeln!(
            text,
            "if (threadIdx.x < {runs}) base[BASES + threadIdx.x] = reinterpret_cast<float*>(words[{FIRST_POINTER} + threadIdx.x]);"
        );
        if near {
            let _ = write!(
                text,
                "int4* steps = reinterpret_cast<int4*>(x.stage + {used});\nuint2* list = reinterpret_cast<uint2*>(steps + {0});\n\
                 for (int i = threadIdx.x; i < {0}; i += THREADS) steps[i] = steps_{number}[i];\n",
                calls.len()
            );
        } else {
            let _ = writeln!(
                text,
                "const int4* steps = steps_{number};\nconst uint2* list = arguments_{number};"
            );
        }
        text.push_str("__syncthreads();\nif (threadIdx.x == 0) {\n");
        // What belongs to rows begins with those of the tile.
        let mut advance = |base: usize, by: String| {
            let _ = writeln!(text, "base[{base}] += {by};");
        };
        let tile = places.width * places.tile_rows;
        advance(self.bases.area(Area::Tiles), format!("(size_t)x.index * {tile}"));
        advance(
            self.bases.area(Area::Parts),
            format!("{} + (size_t)x.index * {}", self.parts, places.sums_len),
        );
        let rows = |named: &Named| format!("(size_t)x.first * {}", named.shape.cols);
        for (i, input) in self.plan.inputs.iter().enumerate().filter(|(_, n)| n.shape.is_batch()) {
            advance(self.bases.input(i), rows(input));
        }
        for (i, output) in self.plan.outputs.iter().enumerate().filter(|(_, n)| n.shape.is_batch()) {
            advance(self.bases.output(i), rows(output));
        }
        for i in 0..self.plan.indices.len() {
            advance(self.bases.index(i), "x.first".into());
        }
        text.push_str("}\n__syncthreads();\n");
        if near {
            let _ = write!(
                text,
                "for (int i = threadIdx.x; i < {count}; i += THREADS) {{\nuint2 entry = arguments_{number}[i];\nlist[i] = entry;\n\
                 if (!(entry.y & NUMBERS)) *reinterpret_cast<float**>(list + i) = base[entry.y] + entry.x;\n}}\n__syncthreads();\n"
            );
        }
        let _ = write!(
            text,
            "for (int s = 0; s < {}; ++s) {{\nint4 step = steps[s];\nconst uint2* arguments = list + step.z;\n\
             TIME({trace}, 2 * (s + {first}));\nif (step.y & 1) __syncthreads();\nif (step.y & 2) cluster_sync();\n\
             TIME({trace}, 2 * (s + {first}) + 1);\nswitch (step.x) {{\n{cases}}}\n}}\nTIME({trace}, 2 * ({0} + {first}));\n}}\n",
            calls.len(),
            trace = self.bases.area(Area::Trace),
            first = self.steps.len(),
        );
        self.steps.extend(calls.iter().map(|call| call.label.clone()));
        self.steps.push("end".into());
        if near { words } else { 0 }
    }
}

/// One part of a right operand that is too deep to be staged at once.
struct Part {
    depth: usize,
    number: usize,
    packed: usize,
}
