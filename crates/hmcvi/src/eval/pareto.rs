//! Fit a generalised Pareto distribution to the largest importance weights.

/// Fewest values that say anything about a tail.
pub(super) const FEWEST: usize = 5;

/// A generalised Pareto distribution of distances from a threshold.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Tail {
    /// `k`, drawn towards ½ with the weight of ten values as Vehtari et al. advise.
    pub(super) shape: f64,
    /// `σ`
    pub(super) scale: f64,
}

impl Tail {
    /// The distribution of values above a threshold, given in rising order as their distances from it. The estimator of
    /// Zhang and Stephens (*A new and efficient estimation method for the generalized Pareto distribution*, 2009): a mean
    /// over a grid of the profile likelihood's parameter. `None` for fewer than five values or values that do not differ.
    pub(super) fn of(excess: &[f64]) -> Option<Self> {
        let n = excess.len();
        let largest = *excess.last()?;
        let quartile = excess[((n as f64 / 4.0 + 0.5).floor() as usize).max(1) - 1];
        if n < FEWEST || !largest.is_finite() || quartile <= 0.0 {
            return None;
        }
        let shape = |b: f64| excess.iter().map(|x| (-b * x).ln_1p()).sum::<f64>() / n as f64;
        let grid = 30 + (n as f64).sqrt() as usize;
        let point = |j: usize| {
            let b = 1.0 / largest + (1.0 - (grid as f64 / (j as f64 + 0.5)).sqrt()) / (3.0 * quartile);
            let k = shape(b);
            (b, n as f64 * ((-b / k).ln() - k - 1.0))
        };
        let points: Vec<(f64, f64)> = (0..grid).map(point).filter(|(_, l)| l.is_finite()).collect();
        let best = points.iter().map(|p| p.1).fold(f64::NEG_INFINITY, f64::max);
        let (sum, mean) = points.iter().fold((0.0, 0.0), |(sum, mean), (b, l)| {
            let weight = (l - best).exp();
            (sum + weight, mean + weight * b)
        });
        let b = mean / sum;
        let k = shape(b);
        k.is_finite().then(|| Tail { shape: (n as f64 * k + 5.0) / (n as f64 + 10.0), scale: -k / b })
    }

    /// The distance that a share of the distribution is below.
    pub(super) fn quantile(&self, share: f64) -> f64 {
        let log = (-share).ln_1p();
        if self.shape.abs() < f64::EPSILON {
            return -self.scale * log;
        }
        self.scale * (-self.shape * log).exp_m1() / self.shape
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_where_the_distribution_function_says() {
        // F(x) = 1 - (1 + k x / σ)^(-1/k), and 1 - e^(-x/σ) for k = 0.
        for shape in [-0.3, 0.0, 0.6] {
            let tail = Tail { shape, scale: 1.7 };
            for share in [0.05, 0.5, 0.99] {
                let x = tail.quantile(share) / tail.scale;
                let below =
                    if shape == 0.0 { 1.0 - (-x).exp() } else { 1.0 - (1.0 + shape * x).powf(-1.0 / shape) };
                assert!((below - share).abs() < 1e-12, "{shape} {share}: {below}");
            }
        }
    }
}
