//! Compile the kernels for f32 and f64 once, in this crate, for every instruction set.
//!
//! Everything else on the CPU is generic and thin; without this, each crate that runs programs would
//! compile the kernels again.

use std::ops::Range;

use pulp::Arch;

use super::matmul::{self, Accumulate, Lanes, Product};
use super::{group, rowwise};

/// Number types with compiled kernels.
pub trait Kernels: Sized {
    /// Values in a vector of the instruction set found.
    fn lanes(arch: Arch) -> usize;
    fn run_group(arch: Arch, run: group::Run<'_, Self>);
    fn run_rowwise(arch: Arch, run: rowwise::Run<'_, Self>);
    /// Packs these columns of an operand `size`.
    ///
    /// # Safety
    /// As for [`matmul::pack`].
    unsafe fn pack(
        lanes: usize,
        source: *const Self,
        stride: (usize, usize),
        size: [usize; 2],
        cols: Range<usize>,
        packed: *mut Self,
    );
    fn run_product(arch: Arch, product: Product<Self>);
    fn run_accumulate(arch: Arch, sum: Accumulate<'_, Self>);
}

macro_rules! kernels {
    ($($real:ty)*) => {$(
        impl Kernels for $real {
            #[inline(never)]
            fn lanes(arch: Arch) -> usize {
                arch.dispatch(Lanes::<$real>::default())
            }
            #[inline(never)]
            fn run_group(arch: Arch, run: group::Run<'_, $real>) {
                arch.dispatch(run);
            }
            #[inline(never)]
            fn run_rowwise(arch: Arch, run: rowwise::Run<'_, $real>) {
                arch.dispatch(run);
            }
            #[inline(never)]
            unsafe fn pack(
                lanes: usize,
                source: *const $real,
                stride: (usize, usize),
                [depth, width]: [usize; 2],
                cols: Range<usize>,
                packed: *mut $real,
            ) {
                // SAFETY: guaranteed by the caller.
                unsafe { matmul::pack(lanes, source, stride, depth, width, cols.start, cols.end, packed) }
            }
            #[inline(never)]
            fn run_product(arch: Arch, product: Product<$real>) {
                arch.dispatch(product);
            }
            #[inline(never)]
            fn run_accumulate(arch: Arch, sum: Accumulate<'_, $real>) {
                arch.dispatch(sum);
            }
        }
    )*};
}

kernels!(f32 f64);
