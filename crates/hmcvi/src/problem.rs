//! Put a model and a family together: all that training and evaluation know of either.

use std::rc::Rc;
use std::sync::Arc;

use hmcvi_graph::{Expr, Graph, Real, Store};

use crate::config::RunSpec;
use crate::data::{Observation, Table};
use crate::dist::Gaussian;
use crate::family::{
    Draw, Family, FamilySettings, HmcChain, Measure, Reported, Several, StartKind, Started, Target,
    WeightGradient,
};
use crate::model::likelihood::{ColumnStatistics, LikelihoodKind};
use crate::model::{Model, Vae};
use crate::nn::Parameters;

/// A model, and the family that approximates its posteriors.
#[derive(Clone)]
pub struct Problem {
    /// The model.
    pub model: Arc<dyn Model>,
    /// The family.
    pub family: Arc<dyn Family>,
}

/// A problem with all that evaluations and figures ask of a run.
#[derive(Clone)]
pub struct Subject {
    /// The model and the family.
    pub problem: Problem,
    /// How rows become what the model sees.
    pub observation: Observation,
    /// Seed of all draws.
    pub seed: u64,
}

impl Subject {
    /// That of a run, for rows such as these.
    pub fn of_run(spec: &RunSpec, rows: &Table) -> Self {
        let observation = spec.data.observation(rows);
        Subject { problem: Problem::of_run(spec, rows.columns()), observation, seed: spec.eval.seed }
    }
}

/// The family that a run describes.
fn family(spec: &RunSpec) -> Arc<dyn Family> {
    let chain = HmcChain {
        settings: spec.chain,
        encoder: Some(spec.model.encoder_layers().to_vec()),
        hidden: spec.model.hidden.clone(),
        activation: spec.model.encoder_activation,
    };
    let FamilySettings { start, parts, draws, shared_start, combine, gradient } = spec.family;
    let one: Arc<dyn Family> = match start {
        StartKind::Gaussian => Arc::new(chain),
        start => Arc::new(Started { start, parts, chain }),
    };
    match (draws, gradient) {
        (1, WeightGradient::Plain) => one,
        _ => Arc::new(Several { family: one, draws, shared_start, combine, gradient }),
    }
}

impl Problem {
    /// Any model with any family.
    pub fn new(model: impl Model + 'static, family: impl Family + 'static) -> Self {
        Problem { model: Arc::new(model), family: Arc::new(family) }
    }

    /// The auto-encoder and the chain that a run describes, for rows with so many columns.
    pub fn of_run(spec: &RunSpec, columns: usize) -> Self {
        Problem::of_settings(spec, columns, None)
    }

    /// The same with what a likelihood should know about the columns of the training data.
    pub fn of_training(spec: &RunSpec, observation: &Observation, train: &Table) -> Self {
        let statistics = (spec.model.likelihood() != LikelihoodKind::Bernoulli).then(|| {
            let seen = observation.draw(train, 0, 0);
            let rows = (0..seen.len()).map(|row| seen.values(row..row + 1).into_iter().enumerate());
            let non_zeros = rows.map(|row| row.filter(|(_, value)| *value != 0.0).collect::<Vec<_>>());
            ColumnStatistics::of_rows(train.columns(), non_zeros)
        });
        Problem::of_settings(spec, train.columns(), statistics)
    }

    fn of_settings(spec: &RunSpec, columns: usize, statistics: Option<ColumnStatistics>) -> Self {
        let model = Arc::new(Vae::new(&spec.model, columns, statistics));
        Problem { model, family: family(spec) }
    }

    /// Hands what is to be approximated for rows `x` to `look`.
    fn with_target<'g, R>(
        &self,
        parameters: &Rc<Parameters<'g>>,
        x: Expr<'g>,
        look: impl FnOnce(&Target<'_, 'g>) -> R,
    ) -> R {
        let potential = self.model.potential(parameters, x);
        look(&Target { parameters, potential: &potential, context: self.model.context(parameters, x) })
    }

    /// A draw for rows `x`, with its bound.
    pub fn infer<'g>(&self, parameters: &Rc<Parameters<'g>>, x: Expr<'g>) -> Draw<'g> {
        self.with_target(parameters, x, |target| {
            let mut draw = self.family.draw(target);
            let counts = draw.counts();
            let named = target.potential.named_terms(draw.z).into_iter();
            draw.details.extend(named.map(|(name, term)| Measure {
                sum: name.into(),
                value: counts.select(term, 0.0),
                reported: Reported::Per("count"),
            }));
            draw
        })
    }

    /// The family's Gaussian for rows `x`.
    pub fn gaussian<'g>(&self, parameters: &Rc<Parameters<'g>>, x: Expr<'g>) -> Gaussian<'g> {
        self.with_target(parameters, x, |target| self.family.gaussian(target))
    }

    /// First values of all parameters, before the family looks at data.
    pub fn initial_values<T: Real>(&self, seed: u64) -> Store<T> {
        let graph = Graph::new();
        let parameters = Rc::new(Parameters::new(&graph));
        self.infer(&parameters, graph.batch_input("x", self.model.observed()));
        parameters.initial_values(seed)
    }

    /// Names of the parameters that the problem has whatever comes after the Gaussian: those of a plain auto-encoder.
    pub fn plain_parameters(&self) -> Vec<String> {
        let graph = Graph::new();
        let parameters = Rc::new(Parameters::new(&graph));
        let x = graph.batch_input("x", self.model.observed());
        self.with_target(&parameters, x, |target| {
            target.potential.log_density(self.family.gaussian(target).mean);
        });
        parameters.names()
    }
}
