//! Multiply matrices: rows by an operand that was packed once, and sums over rows.
//!
//! All tiles of a step multiply by the same weights, so these are packed once per step into panels
//! that the innermost loop reads in order; a general product would pack them again in every call.
//! Every element is one chain of fused multiply-adds over the depth, in chunks that depend on the
//! depth alone: the result of a row is the same bits whatever rows stand beside it.

use pulp::{Simd, WithSimd};

use crate::real::Real;

/// Rows of the block of results that stays in registers; its columns are two vectors.
const BLOCK_ROWS: usize = 6;
/// Depth of a panel that stays in the first-level cache beside the rows that it meets.
const DEPTH: usize = 320;
/// Rows of data that one pass of a sum over rows takes, and the most result rows it covers.
const SUM_DEPTH: usize = 256;
const SUM_ROWS: usize = 240;

/// Values that [`Accumulate`] needs for packing its operands.
pub(super) const SCRATCH: usize = SUM_DEPTH * (SUM_ROWS + 64);

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

#[inline(always)]
unsafe fn load<T: Real, S: Simd>(from: *const T) -> T::Vector<S> {
    // SAFETY: the caller vouches for a whole vector of readable values.
    unsafe { from.cast::<T::Vector<S>>().read_unaligned() }
}

#[inline(always)]
unsafe fn store<T: Real, S: Simd>(to: *mut T, value: T::Vector<S>) {
    // SAFETY: the caller vouches for a whole vector of writable values.
    unsafe { to.cast::<T::Vector<S>>().write_unaligned(value) }
}

/// Asks for `lines` cache lines from an address on, before they are needed.
#[inline(always)]
fn prefetch<T>(from: *const T, lines: usize) {
    #[cfg(target_arch = "x86_64")]
    for line in 0..lines {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: a prefetch of any address is harmless.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(from.cast::<i8>().wrapping_add(64 * line)) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (from, lines);
}

/// A block of results: `M` rows of at most `N` vectors.
struct Results<T> {
    at: *mut T,
    stride: usize,
    width: usize,
    /// Add to what is there instead of overwriting it.
    add: bool,
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
unsafe fn put<T: Real, S: Simd, const N: usize>(
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

/// One row by `P` neighbouring panels of two vectors, `apart` values from each other: enough sums side by side that the
/// processor need not wait for one before it begins the next. Each sum is the chain that [`block`] computes.
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

/// [`block`] with the number of rows and vectors as run-time values.
#[inline(always)]
unsafe fn block_of<T: Real, S: Simd>(
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
                _ => unreachable!("blocks have 1 to 6 rows"),
            }
        };
    }
    cases!(1 2 3 4 5 6)
}

