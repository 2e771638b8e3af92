//! Model rows by a variational auto-encoder: a standard normal prior and a decoder.

use std::rc::Rc;

use hmcvi_graph::random::{self, Key};
use hmcvi_graph::{Expr, Store};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Model, Simulator, Site};
use crate::dist::{Bernoulli, Gaussian};
use crate::nn::{Activation, Network, Parameters};
use crate::potential::Potential;

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
    /// Columns of the data that a model with these settings and parameters takes.
    pub fn pixels(&self, parameters: &Store<f32>) -> Option<usize> {
        Some(parameters.get(&format!("decoder.{}.bias", self.hidden.len()))?.cols)
    }
}

/// A standard normal prior and a decoder with softplus layers and Bernoulli columns.
#[derive(Clone, Debug)]
pub struct Vae {
    /// Sizes.
    pub settings: VaeSettings,
    /// Columns of a row.
    pub columns: usize,
}

impl Vae {
    /// `p(x | z)`
    pub fn decoder<'g>(&self, parameters: &Parameters<'g>, z: Expr<'g>) -> Bernoulli<'g> {
        let hidden = &self.settings.hidden[..];
        let network = Network { name: "decoder", hidden, activation: Activation::Softplus };
        Bernoulli { logits: network.apply(parameters, z, self.columns) }
    }
}

impl Model for Vae {
    fn observed(&self) -> usize {
        self.columns
    }

    fn sites(&self) -> Vec<Site> {
        vec![Site { name: "z".into(), columns: 0..self.settings.latent }]
    }

    fn potential<'g>(&self, parameters: &Rc<Parameters<'g>>, x: Expr<'g>) -> Potential<'g> {
        let latent = self.settings.latent;
        let prior = Gaussian::standard(x.graph(), latent);
        let decoder = {
            let (model, parameters) = (self.clone(), parameters.clone());
            move |z| model.decoder(&parameters, z)
        };
        let terms = decoder.clone();
        Potential::from_expression(latent, move |z| decoder(z).log_prob(x) + prior.log_prob(z))
            .with_terms(move |z| Expr::concat_cols(&[terms(z).log_prob_terms(x), prior.log_prob(z)]))
    }

    fn simulator(&self) -> Option<&dyn Simulator> {
        Some(self)
    }
}

impl Simulator for Vae {
    fn mean<'g>(&self, parameters: &Rc<Parameters<'g>>, z: Expr<'g>) -> Expr<'g> {
        self.decoder(parameters, z).mean()
    }

    fn draw(&self, decoded: &[f32], key: Key, x: &mut [f32]) {
        random::uniform(key, x);
        x.iter_mut().zip(decoded).for_each(|(x, p)| *x = f32::from(*x < *p));
    }

    fn linear<'g>(&self, parameters: &Rc<Parameters<'g>>, z: Expr<'g>) -> Option<(Expr<'g>, Expr<'g>)> {
        let logits = self.decoder(parameters, z).logits;
        Some((logits, -logits.softplus().sum_cols()))
    }
}
