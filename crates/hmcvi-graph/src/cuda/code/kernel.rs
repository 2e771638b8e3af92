//! Write the kernel that takes tiles of rows through all steps of a row stage.
//!
//! It is a loop over the steps, whose texts are cases of one switch. Steps with the same text differ in
//! their addresses only, which come from a list.

use std::collections::HashMap;
use std::fmt::Write;

use super::group::{Argument, Call};
use super::hazards::{Hazards, Wait};
use super::rows::RowPlaces;
use super::{Grid, Launch, Writer, head};
use crate::cuda::layout::{Area, FIRST_POINTER};
use crate::plan::Named;

/// Values of shared memory that the steps of a stage need: left operands, results of products, and scratch memory
/// behind them.
#[derive(Clone, Copy, Default)]
pub(super) struct SharedMemory {
    pub(super) operands: usize,
    pub(super) result: usize,
    pub(super) scratch: usize,
}

impl SharedMemory {
    fn used(self) -> usize {
        self.operands + self.result + self.scratch
    }
}

impl Writer<'_> {
    pub(super) fn rows_kernel(
        &mut self,
        number: usize,
        calls: &[Call],
        memory: SharedMemory,
        places: &RowPlaces,
    ) {
        let mut lists = Lists::new(number, calls, self.tiling.cluster);
        // Lists are read from shared memory where there is room beside the operands and the first-level cache.
        let with_lists = (memory.used() + lists.words()) * size_of::<f32>();
        lists.near = (with_lists <= self.shared.min(200 << 10)).then_some(memory.used());
        let text = [
            lists.declarations(),
            self.rows_head(number),
            self.tile(memory),
            lists.find(),
            self.advance(places),
            lists.resolve(),
            self.loop_over(&lists),
        ];
        self.kernels.push_str(&text.concat());
        self.steps.extend(calls.iter().map(|call| call.label.clone()));
        self.steps.push("end".into());
        let shared = if lists.near.is_some() { with_lists } else { memory.used() * size_of::<f32>() };
        let kernel = format!("rows_{number}");
        self.launches.push(Launch { kernel, grid: Grid::Tiles, threads: self.tiling.threads, shared });
    }

    fn rows_head(&self, number: usize) -> String {
        let cluster = self.tiling.cluster;
        let cluster = if cluster > 1 { format!("__cluster_dims__({cluster}, 1, 1)") } else { String::new() };
        head(&format!("rows_{number}"), &format!("__launch_bounds__(THREADS, 1) {cluster}"))
    }

    /// Describes the tile, and copies the bases to shared memory.
    fn tile(&self, memory: SharedMemory) -> String {
        let SharedMemory { operands, result, .. } = memory;
        let runs = self.bases.with_run() - self.bases.len();
        format!(
            "extern __shared__ float4 memory[];\n__shared__ float* base[ALL_BASES];\nTile x;\n\
             x.run = reinterpret_cast<const Run*>(words);\nx.stage = reinterpret_cast<float*>(memory);\n\
             x.result = x.stage + {operands};\nx.scratch = x.result + {result};\nx.rows = x.run->rows;\nx.all = x.run->all;\nx.index = blockIdx.x / CLUSTER;\n\
             x.rank = blockIdx.x % CLUSTER;\nx.first = x.index * ROWS;\n\
             for (int i = threadIdx.x; i < BASES; i += THREADS) base[i] = reinterpret_cast<float*>(table[i]);\n\
             if (threadIdx.x < {runs}) base[BASES + threadIdx.x] = reinterpret_cast<float*>(words[{FIRST_POINTER} + threadIdx.x]);\n"
        )
    }

    /// Lets what belongs to rows begin with those of the tile.
    fn advance(&self, places: &RowPlaces) -> String {
        let (plan, bases) = (self.plan, self.bases);
        let mut text = "__syncthreads();\nif (threadIdx.x == 0) {\n".to_string();
        let mut advance = |base: usize, by: String| {
            let _ = writeln!(text, "base[{base}] += {by};");
        };
        let tile = places.width * places.tile_rows;
        advance(bases.area(Area::Tiles), format!("(size_t)x.index * {tile}"));
        let own = places.own_width * places.tile_rows;
        advance(bases.area(Area::Own), format!("((size_t)x.index * CLUSTER + x.rank) * {own}"));
        let sums = format!("{} + (size_t)x.index * {}", self.parts, places.sums_len);
        advance(bases.area(Area::Parts), sums);
        let rows = |named: &Named| format!("(size_t)x.first * {}", named.shape.cols);
        for (i, input) in plan.inputs.iter().enumerate().filter(|(_, n)| n.shape.is_batch()) {
            advance(bases.input(i), rows(input));
        }
        for (i, output) in plan.outputs.iter().enumerate().filter(|(_, n)| n.shape.is_batch()) {
            advance(bases.output(i), rows(output));
        }
        for i in 0..plan.indices.len() {
            advance(bases.index(i), "x.first".into());
        }
        // Others may hand on values from here on.
        text + "}\ncluster_sync();\n"
    }

    fn loop_over(&self, lists: &Lists) -> String {
        let Lists { cases, steps_len: count, .. } = lists;
        let (trace, first) = (self.bases.area(Area::Trace), self.steps.len());
        format!(
            "const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, g = lane / 4, t = lane % 4;\n\
             for (int s = 0; s < {count}; ++s) {{\nint4 step = steps[s];\nconst uint2* arguments = list + step.z;\n\
             TIME({trace}, 2 * (s + {first}));\nif (!(step.y & 4)) wait_for(step.y);\n\
             TIME({trace}, 2 * (s + {first}) + 1);\nswitch (step.x) {{\n{cases}}}\n}}\nTIME({trace}, 2 * ({count} + {first}));\n\
             // No block ends while others may hand on values to it.\nif (CLUSTER > 1) cluster_sync();\n}}\n"
        )
    }
}

