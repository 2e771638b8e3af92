//! Anneal between a Gaussian and a posterior in coordinates in which the Gaussian is the standard one.

use std::rc::Rc;

use hmcvi_graph::{Expr, Store};

use super::{EvidenceSettings, EvidenceStage, LongChain, Watch};
use crate::bayes::Bound;
use crate::bayes::fit::matching::forward_substitute;
use crate::bayes::fit::{FitError, FullGaussian};
use crate::eval::{Annealer, AnnealingOptions, PosteriorSampler, Reference};
use crate::family::{ChainSettings, HmcChain};
use crate::model::{Model, Site};
use crate::nn::{Activation, Parameters};
use crate::potential::Potential;
use crate::problem::Problem;

/// A model in coordinates in which a Gaussian is the standard one. Its rows are draws: it has no data but those in its
/// density, for which a column of zeros stands.
#[derive(Clone)]
pub(super) struct InCoordinates {
    bound: Bound,
    gaussian: FullGaussian,
}

impl Model for InCoordinates {
    fn observed(&self) -> usize {
        1
    }

    fn sites(&self) -> Vec<Site> {
        vec![Site { name: "coordinates".into(), columns: 0..self.gaussian.dimension() }]
    }

    fn potential<'g>(&self, _: &Rc<Parameters<'g>>, x: Expr<'g>) -> Potential<'g> {
        let (bound, d) = (self.bound.clone(), self.gaussian.dimension());
        let mean = x.graph().constant_matrix(1, d, &self.gaussian.mean);
        let factor = x.graph().constant_matrix(d, d, &self.gaussian.factor);
        let log_determinant = self.gaussian.log_determinant();
        Potential::from_expression(d, move |e| {
            bound.at(mean + e.matmul_transposed(factor)).log_density() + log_determinant
        })
    }
}

/// What chains in one direction found.
#[derive(Default)]
pub(super) struct Way {
    pub(super) log_weights: Vec<f64>,
    pub(super) acceptance_rate: f64,
}

impl Way {
    fn add(&mut self, log_weights: &[Vec<f64>], acceptance_rate: f64) {
        self.log_weights.extend(log_weights.iter().flatten());
        self.acceptance_rate += acceptance_rate;
    }
}

impl InCoordinates {
    pub(super) fn new(bound: &Bound, gaussian: FullGaussian) -> Self {
        InCoordinates { bound: bound.clone(), gaussian }
    }

    /// With the standard Gaussian.
    fn problem(&self) -> Problem {
        let family = HmcChain {
            settings: ChainSettings::basic(),
            encoder: None,
            hidden: Vec::new(),
            activation: Activation::default(),
        };
        Problem::new(self.clone(), family)
    }

    /// Coordinates of draws.
    pub(super) fn coordinates_of(&self, draws: &[Vec<f64>]) -> Result<Vec<f64>, FitError> {
        let d = self.gaussian.dimension();
        if draws.is_empty() {
            return Err(FitError::PosteriorDraws("there are none".into()));
        }
        if let Some(wrong) = draws.iter().find(|draw| draw.len() != d) {
            return Err(FitError::PosteriorDraws(format!(
                "one has {} numbers, but the variables of the model are made from {d}",
                wrong.len()
            )));
        }
        let coordinates = |z: &Vec<f64>| forward_substitute(&self.gaussian.factor, z, &self.gaussian.mean);
        Ok(draws.iter().flat_map(coordinates).collect())
    }

    /// Draws of a long chain, and what they say about themselves.
    pub(super) fn long_chain(
        &self,
        settings: &EvidenceSettings,
        watch: &mut Watch<'_>,
    ) -> Result<(Vec<f64>, Option<LongChain>), FitError> {
        let mut sampler = PosteriorSampler::new(&self.problem(), settings.long_chain, self.bound.device())?;
        let stop = &mut |share| !watch(EvidenceStage::LongChain, share);
        let seed = settings.seed ^ LONG_CHAIN;
        let found = sampler.reference(&Store::<f64>::new(), (&[0.0], 0), seed, stop)?;
        let Some(Reference { draws, r_hat, ess_bulk, ess_tail, .. }) = found.into_iter().next() else {
            return Err(FitError::PosteriorDraws("the long chain gave none".into()));
        };
        let effective_sample_size = ess_bulk.min(ess_tail);
        Ok((draws, Some(LongChain { r_hat, effective_sample_size })))
    }

    /// Both ways, the second from some of these coordinates.
    pub(super) fn anneal(
        &self,
        settings: &EvidenceSettings,
        ends: &[f64],
        watch: &mut Watch<'_>,
    ) -> Result<(Way, Way), FitError> {
        let options = AnnealingOptions {
            temperatures: settings.temperatures,
            chains: 1,
            leapfrog_steps: settings.leapfrog_steps,
            ..AnnealingOptions::default()
        };
        let mut annealer = Annealer::new(&self.problem(), options, self.bound.device())?;
        let (store, d) = (Store::<f64>::new(), self.gaussian.dimension());
        let count = settings.chains.max(2);
        let together = annealer.points().min(count);
        let zeros = vec![0.0; together];
        let stop = &mut |share| !watch(EvidenceStage::Tuning, share);
        let mut sizes = annealer.tune(&store, &zeros, settings.seed ^ TUNING, stop)?;
        sizes.iter_mut().zip(SHARES.iter().cycle()).for_each(|(size, share)| *size *= share);
        let (mut lower, mut upper) = (Way::default(), Way::default());
        for first in (0..count).step_by(together) {
            let rows = together.min(count - first);
            let (done, part) = (first as f64 / count as f64, rows as f64 / count as f64);
            let x = &zeros[..rows];
            let stop = &mut |share| !watch(EvidenceStage::Lower, done + part * share);
            let (weights, rate) =
                annealer.forward(&store, (x, first), &sizes, settings.seed ^ FORWARD, stop)?;
            lower.add(&weights, part * rate);
            let chosen = |row: usize| &ends[d * ((first + row) * (ends.len() / d) / count)..][..d];
            let z: Vec<f64> = (0..rows).flat_map(chosen).copied().collect();
            let stop = &mut |share| !watch(EvidenceStage::Upper, done + part * share);
            let (weights, rate) =
                annealer.reverse(&store, (x, &z, first), &sizes, settings.seed ^ REVERSE, stop)?;
            upper.add(&weights, part * rate);
        }
        Ok((lower, upper))
    }
}

/// Shares of the step size that was tuned, one temperature after the other: places that are much narrower or wider than
/// most, as in funnels, are moved in as well.
const SHARES: [f64; 5] = [1.0, 1.0, 0.3, 3.0, 0.1];

/// Seeds of the stages differ by these.
const LONG_CHAIN: u64 = 0x6c6f_6e67;
const TUNING: u64 = 0x7475_6e65;
const FORWARD: u64 = 0x666f_7277;
const REVERSE: u64 = 0x6261_636b;
