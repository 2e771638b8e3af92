//! A fitted approximation: its bound, its draws, and how far they are to be trusted.

use std::rc::Rc;

use hmcvi_graph::{Graph, Run, Store};
use serde::{Deserialize, Serialize};

use super::FitError;
use super::draws::Draws;
use super::learn::Learning;
use super::map::Map;
use super::normal::FullGaussian;
use crate::bayes::Bound;
use crate::family::{Dropped, Entropies, HmcChain, Target};
use crate::nn::Parameters;

/// What a fit is at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Stage {
    /// Trying several places to begin from, where that is asked for; each counts as an update.
    Places,
    /// Looking for a first Gaussian.
    Start,
    /// Learning the Gaussian.
    Gaussian,
    /// Learning to bend its coordinates.
    Bend,
    /// Learning the chain.
    Chain,
}

/// An approximation to the posterior of a model.
#[derive(Clone, Debug)]
pub struct Fitted {
    pub(super) bound: Bound,
    pub(super) map: Map,
    /// The Gaussian, before anything else was learnt.
    pub(super) alone: FullGaussian,
    pub(super) family: HmcChain,
    pub(super) store: Store<f64>,
    pub(super) gaussian: Learning,
    pub(super) bent: Option<Learning>,
    pub(super) chain: Option<Learning>,
    pub(super) seconds: f64,
    pub(super) seed: u64,
}

/// Rows that are drawn together.
const ROWS: usize = 256;
/// Stream of seeds of draws, apart from those of training.
const DRAWS: u64 = 0x6472_6177;
/// Step of draws of the Gaussian alone, apart from those that a fit makes.
const GAUSSIAN_STEP: u64 = u64::MAX;

impl Fitted {
    /// The model.
    pub fn model(&self) -> &Bound {
        &self.bound
    }

    /// How the Gaussian was learnt.
    pub fn gaussian_learning(&self) -> &Learning {
        &self.gaussian
    }

    /// How the coordinates of the chain were bent, where they are.
    pub fn bend_learning(&self) -> Option<&Learning> {
        self.bent.as_ref()
    }

    /// How the chain was learnt, where there is one.
    pub fn chain_learning(&self) -> Option<&Learning> {
        self.chain.as_ref()
    }

    /// How each stage was learnt, with its name; nothing for those that there were not.
    pub fn learning(&self) -> [(&'static str, Option<&Learning>); 3] {
        [("gaussian", Some(&self.gaussian)), ("bend", self.bent.as_ref()), ("chain", self.chain.as_ref())]
    }

    /// Seconds that the fit took.
    pub fn seconds(&self) -> f64 {
        self.seconds
    }

    /// The Gaussian near the posterior that everything began with, in real numbers.
    pub fn gaussian(&self) -> FullGaussian {
        self.alone.clone()
    }

    /// Independent draws of that Gaussian with their log weights. Other seeds give other draws.
    ///
    /// # Errors
    /// If the density cannot be evaluated.
    pub fn gaussian_draws(&self, count: usize, seed: u64) -> Result<Draws, FitError> {
        let (z, densities) = self.alone.draws(count, seed, GAUSSIAN_STEP);
        let found = self.bound.evaluate(&z)?;
        let weights = found.log_density.iter().zip(&densities).map(|(p, q)| p - q).collect::<Vec<f64>>();
        let mut draws = Draws::new(self.bound.values(), self.bound.dimension());
        draws.add(&found.values, &z, &weights, &vec![0.0; count], count);
        Ok(draws)
    }

    /// Independent draws with their log weights. Other seeds give other draws.
    ///
    /// # Errors
    /// If more than 1% of draws have no weight.
    pub fn draws(&self, count: usize, seed: u64) -> Result<Draws, FitError> {
        let graph = Graph::new();
        let parameters = Rc::new(Parameters::new(&graph));
        let potential = self.map.potential(&parameters, &self.bound);
        let target = Target { parameters: &parameters, potential: &potential, context: graph.constant(0.0) };
        let chain = self.family.chain_with(&target, Entropies::Sampled);
        let (z, _) = self.map.apply(&parameters, chain.end);
        let program = graph
            .program()
            .output("row", self.bound.at(z).row())
            .output("z", z)
            .output("log_weight", chain.terms.total())
            .output("dropped", chain.dropped.broadcast_to(hmcvi_graph::Shape::batch(1)))
            .compile()?;
        let mut executable = self.bound.device().on_cpu::<f64>(&program, ROWS);
        let mut draws = Draws::new(self.bound.values(), self.bound.dimension());
        let mut dropped = Dropped::default();
        let seed = self.seed ^ DRAWS ^ seed.rotate_left(17);
        for step in 0.. {
            if draws.len() >= count {
                break;
            }
            executable.evaluate(&self.store, &Run { rows: ROWS, seed, step, ..Run::default() })?;
            let output = |name| executable.output(name).unwrap_or_default();
            let lost = output("dropped").iter().filter(|&&lost| lost != 0.0).count();
            dropped += Dropped { rows: ROWS as u64, dropped: lost as u64, no_density: 0 };
            if lost == ROWS {
                break;
            }
            draws.add(output("row"), output("z"), output("log_weight"), output("dropped"), count);
        }
        dropped.check()?;
        draws.dropped = dropped.dropped;
        Ok(draws)
    }
}
