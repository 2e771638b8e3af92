//! Multiply a block of rows by a panel of two vectors, with all sums in registers.

use pulp::Simd;

use crate::real::Real;

/// Most rows of a block: the sums of so many rows and two vectors, a row of the panel and a value of the left operand
/// fit the registers of the instruction set.
#[inline(always)]
pub(super) const fn most_rows<S: Simd>() -> usize {
    if S::REGISTER_COUNT >= 32 { 12 } else { 6 }
}

#[inline(always)]
pub(super) unsafe fn load<T: Real, S: Simd>(from: *const T) -> T::Vector<S> {
    // SAFETY: the caller vouches for a whole vector of readable values.
    unsafe { from.cast::<T::Vector<S>>().read_unaligned() }
}

#[inline(always)]
unsafe fn store<T: Real, S: Simd>(to: *mut T, value: T::Vector<S>) {
    // SAFETY: the caller vouches for a whole vector of writable values.
    unsafe { to.cast::<T::Vector<S>>().write_unaligned(value) }
}

/// Bytes of a cache line.
pub(super) const LINE: usize = 64;

/// Asks for `lines` cache lines from an address on, before they are needed.
#[inline(always)]
pub(super) fn prefetch<T>(from: *const T, lines: usize) {
    #[cfg(target_arch = "x86_64")]
    for line in 0..lines {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: a prefetch of any address is harmless.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(from.cast::<i8>().wrapping_add(LINE * line)) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (from, lines);
}

/// Asks for some cache lines in order to write to them: other cores, which have read them, give them up meanwhile.
#[inline(always)]
pub(super) fn prefetch_to_write<T>(to: *mut T, lines: usize) {
    #[cfg(target_arch = "x86_64")]
    for line in 0..lines {
        let at = to.cast::<u8>().wrapping_add(LINE * line);
        // SAFETY: a prefetch of any address is harmless, and does nothing where it is not known.
        unsafe { std::arch::asm!("prefetchw [{}]", in(reg) at, options(nostack, preserves_flags)) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (to, lines);
}

/// A block of results: `M` rows of at most `N` vectors.
pub(super) struct Results<T> {
    pub(super) at: *mut T,
    pub(super) stride: usize,
    pub(super) width: usize,
    /// Add to what is there instead of overwriting it.
    pub(super) add: bool,
}

/// `results[i][j] (+)= Σ_p a[i·step.0 + p·step.1] · b[p·N·lanes + j]`
///
/// # Safety
/// All of these elements must be valid, and `results` must not overlap the operands.
#[inline(always)]
unsafe fn block<T: Real, S: Simd, const M: usize, const N: usize>(
    simd: S,
    depth: usize,
    mut a: *const T,
    step: (usize, usize),
    mut b: *const T,
    results: &Results<T>,
) {
    let lanes = T::vector_lanes::<S>();
    let mut sums = [[T::splat(simd, T::default()); N]; M];
    if results.add {
        for i in 0..M {
            let row = results.at.wrapping_add(i * results.stride);
            prefetch(row, 1);
            prefetch(row.wrapping_add(results.width - 1), 1);
        }
    }
    for _ in 0..depth {
        // SAFETY: guaranteed by the caller for every p < depth.
        unsafe {
            let mut right = [T::splat(simd, T::default()); N];
            for (j, right) in right.iter_mut().enumerate() {
                *right = load::<T, S>(b.add(j * lanes));
            }
            for (i, sums) in sums.iter_mut().enumerate() {
                let left = T::splat(simd, *a.add(i * step.0));
                for j in 0..N {
                    sums[j] = T::vector_fma(simd, left, right[j], sums[j]);
                }
            }
            a = a.add(step.1);
            b = b.add(N * lanes);
        }
    }
    for (i, sums) in sums.iter().enumerate() {
        // SAFETY: row i of the results has `width` values.
        unsafe { put::<T, S, N>(simd, results.at.add(i * results.stride), results, sums) };
    }
}

/// Stores vectors of sums to a row of results, of which as many as are `width` values exist.
#[inline(always)]
pub(super) unsafe fn put<T: Real, S: Simd, const N: usize>(
    simd: S,
    row: *mut T,
    results: &Results<T>,
    sums: &[T::Vector<S>; N],
) {
    let lanes = T::vector_lanes::<S>();
    // SAFETY: the caller vouches for `width` values; narrow rows go through `spill`, which is larger than two vectors
    // of any instruction set.
    unsafe {
        let mut spill = [T::default(); 64];
        let narrow = results.width < N * lanes;
        let to = if narrow { spill.as_mut_ptr() } else { row };
        if narrow && results.add {
            std::ptr::copy_nonoverlapping(row, to, results.width);
        }
        for (j, &sum) in sums.iter().enumerate() {
            let to = to.add(j * lanes);
            store::<T, S>(to, if results.add { T::vector_add(simd, load::<T, S>(to), sum) } else { sum });
        }
        if narrow {
            std::ptr::copy_nonoverlapping(to, row, results.width);
        }
    }
}

/// [`block`] with the number of rows and vectors as run-time values.
#[inline(always)]
pub(super) unsafe fn block_of<T: Real, S: Simd>(
    simd: S,
    size: (usize, usize),
    depth: usize,
    a: *const T,
    step: (usize, usize),
    b: *const T,
    results: Results<T>,
) {
    macro_rules! cases {
        ($($m:literal)*) => {
            match size {
                $(
                    // SAFETY: guaranteed by the caller.
                    ($m, 1) => unsafe { block::<T, S, $m, 1>(simd, depth, a, step, b, &results) },
                    // SAFETY: guaranteed by the caller.
                    ($m, _) => unsafe { block::<T, S, $m, 2>(simd, depth, a, step, b, &results) },
                )*
                _ => unreachable!("blocks have no more rows than fit the registers"),
            }
        };
    }
    if most_rows::<S>() == 12 { cases!(1 2 3 4 5 6 7 8 9 10 11 12) } else { cases!(1 2 3 4 5 6) }
}
