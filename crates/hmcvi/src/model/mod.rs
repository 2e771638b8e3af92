//! Model images by a variational auto-encoder: decoder, prior, and all that inference needs.

use std::rc::Rc;

use hmcvi_graph::{Expr, Graph, Store};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::dist::{Bernoulli, Gaussian};
use crate::nn::{Activation, Network, Parameters};
use crate::potential::Potential;
use crate::vi::{Chain, ChainSettings, Entropies, Inference};

/// Sizes of a variational auto-encoder.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct VaeSettings {
    /// Dimensions of the latent space.
    #[schemars(range(min = 1, max = 4096))]
    pub latent: usize,
    /// Sizes of the hidden layers of decoder, encoder and reverse models.
    #[schemars(length(max = 64), inner(range(min = 1, max = 65536)))]
    pub hidden: Vec<usize>,
}

impl Default for VaeSettings {
    /// The paper's networks (`sec:ModelSpecifications`) with 20 latent dimensions.
    fn default() -> Self {
        VaeSettings { latent: 20, hidden: vec![200, 200] }
    }
}

impl VaeSettings {
    /// Pixels of the images that a model with these settings and parameters takes.
    pub fn pixels(&self, parameters: &Store<f32>) -> Option<usize> {
        Some(parameters.get(&format!("decoder.{}.bias", self.hidden.len()))?.cols)
    }
}

/// A variational auto-encoder: a standard normal prior, a decoder with softplus layers and Bernoulli
/// pixels, an encoder with rectified linear layers and a diagonal Gaussian.
#[derive(Clone)]
pub struct Vae<'g> {
    parameters: Rc<Parameters<'g>>,
    settings: VaeSettings,
    pixels: usize,
}

impl<'g> Vae<'g> {
    /// A model of images with so many pixels.
    pub fn new(graph: &'g Graph, settings: &VaeSettings, pixels: usize) -> Self {
        Vae { parameters: Rc::new(Parameters::new(graph)), settings: settings.clone(), pixels }
    }

    /// Parameters that were asked for so far.
    pub fn parameters(&self) -> &Parameters<'g> {
        &self.parameters
    }

    /// `p(x | z)`
    pub fn decoder(&self, z: Expr<'g>) -> Bernoulli<'g> {
        let hidden = &self.settings.hidden[..];
        let network = Network { name: "decoder", hidden, activation: Activation::Softplus };
        Bernoulli { logits: network.apply(&self.parameters, z, self.pixels) }
    }

    /// `q_0(z_0 | x)`
    pub fn encoder(&self, x: Expr<'g>) -> Gaussian<'g> {
        let network =
            Network { name: "encoder", hidden: &self.settings.hidden, activation: Activation::Relu };
        network.gaussian(&self.parameters, x, self.settings.latent)
    }

    /// `U(z) = -log p(x | z) - log π(z)` for images `x`.
    pub fn potential(&self, x: Expr<'g>) -> Potential<'g> {
        let (model, latent) = (self.clone(), self.settings.latent);
        let prior = Gaussian::standard(x.graph(), latent);
        let decoder = self.clone();
        Potential::from_expression(latent, move |z| model.decoder(z).log_prob(x) + prior.log_prob(z))
            .with_terms(move |z| {
                Expr::concat_cols(&[decoder.decoder(z).log_prob_terms(x), prior.log_prob(z)])
            })
    }

    /// The chain that infers `z` from images `x`, and its bound.
    pub fn infer(&self, x: Expr<'g>, chain: ChainSettings) -> Chain<'g> {
        Inference {
            parameters: &self.parameters,
            settings: chain,
            potential: &self.potential(x),
            initial: self.encoder(x),
            context: x,
            hidden: &self.settings.hidden,
            activation: Activation::Relu,
            entropies: Entropies::ClosedForm,
        }
        .run()
    }
}
