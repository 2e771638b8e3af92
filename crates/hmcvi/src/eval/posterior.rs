//! Measure how near a posterior approximation is to the posterior itself.
//!
//! The reference is a long HMC run: several chains for each data point from dispersed starts, assessed by R-hat
//! and effective sample sizes.

use hmcvi_graph::random::{self, Key};
use hmcvi_graph::{Real, Store};
use serde::{Deserialize, Serialize};

use super::EvalError;
use super::annealing::{Annealer, AnnealingOptions, Walkers, Watch};
use super::wasserstein::wasserstein;
use crate::device::Device;
use crate::hmc::DualAveraging;
use crate::hmc::diagnostics::summary;
use crate::linalg::{cholesky, solve};
use crate::problem::Problem;

/// Settings of the reference run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct PosteriorOptions {
    /// Chains for each data point.
    pub chains: usize,
    /// Steps that tune the step size of each chain and are not used otherwise.
    pub warm_up: usize,
    /// Draws of each chain.
    pub draws: usize,
    /// Leapfrog steps between draws.
    pub leapfrog_steps: usize,
}

impl Default for PosteriorOptions {
    fn default() -> Self {
        PosteriorOptions { chains: 8, warm_up: 300, draws: 500, leapfrog_steps: 4 }
    }
}

/// Acceptance rate that the step size of every chain is tuned to.
const TARGET_ACCEPTANCE: f64 = 0.8;
/// Step size that tuning begins with, in standard deviations of the encoder.
const FIRST_STEP_SIZE: f64 = 0.1;
/// Part of a step size that every proposal draws anew: trajectories of one length can return to where they began.
const JITTER: f64 = 0.3;
/// Every so many proposals one is made with a step this much shorter: the way out of places far narrower than those
/// where a chain was tuned, in which it would stay for good.
const SHORT_EVERY: usize = 10;
const SHORT: f64 = 0.1;
/// Starts are drawn from the encoder's Gaussian with this many times its standard deviation: chains that
/// agree nevertheless have forgotten them.
const DISPERSION: f64 = 2.0;
/// Random stream of step-size jitter.
const STREAM_JITTER: u16 = 12;

/// Draws from the posterior of one data point.
#[derive(Clone, Debug)]
pub struct Reference {
    /// `z`, draw after draw.
    pub draws: Vec<f64>,
    /// `U(z) = -log p(x, z)` of every draw.
    pub energies: Vec<f64>,
    /// Largest rank-normalised split R-hat of all dimensions and the energy; infinite where one cannot be computed.
    pub r_hat: f64,
    /// Smallest bulk effective sample size of all dimensions and the energy; 0 where one cannot be computed.
    pub ess_bulk: f64,
    /// Smallest tail effective sample size of the same.
    pub ess_tail: f64,
    /// Mean acceptance probability of every chain.
    pub acceptance_rate: Vec<f64>,
}

/// How far draws of an approximation are from a reference.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Distance {
    /// Kullback-Leibler divergence of Gaussians with the moments of the draws from one with those of the
    /// reference: `KL(q ‖ p)`, exact where both are Gaussian.
    pub gaussian_kl: f64,
    /// 1-Wasserstein distance of each dimension in standard deviations of the reference, averaged.
    pub wasserstein: f64,
    /// Mean energy above that of the reference.
    pub energy_excess: f64,
}

impl Distance {
    /// How much larger this distance is than another.
    pub fn less(&self, other: &Self) -> Self {
        Distance {
            gaussian_kl: self.gaussian_kl - other.gaussian_kl,
            wasserstein: self.wasserstein - other.wasserstein,
            energy_excess: self.energy_excess - other.energy_excess,
        }
    }
}

/// Posterior draws of data points, and the energy of other draws.
pub struct PosteriorSampler<T: Real> {
    annealer: Annealer<T>,
    options: PosteriorOptions,
    observed: usize,
    latent: usize,
}

impl<T: Real> PosteriorSampler<T> {
    /// Prepares the reference run.
    pub fn new(problem: &Problem, options: PosteriorOptions, device: &Device) -> Result<Self, EvalError> {
        let annealing = AnnealingOptions {
            chains: options.chains,
            leapfrog_steps: options.leapfrog_steps,
            temperatures: 1,
            ..AnnealingOptions::default()
        };
        let (observed, latent) = (problem.model.observed(), problem.model.latent());
        Ok(PosteriorSampler {
            annealer: Annealer::new(problem, annealing, device)?,
            options,
            observed,
            latent,
        })
    }

