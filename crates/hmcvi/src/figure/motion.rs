//! Follow one particle through HMC steps (`fig:HMC_MOTION_1hmc_12lf`, `fig:HMC_MOTION_3hmc_04lf`).

use hmcvi_record::figure::{Motion, Phase, Point};

use super::simulation::{Simulation, field};
use crate::hmc::SamplerError;
use crate::potential::Landscape;

/// How a particle moves.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MotionSettings {
    /// The landscape.
    pub landscape: Landscape,
    /// Where it begins.
    pub start: Point,
    /// HMC steps.
    pub hmc_steps: usize,
    /// Leapfrog steps in each HMC step.
    pub leapfrog_steps: usize,
    /// Leapfrog step size.
    pub step_size: f64,
    /// Seed of the momenta.
    pub seed: u64,
}

impl Default for MotionSettings {
    /// One HMC step of twelve leapfrog steps from the edge of a crater.
    fn default() -> Self {
        MotionSettings {
            landscape: Landscape::Craters,
            start: [-2.3, 0.1],
            hmc_steps: 1,
            leapfrog_steps: 12,
            step_size: 0.1,
            seed: 1,
        }
    }
}

/// The motion of one particle.
pub fn motion(settings: &MotionSettings) -> Result<Motion, SamplerError> {
    let MotionSettings { landscape, start, hmc_steps, leapfrog_steps, step_size, seed } = *settings;
    let mut simulation = Simulation::new(landscape, (step_size, leapfrog_steps), 1, seed)?;
    let mut motion = Motion { step_size, landscape: field(landscape)?, ..Motion::default() };
    let mut z = start;
    for step in 0..hmc_steps {
        let happened = simulation.run(&[z], step as u64)?;
        let phase = |(i, m): (usize, &super::simulation::Moment)| Phase {
            time: step_size * (step * leapfrog_steps + i) as f64,
            z: m.z[0],
            v: m.v[0],
            potential: m.potential[0],
            kinetic: m.kinetic[0],
        };
        motion.simulations.push(happened.moments.iter().enumerate().map(phase).collect());
        motion.accepted.push(happened.accepted[0]);
        z = happened.next.z[0];
    }
    Ok(motion)
}
