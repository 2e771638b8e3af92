//! Choose how many rows go through a row stage together.
//!
//! Fewer rows keep the values of a tile in the cache. More rows share what a step costs however many there are, and
//! what a tile reads or writes once: packed operands and sums over rows.

use super::options::CpuOptions;
use super::prepare::Prepared;
use crate::plan::{Group, Plan, RowStage, Stage, Step, WideStep};
use crate::real::Real;

/// Bytes of a tile's values that stay in the second-level cache. The same on all machines, so that results are.
const CACHE: usize = 1 << 20;
/// Fewest rows of a tile that is made smaller.
const LEAST: usize = 8;
/// What a step and an instruction take on their own, in element-wise operations on one value.
const STEP: usize = 100;
const INSTRUCTION: usize = 50;
/// Multiplications and additions of a product that take as long as one such operation.
const PRODUCT: usize = 8;
/// Rows do so many times the work that a tile takes on its own.
const WELL: usize = 4;

impl CpuOptions {
    /// The settings with tiles that fit the cache.
    pub(super) fn with_tiles<T: Real>(self, plan: &Plan, stages: &[Prepared]) -> Self {
        // Before the stages are the constants.
        let rows =
            plan.stages.iter().zip(&stages[1..]).filter_map(|(stage, prepared)| match (stage, prepared) {
                (Stage::Rows(stage), Prepared::Rows { packed_len, .. }) => {
                    Some(rows(stage, *packed_len, size_of::<T>()))
                }
                _ => None,
            });
        let most = rows.max().unwrap_or(self.tile_rows);
        CpuOptions { tile_rows: self.tile_rows.min(most), ..self }
    }
}

/// Rows of a tile of a stage.
fn rows(stage: &RowStage, packed: usize, bytes: usize) -> usize {
    let (mut own, mut each, mut shared) = (0, 0, packed);
    let of_group = |group: &Group, cols: usize| {
        let instructions = group.instructions.len();
        (STEP + INSTRUCTION * instructions, cols * (instructions + group.sinks.len()))
    };
    for (place, step) in stage.steps.iter().enumerate() {
        let (on_its_own, for_each) = match step {
            Step::Group(group) => of_group(group, group.shape.cols),
            Step::Rowwise(step) => (STEP, step.op.operations(step.args[0].1)),
            Step::Product { pack, .. } => {
                (STEP, stage.packs[*pack].depth * stage.packs[*pack].cols / PRODUCT)
            }
            Step::Accumulate { into, cols, terms } => {
                shared += into.rows * cols;
                (STEP, into.rows * cols * terms.len() / PRODUCT)
            }
            Step::Wide(wide) => {
                let groups = wide.whole.iter().filter_map(|step| match step {
                    WideStep::Group(group) => Some(of_group(group, wide.cols).1),
                    _ => None,
                });
                (STEP, wide.cols + groups.sum::<usize>())
            }
            Step::FixedProduct { .. } => (0, 0),
        };
        own += on_its_own * stage.times(place);
        each += for_each * stage.times(place);
    }
    let width = stage.width.max(1);
    let cached = CACHE / (width * bytes);
    cached.max(WELL * own / each.max(1)).max(WELL * shared / width).max(LEAST).next_multiple_of(LEAST)
}