    /// Data points that are sampled together.
    pub fn points(&self) -> usize {
        self.annealer.points()
    }

    /// Posterior draws of data points `x`, at most [`PosteriorSampler::points`].
    pub fn reference(
        &mut self,
        store: &Store<T>,
        (x, first): (&[T], usize),
        seed: u64,
        watch: &mut Watch<'_>,
    ) -> Result<Vec<Reference>, EvalError> {
        let PosteriorOptions { chains, warm_up, draws, .. } = self.options;
        let mut w = self.annealer.walkers(store, x, first, seed)?;
        w.disperse(DISPERSION);
        self.annealer.settle(store, &mut w)?;
        // Every chain finds its own step size: what suits most of them may be far too long where one began.
        let mut tuning = vec![DualAveraging::new(FIRST_STEP_SIZE, TARGET_ACCEPTANCE); w.rows];
        let mut jitter = vec![0.0; warm_up + draws];
        random::uniform(Key { seed, stream: STREAM_JITTER, step: 0, row: first as u32 }, &mut jitter);
        let mut kept = vec![Kept::default(); w.rows];
        for (step, jitter) in jitter.iter().enumerate() {
            let short = step % SHORT_EVERY == SHORT_EVERY - 1;
            let part = (1.0 - JITTER * jitter) * if short { SHORT } else { 1.0 };
            for (size, tuning) in w.step_size.iter_mut().zip(&tuning) {
                let tuned = if step < warm_up { tuning.step_size() } else { tuning.average() };
                *size = T::from_f64(tuned * part);
            }
            self.annealer.step(store, &mut w, 1.0, (seed, step as u64))?;
            if step < warm_up {
                let learning = tuning.iter_mut().zip(&w.probability).filter(|_| !short);
                learning.for_each(|(tuning, p)| tuning.update(p.to_f64()));
            } else {
                kept.iter_mut().enumerate().for_each(|(row, kept)| kept.add(&w, row));
            }
            if watch((step + 1) as f64 / (warm_up + draws) as f64) {
                return Err(EvalError::Stopped);
            }
        }
        Ok(kept.chunks(chains).map(|chains| reference(chains, self.latent)).collect())
    }

    /// `U(z)` of draws `z` of one data point.
    pub fn energies(&mut self, store: &Store<T>, x: &[T], z: &[T]) -> Result<Vec<f64>, EvalError> {
        debug_assert_eq!(x.len(), self.observed, "one data point");
        let mut w: Walkers<T> = self.annealer.walkers(store, x, 0, 0)?;
        let mut energies = Vec::with_capacity(z.len() / self.latent);
        for z in z.chunks(w.z.len()) {
            w.z[..z.len()].copy_from_slice(z);
            self.annealer.settle(store, &mut w)?;
            energies.extend(w.log_joint.iter().take(z.len() / self.latent).map(|l| -l.to_f64()));
        }
        Ok(energies)
    }
}

/// What is kept of one chain.
#[derive(Clone, Default)]
struct Kept {
    positions: Vec<f64>,
    energies: Vec<f64>,
    /// Acceptance probabilities, added up.
    acceptance: f64,
}

impl Kept {
    fn add<T: Real>(&mut self, w: &Walkers<T>, row: usize) {
        let latent = w.z.len() / w.rows;
        self.positions.extend(w.z[row * latent..(row + 1) * latent].iter().map(|z| z.to_f64()));
        self.energies.push(-w.log_joint[row].to_f64());
        self.acceptance += w.probability[row].to_f64();
    }
}

