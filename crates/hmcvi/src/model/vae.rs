//! Model rows by a variational auto-encoder: a standard normal prior, a decoder, and a likelihood.

use std::rc::Rc;
use std::sync::Arc;

use hmcvi_graph::Expr;

use super::likelihood::{ColumnStatistics, Columns, LikelihoodSettings, Observed};
use super::{Model, Simulator, Site, VaeSettings};
use crate::dist::{Gaussian, RandomSource};
use crate::nn::{Network, Parameters};
use crate::potential::Potential;

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
