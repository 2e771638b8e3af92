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
mod rows;
mod sums;

use std::fmt::Write;

use self::functions::Functions;
use super::layout::{Bases, RUN_WORDS, Tiling};
use crate::data::DataKind;
use crate::op::Unary;
use crate::plan::{Instruction, Plan, Stage};

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
    pub(super) tiles: usize,
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
    parts: usize,
    packed: usize,
    steps: Vec<String>,
}

/// Whether a plan needs log Γ or one of its derivatives.
fn uses_gamma(plan: &Plan) -> bool {
    plan.groups()
        .flat_map(|group| &group.instructions)
        .any(|instruction| matches!(instruction, Instruction::Unary(Unary::Lgamma | Unary::Polygamma(_), _)))
}

/// Writes the kernels of a plan.
pub(super) fn write(plan: &Plan, tiling: Tiling, shared: usize, processors: usize) -> Code {
    let mut writer = Writer {
        plan,
        tiling,
        bases: Bases::new(plan),
        shared,
        processors,
        functions: Functions::default(),
        kernels: String::new(),
        launches: Vec::new(),
        tiles: 0,
        parts: 0,
        packed: 0,
        steps: Vec::new(),
    };
    for (number, stage) in plan.stages.iter().enumerate() {
        match stage {
            Stage::Fixed { waves } => {
                for (w, wave) in waves.iter().enumerate() {
                    writer.wave(&format!("fixed_{number}_{w}"), wave);
                }
            }
            Stage::Rows(rows) => writer.row_stage(number, rows),
        }
    }
    let mut source = String::new();
    let Tiling { exact, threads, row_tiles, cluster, trace, .. } = tiling;
    let constants = [
        ("EXACT", usize::from(exact)),
        ("THREADS", threads),
        ("ROW_TILES", row_tiles),
        ("CLUSTER", cluster),
        ("TRACE", usize::from(trace)),
        ("RUN_WORDS", RUN_WORDS),
        ("BASES", writer.bases.len()),
        ("ALL_BASES", writer.bases.with_run()),
    ];
    for (name, value) in constants {
        let _ = writeln!(source, "#define {name} {value}");
    }
    source.push_str(include_str!("../kernels/common.cu"));
    if uses_gamma(plan) {
        source.push_str(include_str!("../kernels/gamma.cu"));
    }
    if plan.data.iter().any(|data| data.kind == DataKind::Values) {
        source.push_str(include_str!("../kernels/table.cu"));
    }
    source.push_str(include_str!("../kernels/rows.cu"));
    source.push_str(include_str!("../kernels/sums.cu"));
    source.push_str(&writer.functions.text);
    source.push_str(&writer.kernels);
    let Writer { launches, tiles, parts, packed, steps, .. } = writer;
    Code { source, launches, tiles, parts, packed, steps }
}

/// The head of a kernel that reads the table of bases and the run's words.
fn head(name: &str, attributes: &str) -> String {
    format!(
        "extern \"C\" __global__ void {attributes} {name}(const u64* __restrict__ table, const u64* __restrict__ words) {{\n"
    )
}