/// The draws of one data point's chains, with what they say about themselves.
fn reference(chains: &[Kept], d: usize) -> Reference {
    let dimension = |j: usize| -> Vec<Vec<f64>> {
        chains.iter().map(|c| c.positions.iter().skip(j).step_by(d).copied().collect()).collect()
    };
    let energies: Vec<Vec<f64>> = chains.iter().map(|c| c.energies.clone()).collect();
    let all = |of: fn(&Kept) -> &Vec<f64>| chains.iter().flat_map(of).copied().collect();
    let mut found = Reference {
        draws: all(|c| &c.positions),
        energies: all(|c| &c.energies),
        r_hat: 1.0,
        ess_bulk: f64::INFINITY,
        ess_tail: f64::INFINITY,
        acceptance_rate: chains.iter().map(|c| c.acceptance / c.energies.len() as f64).collect(),
    };
    for quantity in (0..d).map(dimension).chain([energies]) {
        // Chains that never moved have not converged.
        let s = summary(&quantity);
        found.r_hat = found.r_hat.max(s.map_or(f64::INFINITY, |s| s.r_hat));
        found.ess_bulk = found.ess_bulk.min(s.map_or(0.0, |s| s.ess_bulk));
        found.ess_tail = found.ess_tail.min(s.and_then(|s| s.ess_tail).unwrap_or(0.0));
    }
    found
}

impl Reference {
    /// Distance of draws `z` with their energies.
    pub fn distance(&self, z: &[f64], energies: &[f64], d: usize) -> Distance {
        let (p, q) = (Moments::of(&self.draws, d), Moments::of(z, d));
        let wasserstein = (0..d).map(|j| {
            let column = |z: &[f64]| z.iter().skip(j).step_by(d).copied().collect();
            wasserstein(column(z), column(&self.draws)) / p.covariance[j * d + j].sqrt()
        });
        let mean = |x: &[f64]| x.iter().sum::<f64>() / x.len() as f64;
        Distance {
            gaussian_kl: q.divergence_from(&p),
            wasserstein: wasserstein.sum::<f64>() / d as f64,
            energy_excess: mean(energies) - mean(&self.energies),
        }
    }
}

/// Mean and covariance of draws.
struct Moments {
    mean: Vec<f64>,
    covariance: Vec<f64>,
}

impl Moments {
    fn of(draws: &[f64], d: usize) -> Self {
        let n = (draws.len() / d) as f64;
        let mut mean = vec![0.0; d];
        for z in draws.chunks(d) {
            mean.iter_mut().zip(z).for_each(|(m, z)| *m += z / n);
        }
        let mut covariance = vec![0.0; d * d];
        for z in draws.chunks(d) {
            for i in 0..d {
                for j in 0..d {
                    covariance[i * d + j] += (z[i] - mean[i]) * (z[j] - mean[j]) / (n - 1.0);
                }
            }
        }
        Moments { mean, covariance }
    }

    /// `KL(N(self) ‖ N(p))`
    fn divergence_from(&self, p: &Moments) -> f64 {
        let d = self.mean.len();
        let (own, other) = (cholesky(&self.covariance, d), cholesky(&p.covariance, d));
        let shift: Vec<f64> = self.mean.iter().zip(&p.mean).map(|(a, b)| a - b).collect();
        let square: f64 = shift.iter().zip(solve(&other, d, &shift)).map(|(a, b)| a * b).sum();
        let trace: f64 = (0..d)
            .map(|j| {
                let column: Vec<f64> = (0..d).map(|i| self.covariance[i * d + j]).collect();
                solve(&other, d, &column)[j]
            })
            .sum();
        let log_ratio: f64 = (0..d).map(|i| (other[i * d + i] / own[i * d + i]).ln()).sum();
        0.5 * (trace + square - d as f64) + log_ratio
    }
}

#[cfg(test)]
mod tests {
    use hmcvi_graph::random::normal;

    use super::*;

    #[test]
    fn the_divergence_of_gaussians_is_the_textbook_one() {
        // KL(N(1, 4) ‖ N(0, 1)) = ½ (4 + 1 - 1) - ln 2
        let q = Moments { mean: vec![1.0], covariance: vec![4.0] };
        let p = Moments { mean: vec![0.0], covariance: vec![1.0] };
        assert!((q.divergence_from(&p) - (2.0 - 2f64.ln())).abs() < 1e-12);
        let mut z = vec![0.0; 40_000];
        normal(Key { seed: 2, stream: 0, step: 0, row: 0 }, &mut z);
        let both = Moments::of(&z, 4);
        assert!(both.divergence_from(&both).abs() < 1e-12);
    }
}
