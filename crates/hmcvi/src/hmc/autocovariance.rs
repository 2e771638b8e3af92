//! Compute the autocovariances of a series at all lags at once, by fast Fourier transforms.

use std::f64::consts::TAU;

/// `Σ_i (x_i - μ)(x_{i+lag} - μ) / n` for every lag from 0 to `n - 1`.
pub(super) fn autocovariance(x: &[f64]) -> Vec<f64> {
    let n = x.len();
    let mean = x.iter().sum::<f64>() / n as f64;
    // Zeros behind the series keep its end from meeting its beginning.
    let size = (2 * n).next_power_of_two();
    let (mut real, mut imaginary) = (vec![0.0; size], vec![0.0; size]);
    real.iter_mut().zip(x).for_each(|(r, x)| *r = x - mean);
    transform(&mut real, &mut imaginary);
    for (r, i) in real.iter_mut().zip(&mut imaginary) {
        (*r, *i) = (*r * *r + *i * *i, 0.0);
    }
    // Power is even in frequency: a second transform inverts the first but for a factor.
    transform(&mut real, &mut imaginary);
    real.truncate(n);
    real.iter_mut().for_each(|r| *r /= (size * n) as f64);
    real
}

/// The discrete Fourier transform of a power of two of complex values (Cooley and Tukey).
fn transform(real: &mut [f64], imaginary: &mut [f64]) {
    let n = real.len();
    let unused = usize::BITS - n.trailing_zeros();
    for i in 0..n {
        let j = i.reverse_bits().checked_shr(unused).unwrap_or(0);
        if i < j {
            real.swap(i, j);
            imaginary.swap(i, j);
        }
    }
    let roots: Vec<(f64, f64)> = (0..n / 2).map(|k| (TAU * k as f64 / n as f64).sin_cos()).collect();
    let mut half = 1;
    while half < n {
        for first in (0..n).step_by(2 * half) {
            for k in 0..half {
                let (sin, cos) = roots[k * (n / (2 * half))];
                let (a, b) = (first + k, first + k + half);
                let turned = (real[b] * cos + imaginary[b] * sin, imaginary[b] * cos - real[b] * sin);
                (real[b], imaginary[b]) = (real[a] - turned.0, imaginary[a] - turned.1);
                (real[a], imaginary[a]) = (real[a] + turned.0, imaginary[a] + turned.1);
            }
        }
        half *= 2;
    }
}

#[cfg(test)]
mod tests {
    use hmcvi_graph::random::{Key, normal};

    use super::*;

    #[test]
    fn all_lags_are_the_plain_sums() {
        for n in [1, 2, 3, 7, 64, 100] {
            let mut x = vec![0.0; n];
            normal(Key { seed: 5, stream: 0, step: 0, row: 0 }, &mut x);
            let mean = x.iter().sum::<f64>() / n as f64;
            for (lag, found) in autocovariance(&x).into_iter().enumerate() {
                let products = x.iter().zip(&x[lag..]).map(|(a, b)| (a - mean) * (b - mean));
                let expected = products.sum::<f64>() / n as f64;
                assert!((found - expected).abs() < 1e-14, "{n} values, lag {lag}: {found}, not {expected}");
            }
        }
    }
}
