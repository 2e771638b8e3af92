//! Give particles their kinetic energy `K(v) = vᵀM⁻¹v / 2` (`eq:KineticEnergy`).

use hmcvi_graph::{Expr, Graph, Shape};

use crate::dist::Gaussian;

/// A quadratic kinetic energy with a diagonal mass matrix `M`, which is the covariance matrix of the
/// canonical momentum distribution `f_kin = N(0, M)`.
#[derive(Clone, Copy, Debug)]
pub struct Kinetic<'g> {
    /// Logarithm of the diagonal of `M`: `[1, d]`, or `[N, d]` where it depends on the data.
    pub log_mass: Expr<'g>,
}

impl<'g> Kinetic<'g> {
    /// `M = I`
    pub fn identity(graph: &'g Graph, dimension: usize) -> Self {
        Kinetic { log_mass: graph.constant(0.0).broadcast_to(Shape::fixed(1, dimension)) }
    }

    /// `K(v)` of every row.
    pub fn energy(&self, v: Expr<'g>) -> Expr<'g> {
        (v.square() * (-self.log_mass).exp()).sum_cols() * 0.5
    }

    /// `∂K/∂v = M⁻¹v`
    pub fn velocity(&self, v: Expr<'g>) -> Expr<'g> {
        v * (-self.log_mass).exp()
    }

    /// The canonical momentum distribution `f_kin`.
    pub fn momentum(&self) -> Gaussian<'g> {
        let graph = self.log_mass.graph();
        let mean = graph.constant(0.0).broadcast_to(Shape::fixed(1, self.log_mass.cols()));
        Gaussian { mean, log_variance: self.log_mass }
    }
}
