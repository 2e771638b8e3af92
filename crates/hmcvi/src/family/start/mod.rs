//! Where draws begin: richer distributions than the encoder's diagonal Gaussian, alone or before a chain.
//!
//! All of them are made around that Gaussian, and begin as it or near it, so that a trained plain model can be refined by
//! any of them.

mod autoregressive;
mod coupling;
mod full;
mod mixture;
mod planar;

use hmcvi_graph::Expr;
use serde::{Deserialize, Serialize};

use super::hmc_chain::{HmcChain, Start};
use super::several::Weighted;
use super::{BeginError, Draw, Entropies, Family, FirstLook, Target, Variable};
use crate::dist::Gaussian;
use crate::nn::{Activation, Initial, Network};
use crate::potential::Potential;

/// The distribution of first draws, `q_0(z_0 | x)`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum StartKind {
    /// The encoder's Gaussian with a diagonal covariance.
    #[default]
    Gaussian,
    /// A Gaussian with all covariances.
    FullCovariance,
    /// A mixture of Gaussians, with a draw from each.
    Mixture,
    /// Planar flows (Rezende and Mohamed, 2015).
    Planar,
    /// Affine coupling flows (Dinh and others, 2017).
    Coupling,
    /// Inverse autoregressive flows (Kingma and others, 2016).
    Autoregressive,
}

/// A distribution of first draws, and a chain of any length from there.
#[derive(Clone, Debug)]
pub struct Started {
    /// The distribution.
    pub start: StartKind,
    /// Gaussians of a mixture, or layers of a flow.
    pub parts: usize,
    /// The chain; its encoder gives the Gaussian that all of it is made around.
    pub chain: HmcChain,
}

impl Family for Started {
    fn gaussian<'g>(&self, target: &Target<'_, 'g>) -> Gaussian<'g> {
        self.chain.gaussian(target)
    }

    fn draw_with<'g>(&self, target: &Target<'_, 'g>, entropies: Entropies) -> Draw<'g> {
        match self.start {
            StartKind::Gaussian => self.chain.draw_with(target, entropies),
            _ => self.draw_from(target, entropies, self.starts(target, entropies)),
        }
    }

    fn draws_from_one_start<'g>(
        &self,
        target: &Target<'_, 'g>,
        entropies: Entropies,
        count: usize,
    ) -> Vec<Draw<'g>> {
        let starts = self.starts(target, entropies);
        (0..count).map(|_| self.draw_from(target, entropies, starts.clone())).collect()
    }

    fn is_gaussian(&self) -> bool {
        self.start == StartKind::Gaussian && self.chain.is_gaussian()
    }

    fn steps(&self) -> (usize, usize) {
        self.chain.steps()
    }

    fn begin(&self, look: &mut FirstLook<'_>) -> Result<Vec<(&'static str, f64)>, BeginError> {
        self.chain.begin(look)
    }
}

/// First draws.
#[derive(Clone)]
enum Starts<'g> {
    One(Start<'g>),
    /// One from each part of a mixture, with the logarithms of their shares.
    OfParts(Vec<Start<'g>>, Expr<'g>),
}

impl Started {
    fn starts<'g>(&self, target: &Target<'_, 'g>, entropies: Entropies) -> Starts<'g> {
        let around = Around { family: self, target, gaussian: self.gaussian(target) };
        Starts::One(match self.start {
            StartKind::Mixture => {
                let mixture = around.mixture();
                return Starts::OfParts(mixture.starts(&around), mixture.log_shares);
            }
            StartKind::Gaussian => self.chain.start(target, entropies),
            StartKind::FullCovariance => around.full_covariance(entropies),
            StartKind::Planar => around.flow(&around.planar(), entropies),
            StartKind::Coupling => around.flow(&around.coupling(), entropies),
            StartKind::Autoregressive => around.flow(&around.autoregressive(), entropies),
        })
    }

    /// Leads on from first draws.
    fn draw_from<'g>(&self, target: &Target<'_, 'g>, entropies: Entropies, starts: Starts<'g>) -> Draw<'g> {
        let chain = |form, start| Draw::from(self.chain.chain_from(target, form, start));
        match starts {
            Starts::One(start) => chain(entropies, start),
            Starts::OfParts(starts, log_shares) => {
                let draws = starts.into_iter().map(|start| chain(entropies, start)).collect();
                Weighted::stratified(draws, log_shares, entropies)
            }
        }
    }
}

/// What first draws are made around.
struct Around<'a, 'g> {
    family: &'a Started,
    target: &'a Target<'a, 'g>,
    gaussian: Gaussian<'g>,
}

/// A step of a flow: from a draw to another, with the logarithm of how much it widens.
type Layer<'a, 'g> = Box<dyn Fn(Expr<'g>) -> (Expr<'g>, Expr<'g>) + 'a>;

impl<'g> Around<'_, 'g> {
    fn dimension(&self) -> usize {
        self.target.potential.dimension()
    }

    fn noise(&self) -> Expr<'g> {
        let graph = self.target.parameters.graph();
        graph.normal(graph.new_streams(1).start, self.dimension())
    }

    fn activation(&self) -> Activation {
        self.family.chain.activation
    }

    /// The first of the hidden layers.
    fn hidden(&self) -> &[usize] {
        let hidden = &self.family.chain.hidden;
        &hidden[..hidden.len().min(1)]
    }

    /// A network of the data whose output is small at first: a learnt factor of each column begins there.
    fn correction(&self, name: &str, input: Expr<'g>, cols: usize) -> Expr<'g> {
        /// Large enough that its network learns from the beginning.
        const FIRST_FACTOR: f64 = 0.01;
        let network = Network { name, hidden: self.hidden(), activation: self.activation() };
        let factor =
            self.target.parameters.get(&format!("{name}.factor"), 1, cols, Initial::Constant(FIRST_FACTOR));
        network.apply(self.target.parameters, input, cols) * factor
    }

    /// A draw of the Gaussian that goes through all layers. It is the Gaussian's draw that may be held: layers are paths from
    /// there, as simulations are.
    fn flow(&self, layers: &[Layer<'_, 'g>], entropies: Entropies) -> Start<'g> {
        let mut variables = Vec::new();
        let first = self.first(self.noise(), entropies, &mut variables);
        let through = |(z, entropy), layer: &Layer<'_, 'g>| {
            let (next, widening) = layer(z);
            (next, entropy + widening)
        };
        // What the layers add depends on the draw, so that its own log density has no less noise as an entropy.
        let density = match entropies {
            Entropies::Held => self.gaussian.held().log_prob(first),
            _ => self.gaussian.log_prob(first),
        };
        let (z, entropy) = layers.iter().fold((first, -density), through);
        Start { variables, ..self.start(z, entropy, Potential::gaussian(self.gaussian)) }
    }

    /// A draw of the Gaussian in the form that is asked for.
    fn first(&self, noise: Expr<'g>, entropies: Entropies, variables: &mut Vec<Variable<'g>>) -> Expr<'g> {
        let draw = self.gaussian.sample(noise);
        entropies.take(draw.broadcast_to(hmcvi_graph::Shape::batch(self.dimension())), variables)
    }

    fn start(&self, z: Expr<'g>, entropy: Expr<'g>, density: Potential<'g>) -> Start<'g> {
        let z = z.broadcast_to(hmcvi_graph::Shape::batch(self.dimension()));
        Start { z, entropy, density, variables: Vec::new() }
    }
}