/// The steps of a kernel and the arguments of all of them, as lists in memory.
#[derive(Default)]
struct Lists {
    number: usize,
    /// Cases of the switch: the different texts of steps.
    cases: String,
    /// For each step its case, what it waits for, and where its arguments begin.
    steps: String,
    steps_len: usize,
    arguments: String,
    arguments_len: usize,
    /// Where the lists are in shared memory, if they are there.
    near: Option<usize>,
}

impl Lists {
    fn new(number: usize, calls: &[Call], cluster: usize) -> Self {
        let mut lists = Lists { number, ..Lists::default() };
        let (mut known, mut hazards) = (HashMap::new(), Hazards::default());
        for call in calls {
            let next = known.len();
            let case = *known.entry(call.text.as_str()).or_insert(next);
            if case == next {
                let _ = writeln!(lists.cases, "case {case}: {{\n{}}} break;", call.text);
            }
            let wait = match hazards.step(call.accesses.clone()) {
                wait if cluster > 1 => wait as u32,
                wait => u32::from(wait != Wait::None),
            };
            lists.add(case, wait + 4 * u32::from(call.waits), &call.arguments);
        }
        lists
    }

    fn add(&mut self, case: usize, wait: u32, arguments: &[Argument]) {
        let _ = write!(self.steps, "{{{case}, {wait}, {}, 0}}, ", self.arguments_len);
        for argument in arguments {
            let _ = match argument {
                Argument::Address { base, offset } => write!(self.arguments, "{{{offset}u, {base}u}}, "),
                Argument::Numbers(x, y) => write!(self.arguments, "{{{x}u, {y}u | NUMBERS}}, "),
            };
        }
        self.steps_len += 1;
        self.arguments_len += arguments.len();
    }

    /// Values of shared memory that they take.
    fn words(&self) -> usize {
        4 * self.steps_len + 2 * self.arguments_len
    }

    /// The lists as they come with the code, and how steps find an address.
    fn declarations(&self) -> String {
        let Lists { number, steps, arguments, .. } = self;
        let address = if self.near.is_some() { "NEAR" } else { "FAR" };
        format!(
            "static __device__ const int4 steps_{number}[] = {{{steps}}};\n\
             static __device__ const uint2 arguments_{number}[] = {{{arguments}{{0u, 0u}}}};\n\
             #undef ADDRESS\n#define ADDRESS(i) {address}_ADDRESS(i)\n"
        )
    }

    /// Says where the lists are, and begins to copy them.
    fn find(&self) -> String {
        let Lists { number, steps_len, .. } = self;
        match self.near {
            Some(place) => format!(
                "int4* steps = reinterpret_cast<int4*>(x.stage + {place});\nuint2* list = reinterpret_cast<uint2*>(steps + {steps_len});\n\
                 for (int i = threadIdx.x; i < {steps_len}; i += THREADS) steps[i] = steps_{number}[i];\n"
            ),
            None => format!("const int4* steps = steps_{number};\nconst uint2* list = arguments_{number};\n"),
        }
    }

    /// Turns bases and offsets into addresses, where the lists are copied.
    fn resolve(&self) -> String {
        let Lists { number, arguments_len, .. } = self;
        match self.near {
            Some(_) => format!(
                "for (int i = threadIdx.x; i < {arguments_len}; i += THREADS) {{\nuint2 entry = arguments_{number}[i];\nlist[i] = entry;\n\
                 if (!(entry.y & NUMBERS)) *reinterpret_cast<float**>(list + i) = base[entry.y] + entry.x;\n}}\n__syncthreads();\n"
            ),
            None => String::new(),
        }
    }
}
