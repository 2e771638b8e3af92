//! Model rows by a variational auto-encoder: a standard normal prior, a decoder, and a likelihood.

use std::rc::Rc;
use std::sync::Arc;

use hmcvi_graph::{Expr, Store};
use serde::{Deserialize, Serialize};

use super::likelihood::{ColumnStatistics, Columns, LikelihoodKind, LikelihoodSettings, Observed, Scale};
use super::{Model, Simulator, Site};
use crate::dist::{Gaussian, RandomSource};
use crate::nn::{Activation, Network, Parameters};
use crate::potential::Potential;

/// Sizes and choices of a variational auto-encoder.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields)]
pub struct VaeSettings {
    /// Dimensions of the latent space.
    #[cfg_attr(test, schemars(range(min = 1, max = 4096)))]
    pub latent: usize,
    /// Sizes of the hidden layers of decoder, encoder and reverse models.
    #[cfg_attr(test, schemars(length(max = 64), inner(range(min = 1, max = 65536))))]
    pub hidden: Vec<usize>,
    /// Sizes of the decoder's hidden layers, where they are others.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, schemars(length(max = 64), inner(range(min = 1, max = 65536))))]
    pub decoder_hidden: Option<Vec<usize>>,
    /// Sizes of the encoder's hidden layers, where they are others.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, schemars(length(max = 64), inner(range(min = 1, max = 65536))))]
    pub encoder_hidden: Option<Vec<usize>>,
    /// Activation of the decoder's hidden layers. Energies should be smooth.
    pub decoder_activation: Activation,
    /// Activation of the hidden layers of encoder and reverse models.
    pub encoder_activation: Activation,
    /// How data follow from what the decoder gives; left out, the kind of the data decides.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub likelihood: Option<LikelihoodKind>,
    /// Whether counts take the sum of their row as given and model its shares; left out, the number of columns decides.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub size_factor: Option<bool>,
    /// Standard deviations of real numbers around what the decoder gives.
    pub scale: Scale,
    /// The share of each column's standard deviation that `scale = "fixed"` takes.
    #[cfg_attr(test, schemars(range(min = 0.000_001, max = 1_000_000.0)))]
    pub fixed_scale: f64,
    /// Numbers of classes of the categorical variables, in the order of their columns; empty for one variable.
    #[cfg_attr(test, schemars(length(max = 65536), inner(range(min = 2, max = 65536))))]
    pub groups: Vec<usize>,
}

impl Default for VaeSettings {
    /// The paper's networks (`sec:ModelSpecifications`) with 20 latent dimensions.
    fn default() -> Self {
        VaeSettings {
            latent: 20,
            hidden: vec![200, 200],
            decoder_hidden: None,
            encoder_hidden: None,
            decoder_activation: Activation::Softplus,
            encoder_activation: Activation::Relu,
            likelihood: None,
            size_factor: None,
            scale: Scale::default(),
            fixed_scale: 1.0,
            groups: Vec::new(),
        }
    }
}

impl VaeSettings {
    /// Sizes of the decoder's hidden layers.
    pub fn decoder_layers(&self) -> &[usize] {
        self.decoder_hidden.as_deref().unwrap_or(&self.hidden)
    }

    /// Sizes of the encoder's hidden layers.
    pub fn encoder_layers(&self) -> &[usize] {
        self.encoder_hidden.as_deref().unwrap_or(&self.hidden)
    }

    /// The likelihood: that of binary columns where none was chosen.
    pub fn likelihood(&self) -> LikelihoodKind {
        self.likelihood.unwrap_or_default()
    }

    /// Choices of the likelihood.
    pub fn likelihood_settings(&self) -> LikelihoodSettings {
        LikelihoodSettings {
            size_factor: self.size_factor.unwrap_or(false),
            scale: self.scale,
            fixed_scale: self.fixed_scale,
            groups: self.groups.clone(),
        }
    }

    /// Columns of the data that a model with these settings and parameters takes.
    pub fn columns(&self, parameters: &Store<f32>) -> Option<usize> {
        let outputs = parameters.get(&format!("decoder.{}.bias", self.decoder_layers().len()))?.cols;
        Some(outputs / self.likelihood().likelihood().outputs(1))
    }
}

/// A variational auto-encoder.
#[derive(Clone, Debug)]
pub struct Vae {
    settings: Arc<VaeSettings>,
    likelihood: Arc<LikelihoodSettings>,
    columns: usize,
    statistics: Option<Arc<ColumnStatistics>>,
}

impl Vae {
    /// A model of rows with so many columns. What is known of the columns of the training data is needed for first values
    /// alone.
    pub fn new(settings: &VaeSettings, columns: usize, statistics: Option<ColumnStatistics>) -> Self {
        let likelihood = Arc::new(settings.likelihood_settings());
        Vae {
            settings: Arc::new(settings.clone()),
            likelihood,
            columns,
            statistics: statistics.map(Arc::new),
        }
    }

    fn columns<'a, 'g>(&'a self, parameters: &'a Parameters<'g>) -> Columns<'a, 'g> {
        let statistics = self.statistics.as_deref();
        Columns { parameters, settings: &self.likelihood, count: self.columns, statistics }
    }

    fn decoder<'g>(&self, parameters: &Parameters<'g>, z: Expr<'g>) -> Expr<'g> {
        let hidden = self.settings.decoder_layers();
        let network = Network { name: "decoder", hidden, activation: self.settings.decoder_activation };
        network.apply(parameters, z, self.settings.likelihood().likelihood().outputs(self.columns))
    }

    /// `p(x | z)`, for rows `x` or for typical ones.
    fn observed<'g>(
        &self,
        parameters: &Parameters<'g>,
        z: Expr<'g>,
        x: Option<Expr<'g>>,
    ) -> Box<dyn Observed<'g> + 'g> {
        let decoded = self.decoder(parameters, z);
        self.settings.likelihood().likelihood().given(&self.columns(parameters), decoded, x)
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
        let prior = Gaussian::standard(x.graph(), self.settings.latent);
        let (model, parameters) = (self.clone(), parameters.clone());
        Potential::from_terms(self.settings.latent, move |z| {
            let likelihood = Vae::observed(&model, &parameters, z, Some(x)).log_prob_terms(x);
            vec![("log_likelihood", likelihood), ("log_prior", prior.log_prob(z))]
        })
    }

    fn context<'g>(&self, parameters: &Rc<Parameters<'g>>, x: Expr<'g>) -> Expr<'g> {
        self.settings.likelihood().likelihood().encoder_input(&self.columns(parameters), x)
    }

    fn simulator(&self) -> Option<&dyn Simulator> {
        Some(self)
    }
}

impl Simulator for Vae {
    fn mean<'g>(&self, parameters: &Rc<Parameters<'g>>, z: Expr<'g>) -> Expr<'g> {
        Vae::observed(self, parameters, z, None).mean()
    }

    fn decoded<'g>(&self, parameters: &Rc<Parameters<'g>>, z: Expr<'g>) -> Expr<'g> {
        Vae::observed(self, parameters, z, None).parameters()
    }

    fn draw(&self, decoded: &[f32], source: &mut RandomSource, x: &mut [f32]) {
        self.settings.likelihood().likelihood().sample(&self.likelihood, decoded, source, x);
    }

    fn linear<'g>(&self, parameters: &Rc<Parameters<'g>>, z: Expr<'g>) -> Option<(Expr<'g>, Expr<'g>)> {
        self.settings.likelihood().likelihood().linear(self.decoder(parameters, z))
    }
}
