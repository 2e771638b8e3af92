//! Factor and solve small positive definite systems, matrices row by row.

/// Lower factor `L` of a positive definite matrix `LLᵀ`; not numbers where the matrix is none.
pub(crate) fn cholesky(a: &[f64], n: usize) -> Vec<f64> {
    let mut l = vec![0.0; n * n];
    for i in 0..n {
        for j in 0..=i {
            let dot: f64 = (0..j).map(|k| l[i * n + k] * l[j * n + k]).sum();
            let rest = a[i * n + j] - dot;
            l[i * n + j] = if i == j { rest.sqrt() } else { rest / l[j * n + j] };
        }
    }
    l
}

/// Solves `LLᵀ y = b`.
pub(crate) fn solve(l: &[f64], n: usize, b: &[f64]) -> Vec<f64> {
    let mut y = b.to_vec();
    for i in 0..n {
        let dot: f64 = (0..i).map(|k| l[i * n + k] * y[k]).sum();
        y[i] = (y[i] - dot) / l[i * n + i];
    }
    for i in (0..n).rev() {
        let dot: f64 = (i + 1..n).map(|k| l[k * n + i] * y[k]).sum();
        y[i] = (y[i] - dot) / l[i * n + i];
    }
    y
}

/// Eigenvalues and eigenvectors (row by row, one in each row) of a symmetric matrix, by Jacobi's rotations.
pub(crate) fn symmetric_eigen(a: &[f64], n: usize) -> (Vec<f64>, Vec<f64>) {
    let mut a = a.to_vec();
    let mut vectors = vec![0.0; n * n];
    (0..n).for_each(|i| vectors[i * n + i] = 1.0);
    for _ in 0..SWEEPS {
        let off: f64 =
            (0..n).flat_map(|i| (0..i).map(move |j| (i, j))).map(|(i, j)| a[i * n + j].powi(2)).sum();
        let whole: f64 = a.iter().map(|x| x * x).sum();
        if off <= 1e-26 * whole || !whole.is_finite() {
            break;
        }
        for p in 0..n {
            for q in p + 1..n {
                rotate(&mut a, &mut vectors, n, p, q);
            }
        }
    }
    ((0..n).map(|i| a[i * n + i]).collect(), vectors)
}

/// Rotations of all pairs that make a matrix diagonal; it takes fewer than ten.
const SWEEPS: usize = 40;

/// Makes the element `(p, q)` zero.
fn rotate(a: &mut [f64], vectors: &mut [f64], n: usize, p: usize, q: usize) {
    let (apq, app, aqq) = (a[p * n + q], a[p * n + p], a[q * n + q]);
    if apq == 0.0 {
        return;
    }
    let theta = (aqq - app) / (2.0 * apq);
    let t = theta.signum() / (theta.abs() + (theta * theta + 1.0).sqrt());
    let t = if theta == 0.0 { 1.0 } else { t };
    let c = 1.0 / (t * t + 1.0).sqrt();
    let s = t * c;
    for k in 0..n {
        let (x, y) = (a[k * n + p], a[k * n + q]);
        (a[k * n + p], a[k * n + q]) = (c * x - s * y, s * x + c * y);
    }
    for k in 0..n {
        let (x, y) = (a[p * n + k], a[q * n + k]);
        (a[p * n + k], a[q * n + k]) = (c * x - s * y, s * x + c * y);
        let (x, y) = (vectors[p * n + k], vectors[q * n + k]);
        (vectors[p * n + k], vectors[q * n + k]) = (c * x - s * y, s * x + c * y);
    }
}

/// `A · B` of square matrices.
pub(crate) fn product(a: &[f64], b: &[f64], n: usize) -> Vec<f64> {
    let mut c = vec![0.0; n * n];
    for i in 0..n {
        for k in 0..n {
            let x = a[i * n + k];
            if x != 0.0 {
                let (row, from) = (&mut c[i * n..(i + 1) * n], &b[k * n..(k + 1) * n]);
                row.iter_mut().zip(from).for_each(|(c, b)| *c += x * b);
            }
        }
    }
    c
}

/// `Aᵀ`
pub(crate) fn transpose(a: &[f64], n: usize) -> Vec<f64> {
    (0..n * n).map(|k| a[(k % n) * n + k / n]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn eigenvectors_give_the_matrix_back() {
        let n = 6;
        let raw: Vec<f64> = (0..n * n).map(|k| (k as f64 * 1.7).sin()).collect();
        let a = product(&raw, &transpose(&raw, n), n);
        let (values, vectors) = symmetric_eigen(&a, n);
        let scaled: Vec<f64> = (0..n * n).map(|k| values[k / n] * vectors[k]).collect();
        let again = product(&transpose(&vectors, n), &scaled, n);
        assert!(a.iter().zip(&again).all(|(a, b)| (a - b).abs() < 1e-12), "{again:?}");
        let unit = product(&vectors, &transpose(&vectors, n), n);
        assert!((0..n * n).all(|k| (unit[k] - f64::from(u8::from(k / n == k % n))).abs() < 1e-13));
    }
}
