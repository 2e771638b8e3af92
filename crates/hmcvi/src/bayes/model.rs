//! Bind a description to data: a log density of real numbers, and what these numbers mean.

use std::fmt;
use std::sync::Arc;

use hmcvi_graph::{Expr, Graph, Shape};

use super::builder::{Builder, Raw, Variable};
use super::{Data, Dims, ModelError, Var};
use crate::device::Device;
use crate::potential::Potential;

/// A model: how data come about from variables that are to be inferred.
#[derive(Clone)]
pub struct Model {
    describe: Arc<Describe>,
}

type Describe = dyn for<'g> Fn(&mut Builder<'g>) + Send + Sync;

/// A model with its data.
#[derive(Clone)]
pub struct Bound {
    describe: Arc<Describe>,
    data: Arc<Data>,
    variables: Vec<Variable>,
    deterministic: Vec<(String, Dims)>,
    /// Where its programs run.
    device: Device,
}

/// A model at given values of its variables.
pub struct Built<'g> {
    /// The variables, as they were sampled, and then what is computed from them.
    pub values: Vec<(String, Var<'g>)>,
    /// `log p(z)` with the Jacobians of the supports, `[N, 1]`.
    pub log_prior: Expr<'g>,
    /// `log p(x | z)` of each observation, by the name of the data.
    pub log_likelihood: Vec<(String, Var<'g>)>,
}

impl Model {
    /// A model by its description, which is called whenever an expression of it is needed.
    pub fn new(describe: impl for<'g> Fn(&mut Builder<'g>) + Send + Sync + 'static) -> Self {
        Model { describe: Arc::new(describe) }
    }

    /// The model with its data.
    ///
    /// # Errors
    /// If data are missing or something does not fit; the message names the variable.
    pub fn bind(&self, data: &Data) -> Result<Bound, ModelError> {
        let (graph, data) = (Graph::new(), Arc::new(data.clone()));
        let mut builder = Builder::new(&graph, data.clone(), Raw::Unknown);
        (self.describe)(&mut builder);
        let builder = builder.finish()?;
        let dims = |(name, value): &(String, Var<'_>)| (name.clone(), value.dims());
        let deterministic = builder.deterministic.iter().map(dims).collect();
        let (describe, device) = (self.describe.clone(), Device::cpu(0));
        Ok(Bound { describe, data, variables: builder.variables, deterministic, device })
    }
}

impl Bound {
    /// The same model whose fits and draws are made on the threads of this device, and on those of the processes that share
    /// it. Results do not depend on it.
    #[must_use]
    pub fn on(&self, device: &Device) -> Self {
        Bound { device: device.clone(), ..self.clone() }
    }

    /// Where its programs run.
    pub(crate) fn device(&self) -> &Device {
        &self.device
    }

    /// Describes the model to a builder once more.
    pub(super) fn describe(&self, builder: &mut Builder<'_>) {
        (self.describe)(builder);
    }

    /// The variables that are inferred, in the order of their columns.
    pub fn variables(&self) -> &[Variable] {
        &self.variables
    }

    /// Its data.
    pub fn data(&self) -> &Data {
        &self.data
    }

    /// Names and dimensions of all values of [`Built`].
    pub fn values(&self) -> Vec<(String, Dims)> {
        let variables = self.variables.iter().map(|v| (v.name.clone(), v.dims));
        variables.chain(self.deterministic.iter().cloned()).collect()
    }

    /// Names of all elements of these values, as Stan writes them.
    pub fn element_names(&self) -> Vec<String> {
        self.values().iter().flat_map(|(name, dims)| dims.element_names(name)).collect()
    }

    /// Real numbers that all variables are made from.
    pub fn dimension(&self) -> usize {
        self.variables.iter().map(|variable| variable.unconstrained).sum()
    }

    /// The model at real numbers `z` `[N, dimension]`.
    ///
    /// # Panics
    /// If the description is another than when the model was bound: it must depend on nothing but its data.
    pub fn at<'g>(&self, z: Expr<'g>) -> Built<'g> {
        let graph = z.graph();
        let mut builder = Builder::new(graph, self.data.clone(), Raw::Columns(z));
        (self.describe)(&mut builder);
        assert_eq!(builder.variables, self.variables, "the description of a model depends on its data alone");
        let summed = builder.log_prior.into_iter().map(|(_, part)| part).reduce(|a, b| a + b);
        let log_prior = summed.unwrap_or_else(|| graph.constant(0.0)).broadcast_to(Shape::batch(1));
        let values = builder.values.into_iter().chain(builder.deterministic).collect();
        Built { values, log_prior, log_likelihood: builder.log_likelihood }
    }

    /// `U(z) = -log p(x, z)` of real numbers.
    pub fn potential<'g>(&self) -> Potential<'g> {
        let bound = self.clone();
        Potential::from_expression(self.dimension(), move |z| bound.at(z).log_density())
    }
}

impl<'g> Built<'g> {
    /// `log p(x, z)`, `[N, 1]`.
    pub fn log_density(&self) -> Expr<'g> {
        let parts = self.log_likelihood.iter().map(|(_, value)| value.sum().expr());
        parts.fold(self.log_prior, |sum, part| sum + part)
    }

    /// All values side by side, `[N, elements]`.
    pub fn row(&self) -> Expr<'g> {
        let parts: Vec<Expr<'g>> = self.values.iter().map(|(_, value)| value.expr()).collect();
        let row = Expr::concat_cols(&parts);
        row.broadcast_to(Shape::batch(row.cols()))
    }
}

impl fmt::Debug for Model {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Model")
    }
}

impl fmt::Debug for Bound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Bound").field("variables", &self.variables).finish_non_exhaustive()
    }
}
