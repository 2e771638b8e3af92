//! Bracket the log evidence of a model between annealing from a fit and annealing back from the posterior.
//!
//! Chains that begin with draws of the fitted Gaussian go along `q^(1-β) p(x, z)^β` to the posterior, in coordinates in
//! which the Gaussian is the standard one. Whatever the chains are like, the mean of their weights is unbiased for the
//! evidence, so that its logarithm is a lower bound in expectation: it is above the log evidence by `b` nats with a
//! probability of less than `e^-b`. Chains that begin with draws of the posterior and go back bound it from above in the
//! same way, **as far as those draws are exact**. Those of NUTS or of a long chain are not: they are dependent, and miss
//! what the sampler missed. [`Evidence::is_bracket`] says whether what can be checked of this is in order.

mod coordinates;

use std::time::Instant;

use hmcvi_record::Estimate;
use serde::{Deserialize, Serialize};

use super::{FitError, Fitted};
use crate::eval::{EvalError, PosteriorOptions, Reliability, Weights, bridge, log_mean_error};
use crate::hmc::diagnostics::{ESS_LIMIT, R_HAT_LIMIT};
use coordinates::{InCoordinates, Way};

/// How the log evidence is estimated.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct EvidenceSettings {
    /// Draws of the fit for importance sampling.
    pub draws: usize,
    /// Chains in each direction.
    pub chains: usize,
    /// Temperatures between the Gaussian and the posterior.
    pub temperatures: usize,
    /// Leapfrog steps at each of them.
    pub leapfrog_steps: usize,
    /// The long chain that gives draws of the posterior where none are given.
    pub long_chain: PosteriorOptions,
    /// Seed of all draws.
    pub seed: u64,
}

impl Default for EvidenceSettings {
    fn default() -> Self {
        EvidenceSettings {
            draws: 4000,
            chains: 128,
            temperatures: 500,
            leapfrog_steps: 4,
            long_chain: PosteriorOptions { chains: 16, warm_up: 500, draws: 2000, leapfrog_steps: 8 },
            seed: 1,
        }
    }
}

impl EvidenceSettings {
    fn check(&self) -> Result<(), FitError> {
        let long = self.long_chain;
        let all = [
            ("draws", self.draws, 2),
            ("chains", self.chains, 2),
            ("temperatures", self.temperatures, 1),
            ("leapfrog_steps", self.leapfrog_steps, 1),
            ("long_chain.chains", long.chains, 1),
            ("long_chain.draws", long.draws, 4),
            ("long_chain.leapfrog_steps", long.leapfrog_steps, 1),
        ];
        match all.into_iter().find(|(_, value, least)| value < least) {
            Some((key, value, least)) => Err(FitError::Setting {
                key: key.into(),
                value: value.to_string(),
                allowed: format!("at least {least}"),
            }),
            None => Ok(()),
        }
    }
}

/// What an estimate is at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum EvidenceStage {
    /// Draws of the fit.
    Importance,
    /// The long chain.
    LongChain,
    /// Step sizes, with chains that are not used otherwise.
    Tuning,
    /// From the Gaussian to the posterior.
    Lower,
    /// From the posterior to the Gaussian.
    Upper,
}

/// The log evidence, from the fit and between two sides.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Evidence {
    /// By importance sampling with smoothed weights of the fit.
    pub importance: Side,
    /// By annealing from the fitted Gaussian: a lower bound in expectation.
    pub lower: Side,
    /// By annealing from draws of the posterior: an upper bound in expectation, if these are exact.
    pub upper: Side,
    /// What both ways of annealing agree on (Bennett's acceptance ratio). Nothing where a weight is not finite.
    pub between: Option<Estimate>,
    /// The long chain whose draws began the upper bound; nothing where draws were given.
    pub long_chain: Option<LongChain>,
    /// Seconds that it took.
    pub seconds: f64,
}

/// A log evidence by the mean of some weights.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Side {
    /// The log evidence.
    pub log_evidence: f64,
    /// Its standard error, as far as the weights know it: where k-hat is above ½ their variance may be infinite, and the
    /// error larger.
    pub standard_error: f64,
    /// Weights.
    pub count: usize,
    /// Their effective number.
    pub effective_sample_size: f64,
    /// Shape of the distribution of the largest weights; absent where there are too few to tell.
    pub k_hat: Option<f64>,
    /// Mean acceptance probability of the transitions, where there are any.
    pub acceptance_rate: Option<f64>,
}

/// What a long chain says about its draws.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct LongChain {
    /// Largest R-hat of all coordinates and the energy.
    pub r_hat: f64,
    /// Smallest effective sample size of these, in bulk and tails.
    pub effective_sample_size: f64,
}

