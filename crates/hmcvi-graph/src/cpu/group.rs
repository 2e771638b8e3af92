//! Run the fused element-wise instructions of a group, block by block in the first-level cache.

use pulp::{Simd, WithSimd};

use super::elements::{WIDTH, apply_binary, apply_unary, copy, log_sum_exp, map1, map2, map3, sum};
use super::memory::{Frame, Memory};
use crate::op::Draw;
use crate::plan::{Block, Group, Instruction, Sink, Source, Value, View};
use crate::random::{self, Key};
use crate::real::Real;
use crate::shape::Rows;

/// Values of a block: a handful of blocks fit the first-level cache, and each is long enough that
/// choosing the instruction costs little.
const BLOCK: usize = 768;

/// Where an instruction finds or leaves a value.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Place {
    /// A block of the worker's scratch memory.
    Register(usize),
    /// The rows of the block in memory, which lie there without gaps.
    Memory(View),
}

/// A group prepared for the CPU.
pub(super) struct Code {
    pub(super) rows: Rows,
    cols: usize,
    block_rows: usize,
    /// Places of all values; instructions name values.
    places: Vec<Place>,
    registers: usize,
    /// Sources that are the same for all blocks, and those that each block fetches.
    once: Vec<(Value, Source)>,
    fetched: Vec<(Value, Source)>,
    first_result: Value,
    instructions: Vec<Instruction>,
    sinks: Vec<Sink>,
}

impl Code {
    /// Prepares a group; `address` tells views of the same memory from others.
    pub(super) fn new(group: &Group, address: &dyn Fn(View) -> (usize, usize)) -> Self {
        let cols = group.shape.cols;
        let first_result = group.sources.len();
        let values = first_result + group.instructions.len();

        // The last instruction that reads each value; sinks read after all instructions.
        let end = group.instructions.len();
        let mut last_use = vec![0; values];
        for (i, instruction) in group.instructions.iter().enumerate() {
            instruction.args().for_each(|v| last_use[v] = i);
        }
        group.sinks.iter().for_each(|sink| last_use[sink.value()] = end);

        // Results go straight to memory where a sink keeps them without gaps.
        let mut places: Vec<Option<Place>> = vec![None; values];
        for sink in &group.sinks {
            if let Sink::Store(value, view) = *sink
                && value >= first_result
                && view.stride == cols
                && places[value].is_none()
            {
                places[value] = Some(Place::Memory(view));
            }
        }
        // Sources are read from memory in place, unless a result that is written there earlier
        // would be read instead.
        let written = |view: View, read: usize| {
            group.sinks.iter().any(|sink| match *sink {
                Sink::Store(value, to) if address(to) == address(view) => {
                    value < first_result || read == end || value - first_result < read
                }
                _ => false,
            })
        };
        let (mut once, mut fetched) = (Vec::new(), Vec::new());
        for (value, &source) in group.sources.iter().enumerate() {
            match source {
                Source::Full(view) if view.stride == cols && !written(view, last_use[value]) => {
                    places[value] = Some(Place::Memory(view));
                }
                Source::Row(_) | Source::One(_) | Source::Literal(_) | Source::BatchSize => {
                    once.push((value, source));
                }
                _ => fetched.push((value, source)),
            }
        }
        // Registers: the unchanging ones first, the others as long as they are needed.
        let mut free: Vec<usize> = Vec::new();
        let mut registers = 0;
        let mut take = |free: &mut Vec<usize>| {
            Some(Place::Register(free.pop().unwrap_or_else(|| {
                registers += 1;
                registers - 1
            })))
        };
        for &(value, _) in once.iter().chain(&fetched) {
            places[value] = take(&mut free);
        }
        let unchanging = once.len();
        for i in 0..end {
            let result = first_result + i;
            // Element-wise instructions may overwrite their arguments.
            let mut args: Vec<Value> = group.instructions[i].args().collect();
            args.sort_unstable();
            args.dedup();
            for v in args {
                if let Some(Place::Register(r)) = places[v]
                    && last_use[v] == i
                    && r >= unchanging
                {
                    free.push(r);
                }
            }
            if places[result].is_none() {
                places[result] = take(&mut free);
            }
        }
        let places: Vec<Place> =
            places.into_iter().map(|p| p.expect("every value was given a place")).collect();
        let block_rows = block_rows(group.shape.rows, cols);
        Code {
            rows: group.shape.rows,
            cols,
            block_rows,
            sinks: group.sinks.iter().copied().filter(|s| !is_done(s, &places)).collect(),
            places,
            registers,
            once,
            fetched,
            first_result,
            instructions: group.instructions.clone(),
        }
    }

