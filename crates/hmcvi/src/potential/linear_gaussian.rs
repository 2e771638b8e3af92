//! Solve a linear-Gaussian model exactly: `z ~ N(0, I)`, `x | z ~ N(zW + b, σ²I)`.

use hmcvi_graph::{Expr, Graph};

use super::Potential;
use crate::dist::HALF_LOG_TWO_PI;
use crate::linalg::{cholesky, solve};

/// A linear-Gaussian model, whose posterior and evidence are known.
#[derive(Clone, Debug, PartialEq)]
pub struct LinearGaussian {
    /// Dimensions of `z` and `x`.
    latent: usize,
    observed: usize,
    /// `W`, `[latent, observed]` row by row.
    weights: Vec<f64>,
    /// `b`
    offset: Vec<f64>,
    /// `σ`
    noise: f64,
}

impl LinearGaussian {
    /// A model with the given weights `[latent, observed]`, offset and noise.
    ///
    /// # Panics
    /// If the sizes do not fit or the noise is not positive.
    pub fn new(latent: usize, weights: &[f64], offset: &[f64], noise: f64) -> Self {
        assert!(
            latent > 0 && weights.len() == latent * offset.len(),
            "weights need latent · observed values"
        );
        assert!(noise > 0.0, "the noise must be positive");
        LinearGaussian {
            latent,
            observed: offset.len(),
            weights: weights.into(),
            offset: offset.into(),
            noise,
        }
    }

    /// Dimension of `z`.
    pub fn latent(&self) -> usize {
        self.latent
    }

    /// Dimension of `x`.
    pub fn observed(&self) -> usize {
        self.observed
    }

    /// The observation that belongs to a latent value and standard normal noise.
    pub fn simulate(&self, z: &[f64], noise: &[f64]) -> Vec<f64> {
        let mean =
            |j: usize| -> f64 { (0..self.latent).map(|i| z[i] * self.weights[i * self.observed + j]).sum() };
        (0..self.observed).map(|j| mean(j) + self.offset[j] + self.noise * noise[j]).collect()
    }

    /// `U(z) = -log p(x, z)` for observations `x` `[N, observed]`.
    pub fn potential<'g>(&self, graph: &'g Graph, x: Expr<'g>) -> Potential<'g> {
        let (latent, observed) = (self.latent, self.observed);
        let weights = graph.constant_matrix(latent, observed, &self.weights);
        let offset = graph.constant_matrix(1, observed, &self.offset);
        let constant = (latent + observed) as f64 * HALF_LOG_TWO_PI + observed as f64 * self.noise.ln();
        let precision = 1.0 / (self.noise * self.noise);
        Potential::from_expression(latent, move |z| {
            let rest = (x - (z.matmul(weights) + offset)).square().sum_cols() * precision;
            (rest + z.square().sum_cols()) * -0.5 - constant
        })
    }

    /// Precision matrix of the posterior, `I + WWᵀ/σ²`, the same for all `x`.
    fn precision(&self) -> Vec<f64> {
        let (d, m) = (self.latent, self.observed);
        let mut p = vec![0.0; d * d];
        for i in 0..d {
            for j in 0..d {
                let dot: f64 = (0..m).map(|k| self.weights[i * m + k] * self.weights[j * m + k]).sum();
                p[i * d + j] = dot / (self.noise * self.noise) + f64::from(u8::from(i == j));
            }
        }
        p
    }

    /// Mean and covariance (row by row) of `p(z | x)`.
    pub fn posterior(&self, x: &[f64]) -> (Vec<f64>, Vec<f64>) {
        let (d, m) = (self.latent, self.observed);
        let factor = cholesky(&self.precision(), d);
        let column = |i: usize| (0..d).map(|j| f64::from(u8::from(i == j))).collect::<Vec<_>>();
        let covariance: Vec<f64> = (0..d).flat_map(|i| solve(&factor, d, &column(i))).collect();
        let pull = |i: usize| -> f64 {
            let each = (0..m).map(|k| self.weights[i * m + k] * (x[k] - self.offset[k]));
            each.sum::<f64>() / (self.noise * self.noise)
        };
        let mean = solve(&factor, d, &(0..d).map(pull).collect::<Vec<_>>());
        (mean, covariance)
    }

    /// The exact `log p(x)`: `x ~ N(b, WᵀW + σ²I)`.
    pub fn log_evidence(&self, x: &[f64]) -> f64 {
        let (d, m) = (self.latent, self.observed);
        let mut covariance = vec![0.0; m * m];
        for i in 0..m {
            for j in 0..m {
                let dot: f64 = (0..d).map(|k| self.weights[k * m + i] * self.weights[k * m + j]).sum();
                covariance[i * m + j] = dot + if i == j { self.noise * self.noise } else { 0.0 };
            }
        }
        let factor = cholesky(&covariance, m);
        let rest: Vec<f64> = x.iter().zip(&self.offset).map(|(x, b)| x - b).collect();
        let solved = solve(&factor, m, &rest);
        let square: f64 = rest.iter().zip(&solved).map(|(a, b)| a * b).sum();
        let log_root_determinant: f64 = (0..m).map(|i| factor[i * m + i].ln()).sum();
        -0.5 * square - log_root_determinant - m as f64 * HALF_LOG_TWO_PI
    }
}
