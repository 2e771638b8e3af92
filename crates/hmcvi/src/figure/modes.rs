//! Fit families to the posterior of one image that has several modes: chains from one Gaussian, from a mixture, over
//! bridges, and both.
//!
//! A family is fitted along tempered posteriors `p(z) p(x | z)^β`, with `β` from a few hundredths to 1. At first these have
//! no modes, or wide ones, and Gaussians of a mixture are still far apart. Fitted to the posterior at once, each would end in
//! the mode that is next to where it began, which may be none that counts.

use std::rc::Rc;
use std::sync::Arc;

use hmcvi_graph::{Expr, Graph, Run, Store};
use hmcvi_record::figure::{Density, Field, Fitted, Modes, Point};

use super::exact::{Exact, points};
use super::kernel::{bandwidth, density};
use super::{FigureError, Observed, PlaneModel, observe};
use crate::config::RunSpec;
use crate::data::Table;
use crate::eval::{BoundEvaluator, Bounds};
use crate::family::{Bridge, ChainSettings, FamilySettings, FirstLook, StartKind};
use crate::model::{Model, Simulator, Site};
use crate::nn::Parameters;
use crate::potential::Potential;
use crate::problem::Problem;
use crate::train::{FitSettings, Objective, fit_along};

/// How families are fitted to an image.
#[derive(Clone, Debug, PartialEq)]
pub struct ModesSettings {
    /// Draws behind each density.
    pub draws: usize,
    /// Gaussians of a mixture.
    pub parts: usize,
    /// Updates of each fit.
    pub updates: u64,
    /// Draws of each update, of a mixture the same number from each of its parts.
    pub rows: usize,
    /// Learning rate; the last fifth of the updates has a tenth of it.
    pub learning_rate: f64,
    /// Seed of all draws.
    pub seed: u64,
}

impl Default for ModesSettings {
    fn default() -> Self {
        ModesSettings { draws: 10_000, parts: 8, updates: 300, rows: 8, learning_rate: 3e-3, seed: 1 }
    }
}

/// Share of the updates after which the posterior is that of the model.
const TEMPERED: f64 = 0.6;
/// The first `β`.
const FIRST_BETA: f64 = 0.02;
/// Share of the updates with the full learning rate.
const FAST: f64 = 0.8;
/// The mass of the posterior in the regions that count as its modes.
const COUNTED: f64 = 0.99;
/// Input of tempered models.
const BETA: &str = "beta";

/// The posterior of one image, what a trained model has for it, and what families are that were fitted to it.
///
/// # Errors
/// If the latent space is no plane, or a fit fails.
pub fn modes(
    model: &PlaneModel<'_>,
    spec: &RunSpec,
    images: &Table,
    image: usize,
    settings: &ModesSettings,
) -> Result<Modes, FigureError> {
    let observed = observe(&model.subject.observation, images, image)?;
    let drawn = |problem: &Problem, store: &Store<f32>| -> Result<Bounds, FigureError> {
        let mut evaluator = BoundEvaluator::new(problem, &observed.row.observation(), model.device)?;
        let rows = vec![0; settings.draws];
        Ok(evaluator.run(store, &observed.row, &rows, settings.seed, 0, |_| false)?)
    };
    let trained = drawn(&model.subject.problem, model.store)?;
    let mean = [0, 1].map(|i| f64::from(trained.encoder_mean[i]));
    let log_variance = [0, 1].map(|i| f64::from(trained.encoder_log_variance[i]));
    let exact = Exact::of(model, (&observed.row, image), (mean, log_variance))?;
    let regions = exact.regions(COUNTED);
    // All estimates have the kernel of the posterior's own draws: that of draws in several modes depends on how many are
    // in each.
    let own = exact.draws(settings.draws, settings.seed);
    let width = bandwidth(&own);
    let told = |name: &str, (chain, family): (ChainSettings, FamilySettings), bounds: &Bounds| {
        let ends = points(&bounds.end);
        let field = density(&ends, width, &exact.density);
        let finite: Vec<f64> = bounds.bound.iter().copied().filter(|b| b.is_finite()).collect();
        Fitted {
            name: name.into(),
            shares: regions.shares(&ends),
            outside: outside(&ends, &exact.density),
            bound: finite.iter().sum::<f64>() / finite.len().max(1) as f64,
            parts: if family.start == StartKind::Mixture { family.parts } else { 1 },
            is_annealed: chain.bridge != Bridge::None,
            density: Density { divergence: exact.divergence(&field), density: field },
        }
    };
    let mut fits = vec![told("As it was trained", (spec.chain, spec.family), &trained)];
    for (name, chain, family) in families(spec, settings.parts) {
        let problem = Problem::of_run(&RunSpec { chain, family, ..spec.clone() }, images.columns());
        let store = fitted(model, &problem, &observed, settings)?;
        fits.push(told(name, (chain, family), &drawn(&problem, &store)?));
    }
    Ok(Modes {
        image,
        class: observed.class,
        observed: observed.picture.clone(),
        log_evidence: exact.log_evidence,
        shares: regions.masses.clone(),
        fits,
        updates: settings.updates,
        draws: settings.draws,
        estimate_of_exact: exact.divergence(&density(&own, width, &exact.density)),
        exact: exact.density.clone(),
    })
}

