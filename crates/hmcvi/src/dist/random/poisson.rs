//! Draw Poisson variables.

use super::RandomSource;

/// Below this mean a draw takes about as many uniform numbers as its value; from it on rejection is cheaper.
const LARGE: f64 = 10.0;

impl RandomSource {
    /// A Poisson draw; 0 where the mean is not above 0.
    pub fn poisson(&mut self, mean: f64) -> f64 {
        if mean < LARGE { self.poisson_by_waiting(mean) } else { self.poisson_by_rejection(mean) }
    }

    /// Counts events whose exponential waiting times fit into the time `mean`.
    fn poisson_by_waiting(&mut self, mean: f64) -> f64 {
        let (limit, mut product, mut count) = ((-mean.max(0.0)).exp(), self.uniform(), 0.0);
        while product > limit {
            product *= self.uniform();
            count += 1.0;
        }
        count
    }

    /// Transformed rejection with squeeze: algorithm PTRS of Hörmann, *The transformed rejection method for generating
    /// Poisson random variables*, 1993, whose constants these are.
    fn poisson_by_rejection(&mut self, mean: f64) -> f64 {
        let log_mean = mean.ln();
        let b = 0.931 + 2.53 * mean.sqrt();
        let a = -0.059 + 0.02483 * b;
        let inverse_alpha = 1.1239 + 1.1328 / (b - 3.4);
        let sure = 0.9277 - 3.6224 / (b - 2.0);
        loop {
            let (u, v) = (self.uniform() - 0.5, self.uniform());
            let edge = 0.5 - u.abs();
            let k = ((2.0 * a / edge + b) * u + mean + 0.43).floor();
            if edge >= 0.07 && v <= sure {
                return k;
            }
            if k < 0.0 || (edge < 0.013 && v > edge) {
                continue;
            }
            let density = k * log_mean - mean - libm::lgamma(k + 1.0);
            if (v * inverse_alpha / (a / (edge * edge) + b)).ln() <= density {
                return k;
            }
        }
    }
}
