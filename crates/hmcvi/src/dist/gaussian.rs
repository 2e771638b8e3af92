//! Describe Gaussians with a diagonal covariance matrix.

use hmcvi_graph::{Expr, Graph};

use super::HALF_LOG_TWO_PI;

/// A Gaussian with a mean and a log variance for each dimension.
#[derive(Clone, Copy, Debug)]
pub struct Gaussian<'g> {
    /// Mean, `[N, d]` or `[1, d]`.
    pub mean: Expr<'g>,
    /// Logarithm of the variance, `[N, d]` or `[1, d]`.
    pub log_variance: Expr<'g>,
}

impl<'g> Gaussian<'g> {
    /// Mean 0 and variance 1.
    pub fn standard(graph: &'g Graph, dimension: usize) -> Self {
        let zero = graph.constant(0.0).broadcast_to(hmcvi_graph::Shape::fixed(1, dimension));
        Gaussian { mean: zero, log_variance: zero }
    }

    /// The same distribution, whose parameters derivatives take as constants.
    #[must_use]
    pub fn held(&self) -> Self {
        Gaussian { mean: self.mean.stop_gradient(), log_variance: self.log_variance.stop_gradient() }
    }

    /// Number of dimensions.
    pub fn dimension(&self) -> usize {
        self.log_variance.cols()
    }

    /// The draw that belongs to a standard normal one.
    pub fn sample(&self, noise: Expr<'g>) -> Expr<'g> {
        self.mean + (self.log_variance * 0.5).exp() * noise
    }

    /// Log density of every row.
    pub fn log_prob(&self, x: Expr<'g>) -> Expr<'g> {
        let square = (x - self.mean).square() * (-self.log_variance).exp();
        let d = self.dimension() as f64;
        -((square + self.log_variance).sum_cols() * 0.5 + d * HALF_LOG_TWO_PI)
    }

    /// Log density of every value.
    pub fn log_prob_terms(&self, x: Expr<'g>) -> Expr<'g> {
        let square = (x - self.mean).square() * (-self.log_variance).exp();
        -((square + self.log_variance) * 0.5 + HALF_LOG_TWO_PI)
    }

    /// Entropy, `½ Σ (log σ² + 1 + log 2π)`.
    pub fn entropy(&self) -> Expr<'g> {
        let d = self.dimension() as f64;
        (self.log_variance.sum_cols() + d) * 0.5 + d * HALF_LOG_TWO_PI
    }
}
