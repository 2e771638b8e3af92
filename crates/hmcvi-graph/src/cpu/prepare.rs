//! Prepare the stages of a plan for the CPU: groups as code, parallel work as tasks.

use std::collections::HashMap;
use std::ops::Range;

use super::code::Code;
use super::matmul;
use super::options::{CpuOptions, Split};
use super::together::Together;
use crate::op::Transpose;
use crate::plan::{Base, Pack, Plan, RowStage, Stage, Step, View, WideStep};
use crate::shape::Rows;

/// A stage with its groups prepared and its parallel work cut into tasks.
pub(super) enum Prepared {
    Fixed(Vec<Wave>),
    Rows {
        codes: Vec<Codes>,
        packs: Vec<PackTask>,
        once: Vec<PackTask>,
        packed: Vec<usize>,
        packed_len: usize,
        /// Where there may be more threads than shards.
        together: Option<Box<Together>>,
    },
}

/// Places of packed constants, which all stages share and which are packed once.
#[derive(Default)]
pub(super) struct PackedConstants {
    places: HashMap<(Base, usize, [usize; 2], bool), usize>,
    len: usize,
}

impl PackedConstants {
    pub(super) fn new(plan: &Plan, lanes: usize) -> Self {
        let mut all = PackedConstants::default();
        let packs = plan.stages.iter().flat_map(|stage| match stage {
            Stage::Rows(rows) => &rows.packs[..],
            Stage::Fixed { .. } => &[],
        });
        for pack in packs.filter(|pack| matches!(pack.view.base, Base::Constant(_))) {
            let len = packed_len(pack, lanes);
            let place = all.places.entry(key(pack)).or_insert(all.len);
            all.len += if *place == all.len { len } else { 0 };
        }
        all
    }
}

/// What makes packed operands equal.
fn key(pack: &Pack) -> (Base, usize, [usize; 2], bool) {
    (pack.view.base, pack.view.offset, [pack.depth, pack.cols], pack.transposed)
}

fn packed_len(pack: &Pack, lanes: usize) -> usize {
    matmul::packed_len(lanes, pack.depth, pack.cols).next_multiple_of(16)
}

/// The group of a step, or those for a whole block of columns and for the last one.
pub(super) type Codes = [Option<Code>; 2];

pub(super) struct Wave {
    /// Whether there is enough to do for several threads.
    pub(super) is_parallel: bool,
    pub(super) codes: Vec<Option<Code>>,
    /// A step and rows of it.
    pub(super) tasks: Vec<(usize, Range<usize>)>,
}

/// Some columns of an operand to be packed.
pub(super) struct PackTask {
    pub(super) pack: usize,
    pub(super) cols: Range<usize>,
}

/// Values in a task of element-wise work on fixed matrices: enough to be worth a thread's while.
const TASK: usize = 16_384;

impl Prepared {
    pub(super) fn codes(&self) -> Box<dyn Iterator<Item = &Code> + '_> {
        match self {
            Prepared::Fixed(waves) => Box::new(waves.iter().flat_map(|w| w.codes.iter().flatten())),
            Prepared::Rows { codes, together, .. } => {
                let shared = together.iter().flat_map(|together| &together.codes);
                Box::new(codes.iter().chain(shared).flatten().flatten())
            }
        }
    }
}

impl Prepared {
    /// Columns of a tile.
    pub(super) fn width(&self, stage: &Stage) -> usize {
        let together = match self {
            Prepared::Rows { together: Some(together), .. } => together.stage.width,
            _ => 0,
        };
        match stage {
            Stage::Rows(rows) => rows.width.max(together),
            Stage::Fixed { .. } => 0,
        }
    }
}

/// Prepares what is done once, and then all stages.
pub(super) fn prepare(plan: &Plan, options: &CpuOptions, lanes: usize) -> Vec<Prepared> {
    let constants = PackedConstants::new(plan, lanes);
    let stages = plan.stages.iter().map(|stage| prepare_stage(plan, stage, &constants, options, lanes));
    std::iter::once(prepare_waves(plan, &plan.once)).chain(stages).collect()
}

