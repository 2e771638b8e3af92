//! Draw binomial variables, and the multinomial ones that are made of them.

use libm::lgamma;

use super::RandomSource;

/// Below this mean a draw takes about as many uniform numbers as its value; from it on rejection is cheaper.
const LARGE: f64 = 10.0;

impl RandomSource {
    /// How many of `n` independent events happen that have this probability each.
    pub fn binomial(&mut self, n: f64, probability: f64) -> f64 {
        if probability > 0.5 {
            return n - self.binomial(n, 1.0 - probability);
        }
        if n * probability < LARGE {
            self.binomial_by_waiting(n, probability)
        } else {
            self.binomial_by_rejection(n, probability)
        }
    }

    /// Counts events by the geometric numbers of trials between them.
    fn binomial_by_waiting(&mut self, n: f64, probability: f64) -> f64 {
        let (log_miss, mut trials, mut count) = ((-probability).ln_1p(), 0.0, 0.0);
        if log_miss == 0.0 {
            return 0.0;
        }
        loop {
            trials += (self.uniform().ln() / log_miss).floor() + 1.0;
            if trials > n {
                return count;
            }
            count += 1.0;
        }
    }

    /// Transformed rejection with squeeze: algorithm BTRS of Hörmann, *The generation of binomial random variates*,
    /// 1993, whose constants these are.
    fn binomial_by_rejection(&mut self, n: f64, p: f64) -> f64 {
        let deviation = (n * p * (1.0 - p)).sqrt();
        let b = 1.15 + 2.53 * deviation;
        let a = -0.0873 + 0.0248 * b + 0.01 * p;
        let alpha = (2.83 + 5.1 / b) * deviation;
        let sure = 0.92 - 4.2 / b;
        let log_odds = (p / (1.0 - p)).ln();
        let mode = ((n + 1.0) * p).floor();
        let ways = |k: f64| -lgamma(k + 1.0) - lgamma(n - k + 1.0);
        loop {
            let (u, v) = (self.uniform() - 0.5, self.uniform());
            let edge = 0.5 - u.abs();
            let k = ((2.0 * a / edge + b) * u + n * p + 0.5).floor();
            if edge >= 0.07 && v <= sure {
                return k;
            }
            if k < 0.0 || k > n {
                continue;
            }
            let density = ways(k) - ways(mode) + (k - mode) * log_odds;
            if (v * alpha / (a / (edge * edge) + b)).ln() <= density {
                return k;
            }
        }
    }

    /// Shares `n` among the columns of `counts`, each with a probability in proportion to its weight. Weights are not
    /// negative; one of them is above 0.
    pub fn multinomial(&mut self, n: f64, weights: &[f64], counts: &mut [f32]) {
        let (mut left, mut weight_left) = (n, weights.iter().sum::<f64>());
        let last = weights.iter().rposition(|&weight| weight > 0.0);
        for (i, (count, &weight)) in counts.iter_mut().zip(weights).enumerate() {
            // The last column with a weight gets the rest, whatever rounding made of the weights.
            let share = if Some(i) == last { 1.0 } else { (weight / weight_left).clamp(0.0, 1.0) };
            let drawn = if left > 0.0 && weight > 0.0 { self.binomial(left, share) } else { 0.0 };
            *count = drawn as f32;
            left -= drawn;
            weight_left -= weight;
        }
    }
}
