//! Compute with matrices of known numbers.

/// `log Σ exp xᵢ`
pub(crate) fn log_sum_exp(x: &[f64]) -> f64 {
    let high = x.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    if high.is_infinite() {
        return high;
    }
    high + x.iter().map(|x| (x - high).exp()).sum::<f64>().ln()
}

/// The product of `[n, m]` and `[m, k]`.
pub(crate) fn product(a: &[f64], b: &[f64], [n, m, k]: [usize; 3]) -> Vec<f64> {
    let mut out = vec![0.0; n * k];
    for i in 0..n {
        for l in 0..m {
            let x = a[i * m + l];
            for j in 0..k {
                out[i * k + j] += x * b[l * k + j];
            }
        }
    }
    out
}

/// The factor `L` of `A = LLᵀ`, if there is one.
pub(crate) fn cholesky(a: &[f64], n: usize) -> Option<Vec<f64>> {
    let mut l = vec![0.0; n * n];
    for i in 0..n {
        for j in 0..=i {
            let dot: f64 = (0..j).map(|k| l[i * n + k] * l[j * n + k]).sum();
            let rest = a[i * n + j] - dot;
            l[i * n + j] = match i == j {
                true if rest > 0.0 => rest.sqrt(),
                true => return None,
                false => rest / l[j * n + j],
            };
        }
    }
    Some(l)
}

/// `L⁻¹B` or `L⁻ᵀB`
pub(crate) fn solve_lower(l: &[f64], b: &[f64], n: usize, cols: usize, transposed: bool) -> Vec<f64> {
    let mut x = b.to_vec();
    for step in 0..n {
        let i = if transposed { n - 1 - step } else { step };
        for c in 0..cols {
            let range = if transposed { i + 1..n } else { 0..i };
            let entry = |k: usize| if transposed { l[k * n + i] } else { l[i * n + k] };
            let dot: f64 = range.map(|k| entry(k) * x[k * cols + c]).sum();
            x[i * cols + c] = (x[i * cols + c] - dot) / l[i * n + i];
        }
    }
    x
}

/// Eigenvalues, ascending, and eigenvectors in the columns, of a symmetric matrix: Jacobi's rotations.
pub(crate) fn symmetric_eigen(a: &[f64], n: usize) -> (Vec<f64>, Vec<f64>) {
    let mut a = a.to_vec();
    let mut v: Vec<f64> = (0..n * n).map(|at| f64::from(u8::from(at / n == at % n))).collect();
    for _ in 0..100 {
        let off: f64 = (0..n * n).filter(|at| at / n != at % n).map(|at| a[at] * a[at]).sum();
        let all: f64 = a.iter().map(|x| x * x).sum();
        if off <= 1e-30 * all {
            break;
        }
        for p in 0..n {
            for q in p + 1..n {
                rotate(&mut a, &mut v, n, p, q);
            }
        }
    }
    let mut order: Vec<usize> = (0..n).collect();
    order.sort_by(|i, j| a[i * n + i].total_cmp(&a[j * n + j]));
    let values = order.iter().map(|i| a[i * n + i]).collect();
    let vectors = (0..n * n).map(|at| v[at / n * n + order[at % n]]).collect();
    (values, vectors)
}

fn rotate(a: &mut [f64], v: &mut [f64], n: usize, p: usize, q: usize) {
    if a[p * n + q] == 0.0 {
        return;
    }
    let theta = (a[q * n + q] - a[p * n + p]) / (2.0 * a[p * n + q]);
    let t = theta.signum() / (theta.abs() + (theta * theta + 1.0).sqrt());
    let c = 1.0 / (t * t + 1.0).sqrt();
    let s = t * c;
    for k in 0..n {
        let (x, y) = (a[k * n + p], a[k * n + q]);
        (a[k * n + p], a[k * n + q]) = (c * x - s * y, s * x + c * y);
    }
    for k in 0..n {
        let (x, y) = (a[p * n + k], a[q * n + k]);
        (a[p * n + k], a[q * n + k]) = (c * x - s * y, s * x + c * y);
        let (x, y) = (v[k * n + p], v[k * n + q]);
        (v[k * n + p], v[k * n + q]) = (c * x - s * y, s * x + c * y);
    }
}

/// `Q` `[n, m]` and `R` `[m, m]` with a positive diagonal, by modified Gram and Schmidt, twice.
pub(crate) fn thin_qr(a: &[f64], n: usize, m: usize) -> (Vec<f64>, Vec<f64>) {
    let mut q = a.to_vec();
    let mut r: Vec<f64> = (0..m * m).map(|at| f64::from(u8::from(at / m == at % m))).collect();
    for _ in 0..2 {
        let mut own = vec![0.0; m * m];
        for j in 0..m {
            for i in 0..j {
                let dot: f64 = (0..n).map(|k| q[k * m + i] * q[k * m + j]).sum();
                own[i * m + j] = dot;
                (0..n).for_each(|k| q[k * m + j] -= dot * q[k * m + i]);
            }
            let length = (0..n).map(|k| q[k * m + j] * q[k * m + j]).sum::<f64>().sqrt();
            own[j * m + j] = length;
            (0..n).for_each(|k| q[k * m + j] /= length);
        }
        r = product(&own, &r, [m, m, m]);
    }
    (q, r)
}

/// The quantile function of the standard normal distribution: a start by logarithms, then Newton's steps.
pub(crate) fn inv_phi(p: f64) -> f64 {
    if !(0.0..=1.0).contains(&p) {
        return f64::NAN;
    }
    if p == 0.0 || p == 1.0 {
        return if p == 0.0 { f64::NEG_INFINITY } else { f64::INFINITY };
    }
    if p > 0.5 {
        return -inv_phi(1.0 - p);
    }
    let mut x =
        if p > 0.1 { 2.5 * (p - 0.5) } else { -(-2.0 * p.ln() - (-2.0 * p.ln()).ln()).max(0.0).sqrt() };
    for _ in 0..60 {
        // In logarithms, so that steps in the tail stay small.
        let cdf = 0.5 * libm::erfc(-x * std::f64::consts::FRAC_1_SQRT_2);
        let density = (-0.5 * x * x).exp() / std::f64::consts::TAU.sqrt();
        let step = (cdf.ln() - p.ln()) * cdf / density;
        x -= step;
        if step.abs() < 1e-15 * x.abs().max(1.0) {
            break;
        }
    }
    x
}
