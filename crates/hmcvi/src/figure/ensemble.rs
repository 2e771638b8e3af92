//! Move many particles by one HMC step (`fig:HMC_Effect_Illustration`).

use hmcvi_record::figure::{Ensemble, Particles, Point};

use super::simulation::{Moment, Simulation, field};
use crate::eval::prior_draws;
use crate::hmc::SamplerError;
use crate::potential::Landscape;

/// How an ensemble begins and moves.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct EnsembleSettings {
    /// The landscape.
    pub landscape: Landscape,
    /// Number of particles.
    pub particles: usize,
    /// Mean of the Gaussian that their first positions are drawn from.
    pub mean: Point,
    /// Its standard deviation.
    pub deviation: f64,
    /// Leapfrog steps of the HMC step.
    pub leapfrog_steps: usize,
    /// Leapfrog step size.
    pub step_size: f64,
    /// Seed of positions and momenta.
    pub seed: u64,
}

impl Default for EnsembleSettings {
    /// A thousand particles around a place that is none of the craters.
    fn default() -> Self {
        EnsembleSettings {
            landscape: Landscape::Craters,
            particles: 1000,
            mean: [-0.6, 0.2],
            deviation: 0.75,
            leapfrog_steps: 4,
            step_size: 0.08,
            seed: 1,
        }
    }
}

/// The particles before and after the step.
pub fn ensemble(settings: &EnsembleSettings) -> Result<Ensemble, SamplerError> {
    let EnsembleSettings { landscape, particles, mean, deviation, leapfrog_steps, step_size, seed } =
        *settings;
    let mut simulation = Simulation::new(landscape, (step_size, leapfrog_steps), particles, seed)?;
    let draws = prior_draws(2, particles, seed);
    let place = |z: &[f32; 2]| [0, 1].map(|i| mean[i] + deviation * f64::from(z[i]));
    let start: Vec<Point> = draws.as_chunks::<2>().0.iter().map(place).collect();
    let happened = simulation.run(&start, 0)?;
    let seen = |m: &Moment| Particles {
        positions: m.z.clone(),
        momenta: m.v.clone(),
        potential: m.potential.clone(),
    };
    let accepted = happened.accepted.iter().filter(|a| **a).count();
    Ok(Ensemble {
        step_size,
        leapfrog_steps,
        acceptance_rate: accepted as f64 / particles.max(1) as f64,
        landscape: field(landscape)?,
        before: seen(&happened.moments[0]),
        after: seen(&happened.next),
    })
}
