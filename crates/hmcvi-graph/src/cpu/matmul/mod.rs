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
        for p in 0..depth {
            // SAFETY: p < depth and col + j < cols stay in the operand; earlier panels together
            // take depth·col values of `packed`.
            unsafe {
                let row = packed.add(depth * col + p * width);
                let from = source.add(p * stride.0 + col * stride.1);
                for j in 0..real {
                    *row.add(j) = *from.add(j * stride.1);
                }
                for j in real..width {
                    *row.add(j) = T::default();
                }
            }
        }
        col += width;
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
