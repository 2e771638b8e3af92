//! Say how much memory a program needs on the CPU.

use super::code::Code;
use super::options::{CpuOptions, shards};
use super::prepare::{Prepared, prepare, sums_scratch};
use super::together::most_pieces;
use crate::plan::{Named, Plan, Program, Stage, Step};
use crate::real::Real;
use crate::shape::Rows;

/// How many values each kind of working memory holds.
pub(super) struct Room {
    /// Of each worker.
    pub(super) tile: usize,
    pub(super) scratch: usize,
    pub(super) sums: usize,
    /// Pointers and terms of each worker.
    pub(super) pointers: usize,
    pub(super) terms: usize,
    /// Of all together.
    pub(super) fixed: usize,
    pub(super) accumulators: usize,
    pub(super) packed: usize,
    pub(super) constants: usize,
    pub(super) outputs: Vec<usize>,
}

impl Room {
    pub(super) fn new(plan: &Plan, options: &CpuOptions, stages: &[Prepared], lanes: usize) -> Self {
        let codes = || stages.iter().flat_map(Prepared::codes);
        let most = |f: &dyn Fn(&Code) -> usize| codes().map(f).max().unwrap_or(0);
        let of_stages = || {
            plan.stages.iter().flat_map(|stage| match stage {
                Stage::Fixed { waves } => waves.iter().flatten().collect::<Vec<_>>(),
                Stage::Rows(rows) => rows.steps.iter().collect(),
            })
        };
        let steps = || of_stages().chain(plan.once.iter().flatten());
        let terms = steps().map(|s| if let Step::Accumulate { terms, .. } = s { terms.len() } else { 1 });
        let width = plan
            .stages
            .iter()
            .zip(&stages[1..])
            .map(|(stage, prepared)| prepared.width(stage))
            .max()
            .unwrap_or(0);
        let packed = stages.iter().map(|s| match s {
            Prepared::Rows { packed_len, .. } => *packed_len,
            Prepared::Fixed(_) => 0,
        });
        let output_len = |o: &Named| match o.shape.rows {
            Rows::Batch => options.rows * o.shape.cols,
            Rows::Fixed(n) => n * o.shape.cols,
        };
        Room {
            tile: width * options.tile_rows.min(options.rows),
            scratch: most(&|code| code.scratch(options.tile_rows.min(options.rows))),
            sums: steps().map(|step| sums_scratch(step, lanes)).max().unwrap_or(0),
            pointers: most(&Code::values),
            terms: terms.max().unwrap_or(1) * most_pieces(options.threads),
            fixed: plan.fixed_len,
            accumulators: plan.accumulator_len * shards(options.rows, options),
            packed: packed.max().unwrap_or(0),
            constants: plan.constants.iter().map(|c| c.len()).sum(),
            outputs: plan.outputs.iter().map(output_len).collect(),
        }
    }

    pub(super) fn values(&self, workers: usize) -> usize {
        let all = self.fixed + self.accumulators + self.packed + self.constants;
        all + self.outputs.iter().sum::<usize>() + workers * (self.tile + self.scratch + self.sums)
    }
}

impl Program {
    /// Bytes of working memory that [`Program::on_cpu`] takes with these settings.
    pub fn cpu_bytes<T: Real>(&self, options: CpuOptions) -> usize {
        let (options, lanes) = (options.settled(), T::lanes(options.instructions.arch()));
        let stages = prepare(&self.plan, &options, lanes);
        let options = options.with_tiles::<T>(&self.plan, &stages);
        Room::new(&self.plan, &options, &stages, lanes).values(options.threads) * size_of::<T>()
    }
}
