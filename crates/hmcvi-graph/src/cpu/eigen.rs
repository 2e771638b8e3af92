//! Find eigenvalues and eigenvectors of small symmetric matrices by Jacobi's rotations.

use crate::real::Real;

/// Sweeps over all pairs; after the first few, what is off the diagonal is squared by each.
const SWEEPS: usize = 30;

/// The eigenvalues on the diagonal of a matrix, ascending, and then the eigenvectors in the columns of another.
#[inline(always)]
pub(super) fn eigen<T: Real>(a: &[T], n: usize, to: &mut [T]) {
    let (work, vectors) = to.split_at_mut(n * n);
    work.copy_from_slice(a);
    for (at, x) in vectors.iter_mut().enumerate() {
        *x = T::from_f64(if at / n == at % n { 1.0 } else { 0.0 });
    }
    for _ in 0..SWEEPS {
        let mut rotated = false;
        for p in 0..n {
            for q in p + 1..n {
                rotated |= rotate(work, vectors, n, [p, q]);
            }
        }
        if !rotated {
            break;
        }
    }
    sort(work, vectors, n);
}

/// Makes entry `(p, q)` zero, unless it is too small to change the diagonal.
#[inline(always)]
fn rotate<T: Real>(a: &mut [T], v: &mut [T], n: usize, [p, q]: [usize; 2]) -> bool {
    let zero = T::default();
    let (first, second, off) = (a[p * n + p], a[q * n + q], a[p * n + q]);
    if first + off == first && second + off == second {
        a[p * n + q] = zero;
        a[q * n + p] = zero;
        return false;
    }
    let one = T::from_f64(1.0);
    let theta = (second - first) / (off + off);
    let size = one / (theta.abs() + (theta * theta + one).sqrt());
    let t = if theta < zero { -size } else { size };
    let c = one / (t * t + one).sqrt();
    let s = t * c;
    let turn = |x: T, y: T| (c * x - s * y, s * x + c * y);
    for k in 0..n {
        (a[k * n + p], a[k * n + q]) = turn(a[k * n + p], a[k * n + q]);
        (v[k * n + p], v[k * n + q]) = turn(v[k * n + p], v[k * n + q]);
    }
    for k in 0..n {
        (a[p * n + k], a[q * n + k]) = turn(a[p * n + k], a[q * n + k]);
    }
    true
}

/// Puts eigenvalues in order, their vectors with them, and zeros beside the diagonal.
#[inline(always)]
fn sort<T: Real>(a: &mut [T], v: &mut [T], n: usize) {
    for i in 0..n {
        let mut least = i;
        for j in i + 1..n {
            if a[j * n + j] < a[least * n + least] {
                least = j;
            }
        }
        a.swap(i * n + i, least * n + least);
        for k in 0..n {
            v.swap(k * n + i, k * n + least);
        }
    }
    for (at, x) in a.iter_mut().enumerate() {
        if at / n != at % n {
            *x = T::default();
        }
    }
}
