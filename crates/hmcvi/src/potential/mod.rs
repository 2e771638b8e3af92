//! Describe potential energies `U(z) = -log p(x, z)` (`eq:VIwithHMCPotEnergy`).

mod linear_gaussian;
mod toy;

use std::rc::Rc;

use hmcvi_graph::Expr;

pub use linear_gaussian::LinearGaussian;
pub use toy::Landscape;

/// A potential energy: any expression of `z` with one value for every row.
#[derive(Clone)]
pub struct Potential<'g> {
    dimension: usize,
    log_density: Rc<dyn Fn(Expr<'g>) -> Expr<'g> + 'g>,
}

impl<'g> Potential<'g> {
    /// The potential of a log density `log p(x, z)`, written as an expression of `z` `[N, dimension]`
    /// with a result `[N, 1]`. Additive constants matter for bounds, not for motion.
    pub fn from_expression(dimension: usize, log_density: impl Fn(Expr<'g>) -> Expr<'g> + 'g) -> Self {
        Potential { dimension, log_density: Rc::new(log_density) }
    }

    /// Number of dimensions of `z`.
    pub fn dimension(&self) -> usize {
        self.dimension
    }

    /// `log p(x, z)` of every row.
    pub fn log_density(&self, z: Expr<'g>) -> Expr<'g> {
        (self.log_density)(z)
    }

    /// `U(z) = -log p(x, z)` of every row.
    pub fn energy(&self, z: Expr<'g>) -> Expr<'g> {
        -self.log_density(z)
    }

    /// `F(z) = -∇U(z)`. Asking again for the same `z` gives the same expression, computed once.
    pub fn force(&self, z: Expr<'g>) -> Expr<'g> {
        z.graph().row_grad(self.log_density(z), z)
    }
}
