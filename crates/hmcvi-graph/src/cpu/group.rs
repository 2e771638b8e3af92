//! Run the fused element-wise instructions of a group, block by block in the first-level cache.

use pulp::{Simd, WithSimd};

use super::code::{Code, Place};
use super::elements::{apply_binary, apply_unary, column, copy, log_sum_exp, map1, map2, map3, sum};
use super::memory::{Frame, Memory};
use crate::op::Draw;
use crate::plan::{Block, Instruction, Sink, Source, Value, View};
use crate::random::{self, Key};
use crate::real::Real;

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
        let register_len = code.register_len(self.rows.len());
        for (value, place) in code.places.iter().enumerate() {
            if let Place::Register(r) = place {
                // SAFETY: the scratch has room for all registers of the code.
                self.pointers[value] = unsafe { self.scratch.add(r * register_len) };
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
        let rows = code.block_rows.min(self.rows.len());
        let len = rows * code.cols;
        // SAFETY: the caller vouches for room and for the views.
        unsafe {
            let value = match source {
                Source::Row(view) => {
                    let from = self.memory.first(self.frame, view).add(self.frame.first_col);
                    for r in 0..rows {
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
        if let (1, Source::Full(view)) = (cols, source) {
            // SAFETY: the register holds `rows` values, and the view has as many rows.
            return unsafe { column(rows, self.at(view, row), view.stride, to, 1) };
        }
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
                    Source::StepDraw(draw, first, each) => {
                        let row = memory.row_offset + (self.frame.first_row + row + r) as u64;
                        let stream = first + each * self.frame.step as u16;
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
        if let (1, Sink::Store(_, view)) = (cols, sink) {
            // SAFETY: the value has `rows` rows, and so has the sink from `row` on.
            return unsafe { column(rows, from, 1, self.at(view, row), view.stride) };
        }
        for r in 0..rows {
            // SAFETY: the value has `rows` rows, and so has the sink from `row` on.
            unsafe {
                let from = from.add(r * cols);
                match sink {
                    Sink::Store(_, view) => copy(cols, from, self.at(view, row + r)),
                    Sink::SumCols(_, view) => {
                        let (to, sum) = (self.at(view, row + r), sum(cols, from));
                        *to = if self.frame.first_block { sum } else { *to + sum };
                    }
                    Sink::LogSumExp(_, view) => {
                        let to = std::slice::from_raw_parts_mut(self.at(view, row + r), 1);
                        log_sum_exp(cols, std::slice::from_raw_parts(from, cols), to);
                    }
                    Sink::SumRows(_, view) => {
                        self.add_row(from, self.memory.first(self.frame, view), row + r == 0, false);
                    }
                    Sink::Accumulate { into, negative, .. } => {
                        let Block { target, row: at, first, step, .. } = into;
                        let at = at + step * self.frame.step;
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