/// The families, which differ from the model's own in where draws begin and in what the chain is led over.
fn families(spec: &RunSpec, parts: usize) -> [(&'static str, ChainSettings, FamilySettings); 4] {
    let (chain, one) = (spec.chain, FamilySettings::default());
    let annealed = ChainSettings { bridge: Bridge::Learnt, ..chain };
    let mixture = FamilySettings { start: StartKind::Mixture, parts, ..one };
    [
        ("From one Gaussian", chain, one),
        ("Annealed", annealed, one),
        ("From a mixture", chain, mixture),
        ("Annealed from a mixture", annealed, mixture),
    ]
}

/// Parameters of a family that was fitted to an image; the decoder stays as it is, the encoder begins as it is.
fn fitted(
    model: &PlaneModel<'_>,
    problem: &Problem,
    image: &Observed,
    settings: &ModesSettings,
) -> Result<Store<f32>, FigureError> {
    let one = image.row.values(0..1);
    let rows = settings.rows;
    let x = one.repeat(rows);
    let graph = Graph::new();
    let parameters = Rc::new(Parameters::new(&graph));
    let tempered = Problem { model: Arc::new(Tempered(problem.model.clone())), ..problem.clone() };
    let draw = tempered.infer(&parameters, graph.batch_input("x", one.len()));
    let decoder = model_parameters(&*problem.model);
    let learnt = parameters.all().into_iter().filter(|(name, _)| !decoder.contains(name));
    let objective = Objective::new(&parameters, draw).learning(learnt.collect());
    let mut store = parameters.initial_values::<f32>(settings.seed);
    for name in problem.plain_parameters() {
        if let (Some(from), Some(to)) = (model.store.get(&name), store.get_mut(&name)) {
            to.values.copy_from_slice(&from.values);
        }
    }
    let inputs: [(&str, &[f32]); 1] = [("x", &x)];
    if let Some(program) = objective.first_look_program()? {
        // Steps that are short enough for the posterior are short enough for all others.
        let inputs = [inputs[0], (BETA, &[1.0])];
        let run = Run { rows, inputs: &inputs, seed: settings.seed, step: u64::MAX >> 24, ..Run::default() };
        let mut look = FirstLook::new(&program, model.device, &mut store, vec![run])?;
        problem.family.begin(&mut look)?;
    }
    let fit = FitSettings { updates: settings.updates, rows, seed: settings.seed, ..FitSettings::default() };
    let along = |step: u64| {
        let done = step as f64 / settings.updates as f64;
        let beta = FIRST_BETA.powf((1.0 - done / TEMPERED).max(0.0));
        let slower = if done < FAST { 1.0 } else { 0.1 };
        vec![(BETA, beta as f32), ("learning_rate", (settings.learning_rate * slower) as f32)]
    };
    Ok(fit_along(&objective, store, &fit, &inputs, along)?.store)
}

/// Names of what a model learns, apart from any family.
fn model_parameters(model: &dyn Model) -> Vec<String> {
    let graph = Graph::new();
    let parameters = Rc::new(Parameters::new(&graph));
    let potential = model.potential(&parameters, graph.batch_input("x", model.observed()));
    potential.log_density(graph.batch_input("z", model.latent()));
    parameters.names()
}

/// Share of points that are not on a grid.
fn outside(points: &[Point], grid: &Field) -> f64 {
    let is_outside = |z: &&Point| (0..2).any(|i| z[i] < grid.low[i] || z[i] > grid.high[i]);
    points.iter().filter(is_outside).count() as f64 / points.len().max(1) as f64
}

/// A model whose likelihood has the power `β`, an input.
struct Tempered(Arc<dyn Model>);

impl Model for Tempered {
    fn observed(&self) -> usize {
        self.0.observed()
    }

    fn sites(&self) -> Vec<Site> {
        self.0.sites()
    }

    fn potential<'g>(&self, parameters: &Rc<Parameters<'g>>, x: Expr<'g>) -> Potential<'g> {
        let graph = x.graph();
        let prior = Potential::gaussian(self.0.prior(graph));
        Potential::between(&prior, &self.0.potential(parameters, x), graph.scalar_input(BETA))
    }

    fn context<'g>(&self, parameters: &Rc<Parameters<'g>>, x: Expr<'g>) -> Expr<'g> {
        self.0.context(parameters, x)
    }

    fn simulator(&self) -> Option<&dyn Simulator> {
        self.0.simulator()
    }
}
