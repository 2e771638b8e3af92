//! Tune the step size of one chain to a target acceptance rate by dual averaging.
//!
//! Hoffman and Gelman, *The No-U-Turn Sampler* (2014), section 3.2, with the constants that Stan uses.

/// How strongly step sizes are drawn to ten times the first one.
const SHRINKAGE: f64 = 0.05;
/// Updates by which the first ones are damped.
const DAMPING: f64 = 10.0;
/// How fast early step sizes are forgotten.
const FORGETTING: f64 = 0.75;

/// The step size of one chain while it warms up.
#[derive(Clone, Copy, Debug)]
pub struct DualAveraging {
    target: f64,
    /// Where step sizes are drawn to.
    centre: f64,
    /// Mean lack of acceptance.
    lack: f64,
    log_step_size: f64,
    log_average: f64,
    updates: f64,
}

impl DualAveraging {
    /// Tuning towards this acceptance rate from a first step size.
    pub fn new(step_size: f64, target: f64) -> Self {
        DualAveraging {
            target,
            centre: (10.0 * step_size).ln(),
            lack: 0.0,
            log_step_size: step_size.ln(),
            log_average: step_size.ln(),
            updates: 0.0,
        }
    }

    /// Learns from the acceptance probability of a proposal. One that is not a number belongs to a simulation that
    /// failed, and counts as 0.
    pub fn update(&mut self, probability: f64) {
        self.updates += 1.0;
        let lack = self.target - if probability.is_nan() { 0.0 } else { probability };
        self.lack += (lack - self.lack) / (self.updates + DAMPING);
        self.log_step_size = self.centre - self.updates.sqrt() / SHRINKAGE * self.lack;
        let weight = self.updates.powf(-FORGETTING);
        self.log_average += weight * (self.log_step_size - self.log_average);
    }

    /// The step size to try next.
    pub fn step_size(&self) -> f64 {
        self.log_step_size.exp()
    }

    /// The step size to stay with: an average of those that were tried.
    pub fn average(&self) -> f64 {
        self.log_average.exp()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_target_is_found_from_steps_that_are_far_too_small_or_large() {
        // Acceptance e^(-ε): the target of 0.8 is reached at ε = -ln 0.8.
        for first in [1e-4, 0.2, 50.0] {
            let mut tuned = DualAveraging::new(first, 0.8);
            for _ in 0..1000 {
                tuned.update((-tuned.step_size()).exp());
            }
            assert!((tuned.average() / -0.8f64.ln() - 1.0).abs() < 0.05, "{first}: {}", tuned.average());
        }
    }

    #[test]
    fn failed_simulations_shorten_the_step() {
        let mut tuned = DualAveraging::new(1.0, 0.8);
        (0..50).for_each(|_| tuned.update(f64::NAN));
        assert!(tuned.step_size() < 1e-6 && tuned.step_size() > 0.0, "{}", tuned.step_size());
    }
}
