//! Compile expressions into stages of steps that any device can run.
//!
//! The passes, in order: [`stages`] finds what is needed, [`wide`] takes values of many columns out of memory (for GPUs
//! `rows_first` saves steps instead), [`stages`]
//! cuts what is left into stages, [`fuse`] decides which values are kept in memory and which element-wise operations
//! run together, [`emit`] (and [`blocks`], for blocks of columns) writes the steps of a stage, and [`buffers`] gives
//! every kept value its place.

mod again;
mod blocks;
mod buffers;
mod constants;
mod dot;
mod emit;
mod fuse;
mod group;
mod listing;
mod loops;
mod order;
mod parts;
mod program;
#[cfg(any(test, feature = "cuda"))]
mod rows_first;
mod stages;
mod sums_last;
mod unroll;
mod wide;

pub use listing::{BatchProduct, Cost};
pub use program::{Program, ProgramBuilder};

pub(crate) use blocks::{Wide, WideStep};
pub(crate) use sums_last::SumsLast;

use std::ops::Range;
use std::sync::Arc;

use crate::data::Gathered;
use crate::graph::{Node, NodeId};
use crate::op::{Binary, Draw, Transpose, Unary};
use crate::rowwise::RowOp;
use crate::shape::{Rows, Shape};

/// What a plan is for.
#[derive(Clone, Copy, PartialEq)]
enum For {
    /// Few threads with caches: wide values are not kept, cheap ones not for long, and what depends on constants alone is
    /// computed once.
    Processor,
    /// The same with all loops written out.
    ProcessorUnrolled,
    /// Many threads with much memory, and a price for every step: everything is done in every run, and sums over rows and
    /// columns begin with the rows.
    #[cfg(feature = "cuda")]
    Gpu,
}

/// Something wanted from a program.
enum Root {
    Output { name: String, node: NodeId },
    Update { parameter: NodeId, node: NodeId },
}

/// Everything a device needs to know to run a program.
pub(crate) struct Plan {
    /// What is computed, for listings: the needed nodes in order.
    pub(crate) nodes: Vec<Node>,
    pub(crate) constants: Vec<Arc<[f64]>>,
    pub(crate) inputs: Vec<Named>,
    pub(crate) parameters: Vec<Named>,
    pub(crate) data: Vec<Gathered>,
    pub(crate) indices: Vec<Arc<str>>,
    pub(crate) outputs: Vec<Named>,
    /// Whether no value is computed again to save memory, so that the plan suits other devices, too.
    #[cfg_attr(not(feature = "cuda"), expect(dead_code, reason = "there is no other device"))]
    pub(crate) is_for_all: bool,
    /// Whether a run changes parameters.
    pub(crate) updates: bool,
    pub(crate) targets: Vec<Target>,
    /// Values of all sums over rows, for each shard.
    pub(crate) accumulator_len: usize,
    /// Place of every fixed buffer, and their length in all.
    pub(crate) fixed_offsets: Vec<usize>,
    pub(crate) fixed_len: usize,
    /// Waves of steps on constants alone, which are made once, before the first run.
    pub(crate) once: Vec<Vec<Step>>,
    /// Fixed and row stages in turn, beginning and ending with a fixed one (which may be empty).
    pub(crate) stages: Vec<Stage>,
}

#[cfg(feature = "cuda")]
impl Plan {
    /// All groups of element-wise instructions.
    pub(crate) fn groups(&self) -> impl Iterator<Item = &Group> {
        self.steps().filter_map(|step| if let Step::Group(group) = step { Some(group) } else { None })
    }

    pub(crate) fn has_loops(&self) -> bool {
        self.stages.iter().any(|stage| matches!(stage, Stage::Rows(rows) if !rows.loops.is_empty()))
    }

    pub(crate) fn steps(&self) -> impl Iterator<Item = &Step> {
        self.stages.iter().flat_map(|stage| match stage {
            Stage::Fixed { waves } => waves.iter().flatten().collect::<Vec<_>>(),
            Stage::Rows(rows) => rows.steps.iter().collect(),
        })
    }
}

