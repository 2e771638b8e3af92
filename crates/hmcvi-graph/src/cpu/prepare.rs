//! Prepare the stages of a plan for the CPU: groups as code, parallel work as tasks.

use std::ops::Range;

use super::code::Code;
use super::matmul;
use crate::op::Transpose;
use crate::plan::{Base, Plan, Stage, Step, View, WideStep};
use crate::shape::Rows;

/// A stage with its groups prepared and its parallel work cut into tasks.
pub(super) enum Prepared {
    Fixed(Vec<Wave>),
    Rows { codes: Vec<Codes>, packs: Vec<PackTask>, packed: Vec<usize> },
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
            Prepared::Rows { codes, .. } => Box::new(codes.iter().flatten().flatten()),
        }
    }
}

impl Stage {
    pub(super) fn width(&self) -> usize {
        match self {
            Stage::Rows(rows) => rows.width,
            Stage::Fixed { .. } => 0,
        }
    }
}

pub(super) fn prepare(plan: &Plan, stage: &Stage, lanes: usize) -> Prepared {
    let code = |step: &Step, address: &dyn Fn(View) -> (usize, usize)| match step {
        Step::Group(group) => Some(Code::new(group, address)),
        _ => None,
    };
    match stage {
        Stage::Fixed { waves } => Prepared::Fixed(
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
                    let tasks: Vec<_> = codes
                        .iter()
                        .enumerate()
                        .flat_map(|(step, code)| tasks(step, code.as_ref()))
                        .collect();
                    let elements = tasks.iter().map(|(step, rows)| match &codes[*step] {
                        Some(code) => rows.len() * code.cols,
                        // A product is worth a thread.
                        None => TASK,
                    });
                    Wave { is_parallel: elements.sum::<usize>() > TASK, tasks, codes }
                })
                .collect(),
        ),
        Stage::Rows(rows) => {
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
            let codes = codes.collect();
            let mut packed = vec![0];
            let mut packs = Vec::new();
            for (i, pack) in rows.packs.iter().enumerate() {
                packed
                    .push(packed[i] + matmul::packed_len(lanes, pack.depth, pack.cols).next_multiple_of(16));
                // Whole panels, several of them to a task.
                let cols = (TASK / pack.depth).next_multiple_of(2 * lanes).max(2 * lanes);
                let starts = (0..pack.cols).step_by(cols);
                packs.extend(starts.map(|c| PackTask { pack: i, cols: c..(c + cols).min(pack.cols) }));
            }
            Prepared::Rows { codes, packs, packed }
        }
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
