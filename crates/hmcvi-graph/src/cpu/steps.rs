//! Run single steps of a plan on one worker.

use std::ops::Range;

use pulp::Arch;

use super::arena::Arena;
use super::code::Code;
use super::matmul::{self, Accumulate, Product, SumTerm};
use super::memory::{Frame, Memory};
use super::prepare::{Codes, PackTask};
use super::{group, rowwise};
use crate::op::Transpose;
use crate::plan::{Pack, Repeated, RowStage, Rowwise, Step, View};
use crate::real::Real;
use crate::shape::Rows;

/// What all workers share.
pub(super) struct Engine<T> {
    pub(super) arch: Arch,
    pub(super) lanes: usize,
    pub(super) memory: Memory<T>,
}

/// A worker's own memory.
pub(super) struct Worker<T> {
    pub(super) tile: Arena<T>,
    pub(super) scratch: Arena<T>,
    pub(super) sums: Arena<T>,
    pub(super) pointers: Vec<*mut T>,
    pub(super) terms: Vec<SumTerm<T>>,
}

// SAFETY: the pointers are scratch space, filled anew by every task that uses them.
unsafe impl<T: Real> Send for Worker<T> {}

impl<T: Real> Engine<T> {
    /// Lays out some columns of a right operand.
    pub(super) fn pack(&self, stage: &RowStage, task: &PackTask, packed: &[usize]) {
        let Pack { view, transposed, depth, cols } = stage.packs[task.pack];
        let stride = if transposed { (1, view.stride) } else { (view.stride, 1) };
        // SAFETY: the view is a fixed matrix of that shape, and no other task packs these columns.
        unsafe {
            let source = self.memory.first(&Frame::fixed(), view);
            let to = self.memory.packed.add(packed[task.pack]);
            matmul::pack(self.lanes, source, stride, depth, cols, task.cols.start, task.cols.end, to);
        }
    }

    /// Takes a tile of rows through a row stage.
    pub(super) fn tile(
        &self,
        stage: &RowStage,
        codes: &[Codes],
        packed: &[usize],
        frame: &Frame<T>,
        rows: usize,
        worker: &mut Worker<T>,
    ) {
        let mut done = 0;
        for Repeated { range, steps, backward } in &stage.loops {
            self.part(stage, done..range.start, codes, packed, frame, rows, worker);
            for i in 0..*steps {
                let step = if *backward { steps - 1 - i } else { i };
                let frame = Frame { step, first_tile: frame.first_tile && i == 0, ..*frame };
                self.part(stage, range.clone(), codes, packed, &frame, rows, worker);
            }
            done = range.end;
        }
        self.part(stage, done..stage.steps.len(), codes, packed, frame, rows, worker);
    }

    #[expect(clippy::too_many_arguments, reason = "a part of a row stage needs what all of it needs")]
    fn part(
        &self,
        stage: &RowStage,
        range: Range<usize>,
        codes: &[Codes],
        packed: &[usize],
        frame: &Frame<T>,
        rows: usize,
        worker: &mut Worker<T>,
    ) {
        for (step, code) in stage.steps[range.clone()].iter().zip(&codes[range]) {
            match (step, code) {
                (Step::Group(_), [Some(code), _]) => self.group(code, frame, 0..rows, worker),
                (&Step::Product { a, pack, out }, _) => {
                    let Pack { depth, cols, .. } = stage.packs[pack];
                    // SAFETY: the views have `rows` rows in this tile, and the operand was packed.
                    let product = unsafe {
                        Product {
                            rows,
                            depth,
                            cols,
                            packed_depth: depth,
                            first: 0,
                            add: false,
                            a: self.memory.row(frame, a, 0),
                            a_stride: a.stride,
                            packed: self.memory.packed.add(packed[pack]),
                            c: self.memory.row(frame, out, 0),
                            c_stride: out.stride,
                        }
                    };
                    T::run_product(self.arch, product);
                }
                (Step::Rowwise(step), _) => self.rowwise(step, frame, rows),
                (Step::Wide(wide), codes) => self.wide(stage, wide, codes, packed, frame, rows, worker),
                (Step::Accumulate { into, cols, terms }, _) => {
                    worker.terms.clear();
                    // SAFETY: the views have `rows` rows in this tile.
                    let at = |view: View| unsafe { self.memory.row(frame, view, 0) }.cast_const();
                    worker.terms.extend(terms.iter().map(|t| SumTerm {
                        rows,
                        a: at(t.a),
                        a_stride: t.a.stride,
                        b: at(t.b),
                        b_stride: t.b.stride,
                        negative: t.negative,
                    }));
                    // SAFETY: the shard's sums belong to this task.
                    let c = unsafe { self.memory.target(into.target, frame.shard).add(into.row * cols) };
                    T::run_accumulate(
                        self.arch,
                        Accumulate {
                            terms: &worker.terms,
                            rows: into.rows,
                            cols: *cols,
                            c,
                            c_stride: *cols,
                            add: !(into.first && frame.first_tile),
                            scratch: worker.sums.as_mut_ptr(),
                        },
                    );
                }
                _ => unreachable!("products of fixed matrices are in fixed stages"),
            }
        }
    }

