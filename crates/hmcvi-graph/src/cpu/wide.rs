//! Compute wide values for one block of columns after the other, and add up what becomes of them.

use super::matmul::Product;
use super::memory::Frame;
use super::prepare::Codes;
use super::steps::{Engine, Worker};
use crate::plan::{Pack, RowStage, View, Wide, WideStep};
use crate::real::Real;

impl<T: Real> Engine<T> {
    /// Takes rows of a tile through all blocks of columns.
    #[expect(clippy::too_many_arguments, reason = "a step, its code, and where it runs")]
    pub(super) fn wide(
        &self,
        stage: &RowStage,
        wide: &Wide,
        codes: &Codes,
        packed: &[usize],
        frame: &Frame<T>,
        rows: usize,
        worker: &mut Worker<T>,
    ) {
        for first in (0..wide.cols).step_by(wide.block) {
            let cols = wide.block.min(wide.cols - first);
            let frame = Frame { first_col: first, first_block: first == 0, ..*frame };
            let part = usize::from(cols < wide.block);
            for step in wide.parts()[part] {
                match *step {
                    WideStep::Spread { a, pack, out } => {
                        let Pack { depth, .. } = stage.packs[pack];
                        // All panels before the block's are whole.
                        let at = packed[pack] + depth * first;
                        self.block_product(&frame, rows, [depth, cols], a, (at, depth, 0), out);
                    }
                    WideStep::Collect { a, pack, out } => {
                        let Pack { depth, cols: all, .. } = stage.packs[pack];
                        self.block_product(&frame, rows, [cols, all], a, (packed[pack], depth, first), out);
                    }
                    WideStep::Group(_) => {
                        if let Some(code) = &codes[part] {
                            self.group(code, &frame, 0..rows, worker);
                        }
                    }
                    WideStep::Gather { from, ref list, out } => {
                        self.rows(&frame, rows, from, (out, cols), |from, to| {
                            for (to, place) in to.iter_mut().zip(&list[first..]) {
                                *to = from[*place as usize];
                            }
                        });
                    }
                    WideStep::Segment { a, ref list, out } => {
                        self.rows(&frame, rows, (a, cols), out, |from, to| {
                            if first == 0 {
                                to.fill(T::default());
                            }
                            for (x, place) in from.iter().zip(&list[first..]) {
                                let to = &mut to[*place as usize];
                                *to = *to + *x;
                            }
                        });
                    }
                }
            }
        }
    }

    /// A product with part of a packed operand, given by its place, its rows and the first of them: overwrites blocks of
    /// columns, and adds up over blocks of rows.
    fn block_product(
        &self,
        frame: &Frame<T>,
        rows: usize,
        [depth, cols]: [usize; 2],
        a: View,
        (at, packed_depth, first): (usize, usize, usize),
        out: View,
    ) {
        // SAFETY: the views have these rows in the tile, and the operand was packed.
        let product = unsafe {
            Product {
                rows,
                depth,
                cols,
                packed_depth,
                first,
                add: first > 0,
                a: self.memory.row(frame, a, 0),
                a_stride: a.stride,
                packed: self.memory.packed.add(at),
                c: self.memory.row(frame, out, 0),
                c_stride: out.stride,
            }
        };
        T::run_product(self.arch, product);
    }

    /// Calls a function with each row of two views, which have so many columns.
    fn rows(
        &self,
        frame: &Frame<T>,
        rows: usize,
        from: (View, usize),
        to: (View, usize),
        each: impl Fn(&[T], &mut [T]),
    ) {
        for row in 0..rows {
            // SAFETY: the plan gives the views these rows and columns, and the result has memory of its own.
            let (from, to) = unsafe {
                let at = |(view, cols): (View, usize)| (self.memory.row(frame, view, row), cols);
                let ((from, from_cols), (to, to_cols)) = (at(from), at(to));
                (
                    std::slice::from_raw_parts(from.cast_const(), from_cols),
                    std::slice::from_raw_parts_mut(to, to_cols),
                )
            };
            each(from, to);
        }
    }
}
