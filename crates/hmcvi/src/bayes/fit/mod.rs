//! Fit an approximation to the posterior of a model, and say how far to trust it.
//!
//! [`Bound::fit`] walks uphill and takes the best Gaussian on its way, lets its scores match those of the density, and those
//! of a wide one, too. It learns a Gaussian of the chosen family from the better one, finds masses and a step size, and
//! learns the chain, until the bound stands still. What it gives is a [`Fitted`].

mod bend;
mod check;
mod draws;
mod elsewhere;
mod evaluator;
mod evidence;
mod fitted;
mod learn;
mod map;
mod matching;
mod normal;
mod path;
mod saved;
mod spec;
mod weighted;

use std::rc::Rc;
use std::time::Instant;

use hmcvi_graph::{CompileError, Graph, Run, RunError, Store};

pub use draws::{Draws, Row};
pub use elsewhere::{Elsewhere, Sought};
pub use evidence::{Evidence, EvidenceSettings, EvidenceStage, LongChain, Side};
pub use fitted::{Fitted, Stage};
pub use learn::{Learning, Stopped};
pub use map::Covariance;
pub use normal::FullGaussian;
pub use saved::SavedFitError;

use super::Bound;
use crate::device::DeviceError;
use crate::eval::EvalError;
use crate::family::{BeginError, ChainSettings, Family, FirstLook, HmcChain, NotABound, Target};
use crate::nn::{Activation, Parameters};
use crate::train::Objective;
use evaluator::Evaluator;
use learn::{Pace, learn};
use map::Map;

/// How to fit.
#[derive(Clone, Debug, PartialEq)]
pub struct Fit {
    /// The Gaussian that draws begin with.
    pub gaussian: Covariance,
    /// The chain that goes on from there; no HMC steps for the Gaussian alone.
    pub chain: ChainSettings,
    /// Whether the coordinates of the chain are bent, so that funnels, skewed and heavy-tailed variables are nearly Gaussian
    /// in them. For a full-rank Gaussian in at most 300 dimensions, before a chain.
    pub bend: bool,
    /// Sizes of the hidden layers of the chain's reverse models.
    pub hidden: Vec<usize>,
    /// Draws in each update.
    pub rows: usize,
    /// Most updates of each stage.
    pub most_updates: usize,
    /// The smallest rise of the bound that is worth further updates, in nats; 0 for all updates that are allowed.
    pub tolerance: f64,
    /// Learning rate at first.
    pub learning_rate: f64,
    /// Random places to begin from; the best one is taken.
    pub starts: usize,
    /// Seed of all draws.
    pub seed: u64,
}

impl Default for Fit {
    fn default() -> Self {
        Fit {
            gaussian: Covariance::default(),
            chain: ChainSettings::near_gaussian(),
            bend: true,
            hidden: vec![32],
            rows: 64,
            most_updates: 3000,
            tolerance: 0.002,
            learning_rate: 0.01,
            starts: 1,
            seed: 1,
        }
    }
}

impl Fit {
    /// The Gaussian alone.
    #[must_use]
    pub fn without_chain(self) -> Self {
        Fit { chain: ChainSettings::basic(), ..self }
    }
}

/// How a fit goes on.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Progress {
    /// What it is at.
    pub stage: Stage,
    /// Updates so far, and how many there may be at most.
    pub updates: (usize, usize),
    /// The bound, in nats.
    pub bound: f64,
}