    /// Values of scratch memory that the group needs.
    pub(super) fn scratch(&self) -> usize {
        self.registers * self.register_len()
    }

    /// Number of values, each of which needs a pointer.
    pub(super) fn values(&self) -> usize {
        self.places.len()
    }

    /// Whether different rows may be computed by different threads.
    pub(super) fn is_divisible(&self) -> bool {
        !self.sinks.iter().any(|s| matches!(s, Sink::SumRows(..)))
    }

    pub(super) fn cols(&self) -> usize {
        self.cols
    }

    fn register_len(&self) -> usize {
        (self.block_rows * self.cols).next_multiple_of(WIDTH)
    }
}

/// Whether the instruction itself writes to the sink's place.
fn is_done(sink: &Sink, places: &[Place]) -> bool {
    matches!(*sink, Sink::Store(value, view) if places[value] == Place::Memory(view))
}

fn block_rows(rows: Rows, cols: usize) -> usize {
    let most = match rows {
        Rows::Batch => usize::MAX,
        Rows::Fixed(n) => n,
    };
    (BLOCK / cols).clamp(1, most.max(1))
}

/// A group and the rows it is to be run for.
pub struct Run<'a, T> {
    pub(super) code: &'a Code,
    pub(super) memory: &'a Memory<T>,
    pub(super) frame: &'a Frame<T>,
    /// Rows of the tile or of the fixed shape.
    pub(super) rows: std::ops::Range<usize>,
    pub(super) scratch: *mut T,
    pub(super) pointers: &'a mut [*mut T],
}

impl<T: Real> WithSimd for Run<'_, T> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(mut self, _: S) {
        let code = self.code;
        for (value, place) in code.places.iter().enumerate() {
            if let Place::Register(r) = place {
                // SAFETY: the scratch has room for all registers of the code.
                self.pointers[value] = unsafe { self.scratch.add(r * code.register_len()) };
            }
        }
        for &(value, source) in &code.once {
            // SAFETY: registers have room for a block; the view has one row or one value.
            unsafe { self.fill_once(value, source) };
        }
        let (start, end) = (self.rows.start, self.rows.end);
        for row in (start..end).step_by(code.block_rows) {
            let rows = code.block_rows.min(end - row);
            // SAFETY: the plan gives every view the group's shape, the rows are inside it, and
            // places that are written are not read by anyone else meanwhile.
            unsafe { self.block(row, rows) };
        }
    }
}

