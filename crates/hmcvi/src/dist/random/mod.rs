//! Draw from distributions one value at a time, outside of programs.
//!
//! All numbers come from the engine's counters: a source depends on its key alone, so what is drawn for one row does
//! not depend on other rows, on threads or on the device.

mod binomial;
mod gamma;
mod poisson;

use std::f64::consts::TAU;

use hmcvi_graph::random::{Key, philox};

/// A sequence of random numbers that belongs to a key. Its words are those of the engine's draws for the same key, so
/// it needs a stream of its own.
#[derive(Clone, Debug)]
pub struct RandomSource {
    key: Key,
    counter: u32,
    words: [u32; 4],
    used: usize,
}

impl RandomSource {
    /// The sequence of a key, from its beginning.
    pub fn new(key: Key) -> Self {
        RandomSource { key, counter: 0, words: [0; 4], used: 4 }
    }

    /// 64 random bits.
    fn bits(&mut self) -> u64 {
        if self.used == self.words.len() {
            let Key { seed, stream, step, row } = self.key;
            let high = (u32::from(stream) << 16) | ((step >> 32) as u32 & 0xFFFF);
            self.words = philox([self.counter, row, step as u32, high], [seed as u32, (seed >> 32) as u32]);
            self.counter = self.counter.wrapping_add(1);
            self.used = 0;
        }
        let (low, high) = (self.words[self.used], self.words[self.used + 1]);
        self.used += 2;
        (u64::from(high) << 32) | u64::from(low)
    }

    /// A uniform draw in `(0, 1)`: neither end occurs.
    pub fn uniform(&mut self) -> f64 {
        // 2⁵² numbers half a step away from the ends, each of them exact.
        ((self.bits() >> 12) as f64 + 0.5) * (1.0 / 4_503_599_627_370_496.0)
    }

    /// A standard normal draw, by Box and Muller.
    pub fn normal(&mut self) -> f64 {
        let radius = (-2.0 * self.uniform().ln()).sqrt();
        radius * (TAU * self.uniform()).cos()
    }

    /// Whether something happens that has this probability.
    pub fn bernoulli(&mut self, probability: f64) -> bool {
        self.uniform() < probability
    }

    /// The place of one of the weights, each with a probability in proportion to it. Weights are not negative; without
    /// any above 0 it is the last one.
    ///
    /// # Panics
    /// If there are no weights.
    pub fn categorical(&mut self, weights: &[f64]) -> usize {
        let mut left = self.uniform() * weights.iter().sum::<f64>();
        let chosen = weights.iter().position(|weight| {
            left -= weight;
            left < 0.0
        });
        // Rounding may leave a rest behind the last weight.
        let last = || weights.iter().rposition(|&weight| weight > 0.0);
        chosen.or_else(last).unwrap_or_else(|| weights.len().checked_sub(1).expect("there are weights"))
    }
}