/// `c (+)= a · b` for `rows` rows, with `b` packed by [`pack`], or some of its rows or panels.
pub struct Product<T> {
    pub(super) rows: usize,
    pub(super) depth: usize,
    pub(super) cols: usize,
    /// Rows of the whole operand, and the first one to be used.
    pub(super) packed_depth: usize,
    pub(super) first: usize,
    /// Add to what is there instead of overwriting it.
    pub(super) add: bool,
    pub(super) a: *const T,
    pub(super) a_stride: usize,
    pub(super) packed: *const T,
    pub(super) c: *mut T,
    pub(super) c_stride: usize,
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
                let share = (depth * width * size_of::<T>()).div_ceil(64 * self.rows.div_ceil(BLOCK_ROWS));
                for (i, row) in (0..self.rows).step_by(BLOCK_ROWS).enumerate() {
                    let rows = BLOCK_ROWS.min(self.rows - row);
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

/// One product of a sum over rows.
#[derive(Clone, Copy)]
pub(super) struct SumTerm<T> {
    pub(super) a: *const T,
    pub(super) a_stride: usize,
    pub(super) b: *const T,
    pub(super) b_stride: usize,
    pub(super) negative: bool,
}

/// `c (+)= Σ ± aᵀb` over `depth` rows of each term; `c` is `[rows, cols]` without gaps.
pub struct Accumulate<'t, T> {
    pub(super) terms: &'t [SumTerm<T>],
    pub(super) depth: usize,
    pub(super) rows: usize,
    pub(super) cols: usize,
    pub(super) c: *mut T,
    pub(super) add: bool,
    /// Room for [`SCRATCH`] values.
    pub(super) scratch: *mut T,
}

impl<T: Real> Accumulate<'_, T> {
    /// Packs columns `from .. from + width` of one operand of rows `start .. start + depth` (counted
    /// over all terms) into rows of `padded` values.
    #[inline(always)]
    unsafe fn pack(
        &self,
        left: bool,
        range: (usize, usize),
        columns: (usize, usize),
        padded: usize,
        to: *mut T,
    ) {
        let (from, width) = columns;
        let (mut term, mut row) = (range.0 / self.depth, range.0 % self.depth);
        for p in 0..range.1 {
            let t = &self.terms[term];
            let (base, stride) = if left { (t.a, t.a_stride) } else { (t.b, t.b_stride) };
            // SAFETY: row < depth and from + width are inside the operand, by whoever built the
            // sum; `to` has room for `padded` values in each row.
            unsafe {
                let (from, to) = (base.add(row * stride + from), to.add(p * padded));
                if width == padded {
                    // `padded` is known to the compiler, so this is a few vector moves.
                    std::ptr::copy_nonoverlapping(from, to, padded);
                } else {
                    for j in 0..padded {
                        *to.add(j) = if j < width { *from.add(j) } else { T::default() };
                    }
                }
                if left && t.negative {
                    for j in 0..padded {
                        *to.add(j) = -*to.add(j);
                    }
                }
            }
            row += 1;
            if row == self.depth {
                (term, row) = (term + 1, 0);
            }
        }
    }
}

impl<T: Real> WithSimd for Accumulate<'_, T> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let lanes = T::vector_lanes::<S>();
        let total = self.terms.len() * self.depth;
        let chunk = total.div_ceil(total.div_ceil(SUM_DEPTH));
        for top in (0..self.rows).step_by(SUM_ROWS) {
            let rows = SUM_ROWS.min(self.rows - top);
            for start in (0..total).step_by(chunk) {
                let depth = chunk.min(total - start);
                // SAFETY: SUM_ROWS is a multiple of BLOCK_ROWS, so the left panels take at most
                // SUM_DEPTH·SUM_ROWS values of the scratch and the right panel fits behind them;
                // results stay below rows and cols.
                unsafe {
                    let right = self.scratch.add(SUM_DEPTH * SUM_ROWS);
                    for row in (0..rows).step_by(BLOCK_ROWS) {
                        let height = BLOCK_ROWS.min(rows - row);
                        let to = self.scratch.add(row * depth);
                        self.pack(true, (start, depth), (top + row, height), BLOCK_ROWS, to);
                    }
                    let mut col = 0;
                    while col < self.cols {
                        let width = panel_width(lanes, self.cols, col);
                        let real = width.min(self.cols - col);
                        // Two calls, so that the compiler knows the width in each.
                        if width == lanes {
                            self.pack(false, (start, depth), (col, real), lanes, right);
                        } else {
                            self.pack(false, (start, depth), (col, real), 2 * lanes, right);
                        }
                        for row in (0..rows).step_by(BLOCK_ROWS) {
                            let results = Results {
                                at: self.c.add((top + row) * self.cols + col),
                                stride: self.cols,
                                width: real,
                                add: self.add || start > 0,
                            };
                            let size = (BLOCK_ROWS.min(rows - row), width / lanes);
                            let left = self.scratch.add(row * depth);
                            block_of(simd, size, depth, left, (1, BLOCK_ROWS), right, results);
                        }
                        col += width;
                    }
                }
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
