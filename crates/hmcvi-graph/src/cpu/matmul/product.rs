//! Multiply rows by an operand that was packed once.

use pulp::{Simd, WithSimd};

use super::block::{Results, block_of, load, most_rows, prefetch, put};
use super::panel_width;
use crate::real::Real;

/// Depth of a panel that stays in the first-level cache beside the rows that it meets.
const DEPTH: usize = 320;

/// One row by `P` neighbouring panels of two vectors, `apart` values from each other: enough sums side by side that the
/// processor need not wait for one before it begins the next. Each sum is the chain that a block computes.
#[inline(always)]
unsafe fn row_by_panels<T: Real, S: Simd, const P: usize>(
    simd: S,
    depth: usize,
    a: *const T,
    b: *const T,
    apart: usize,
    mut results: Results<T>,
    cols: usize,
) {
    let lanes = T::vector_lanes::<S>();
    let mut sums = [[T::splat(simd, T::default()); 2]; P];
    for p in 0..depth {
        // SAFETY: the caller vouches for every p < depth of the row and of the panels.
        unsafe {
            let left = T::splat(simd, *a.add(p));
            for (i, sums) in sums.iter_mut().enumerate() {
                let right = b.add(i * apart + p * 2 * lanes);
                for (j, sum) in sums.iter_mut().enumerate() {
                    *sum = T::vector_fma(simd, left, load::<T, S>(right.add(j * lanes)), *sum);
                }
            }
        }
    }
    for (i, sums) in sums.iter().enumerate() {
        results.width = (2 * lanes).min(cols - i * 2 * lanes);
        // SAFETY: the results have `cols` values, more than the panels before this one.
        unsafe { put::<T, S, 2>(simd, results.at.add(i * 2 * lanes), &results, sums) };
    }
}

/// `c (+)= a · b` for `rows` rows, with `b` packed by [`pack`], or some of its rows or panels.
pub struct Product<T> {
    pub(in crate::cpu) rows: usize,
    pub(in crate::cpu) depth: usize,
    pub(in crate::cpu) cols: usize,
    /// Rows of the whole operand, and the first one to be used.
    pub(in crate::cpu) packed_depth: usize,
    pub(in crate::cpu) first: usize,
    /// Add to what is there instead of overwriting it.
    pub(in crate::cpu) add: bool,
    pub(in crate::cpu) a: *const T,
    pub(in crate::cpu) a_stride: usize,
    pub(in crate::cpu) packed: *const T,
    pub(in crate::cpu) c: *mut T,
    pub(in crate::cpu) c_stride: usize,
}

impl<T: Real> Product<T> {
    /// Multiplies a single row by some of the operand's rows, several panels at a time; returns the first column that
    /// is left.
    #[inline(always)]
    unsafe fn row<S: Simd>(&self, simd: S, p: usize, depth: usize) -> usize {
        let lanes = T::vector_lanes::<S>();
        let (two, apart) = (2 * lanes, 2 * lanes * self.packed_depth);
        let mut col = 0;
        loop {
            // Panels that are two vectors wide.
            let panels = (self.cols - col + lanes - 1) / two;
            let cols = self.cols - col;
            // SAFETY: whoever built the product vouches for its operands; these panels and columns exist.
            unsafe {
                let a = self.a.add(p);
                let b = self.packed.add(self.packed_depth * col + (self.first + p) * two);
                let results = Results { at: self.c.add(col), stride: 0, width: two, add: self.add || p > 0 };
                match panels {
                    0 | 1 => return col,
                    2 | 3 => row_by_panels::<T, S, 2>(simd, depth, a, b, apart, results, cols),
                    _ => row_by_panels::<T, S, 4>(simd, depth, a, b, apart, results, cols),
                }
            }
            let done = if panels < 4 { 2 } else { 4 };
            col = (col + done * two).min(self.cols);
        }
    }
}

impl<T: Real> WithSimd for Product<T> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let lanes = T::vector_lanes::<S>();
        // Rows are divided evenly: few left over would be slower than their share.
        let height = self.rows.div_ceil(self.rows.div_ceil(most_rows::<S>()));
        let chunk = self.depth.div_ceil(self.depth.div_ceil(DEPTH));
        for p in (0..self.depth).step_by(chunk) {
            let depth = chunk.min(self.depth - p);
            // SAFETY: as below.
            let mut col = if self.rows == 1 { unsafe { self.row(simd, p, depth) } } else { 0 };
            while col < self.cols {
                let width = panel_width(lanes, self.cols, col);
                // The next panel comes from afar: fetch a share of it behind every block. Behind the last panel of some
                // rows of an operand come further rows of the first one.
                let next = if col + width >= self.cols && self.depth < self.packed_depth {
                    (self.first + p + depth) * panel_width(lanes, self.cols, 0)
                } else {
                    self.packed_depth * (col + width) + (self.first + p) * width
                };
                let next = self.packed.wrapping_add(next);
                let share = (depth * width * size_of::<T>()).div_ceil(64 * self.rows.div_ceil(height));
                for (i, row) in (0..self.rows).step_by(height).enumerate() {
                    let rows = height.min(self.rows - row);
                    prefetch(next.wrapping_byte_add(64 * i * share), share);
                    // SAFETY: whoever built the product vouches for its operands; all indices stay
                    // below rows, depth and cols, and padded columns go to the spill only.
                    unsafe {
                        let results = Results {
                            at: self.c.add(row * self.c_stride + col),
                            stride: self.c_stride,
                            width: width.min(self.cols - col),
                            add: self.add || p > 0,
                        };
                        let a = self.a.add(row * self.a_stride + p);
                        let b = self.packed.add(self.packed_depth * col + (self.first + p) * width);
                        block_of(simd, (rows, width / lanes), depth, a, (self.a_stride, 1), b, results);
                    }
                }
                col += width;
            }
        }
    }
}
