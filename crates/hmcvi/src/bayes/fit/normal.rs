//! A Gaussian as numbers: mean and lower factor of the covariance.

use hmcvi_graph::random::{self, Key};

use crate::dist::HALF_LOG_TWO_PI;
use crate::linalg::cholesky;

/// A Gaussian with any covariance.
#[derive(Clone, Debug, PartialEq)]
pub struct FullGaussian {
    /// The mean.
    pub mean: Vec<f64>,
    /// The lower factor `L` of the covariance `LLᵀ`, row by row.
    pub factor: Vec<f64>,
}

impl FullGaussian {
    /// Mean and covariance; nothing if the covariance is not positive definite.
    pub(super) fn new(mean: Vec<f64>, covariance: &[f64]) -> Option<Self> {
        let factor = cholesky(covariance, mean.len());
        let fine = factor.iter().chain(&mean).all(|x| x.is_finite())
            && (0..mean.len()).all(|i| factor[i * mean.len() + i] > 0.0);
        fine.then_some(FullGaussian { mean, factor })
    }

    /// Number of dimensions.
    pub fn dimension(&self) -> usize {
        self.mean.len()
    }

    /// `Σ`, row by row.
    pub fn covariance(&self) -> Vec<f64> {
        let d = self.dimension();
        let row = |i: usize| &self.factor[i * d..(i + 1) * d];
        let dot = |i: usize, j: usize| row(i).iter().zip(row(j)).map(|(a, b)| a * b).sum();
        (0..d * d).map(|k| dot(k / d, k % d)).collect()
    }

    /// `log |L|`
    pub(super) fn log_determinant(&self) -> f64 {
        let d = self.dimension();
        (0..d).map(|i| self.factor[i * d + i].ln()).sum()
    }

    /// The point that belongs to standard normal coordinates.
    pub fn place(&self, e: &[f64]) -> Vec<f64> {
        let d = self.dimension();
        let moved =
            |i: usize| -> f64 { self.factor[i * d..=i * d + i].iter().zip(e).map(|(l, e)| l * e).sum() };
        (0..d).map(|i| self.mean[i] + moved(i)).collect()
    }

    /// Draws, one after the other, and their log densities. Other seeds and other steps give others.
    pub fn draws(&self, rows: usize, seed: u64, step: u64) -> (Vec<f64>, Vec<f64>) {
        let d = self.dimension();
        let (mut points, mut densities) = (Vec::with_capacity(rows * d), Vec::with_capacity(rows));
        let mut e = vec![0.0; d];
        let constant = -self.log_determinant() - d as f64 * HALF_LOG_TWO_PI;
        for row in 0..rows {
            random::normal(Key { seed, stream: STREAM, step, row: row as u32 }, &mut e);
            points.extend(self.place(&e));
            densities.push(constant - 0.5 * e.iter().map(|e| e * e).sum::<f64>());
        }
        (points, densities)
    }

    /// Draws of a Gaussian without covariances, one after the other, and their standard normal coordinates.
    pub(super) fn draws_of_variances(&self, rows: usize, seed: u64, step: u64) -> (Vec<f64>, Vec<f64>) {
        let d = self.dimension();
        let mut places = vec![0.0; rows * d];
        for (row, e) in places.chunks_mut(d).enumerate() {
            random::normal(Key { seed, stream: STREAM, step, row: row as u32 }, e);
        }
        let moved = |(k, e): (usize, &f64)| self.mean[k % d] + self.factor[k % d * (d + 1)] * e;
        (places.iter().enumerate().map(moved).collect(), places)
    }

    /// The same without what its dimensions have to do with each other. Variances are those of each dimension where all
    /// others are known: what a bound prefers.
    pub(super) fn diagonal(&self) -> Self {
        let d = self.dimension();
        if (0..d).all(|i| self.factor[i * d..i * d + i].iter().all(|covariance| *covariance == 0.0)) {
            return self.clone();
        }
        let mut factor = vec![0.0; d * d];
        for i in 0..d {
            let mut unit = vec![0.0; d];
            unit[i] = 1.0;
            let precision = crate::linalg::solve(&self.factor, d, &unit)[i];
            factor[i * d + i] = 1.0 / precision.sqrt();
        }
        FullGaussian { mean: self.mean.clone(), factor }
    }
}

/// Stream of these draws, apart from those of programs.
const STREAM: u16 = u16::MAX - 1;
