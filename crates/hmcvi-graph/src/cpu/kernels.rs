//! Compile the kernels for f32 and f64 once, in this crate, for every instruction set.
//!
//! Everything else on the CPU is generic and thin; without this, each crate that runs programs would
//! compile the kernels again.

use pulp::Arch;

use super::matmul::{Accumulate, Lanes, Product};
use super::{group, rowwise};

/// Number types with compiled kernels.
pub trait Kernels: Sized {
    /// Values in a vector of the instruction set found.
    fn lanes(arch: Arch) -> usize;
    fn run_group(arch: Arch, run: group::Run<'_, Self>);
    fn run_rowwise(arch: Arch, run: rowwise::Run<'_, Self>);
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
