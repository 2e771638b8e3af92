//! Say where everything is in memory while a program runs.

use crate::data::{DataSet, SparseRows};
use crate::plan::{Base, Plan, View};
use crate::real::Real;

/// Where a data set is.
#[derive(Clone, Copy)]
pub(super) enum Data {
    Bytes(*const u8),
    Values(*const f32),
    Sparse(*const SparseRows),
}

impl From<DataSet<'_>> for Data {
    fn from(data: DataSet<'_>) -> Self {
        match data {
            DataSet::Bytes(bytes) => Data::Bytes(bytes.as_ptr()),
            DataSet::Values(values) => Data::Values(values.as_ptr()),
            DataSet::Sparse(rows) => Data::Sparse(rows),
        }
    }
}

impl Data {
    /// Copies a row.
    ///
    /// # Safety
    /// The data set must have that row and as many columns as there is room for.
    #[inline(always)]
    pub(super) unsafe fn read<T: Real>(self, row: usize, to: &mut [T]) {
        let cols = to.len();
        let wide = |x: f32| T::from_f64(x.into());
        // SAFETY: guaranteed by the caller.
        unsafe {
            match self {
                Data::Bytes(bytes) => {
                    let from = std::slice::from_raw_parts(bytes.add(row * cols), cols);
                    to.iter_mut().zip(from).for_each(|(to, x)| *to = T::from_byte(*x));
                }
                Data::Values(values) => {
                    let from = std::slice::from_raw_parts(values.add(row * cols), cols);
                    to.iter_mut().zip(from).for_each(|(to, x)| *to = wide(*x));
                }
                Data::Sparse(rows) => {
                    to.fill(T::default());
                    let (columns, values) = (*rows).row(row);
                    columns.iter().zip(values).for_each(|(column, x)| to[*column as usize] = wide(*x));
                }
            }
        }
    }
}

/// Memory of one run, shared by all workers.
///
/// The steps of a plan write disjoint places at any one time: tiles belong to a worker, sums over
/// rows to a shard, and steps of one wave have different results.
pub(super) struct Memory<T> {
    pub(super) inputs: Vec<*const T>,
    pub(super) parameters: Vec<*mut T>,
    pub(super) constants: Vec<*const T>,
    pub(super) outputs: Vec<*mut T>,
    pub(super) data: Vec<Data>,
    pub(super) indices: Vec<*const u32>,
    pub(super) fixed: *mut T,
    pub(super) fixed_offsets: Vec<usize>,
    /// Sums over rows of all shards.
    pub(super) accumulators: *mut T,
    pub(super) accumulator_len: usize,
    pub(super) target_offsets: Vec<usize>,
    /// Right operands of products, laid out for this step.
    pub(super) packed: *mut T,
    /// Rows of the batch, and the shards they are divided into.
    pub(super) batch: usize,
    pub(super) shards: usize,
    pub(super) seed: u64,
    pub(super) step: u64,
    pub(super) row_offset: u64,
}

// SAFETY: the pointers are used as the struct's documentation says, only while `Executable::run`
// holds the borrows they were made from.
unsafe impl<T: Real> Send for Memory<T> {}
// SAFETY: as above.
unsafe impl<T: Real> Sync for Memory<T> {}

/// Which rows a worker is at: a tile of a shard, or none in fixed stages; and which columns of wide values.
#[derive(Clone, Copy)]
pub(super) struct Frame<T> {
    /// The worker's tile memory, with the place of each of its buffers.
    pub(super) tile: *mut T,
    pub(super) tile_offsets: *const usize,
    /// Rows that the tile memory has room for.
    pub(super) tile_rows: usize,
    /// First row of the tile in the batch.
    pub(super) first_row: usize,
    /// First column of a block of columns.
    pub(super) first_col: usize,
    pub(super) shard: usize,
    /// The first tile of a shard overwrites the shard's sums.
    pub(super) first_tile: bool,
    /// The first block of columns overwrites sums over columns.
    pub(super) first_block: bool,
    /// The number of the step of a loop.
    pub(super) step: usize,
}

impl<T: Real> Frame<T> {
    /// For stages on fixed values.
    pub(super) fn fixed() -> Self {
        let (tile, tile_offsets) = (std::ptr::null_mut(), std::ptr::null());
        Frame {
            tile,
            tile_offsets,
            tile_rows: 0,
            first_row: 0,
            first_col: 0,
            shard: 0,
            first_tile: true,
            first_block: true,
            step: 0,
        }
    }
}

impl<T: Real> Memory<T> {
    pub(super) fn new(plan: &Plan) -> Self {
        Memory {
            inputs: vec![std::ptr::null(); plan.inputs.len()],
            parameters: vec![std::ptr::null_mut(); plan.parameters.len()],
            constants: Vec::with_capacity(plan.constants.len()),
            outputs: vec![std::ptr::null_mut(); plan.outputs.len()],
            data: vec![Data::Bytes(std::ptr::null()); plan.data.len()],
            indices: vec![std::ptr::null(); plan.indices.len()],
            fixed: std::ptr::null_mut(),
            fixed_offsets: plan.fixed_offsets.clone(),
            accumulators: std::ptr::null_mut(),
            accumulator_len: plan.accumulator_len,
            target_offsets: plan.targets.iter().map(|t| t.offset).collect(),
            packed: std::ptr::null_mut(),
            batch: 0,
            shards: 1,
            seed: 0,
            step: 0,
            row_offset: 0,
        }
    }

    /// The first value of a view.
    ///
    /// # Safety
    /// The view must belong to the plan of this memory and the stage of the frame.
    #[inline(always)]
    pub(super) unsafe fn first(&self, frame: &Frame<T>, view: View) -> *mut T {
        // SAFETY: guaranteed by the caller; offsets were planned inside their memory.
        unsafe {
            let base = match view.base {
                Base::Input(i) => self.inputs[i].cast_mut(),
                Base::Parameter(i) => self.parameters[i],
                Base::Constant(i) => self.constants[i].cast_mut(),
                Base::Output(i) => self.outputs[i],
                Base::Tile(i) => frame.tile.add(*frame.tile_offsets.add(i) * frame.tile_rows),
                Base::Fixed(i) => self.fixed.add(self.fixed_offsets[i]),
            };
            base.add(view.offset + view.step * frame.step)
        }
    }

    /// Row `row` of a view, counted from the tile's first row where rows are the batch.
    ///
    /// # Safety
    /// As for [`Memory::first`], and the view must have that row.
    #[inline(always)]
    pub(super) unsafe fn row(&self, frame: &Frame<T>, view: View, row: usize) -> *mut T {
        let row = match view.base {
            Base::Input(_) | Base::Output(_) => frame.first_row + row,
            _ => row,
        };
        // SAFETY: guaranteed by the caller.
        unsafe { self.first(frame, view).add(row * view.stride) }
    }

    /// A shard's part of a sum over rows.
    ///
    /// # Safety
    /// Shard and target must exist.
    #[inline(always)]
    pub(super) unsafe fn target(&self, target: usize, shard: usize) -> *mut T {
        // SAFETY: guaranteed by the caller.
        unsafe { self.accumulators.add(shard * self.accumulator_len + self.target_offsets[target]) }
    }
}
