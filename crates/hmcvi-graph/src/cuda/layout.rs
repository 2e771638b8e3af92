//! Say where everything is on the device: one table of base addresses, and places behind each.

use crate::plan::{Base, Plan, View};
use crate::shape::Rows;

/// How rows are divided and products computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Tiling {
    /// Products of full f32 precision rather than TF32.
    pub(super) exact: bool,
    /// Threads of a block of the row stages.
    pub(super) threads: usize,
    /// Tiles of 16 rows that a block takes together.
    pub(super) row_tiles: usize,
    /// Blocks that share a tile, each with some of the columns.
    pub(super) cluster: usize,
    /// Most rows of a run.
    pub(super) rows: usize,
    /// Whether the steps of row stages are timed.
    pub(super) trace: bool,
}

impl Tiling {
    /// Rows of a tile.
    pub(super) fn tile_rows(self) -> usize {
        16 * self.row_tiles
    }

    /// Tiles of the largest batch.
    pub(super) fn tiles(self) -> usize {
        self.rows.div_ceil(self.tile_rows())
    }
}

/// Places in the table of base addresses.
#[derive(Clone, Copy)]
pub(super) struct Bases {
    parameters: usize,
    inputs: usize,
    constants: usize,
    outputs: usize,
    data: usize,
    indices: usize,
}

/// Bases behind those that a program names.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Area {
    /// Values of the row stages that the blocks of a cluster share.
    Tiles,
    /// Those that every block has for itself.
    Own,
    /// Values of the fixed stages.
    Fixed,
    /// Sums over rows.
    Sums,
    /// Shares of sums over rows.
    Parts,
    /// Right operands of products.
    Packed,
    /// Fixed outputs of many runs.
    History,
    /// Times of the steps of row stages.
    Trace,
}

impl Area {
    pub(super) const ALL: [Area; 8] = [
        Area::Tiles,
        Area::Own,
        Area::Fixed,
        Area::Sums,
        Area::Parts,
        Area::Packed,
        Area::History,
        Area::Trace,
    ];
}

impl Bases {
    pub(super) fn new(plan: &Plan) -> Self {
        let (parameters, inputs) = (plan.parameters.len(), plan.inputs.len());
        let (constants, outputs) = (plan.constants.len(), plan.outputs.len());
        let (data, indices) = (plan.data.len(), plan.indices.len());
        Bases { parameters, inputs, constants, outputs, data, indices }
    }

    fn named(self) -> usize {
        self.parameters + self.inputs + self.constants + self.outputs
    }

    /// Bases in the table on the device.
    pub(super) fn len(self) -> usize {
        self.named() + Area::ALL.len()
    }

    /// Bases with those that come with a run: data sets and indices.
    pub(super) fn with_run(self) -> usize {
        self.len() + self.data + self.indices
    }

    pub(super) fn data(self, i: usize) -> usize {
        self.len() + i
    }

    pub(super) fn index(self, i: usize) -> usize {
        self.len() + self.data + i
    }

    pub(super) fn parameter(self, i: usize) -> usize {
        i
    }

    pub(super) fn input(self, i: usize) -> usize {
        self.parameters + i
    }

    pub(super) fn constant(self, i: usize) -> usize {
        self.parameters + self.inputs + i
    }

    pub(super) fn output(self, i: usize) -> usize {
        self.parameters + self.inputs + self.constants + i
    }

    pub(super) fn area(self, area: Area) -> usize {
        self.named() + area as usize
    }

    /// Base of a view that is not in a tile.
    pub(super) fn of(self, base: Base) -> usize {
        match base {
            Base::Input(i) => self.input(i),
            Base::Parameter(i) => self.parameter(i),
            Base::Constant(i) => self.constant(i),
            Base::Output(i) => self.output(i),
            Base::Tile(_) => self.area(Area::Tiles),
            Base::Fixed(_) => self.area(Area::Fixed),
        }
    }
}

/// Places of the fixed outputs in a run's entry of the history, and its length.
pub(super) fn history(plan: &Plan) -> (Vec<Option<usize>>, usize) {
    let mut len = 0;
    let places = plan.outputs.iter().map(|output| match output.shape.rows {
        Rows::Fixed(n) if n * output.shape.cols <= HISTORY_VALUES => {
            len += n * output.shape.cols;
            Some(len - n * output.shape.cols)
        }
        _ => None,
    });
    (places.collect(), len)
}

/// Outputs with at most this many values are kept for many runs.
const HISTORY_VALUES: usize = 64;

/// Offset of a fixed view behind its base.
pub(super) fn fixed_offset(plan: &Plan, view: View) -> usize {
    let start = if let Base::Fixed(i) = view.base { plan.fixed_offsets[i] } else { 0 };
    start + view.offset
}

/// 64-bit words of a run's description: seed, step, first row, rows and slot, rows of all processes; addresses of data
/// sets and of indices; small inputs.
pub(super) const RUN_WORDS: usize = 128;
pub(super) const FIRST_POINTER: usize = 5;

/// Where an input is: among a run's words, or in memory of its own.
pub(super) fn small_inputs(plan: &Plan) -> Vec<Option<usize>> {
    let mut word = FIRST_POINTER + plan.data.len() + plan.indices.len();
    let place = |input: &crate::plan::Named| {
        let words = input.shape.elements().div_ceil(2);
        if input.shape.is_batch() || word + words > RUN_WORDS {
            return None;
        }
        word += words;
        Some(word - words)
    };
    plan.inputs.iter().map(place).collect()
}