/// A name with the shape that belongs to it.
pub(crate) struct Named {
    pub(crate) name: Arc<str>,
    pub(crate) shape: Shape,
}

/// A sum over rows that row stages add to and fixed stages read.
pub(crate) struct Target {
    pub(crate) rows: usize,
    pub(crate) cols: usize,
    pub(crate) offset: usize,
}

impl Target {
    /// Where its sums are: whole cache lines, so that shards never share one.
    pub(crate) fn place(&self) -> Range<usize> {
        self.offset..self.offset + (self.rows * self.cols).next_multiple_of(16)
    }
}

pub(crate) enum Stage {
    /// Steps on parameters and sums; steps of one wave do not depend on each other.
    Fixed {
        waves: Vec<Vec<Step>>,
    },
    Rows(RowStage),
}

/// Steps that every tile of rows goes through.
pub(crate) struct RowStage {
    /// Targets to be set to zero first, because the stage's sums do not overwrite every value.
    pub(crate) clears: Vec<usize>,
    /// Places of all sums that the stage adds up.
    pub(crate) sums: Vec<Range<usize>>,
    pub(crate) packs: Vec<Pack>,
    pub(crate) steps: Vec<Step>,
    /// Parts of the steps that are repeated, in order.
    pub(crate) loops: Vec<Repeated>,
    /// Place of every tile buffer in columns, and columns in all.
    pub(crate) offsets: Vec<usize>,
    pub(crate) width: usize,
    /// Columns of every tile buffer, for those who place them otherwise.
    pub(crate) buffers: Vec<usize>,
}

impl RowStage {
    /// How often a step is done.
    pub(crate) fn times(&self, step: usize) -> usize {
        self.loops.iter().find(|of| of.range.contains(&step)).map_or(1, |of| of.steps)
    }
}

/// Steps that are repeated.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Repeated {
    pub(crate) range: Range<usize>,
    pub(crate) steps: usize,
    /// Whether the last one comes first.
    pub(crate) backward: bool,
}

/// A right operand of row-stage products, laid out once for all tiles.
#[derive(Clone)]
pub(crate) struct Pack {
    pub(crate) view: View,
    /// Read as its transpose.
    pub(crate) transposed: bool,
    /// Depth and columns of the operand as it is multiplied.
    pub(crate) depth: usize,
    pub(crate) cols: usize,
}

/// Memory that views point into.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Base {
    Input(usize),
    Parameter(usize),
    Constant(usize),
    Output(usize),
    /// A buffer of a row stage, one for each worker.
    Tile(usize),
    /// A buffer of the fixed stages.
    Fixed(usize),
}

/// A matrix in memory: `offset` values after the base, `stride` values from row to row.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct View {
    pub(crate) base: Base,
    pub(crate) offset: usize,
    pub(crate) stride: usize,
    /// Values by which it moves on with every step of the loop that it is used in.
    pub(crate) step: usize,
}

#[derive(Clone)]
pub(crate) enum Step {
    Group(Group),
    /// `out = a · pack`, rows of a tile.
    Product {
        a: View,
        pack: usize,
        out: View,
    },
    /// A product of two fixed matrices, given with their shapes `[rows, cols]`.
    FixedProduct {
        transpose: Transpose,
        a: (View, [usize; 2]),
        b: (View, [usize; 2]),
        out: View,
    },
    Rowwise(Rowwise),
    Wide(Wide),
    /// Adds `Σ ± aᵀb` to rows of a target.
    Accumulate {
        into: Block,
        cols: usize,
        terms: Vec<Term>,
    },
}

/// A function of whole rows: its arguments and its result, each with its columns. Rows of an argument with stride 0 are
/// all the same.
#[derive(Clone)]
pub(crate) struct Rowwise {
    pub(crate) op: RowOp,
    pub(crate) rows: Rows,
    pub(crate) args: Vec<(View, usize)>,
    pub(crate) out: (View, usize),
}

/// Rows of a target that a sum goes to.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Block {
    pub(crate) target: usize,
    pub(crate) row: usize,
    pub(crate) rows: usize,
    /// The first sum into these rows overwrites them.
    pub(crate) first: bool,
    /// Rows by which it moves on with every step of a loop.
    pub(crate) step: usize,
}

