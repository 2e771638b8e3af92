//! Name what an evaluation has to know about a model.

use hmcvi_graph::{Expr, Graph};

use crate::dist::{Bernoulli, Gaussian};
use crate::model::{Vae, VaeSettings};
use crate::potential::Potential;

/// A latent-variable model whose likelihood is to be found out. Rows are data points.
pub trait LatentModel {
    /// Columns of `x`.
    fn observed(&self) -> usize;
    /// Columns of `z`.
    fn latent(&self) -> usize;
    /// `p(z)`
    fn prior<'g>(&self, graph: &'g Graph) -> Gaussian<'g> {
        Gaussian::standard(graph, self.latent())
    }
    /// `U(z) = -log p(x, z)`
    fn potential<'g>(&self, x: Expr<'g>) -> Potential<'g>;
    /// A Gaussian near `p(z | x)`.
    fn encoder<'g>(&self, x: Expr<'g>) -> Gaussian<'g>;
    /// A draw from `p(x | z)`, from random streams below 8.
    fn draw<'g>(&self, z: Expr<'g>) -> Expr<'g>;
}

/// A variational auto-encoder by its sizes; its parameters are given with every run.
#[derive(Clone, Debug)]
pub struct VaeModel {
    /// Sizes.
    pub settings: VaeSettings,
    /// Pixels of an image.
    pub pixels: usize,
}

impl VaeModel {
    fn vae<'g>(&self, graph: &'g Graph) -> Vae<'g> {
        Vae::new(graph, &self.settings, self.pixels)
    }

    /// `p(x | z)`
    pub(super) fn decoder<'g>(&self, z: Expr<'g>) -> Bernoulli<'g> {
        self.vae(z.graph()).decoder(z)
    }
}

impl LatentModel for VaeModel {
    fn observed(&self) -> usize {
        self.pixels
    }

    fn latent(&self) -> usize {
        self.settings.latent
    }

    fn potential<'g>(&self, x: Expr<'g>) -> Potential<'g> {
        self.vae(x.graph()).potential(x)
    }

    fn encoder<'g>(&self, x: Expr<'g>) -> Gaussian<'g> {
        self.vae(x.graph()).encoder(x)
    }

    fn draw<'g>(&self, z: Expr<'g>) -> Expr<'g> {
        self.decoder(z).sample(z.graph().uniform(0, self.pixels))
    }
}
