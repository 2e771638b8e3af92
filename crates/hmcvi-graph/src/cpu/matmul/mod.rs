//! Multiply matrices: rows by an operand that was packed once, and sums over rows.
//!
//! All tiles of a step multiply by the same weights, so these are packed once per step into panels
//! that the innermost loop reads in order; a general product would pack them again in every call.
//! Every element is one chain of fused multiply-adds over the depth, in chunks that depend on the
//! depth alone: the result of a row is the same bits whatever rows stand beside it.

mod block;
mod product;
mod sums;

use pulp::{Simd, WithSimd};

use self::block::{LINE, prefetch, prefetch_to_write};
pub(super) use self::product::Product;
pub(super) use self::sums::{Accumulate, SCRATCH, SumTerm};
use crate::real::Real;

/// Length of an operand `[depth, cols]` when packed.
pub(super) fn packed_len(lanes: usize, depth: usize, cols: usize) -> usize {
    depth * cols.next_multiple_of(lanes)
}

/// Columns of the panel that starts at column `col`: two vectors, or one for a short rest.
#[inline(always)]
fn panel_width(lanes: usize, cols: usize, col: usize) -> usize {
    if cols - col > lanes { 2 * lanes } else { lanes }
}

/// Packs the panels that start in columns `from..to` of an operand `[depth, cols]`, whose element
/// `(p, j)` is at `source + p·stride.0 + j·stride.1`. `from` must be the start of a panel.
///
/// # Safety
/// The operand must be readable, and `packed` must have room for [`packed_len`] values.
#[expect(clippy::too_many_arguments, reason = "a matrix, its strides and a range of it")]
pub(super) unsafe fn pack<T: Real>(
    lanes: usize,
    source: *const T,
    stride: (usize, usize),
    depth: usize,
    cols: usize,
    from: usize,
    to: usize,
    packed: *mut T,
) {
    let mut col = from;
    while col < to.min(cols) {
        let width = panel_width(lanes, cols, col);
        let real = width.min(cols - col);
        // SAFETY: col + real <= cols stay in the operand; earlier panels together take depth·col values of `packed`.
        unsafe {
            let (from, to) = (source.add(col * stride.1), packed.add(depth * col));
            pack_panel(from, stride, depth, (real, width), to);
        }
        col += width;
    }
}

/// Rows that are packed together: where columns lie in memory without gaps, a cache line of each. The next are asked for.
const ROWS: usize = 16;

/// Packs a panel of which `real` columns exist.
///
/// # Safety
/// As for [`pack`].
unsafe fn pack_panel<T: Real>(
    from: *const T,
    stride: (usize, usize),
    depth: usize,
    (real, width): (usize, usize),
    to: *mut T,
) {
    let lines = |values: usize| (values * size_of::<T>()).div_ceil(LINE);
    for start in (0..depth).step_by(ROWS) {
        let (next, rows) = (start + ROWS, ROWS.min(depth - start));
        if next < depth {
            prefetch_to_write(to.wrapping_add(next * width), lines(ROWS.min(depth - next) * width));
        }
        let ahead = from.wrapping_add(next * stride.0);
        match stride.1 {
            1 => (0..ROWS).for_each(|p| prefetch(ahead.wrapping_add(p * stride.0), lines(real) + 1)),
            _ => (0..real).for_each(|j| prefetch(ahead.wrapping_add(j * stride.1), 1)),
        }
        for p in start..start + rows {
            // SAFETY: guaranteed by the caller.
            unsafe {
                let (from, to) = (from.add(p * stride.0), to.add(p * width));
                match stride.1 {
                    1 => std::ptr::copy_nonoverlapping(from, to, real),
                    stride => (0..real).for_each(|j| *to.add(j) = *from.add(j * stride)),
                }
                (real..width).for_each(|j| *to.add(j) = T::default());
            }
        }
    }
}

/// Values in a vector of the instruction set found.
#[derive(Default)]
pub(super) struct Lanes<T>(pub(super) std::marker::PhantomData<T>);

impl<T: Real> WithSimd for Lanes<T> {
    type Output = usize;

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) -> usize {
        T::vector_lanes::<S>()
    }
}