/// One product `± aᵀb` of an accumulation.
#[derive(Clone, Copy)]
pub(crate) struct Term {
    pub(crate) a: View,
    pub(crate) b: View,
    pub(crate) negative: bool,
}

/// Element-wise instructions over one shape, run together block by block.
#[derive(Clone)]
pub(crate) struct Group {
    pub(crate) shape: Shape,
    /// Values `0..sources.len()`.
    pub(crate) sources: Vec<Source>,
    /// Value `sources.len() + i` is the result of instruction `i`.
    pub(crate) instructions: Vec<Instruction>,
    pub(crate) sinks: Vec<Sink>,
}

/// Where a group's value comes from.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) enum Source {
    /// A matrix of the group's shape.
    Full(View),
    /// `[1, cols]`, repeated over rows.
    Row(View),
    /// `[rows, 1]`, repeated over columns.
    Column(View),
    /// `[1, 1]`
    One(View),
    Literal(f64),
    BatchSize,
    Gather {
        data: usize,
        index: usize,
    },
    Draw(Draw, u16),
    /// A draw of a loop: the first stream, and how much greater it is with every step.
    StepDraw(Draw, u16, u16),
    /// A target, summed over the shards.
    Target(usize),
}

/// A value of a group: a source or the result of an instruction.
pub(crate) type Value = usize;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Instruction {
    Unary(Unary, Value),
    Binary(Binary, Value, Value),
    Select(Value, Value, Value),
}

impl Instruction {
    pub(crate) fn args(self) -> impl Iterator<Item = Value> {
        let args = match self {
            Instruction::Unary(_, a) => [Some(a), None, None],
            Instruction::Binary(_, a, b) => [Some(a), Some(b), None],
            Instruction::Select(a, b, c) => [Some(a), Some(b), Some(c)],
        };
        args.into_iter().flatten()
    }
}

/// What happens to a group's value.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Sink {
    Store(Value, View),
    SumCols(Value, View),
    LogSumExp(Value, View),
    /// Sum over the rows of a fixed shape.
    SumRows(Value, View),
    /// Sum over the rows of the batch, into a target.
    Accumulate {
        value: Value,
        into: Block,
        negative: bool,
    },
}

impl Sink {
    pub(crate) fn value(self) -> Value {
        match self {
            Sink::Store(v, _) | Sink::SumCols(v, _) | Sink::LogSumExp(v, _) | Sink::SumRows(v, _) => v,
            Sink::Accumulate { value, .. } => value,
        }
    }

    pub(crate) fn view(self) -> Option<View> {
        match self {
            Sink::Store(_, v) | Sink::SumCols(_, v) | Sink::LogSumExp(_, v) | Sink::SumRows(_, v) => Some(v),
            Sink::Accumulate { .. } => None,
        }
    }
}

impl Step {
    /// Memory that the step reads.
    pub(crate) fn reads(&self) -> Vec<View> {
        match self {
            Step::Group(g) => g
                .sources
                .iter()
                .filter_map(|s| match s {
                    Source::Full(v) | Source::Row(v) | Source::Column(v) | Source::One(v) => Some(*v),
                    _ => None,
                })
                .collect(),
            Step::Product { a, .. } => vec![*a],
            Step::FixedProduct { a, b, .. } => vec![a.0, b.0],
            Step::Rowwise(step) => step.args.iter().map(|(view, _)| *view).collect(),
            Step::Accumulate { terms, .. } => terms.iter().flat_map(|t| [t.a, t.b]).collect(),
            Step::Wide(wide) => wide.reads.clone(),
        }
    }

    /// Memory that the step writes.
    pub(crate) fn writes(&self) -> Vec<View> {
        match self {
            Step::Group(g) => g.sinks.iter().filter_map(|s| s.view()).collect(),
            Step::Product { out, .. } | Step::FixedProduct { out, .. } => vec![*out],
            Step::Rowwise(step) => vec![step.out.0],
            Step::Wide(wide) => wide.writes.clone(),
            Step::Accumulate { .. } => Vec::new(),
        }
    }
}
