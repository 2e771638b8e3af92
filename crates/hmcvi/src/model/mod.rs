//! Models: data becomes named latent sites and named terms of `log p(x, z)`. A model knows no inference.

pub mod likelihood;
mod settings;
mod vae;

use std::ops::Range;
use std::rc::Rc;

use hmcvi_graph::{Expr, Graph};

pub use settings::VaeSettings;
pub use vae::Vae;

use crate::dist::{Gaussian, RandomSource};
use crate::nn::Parameters;
use crate::potential::Potential;

/// A named part of a latent row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Site {
    /// Its name.
    pub name: String,
    /// Its columns of `z`.
    pub columns: Range<usize>,
}

/// A latent-variable model. Rows are what a draw is made for: data points, or independent draws.
pub trait Model: Send + Sync {
    /// Columns of `x`.
    fn observed(&self) -> usize;

    /// The parts of a latent row, side by side.
    fn sites(&self) -> Vec<Site>;

    /// Columns of `z`.
    fn latent(&self) -> usize {
        self.sites().iter().map(|site| site.columns.end).max().unwrap_or(0)
    }

    /// `p(z)`
    fn prior<'g>(&self, graph: &'g Graph) -> Gaussian<'g> {
        Gaussian::standard(graph, self.latent())
    }

    /// `U(z) = -log p(x, z)`, with its terms by name.
    fn potential<'g>(&self, parameters: &Rc<Parameters<'g>>, x: Expr<'g>) -> Potential<'g>;

    /// What inference may look at of `x`, `[N, any]`.
    fn context<'g>(&self, _parameters: &Rc<Parameters<'g>>, x: Expr<'g>) -> Expr<'g> {
        x
    }

    /// How the model makes data, where it does.
    fn simulator(&self) -> Option<&dyn Simulator> {
        None
    }
}

/// A model that makes data from latent rows.
pub trait Simulator {
    /// The mean of `p(x | z)`, with the columns of `x`.
    fn mean<'g>(&self, parameters: &Rc<Parameters<'g>>, z: Expr<'g>) -> Expr<'g>;

    /// What a draw from `p(x | z)` is made of, `[N, any]`.
    fn decoded<'g>(&self, parameters: &Rc<Parameters<'g>>, z: Expr<'g>) -> Expr<'g> {
        self.mean(parameters, z)
    }

    /// Draws a row `x` from what was decoded for it.
    fn draw(&self, decoded: &[f32], source: &mut RandomSource, x: &mut [f32]);

    /// `l(z)` `[N, columns of x]` and `c(z)` `[N, 1]`, where `log p(x | z)` is `x · l(z) + c(z)`.
    fn linear<'g>(&self, _parameters: &Rc<Parameters<'g>>, _z: Expr<'g>) -> Option<(Expr<'g>, Expr<'g>)> {
        None
    }
}
