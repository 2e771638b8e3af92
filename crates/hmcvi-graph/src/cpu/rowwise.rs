//! Run functions of whole rows, one row after the other.

use std::slice::{from_raw_parts, from_raw_parts_mut};

use pulp::{Simd, WithSimd};

use super::eigen::eigen;
use super::elements::log_sum_exp;
use super::memory::{Frame, Memory};
use crate::plan::Rowwise;
use crate::real::Real;
use crate::rowwise::RowOp;

/// A function and the rows it is to be run for.
pub struct Run<'a, T> {
    pub(super) step: &'a Rowwise,
    pub(super) memory: &'a Memory<T>,
    pub(super) frame: &'a Frame<T>,
    /// Rows of the tile or of the fixed shape.
    pub(super) rows: usize,
}

impl<T: Real> WithSimd for Run<'_, T> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        let Rowwise { op, args, out, .. } = self.step;
        for row in 0..self.rows {
            // SAFETY: the plan gives every view its columns and these rows; the result has memory of its own.
            let (to, arg) = unsafe {
                let to = from_raw_parts_mut(self.memory.row(self.frame, out.0, row), out.1);
                let arg = |i: usize| {
                    let (view, cols) = args[i];
                    from_raw_parts(self.memory.row(self.frame, view, row).cast_const(), cols)
                };
                (to, arg)
            };
            match op {
                RowOp::Gather(list) => gather(arg(0), list, to),
                RowOp::SegmentSum(list) => segment_sum(arg(0), list, to),
                RowOp::Cumsum { group, reverse } => {
                    for (x, to) in arg(0).chunks_exact(*group).zip(to.chunks_exact_mut(*group)) {
                        let values = x.iter().zip(to.iter_mut());
                        if *reverse { cumsum(values.rev()) } else { cumsum(values) }
                    }
                }
                RowOp::LogSumExp { group } => log_sum_exp(*group, arg(0), to),
                RowOp::Cholesky { n } => cholesky(arg(0), *n, to),
                RowOp::Eigen { n } => eigen(arg(0), *n, to),
                RowOp::Solve { n, transposed: false, .. } => solve(arg(0), arg(1), *n, to),
                RowOp::Solve { n, transposed: true, .. } => solve_transposed(arg(0), arg(1), *n, to),
                RowOp::Product { rows, depth, cols, transposed } => {
                    product(arg(0), arg(1), [*rows, *depth, *cols], *transposed, to);
                }
            }
        }
    }
}

#[inline(always)]
fn gather<T: Real>(x: &[T], list: &[u32], to: &mut [T]) {
    for (to, place) in to.iter_mut().zip(list) {
        *to = x[*place as usize];
    }
}

#[inline(always)]
fn segment_sum<T: Real>(x: &[T], list: &[u32], to: &mut [T]) {
    to.fill(T::default());
    for (x, place) in x.iter().zip(list) {
        let to = &mut to[*place as usize];
        *to = *to + *x;
    }
}

#[inline(always)]
fn cumsum<'a, T: Real>(values: impl Iterator<Item = (&'a T, &'a mut T)>) {
    let mut sum = T::default();
    for (x, to) in values {
        sum = sum + *x;
        *to = sum;
    }
}

/// Row by row: `L_ij = (A_ij - Σ_k<j L_ik L_jk) / L_jj`.
#[inline(always)]
fn cholesky<T: Real>(a: &[T], n: usize, to: &mut [T]) {
    for i in 0..n {
        let (above, row) = to.split_at_mut(i * n);
        for j in 0..i {
            let other = &above[j * n..][..=j];
            row[j] = (a[i * n + j] - dot(&row[..j], &other[..j])) / other[j];
        }
        row[i] = (a[i * n + i] - dot(&row[..i], &row[..i])).sqrt();
        row[i + 1..n].fill(T::default());
    }
}

/// From the first row of the result to the last.
#[inline(always)]
fn solve<T: Real>(l: &[T], b: &[T], n: usize, to: &mut [T]) {
    let cols = b.len() / n;
    for i in 0..n {
        let factors = &l[i * n..][..=i];
        let (done, row) = to.split_at_mut(i * cols);
        if cols == 1 {
            row[0] = (b[i] - dot(&factors[..i], done)) / factors[i];
            continue;
        }
        let row = &mut row[..cols];
        row.copy_from_slice(&b[i * cols..][..cols]);
        for (factor, done) in factors.iter().zip(done.chunks_exact(cols)) {
            add_multiple(row, -*factor, done);
        }
        row.iter_mut().for_each(|x| *x = *x / factors[i]);
    }
}

/// From the last row of the result to the first; each is taken from those above as soon as it is known.
#[inline(always)]
fn solve_transposed<T: Real>(l: &[T], b: &[T], n: usize, to: &mut [T]) {
    let cols = b.len() / n;
    to.copy_from_slice(b);
    for i in (0..n).rev() {
        let factors = &l[i * n..][..=i];
        let (above, row) = to.split_at_mut(i * cols);
        let row = &mut row[..cols];
        row.iter_mut().for_each(|x| *x = *x / factors[i]);
        if cols == 1 {
            add_multiple(above, -row[0], &factors[..i]);
            continue;
        }
        for (factor, above) in factors.iter().zip(above.chunks_exact_mut(cols)) {
            add_multiple(above, -*factor, row);
        }
    }
}

#[inline(always)]
fn product<T: Real>(a: &[T], b: &[T], [rows, depth, cols]: [usize; 3], transposed: [bool; 2], to: &mut [T]) {
    let left = |i: usize, p: usize| a[if transposed[0] { p * rows + i } else { i * depth + p }];
    for (i, row) in to.chunks_exact_mut(cols).enumerate() {
        if transposed[1] && !transposed[0] {
            let a = &a[i * depth..][..depth];
            row.iter_mut().zip(b.chunks_exact(depth)).for_each(|(x, b)| *x = dot(a, b));
            continue;
        }
        row.fill(T::default());
        for p in 0..depth {
            if transposed[1] {
                let factor = left(i, p);
                row.iter_mut().enumerate().for_each(|(j, x)| *x = factor.fma(b[j * depth + p], *x));
            } else {
                add_multiple(row, left(i, p), &b[p * cols..][..cols]);
            }
        }
    }
}

/// `to += factor · x`
#[inline(always)]
fn add_multiple<T: Real>(to: &mut [T], factor: T, x: &[T]) {
    to.iter_mut().zip(x).for_each(|(to, x)| *to = factor.fma(*x, *to));
}

/// `Σ a·b`, in chains that become vectors, which are added in order.
#[inline(always)]
fn dot<T: Real>(a: &[T], b: &[T]) -> T {
    const CHAINS: usize = 8;
    let mut chains = [T::default(); CHAINS];
    let whole = a.len() - a.len() % CHAINS;
    for (a, b) in a[..whole].chunks_exact(CHAINS).zip(b[..whole].chunks_exact(CHAINS)) {
        for i in 0..CHAINS {
            chains[i] = a[i].fma(b[i], chains[i]);
        }
    }
    for i in whole..a.len() {
        chains[i - whole] = a[i].fma(b[i], chains[i - whole]);
    }
    let mut width = CHAINS;
    while width > 1 {
        width /= 2;
        for i in 0..width {
            chains[i] = chains[i] + chains[i + width];
        }
    }
    chains[0]
}