impl Side {
    fn of(log_weights: impl ExactSizeIterator<Item = f64>, way: &Way) -> Self {
        let count = log_weights.len();
        let mut weights = Weights::new(count);
        log_weights.for_each(|w| weights.add(w));
        let found = weights.summary();
        Side {
            log_evidence: found.log_mean,
            standard_error: found.error_of_log_mean(count),
            count,
            effective_sample_size: found.effective_sample_size,
            k_hat: found.k_hat,
            acceptance_rate: Some(way.acceptance_rate),
        }
    }

    /// The same where `1/eʷ` is unbiased for the reciprocal of the evidence.
    fn upside_down(self) -> Self {
        Side { log_evidence: -self.log_evidence, ..self }
    }

    /// How far the mean of the weights can be trusted.
    pub fn reliability(&self) -> Reliability {
        Reliability::of(self.k_hat, self.count)
    }
}

impl LongChain {
    /// Whether the chains agree, with enough draws to tell.
    pub fn converged(&self) -> bool {
        self.r_hat <= R_HAT_LIMIT && self.effective_sample_size >= ESS_LIMIT
    }
}

impl Evidence {
    /// How far apart the two sides are, and the standard error of that. It can be below 0 by chance.
    pub fn width(&self) -> Estimate {
        let standard_error = self.lower.standard_error.hypot(self.upper.standard_error);
        Estimate { mean: self.upper.log_evidence - self.lower.log_evidence, standard_error }
    }

    /// Whether nothing speaks against a bracket: both sides are finite and not the wrong way round by more than chance,
    /// and the long chain, where there is one, has converged. Draws that were given are taken for exact.
    pub fn is_bracket(&self) -> bool {
        let width = self.width();
        let finite = width.mean.is_finite() && width.standard_error.is_finite();
        let converged = self.long_chain.is_none_or(|chain| chain.converged());
        finite && converged && width.mean > -4.0 * width.standard_error
    }
}

type Watch<'w> = dyn FnMut(EvidenceStage, f64) -> bool + 'w;

impl Fitted {
    /// Estimates the log evidence: by importance sampling, and between annealing from the fitted Gaussian and annealing
    /// back from draws of a long chain.
    ///
    /// # Errors
    /// If a setting means nothing, or more than 1% of draws have no weight.
    pub fn evidence(&self, settings: &EvidenceSettings) -> Result<Evidence, FitError> {
        self.evidence_watched(settings, None, &mut |_, _| true)
    }

    /// The same with draws of the posterior as real numbers, such as those of NUTS, of which as many are taken as there
    /// are chains, evenly. `watch` is told the stage and the share of it that is done, and returns whether to go on.
    ///
    /// # Errors
    /// If a setting means nothing, draws have another dimension than the model, more than 1% of draws of the fit have no
    /// weight, or it was to stop.
    pub fn evidence_watched(
        &self,
        settings: &EvidenceSettings,
        posterior: Option<&[Vec<f64>]>,
        watch: &mut Watch<'_>,
    ) -> Result<Evidence, FitError> {
        let begun = Instant::now();
        settings.check()?;
        if !watch(EvidenceStage::Importance, 0.0) {
            return Err(EvalError::Stopped.into());
        }
        let importance = self.importance(settings)?;
        let problem = InCoordinates::new(&self.bound, self.gaussian());
        let (ends, long_chain) = match posterior {
            Some(draws) => (problem.coordinates_of(draws)?, None),
            None => problem.long_chain(settings, watch)?,
        };
        let (lower, upper) = problem.anneal(settings, &ends, watch)?;
        Ok(Evidence {
            importance,
            between: bridge(&lower.log_weights, &upper.log_weights),
            lower: Side::of(lower.log_weights.iter().copied(), &lower),
            upper: Side::of(upper.log_weights.iter().map(|w| -w), &upper).upside_down(),
            long_chain,
            seconds: begun.elapsed().as_secs_f64(),
        })
    }

    fn importance(&self, settings: &EvidenceSettings) -> Result<Side, FitError> {
        let smoothed = self.draws(settings.draws, settings.seed)?.smoothed();
        let (effective_sample_size, count) = (smoothed.effective_sample_size, smoothed.log_weights.len());
        Ok(Side {
            log_evidence: smoothed.log_mean,
            standard_error: log_mean_error(effective_sample_size, count),
            count,
            effective_sample_size,
            k_hat: smoothed.k_hat,
            acceptance_rate: None,
        })
    }
}