fn prepare_stage(
    plan: &Plan,
    stage: &Stage,
    constants: &PackedConstants,
    options: &CpuOptions,
    lanes: usize,
) -> Prepared {
    match stage {
        Stage::Fixed { waves } => prepare_waves(plan, waves),
        Stage::Rows(rows) => {
            let (mut packed, mut packed_len) = (Vec::new(), constants.len);
            let (mut packs, mut once) = (Vec::new(), Vec::new());
            for (i, pack) in rows.packs.iter().enumerate() {
                let known = constants.places.get(&key(pack));
                packed.push(*known.unwrap_or(&packed_len));
                let tasks = if known.is_some() { &mut once } else { &mut packs };
                packed_len += if known.is_some() { 0 } else { self::packed_len(pack, lanes) };
                // Whole panels, several of them to a task.
                let cols = (TASK / pack.depth).next_multiple_of(2 * lanes).max(2 * lanes);
                let starts = (0..pack.cols).step_by(cols);
                tasks.extend(starts.map(|c| PackTask { pack: i, cols: c..(c + cols).min(pack.cols) }));
            }
            // Two threads have two shards, unless there are hardly any rows. Sums of loops are added up in every step.
            let is_shared = options.threads > 2 || options.split == Split::Rows;
            let together = (is_shared && rows.loops.is_empty())
                .then(|| Box::new(Together::new(plan, rows, options, codes_of)));
            Prepared::Rows { codes: codes_of(rows), packs, once, packed, packed_len, together }
        }
    }
}

/// The groups of all steps of a row stage as code.
fn codes_of(rows: &RowStage) -> Vec<Codes> {
    let address = |view: View| match view.base {
        Base::Tile(i) => (0, rows.offsets[i]),
        Base::Output(i) => (1 + i, 0),
        _ => (usize::MAX, 0),
    };
    let block = |steps: &[WideStep]| {
        steps.iter().find_map(|step| match step {
            WideStep::Group(group) => Some(Code::new(group, &address)),
            _ => None,
        })
    };
    let codes = rows.steps.iter().map(|step| match step {
        Step::Wide(wide) => wide.parts().map(block),
        step => [code(step, &address), None],
    });
    codes.collect()
}

fn prepare_waves(plan: &Plan, waves: &[Vec<Step>]) -> Prepared {
    Prepared::Fixed(
        waves
            .iter()
            .map(|steps| {
                let address = |view: View| match view.base {
                    Base::Fixed(i) => (0, plan.fixed_offsets[i] + view.offset),
                    Base::Parameter(i) => (1 + i, view.offset),
                    // Inputs and constants are never written, outputs never read.
                    _ => (usize::MAX, 0),
                };
                let codes: Vec<_> = steps.iter().map(|step| code(step, &address)).collect();
                let tasks: Vec<_> =
                    codes.iter().enumerate().flat_map(|(step, code)| tasks(step, code.as_ref())).collect();
                let elements = tasks.iter().map(|(step, rows)| match &codes[*step] {
                    Some(code) => rows.len() * code.cols,
                    // A product is worth a thread.
                    None => TASK,
                });
                Wave { is_parallel: elements.sum::<usize>() > TASK, tasks, codes }
            })
            .collect(),
    )
}

/// The group of a step as code.
fn code(step: &Step, address: &dyn Fn(View) -> (usize, usize)) -> Option<Code> {
    match step {
        Step::Group(group) => Some(Code::new(group, address)),
        _ => None,
    }
}

/// Cuts a step of a fixed stage into tasks.
fn tasks(step: usize, code: Option<&Code>) -> Vec<(usize, Range<usize>)> {
    let rows = match code.map(|c| c.rows) {
        Some(Rows::Fixed(rows)) => rows,
        _ => 1,
    };
    let each = match code {
        Some(code) if code.is_divisible() => (TASK / code.cols).max(1),
        _ => rows,
    };
    (0..rows).step_by(each).map(|start| (step, start..(start + each).min(rows))).collect()
}

/// Values that a step needs for packing operands.
pub(super) fn sums_scratch(step: &Step, lanes: usize) -> usize {
    match step {
        Step::FixedProduct { transpose: Transpose::Left, .. } | Step::Accumulate { .. } => matmul::SCRATCH,
        Step::FixedProduct { b: (_, [rows, cols]), .. } => {
            matmul::packed_len(lanes, *rows, *cols).max(matmul::packed_len(lanes, *cols, *rows))
        }
        _ => 0,
    }
}