impl<T: Real> Run<'_, T> {
    /// Row `row` of a view.
    #[inline(always)]
    unsafe fn at(&self, view: View, row: usize) -> *mut T {
        // SAFETY: the caller vouches for the row.
        unsafe { self.memory.row(self.frame, view, row) }
    }

    #[inline(always)]
    unsafe fn fill_once(&mut self, value: Value, source: Source) {
        let (to, code) = (self.pointers[value], self.code);
        let len = code.block_rows * code.cols;
        // SAFETY: the caller vouches for room and for the views.
        unsafe {
            let value = match source {
                Source::Row(view) => {
                    let from = self.memory.first(self.frame, view);
                    for r in 0..code.block_rows {
                        copy(code.cols, from, to.add(r * code.cols));
                    }
                    return;
                }
                Source::One(view) => *self.memory.first(self.frame, view),
                Source::Literal(x) => T::from_f64(x),
                _ => T::from_f64(self.memory.batch as f64),
            };
            for i in 0..len {
                *to.add(i) = value;
            }
        }
    }

    #[inline(always)]
    unsafe fn block(&mut self, row: usize, rows: usize) {
        let code = self.code;
        let len = rows * code.cols;
        // SAFETY: the caller vouches for the rows; registers hold a block; element-wise loops read
        // and write `len` values at each place.
        unsafe {
            for (value, place) in code.places.iter().enumerate() {
                if let Place::Memory(view) = place {
                    self.pointers[value] = self.at(*view, row);
                }
            }
            for &(value, source) in &code.fetched {
                self.fetch(self.pointers[value], source, row, rows);
            }
            for (i, instruction) in code.instructions.iter().enumerate() {
                let to = self.pointers[code.first_result + i];
                match *instruction {
                    Instruction::Unary(f, a) => apply_unary(f, len, self.pointers[a], to),
                    Instruction::Binary(f, a, b) => {
                        apply_binary(f, len, self.pointers[a], self.pointers[b], to);
                    }
                    Instruction::Select(c, a, b) => {
                        let zero = T::default();
                        let (c, a, b) = (self.pointers[c], self.pointers[a], self.pointers[b]);
                        map3(len, c, a, b, to, |c, a, b| if c != zero { a } else { b });
                    }
                }
            }
            for &sink in &code.sinks {
                self.sink(sink, row, rows);
            }
        }
    }

    #[inline(always)]
    unsafe fn fetch(&self, to: *mut T, source: Source, row: usize, rows: usize) {
        let (cols, memory) = (self.code.cols, self.memory);
        for r in 0..rows {
            // SAFETY: the register holds `rows` rows; indices of gathers were checked.
            unsafe {
                let to = to.add(r * cols);
                match source {
                    Source::Full(view) => copy(cols, self.at(view, row + r), to),
                    Source::Column(view) => {
                        let x = *self.at(view, row + r);
                        for j in 0..cols {
                            *to.add(j) = x;
                        }
                    }
                    Source::Gather { data, index } => {
                        let place = *memory.indices[index].add(self.frame.first_row + row + r) as usize;
                        memory.data[data].read(place, std::slice::from_raw_parts_mut(to, cols));
                    }
                    Source::Draw(draw, stream) => {
                        let row = memory.row_offset + (self.frame.first_row + row + r) as u64;
                        let key = Key { seed: memory.seed, stream, step: memory.step, row: row as u32 };
                        self.draw(draw, key, std::slice::from_raw_parts_mut(to, cols));
                    }
                    Source::Target(target) => {
                        copy(cols, memory.target(target, 0).add((row + r) * cols), to);
                        for shard in 1..memory.shards {
                            let part = memory.target(target, shard).add((row + r) * cols);
                            map2(cols, to, part, to, |a, b| a + b);
                        }
                    }
                    Source::Row(_) | Source::One(_) | Source::Literal(_) | Source::BatchSize => {
                        unreachable!("filled once")
                    }
                }
            }
        }
    }

    #[inline(always)]
    fn draw(&self, draw: Draw, key: Key, to: &mut [T]) {
        random::fill(draw, key, to);
    }

    #[inline(always)]
    unsafe fn sink(&self, sink: Sink, row: usize, rows: usize) {
        let cols = self.code.cols;
        let from = self.pointers[sink.value()];
        for r in 0..rows {
            // SAFETY: the value has `rows` rows, and so has the sink from `row` on.
            unsafe {
                let from = from.add(r * cols);
                match sink {
                    Sink::Store(_, view) => copy(cols, from, self.at(view, row + r)),
                    Sink::SumCols(_, view) => *self.at(view, row + r) = sum(cols, from),
                    Sink::LogSumExp(_, view) => *self.at(view, row + r) = log_sum_exp(cols, from),
                    Sink::SumRows(_, view) => {
                        self.add_row(from, self.memory.first(self.frame, view), row + r == 0, false);
                    }
                    Sink::Accumulate { into, negative, .. } => {
                        let Block { target, row: at, first, .. } = into;
                        let to = self.memory.target(target, self.frame.shard).add(at * cols);
                        let overwrite = first && self.frame.first_tile && row + r == 0;
                        self.add_row(from, to, overwrite, negative);
                    }
                }
            }
        }
    }

    #[inline(always)]
    unsafe fn add_row(&self, from: *const T, to: *mut T, overwrite: bool, negative: bool) {
        let cols = self.code.cols;
        // SAFETY: both rows have `cols` values.
        unsafe {
            match (overwrite, negative) {
                (true, false) => copy(cols, from, to),
                (true, true) => map1(cols, from, to, |x| -x),
                (false, false) => map2(cols, to, from, to, |a, b| a + b),
                (false, true) => map2(cols, to, from, to, |a, b| a - b),
            }
        }
    }
}