    pub(super) fn group(&self, code: &Code, frame: &Frame<T>, rows: Range<usize>, worker: &mut Worker<T>) {
        let (memory, scratch) = (&self.memory, worker.scratch.as_mut_ptr());
        let pointers = &mut worker.pointers[..];
        T::run_group(self.arch, group::Run { code, memory, frame, rows, scratch, pointers });
    }

    pub(super) fn rowwise(&self, step: &Rowwise, frame: &Frame<T>, rows: usize) {
        T::run_rowwise(self.arch, rowwise::Run { step, memory: &self.memory, frame, rows });
    }

    /// A step of a fixed stage that is no group.
    pub(super) fn fixed_step(&self, step: &Step, worker: &mut Worker<T>) {
        let frame = &Frame::fixed();
        let (transpose, a, b, out) = match step {
            Step::FixedProduct { transpose, a, b, out } => (transpose, a, b, out),
            Step::Rowwise(step) => return self.rowwise(step, frame, fixed_rows(step)),
            _ => unreachable!("fixed stages have groups, products and functions of rows"),
        };
        let ((a, a_size), (b, b_size)) = (*a, *b);
        // SAFETY: the plan gives the views their sizes; `sums` was sized for this step.
        unsafe {
            let (left, right) = (self.memory.first(frame, a), self.memory.first(frame, b));
            let (c, scratch) = (self.memory.first(frame, *out), worker.sums.as_mut_ptr());
            if *transpose == Transpose::Left {
                let term = SumTerm {
                    rows: a_size[0],
                    a: left,
                    a_stride: a.stride,
                    b: right,
                    b_stride: b.stride,
                    negative: false,
                };
                let terms = &[term];
                let (rows, cols) = (a_size[1], b_size[1]);
                let (c_stride, add) = (cols, false);
                T::run_accumulate(self.arch, Accumulate { terms, rows, cols, c, c_stride, add, scratch });
                return;
            }
            let transposed = *transpose == Transpose::Right;
            let stride = if transposed { (1, b.stride) } else { (b.stride, 1) };
            let (depth, cols) = if transposed { (b_size[1], b_size[0]) } else { (b_size[0], b_size[1]) };
            matmul::pack(self.lanes, right, stride, depth, cols, 0, cols, scratch);
            let (a_stride, c_stride) = (a.stride, out.stride);
            let (rows, packed) = (a_size[0], scratch);
            let (packed_depth, first, add) = (depth, 0, false);
            let a = left;
            T::run_product(
                self.arch,
                Product { rows, depth, cols, packed_depth, first, add, a, a_stride, packed, c, c_stride },
            );
        }
    }
}

fn fixed_rows(step: &Rowwise) -> usize {
    match step.rows {
        Rows::Fixed(rows) => rows,
        Rows::Batch => unreachable!("rows of the batch are in row stages"),
    }
}
