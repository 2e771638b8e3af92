//! Add up products over rows: the gradients of weights.

use std::ops::Range;

use pulp::{Simd, WithSimd};

use super::block::{Results, block_of, most_rows};
use super::panel_width;
use crate::real::Real;

/// Rows of data that one pass takes, and the most result rows it covers: a multiple of the rows of any block.
const SUM_DEPTH: usize = 256;
const SUM_ROWS: usize = 240;

/// Values that [`Accumulate`] needs for packing its operands.
pub(in crate::cpu) const SCRATCH: usize = SUM_DEPTH * (SUM_ROWS + 64);

/// One product of a sum over rows, or some rows of it.
#[derive(Clone, Copy)]
pub(in crate::cpu) struct SumTerm<T> {
    pub(in crate::cpu) rows: usize,
    pub(in crate::cpu) a: *const T,
    pub(in crate::cpu) a_stride: usize,
    pub(in crate::cpu) b: *const T,
    pub(in crate::cpu) b_stride: usize,
    pub(in crate::cpu) negative: bool,
}

/// `c (+)= Σ ± aᵀb` over the rows of all terms, into `[rows, cols]`.
pub struct Accumulate<'t, T> {
    pub(in crate::cpu) terms: &'t [SumTerm<T>],
    pub(in crate::cpu) rows: usize,
    pub(in crate::cpu) cols: usize,
    pub(in crate::cpu) c: *mut T,
    pub(in crate::cpu) c_stride: usize,
    pub(in crate::cpu) add: bool,
    /// Room for [`SCRATCH`] values.
    pub(in crate::cpu) scratch: *mut T,
}

/// Copies `len` values, of which the first `real` exist and zeros stand for the others.
///
/// # Safety
/// There must be so many values and room.
#[inline(always)]
unsafe fn copy_padded<T: Real>(from: *const T, real: usize, to: *mut T, len: usize) {
    // SAFETY: guaranteed by the caller.
    unsafe {
        if real >= len {
            // `len` is known to the compiler, so this is a few vector moves.
            std::ptr::copy_nonoverlapping(from, to, len);
        } else {
            for j in 0..len {
                *to.add(j) = if j < real { *from.add(j) } else { T::default() };
            }
        }
    }
}

impl<T: Real> Accumulate<'_, T> {
    /// Calls a function for rows of data (counted over all terms), with their numbers from 0 and the term and the row
    /// of it that they are.
    #[inline(always)]
    fn each_row(&self, rows: &Range<usize>, mut each: impl FnMut(usize, &SumTerm<T>, usize)) {
        let (mut term, mut row) = (0, rows.start);
        while row >= self.terms[term].rows {
            row -= self.terms[term].rows;
            term += 1;
        }
        for p in 0..rows.len() {
            each(p, &self.terms[term], row);
            row += 1;
            if row == self.terms[term].rows {
                (term, row) = (term + 1, 0);
            }
        }
    }

    /// Packs columns `top..` of the left operand into panels of `height` columns, one after the other; each row of data
    /// is read from end to end.
    #[inline(always)]
    unsafe fn pack_left(&self, data: &Range<usize>, top: usize, rows: usize, height: usize) {
        self.each_row(
            data,
            #[inline(always)]
            |p, term, row| {
                // SAFETY: the operand has this row and `self.rows` columns; SUM_ROWS is a multiple of `height`, so that
                // the panels have room.
                unsafe {
                    let from = term.a.add(row * term.a_stride + top);
                    let to = self.scratch.add(p * height);
                    for col in (0..rows).step_by(height) {
                        let to = to.add(col * data.len());
                        copy_padded(from.add(col), self.rows - top - col, to, height);
                        if term.negative {
                            (0..height).for_each(|j| *to.add(j) = -*to.add(j));
                        }
                    }
                }
            },
        );
    }

    /// Packs columns of the right operand from `col` on into a panel of `width` columns.
    #[inline(always)]
    unsafe fn pack_right(&self, data: &Range<usize>, col: usize, width: usize, to: *mut T) {
        self.each_row(
            data,
            #[inline(always)]
            |p, term, row| {
                // SAFETY: the operand has this row and `self.cols` columns; the caller vouches for the room.
                unsafe {
                    let from = term.b.add(row * term.b_stride + col);
                    copy_padded(from, self.cols - col, to.add(p * width), width);
                }
            },
        );
    }

    /// Adds up rows of data for result rows `top .. top + rows`.
    #[inline(always)]
    unsafe fn pass<S: Simd>(&self, simd: S, data: &Range<usize>, top: usize, rows: usize) {
        let (lanes, height) = (T::vector_lanes::<S>(), most_rows::<S>());
        // SAFETY: the left panels take at most SUM_DEPTH·SUM_ROWS values of the scratch and the right panel fits behind
        // them; results stay below rows and cols.
        unsafe {
            let right = self.scratch.add(SUM_DEPTH * SUM_ROWS);
            self.pack_left(data, top, rows, height);
            let mut col = 0;
            while col < self.cols {
                let width = panel_width(lanes, self.cols, col);
                // Two calls, so that the compiler knows the width in each.
                if width == lanes {
                    self.pack_right(data, col, lanes, right);
                } else {
                    self.pack_right(data, col, 2 * lanes, right);
                }
                for row in (0..rows).step_by(height) {
                    let results = Results {
                        at: self.c.add((top + row) * self.c_stride + col),
                        stride: self.c_stride,
                        width: width.min(self.cols - col),
                        add: self.add || data.start > 0,
                    };
                    let size = (height.min(rows - row), width / lanes);
                    let left = self.scratch.add(row * data.len());
                    block_of(simd, size, data.len(), left, (1, height), right, results);
                }
                col += width;
            }
        }
    }
}

impl<T: Real> WithSimd for Accumulate<'_, T> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let total: usize = self.terms.iter().map(|term| term.rows).sum();
        let chunk = total.div_ceil(total.div_ceil(SUM_DEPTH));
        for top in (0..self.rows).step_by(SUM_ROWS) {
            for start in (0..total).step_by(chunk) {
                let data = start..(start + chunk).min(total);
                // SAFETY: whoever built the sum vouches for its operands, results and scratch.
                unsafe { self.pass(simd, &data, top, SUM_ROWS.min(self.rows - top)) };
            }
        }
    }
}
