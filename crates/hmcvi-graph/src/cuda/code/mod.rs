//! Write a program's kernels as CUDA C, and the list of launches that run it.
//!
//! Every wave of a fixed stage is one kernel, and so is a whole row stage: each cluster of blocks takes
//! a tile of rows through all of its steps. Before it right operands are packed; after it the products
//! that sum over rows run, stacked, in one kernel, and their shares are added in another.

mod element;
mod fixed;
mod functions;
mod group;
mod hazards;
mod kernel;
mod rows;
mod rowwise;
mod schedule;
mod sums;
mod tiles;

use std::ops::Range;

use self::functions::Functions;
use super::layout::{Bases, RUN_WORDS, Tiling};
use crate::data::DataKind;
use crate::op::{Binary, Unary};
use crate::plan::{Instruction, Plan, Stage, Step};

/// Blocks of a launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Grid {
    Blocks(usize),
    /// A cluster for every tile of the batch.
    Tiles,
}

/// A kernel with its place in the order of a run.
#[derive(Clone, Debug)]
pub(super) struct Launch {
    pub(super) kernel: String,
    pub(super) grid: Grid,
    pub(super) threads: usize,
    /// Bytes of shared memory.
    pub(super) shared: usize,
}

/// Kernels of a program, and the memory they need, in values.
pub(super) struct Code {
    pub(super) source: String,
    pub(super) launches: Vec<Launch>,
    /// Launches up to the end of each row stage, and the places of the sums that are there then.
    pub(super) ends: Vec<(usize, Vec<Range<usize>>)>,
    pub(super) tiles: usize,
    pub(super) own: usize,
    pub(super) parts: usize,
    pub(super) packed: usize,
    /// What the steps of all row stages do, in order.
    pub(super) steps: Vec<String>,
}

/// Everything a stage's writer needs.
struct Writer<'p> {
    plan: &'p Plan,
    tiling: Tiling,
    bases: Bases,
    /// Bytes of shared memory that a block may take.
    shared: usize,
    /// Processors of the GPU.
    processors: usize,
    functions: Functions,
    kernels: String,
    launches: Vec<Launch>,
    tiles: usize,
    own: usize,
    parts: usize,
    packed: usize,
    steps: Vec<String>,
}

/// Whether a plan has such an instruction.
fn uses(plan: &Plan, is_one: fn(&Instruction) -> bool) -> bool {
    plan.groups().flat_map(|group| &group.instructions).any(is_one)
}

/// Log Γ and its derivatives.
fn is_gamma(instruction: &Instruction) -> bool {
    matches!(instruction, Instruction::Unary(Unary::Lgamma | Unary::Polygamma(_), _))
}

/// Functions of the normal distribution, of angles and of powers.
fn is_other_function(instruction: &Instruction) -> bool {
    use Unary::{Atan, Cos, Erf, Erfc, Expm1, InverseMills, LogNormalCdf, Sin};
    match instruction {
        Instruction::Unary(f, _) => {
            matches!(f, Atan | Cos | Erf | Erfc | Expm1 | InverseMills | LogNormalCdf | Sin)
        }
        Instruction::Binary(f, ..) => *f == Binary::Pow,
        Instruction::Select(..) => false,
    }
}

/// Writes the kernels of a plan.
pub(super) fn write(plan: &Plan, tiling: Tiling, shared: usize, processors: usize) -> Code {
    let mut writer = Writer::new(plan, tiling, shared, processors);
    let mut ends = Vec::new();
    for (number, stage) in plan.stages.iter().enumerate() {
        writer.stage(number, stage);
        if let Stage::Rows(rows) = stage {
            ends.push((writer.launches.len(), rows.sums.clone()));
        }
    }
    let source = writer.source();
    let Writer { launches, tiles, own, parts, packed, steps, .. } = writer;
    Code { source, launches, ends, tiles, own, parts, packed, steps }
}

impl<'p> Writer<'p> {
    fn new(plan: &'p Plan, tiling: Tiling, shared: usize, processors: usize) -> Self {
        Writer {
            plan,
            tiling,
            bases: Bases::new(plan),
            shared,
            processors,
            functions: Functions::default(),
            kernels: String::new(),
            launches: Vec::new(),
            tiles: 0,
            own: 0,
            parts: 0,
            packed: 0,
            steps: Vec::new(),
        }
    }

    fn stage(&mut self, number: usize, stage: &Stage) {
        match stage {
            Stage::Fixed { waves } => {
                for (w, wave) in waves.iter().enumerate() {
                    self.wave(&format!("fixed_{number}_{w}"), wave);
                }
            }
            Stage::Rows(rows) => self.row_stage(number, rows),
        }
    }

    /// All the code: constants, what kernels call, and the kernels.
    fn source(&self) -> String {
        let mut source = self.constants();
        source.push_str(include_str!("../kernels/common.cu"));
        if uses(self.plan, is_gamma) {
            source.push_str(include_str!("../kernels/gamma.cu"));
        }
        if uses(self.plan, is_other_function) {
            source.push_str(include_str!("../kernels/functions.cu"));
        }
        if self.plan.data.iter().any(|data| data.kind == DataKind::Values) {
            source.push_str(include_str!("../kernels/table.cu"));
        }
        if self.plan.steps().any(|step| matches!(step, Step::Rowwise(_))) {
            source.push_str(include_str!("../kernels/rowwise.cu"));
        }
        source.push_str(include_str!("../kernels/rows.cu"));
        source.push_str(include_str!("../kernels/sums.cu"));
        source.push_str(&self.functions.text);
        source.push_str(&self.kernels);
        source
    }

    fn constants(&self) -> String {
        let Tiling { exact, threads, row_tiles, cluster, trace, .. } = self.tiling;
        let constants = [
            ("EXACT", usize::from(exact)),
            ("THREADS", threads),
            ("ROW_TILES", row_tiles),
            ("CLUSTER", cluster),
            ("TRACE", usize::from(trace)),
            ("RUN_WORDS", RUN_WORDS),
            ("BASES", self.bases.len()),
            ("ALL_BASES", self.bases.with_run()),
        ];
        constants.map(|(name, value)| format!("#define {name} {value}\n")).concat()
    }
}

/// The head of a kernel that reads the table of bases and the run's words.
fn head(name: &str, attributes: &str) -> String {
    format!(
        "extern \"C\" __global__ void {attributes} {name}(const u64* __restrict__ table, const u64* __restrict__ words) {{\n"
    )
}

/// Finds `i`, the entry of a table whose blocks of threads this one belongs to.
fn find_entry(table: &str, entries: usize) -> String {
    format!("int i = 0;\nwhile (i + 1 < {entries} && blockIdx.x >= {table}[i + 1].first_block) ++i;\n")
}