/// A fit that cannot be made.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FitError {
    /// No place with a density was found.
    #[error(
        "none of 100 random places has a finite log density and gradient{}; check the data, the supports, and what is \
         added to the log density", after_colon(.why)
    )]
    NoDensity {
        /// What has none, as far as that is known.
        why: String,
    },
    /// No Gaussian fits.
    #[error(
        "the log density rises without end: no Gaussian fits anywhere on the way; check that the priors are proper"
    )]
    NoStart,
    /// A Gaussian of so many dimensions does not fit into memory.
    #[error(
        "the model has {dimension} real numbers, but a fit takes at most {MOST_DIMENSIONS}: its Gaussian begins with a \
         matrix of them; NUTS does without"
    )]
    TooLarge {
        /// Real numbers of the model.
        dimension: usize,
    },
    /// A variable whose posterior has no end, as far as can be told.
    #[error(
        "the posterior of `{name}` has no end: a Gaussian of it grew to a standard deviation of {sd:.1e} on the unconstrained \
         scale; give every variable a proper prior"
    )]
    Improper {
        /// The variable.
        name: String,
        /// How wide it became.
        sd: f64,
    },
    /// The model is not a well-formed program.
    #[error(transparent)]
    Compile(#[from] CompileError),
    /// The program could not run.
    #[error(transparent)]
    Run(#[from] RunError),
    /// The device failed.
    #[error(transparent)]
    Device(#[from] DeviceError),
    /// The chain found no first values.
    #[error(transparent)]
    Begin(#[from] BeginError),
    /// Too many rows were left out.
    #[error(transparent)]
    NotABound(#[from] NotABound),
    /// The evidence cannot be estimated.
    #[error(transparent)]
    Evidence(#[from] EvalError),
    /// A setting that means nothing.
    #[error("`{key}` is {value}, but must be {allowed}")]
    Setting {
        /// The setting.
        key: String,
        /// Its value.
        value: String,
        /// What it may be.
        allowed: String,
    },
    /// Draws of the posterior that are not of this model.
    #[error("posterior draws: {0}")]
    PosteriorDraws(String),
}

fn after_colon(why: &str) -> String {
    if why.is_empty() { String::new() } else { format!(": {why}") }
}

/// How far bent coordinates may be behind straight ones at the first learning rate, in nats.
const BEHIND: f64 = 0.25;
/// What bent coordinates have to gain, in nats: they have many parameters, which cost noise.
const WORTH_BENDING: f64 = 0.1;
/// A bound that is worth while in any case.
const ANY: f64 = f64::NEG_INFINITY;
/// Most dimensions of a fit: the square of this many numbers takes 2 GB, and there are some such matrices at a time.
const MOST_DIMENSIONS: usize = 16_384;
/// Batches of the first look.
const LOOKS: usize = 2;

impl Bound {
    /// Fits an approximation to the posterior.
    ///
    /// # Errors
    /// If a setting means nothing, there is no density to fit, or too many rows of the bound are lost.
    pub fn fit(&self, settings: &Fit) -> Result<Fitted, FitError> {
        self.fit_watched(settings, &mut |_| true)
    }

    /// The same; `watch` is told how it goes on, and returns whether it should.
    ///
    /// # Errors
    /// If a setting means nothing, there is no density to fit, or too many rows of the bound are lost.
    pub fn fit_watched(
        &self,
        settings: &Fit,
        watch: &mut dyn FnMut(Progress) -> bool,
    ) -> Result<Fitted, FitError> {
        let (begun, dimension) = (Instant::now(), self.dimension());
        settings.check()?;
        if dimension > MOST_DIMENSIONS {
            return Err(FitError::TooLarge { dimension });
        }
        let first = self.first_gaussian(settings, watch)?;
        let mut map = Map::new(settings.gaussian, first);
        let family = HmcChain {
            settings: settings.chain,
            encoder: None,
            hidden: settings.hidden.clone(),
            activation: Activation::Tanh,
        };
        let plain = HmcChain { settings: ChainSettings::basic(), ..family.clone() };
        let mut store = Store::new();
        let gaussian = self.learn(settings, &map, &plain, &mut store, (Stage::Gaussian, ANY), watch)?;
        let alone = map.numbers(&store);
        self.check_ends(&alone)?;
        let (mut bent, mut chain) = (None, None);
        if !family.is_gaussian() {
            let full = map.covariance == Covariance::FullRank;
            if settings.bend && full && self.dimension() <= matching::MOST_DIMENSIONS {
                let (straight, before) = (map.clone(), store.clone());
                map = map.bent();
                let least = gaussian.last_of_first_rate() - BEHIND;
                let learning = self.learn(settings, &map, &plain, &mut store, (Stage::Bend, least), watch)?;
                if learning.last() < gaussian.last() + WORTH_BENDING {
                    (map, store) = (straight, before);
                }
                bent = Some(learning);
            }
            chain = Some(self.learn(settings, &map, &family, &mut store, (Stage::Chain, ANY), watch)?);
        }
        store.retain(|name| !name.starts_with("adam."));
        let seconds = begun.elapsed().as_secs_f64();
        let (bound, seed) = (self.clone(), settings.seed);
        Ok(Fitted { bound, map, alone, family, store, gaussian, bent, chain, seconds, seed })
    }

    /// A Gaussian near the posterior: the best of some walks or a wide one, matched to the scores of the density.
    fn first_gaussian(
        &self,
        settings: &Fit,
        watch: &mut dyn FnMut(Progress) -> bool,
    ) -> Result<FullGaussian, FitError> {
        let d = self.dimension();
        let (mut one, mut many) = (Evaluator::new(self, 1)?, Evaluator::new(self, matching::rows(d))?);
        let mut best: Option<path::Candidate> = None;
        let mut failed = None;
        for start in 0..settings.starts as u64 {
            match path::walk(&mut one, &mut many, d, settings.seed.wrapping_add(start << 32)) {
                Ok(found) if best.as_ref().is_none_or(|best| found.bound > best.bound) => best = Some(found),
                Ok(_) => {}
                Err(error) => failed = Some(error),
            }
            if let Some(best) = best.as_ref().filter(|_| settings.starts > 1) {
                let updates = (start as usize + 1, settings.starts);
                if !watch(Progress { stage: Stage::Places, updates, bound: best.bound }) {
                    break;
                }
            }
        }
        let Some(best) = best else {
            return Err(match failed {
                Some(FitError::NoDensity { .. }) => FitError::NoDensity { why: self.without_density()? },
                failed => failed.unwrap_or(FitError::NoStart),
            });
        };
        let (mut goes_on, mut before) = (true, 0);
        let found = matching::settle(&mut many, best, settings.seed, &mut |done, most, best| {
            before = done;
            goes_on = watch(Progress { stage: Stage::Start, updates: (done, most), bound: best.bound });
            goes_on
        })?;
        if !goes_on {
            return Ok(found.gaussian);
        }
        // Densities that rise without end in a corner, as those of groups do where they have no spread, draw walks there.
        let wide = path::Candidate::wide(d);
        let wide = matching::settle(&mut many, wide, settings.seed, &mut |done, most, wide| {
            let (updates, bound) = ((before + done, before + most), wide.bound.max(found.bound));
            elsewhere::distance(&found.gaussian, &wide.gaussian.mean) > elsewhere::radius(d)
                && watch(Progress { stage: Stage::Start, updates, bound })
        })?;
        Ok(if wide.bound > found.bound + matching::MUCH { wide.gaussian } else { found.gaussian })
    }

    /// Learns the map and the chain of a family, from what the store has of them.
    fn learn(
        &self,
        settings: &Fit,
        map: &Map,
        family: &HmcChain,
        store: &mut Store<f64>,
        (stage, at_least): (Stage, f64),
        watch: &mut dyn FnMut(Progress) -> bool,
    ) -> Result<Learning, FitError> {
        let graph = Graph::new();
        let parameters = Rc::new(Parameters::new(&graph));
        let potential = map.potential(&parameters, self);
        let context = graph.constant(0.0);
        let draw = family.draw(&Target { parameters: &parameters, potential: &potential, context });
        let objective = Objective::new(&parameters, draw);
        let mut first = parameters.initial_values::<f64>(settings.seed);
        first.retain(|name| store.get(name).is_none());
        for (name, tensor) in first.iter() {
            store.insert(name, tensor.rows, tensor.cols, tensor.values.clone())?;
        }
        store.retain(|name| !name.starts_with("adam."));
        if let Some(program) = objective.first_look_program()? {
            let rows = 4 * settings.rows;
            let runs =
                (0..LOOKS).map(|look| Run { rows, seed: settings.seed, step: look as u64, ..Run::default() });
            let mut look = FirstLook::new(&program, self.device(), store, runs.collect())?;
            family.find_first_values(&mut look)?;
        }
        let pace = Pace {
            rows: settings.rows,
            rate: settings.learning_rate,
            most: settings.most_updates,
            seed: settings.seed.wrapping_add(stage as u64),
            tolerance: settings.tolerance,
            at_least,
        };
        learn(&objective, self.device(), store, &pace, &mut |done, most, bound| {
            watch(Progress { stage, updates: (done, most), bound })
        })
    }
}
