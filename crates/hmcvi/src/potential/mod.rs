//! Describe potential energies `U(z) = -log p(x, z)` (`eq:VIwithHMCPotEnergy`).

mod linear_gaussian;
mod toy;

use std::rc::Rc;

use hmcvi_graph::Expr;

pub use linear_gaussian::LinearGaussian;
pub use toy::Landscape;

use crate::dist::Gaussian;

/// A potential energy: any expression of `z` with one value for every row.
#[derive(Clone)]
pub struct Potential<'g> {
    dimension: usize,
    log_density: Function<'g>,
    force: Function<'g>,
}

/// An expression of `z`.
type Function<'g> = Rc<dyn Fn(Expr<'g>) -> Expr<'g> + 'g>;

impl<'g> Potential<'g> {
    /// The potential of a log density `log p(x, z)`, written as an expression of `z` `[N, dimension]`
    /// with a result `[N, 1]`. Additive constants matter for bounds, not for motion.
    pub fn from_expression(dimension: usize, log_density: impl Fn(Expr<'g>) -> Expr<'g> + 'g) -> Self {
        let log_density: Function<'g> = Rc::new(log_density);
        let density = log_density.clone();
        Potential { dimension, log_density, force: Rc::new(move |z| z.graph().row_grad(density(z), z)) }
    }

    /// The potential of a Gaussian.
    pub fn gaussian(gaussian: Gaussian<'g>) -> Self {
        Potential::from_expression(gaussian.dimension(), move |z| gaussian.log_prob(z))
    }

    /// A potential between two others: that of the density `f^(1-β) g^β`. Its forces are made of theirs,
    /// so that what is known of them is not computed again.
    pub fn between(f: &Self, g: &Self, beta: Expr<'g>) -> Self {
        let mixed = |f: &Function<'g>, g: &Function<'g>| -> Function<'g> {
            let (f, g) = (f.clone(), g.clone());
            Rc::new(move |z| (1.0 - beta) * f(z) + beta * g(z))
        };
        Potential {
            dimension: f.dimension,
            log_density: mixed(&f.log_density, &g.log_density),
            force: mixed(&f.force, &g.force),
        }
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
        (self.force)(z)
    }
}
