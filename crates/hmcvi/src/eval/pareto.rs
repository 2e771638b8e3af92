//! Fit a generalised Pareto distribution to the largest importance weights.

/// Fewest values that say anything about a tail.
pub(super) const FEWEST: usize = 5;

/// Shape `k` of the generalised Pareto distribution of values above a threshold, given in rising order as
/// their distances from it. The estimator of Zhang and Stephens (*A new and efficient estimation method for
/// the generalized Pareto distribution*, 2009): a mean over a grid of the profile likelihood's parameter,
/// drawn towards ½ with the weight of ten values as Vehtari et al. advise. `None` for fewer than five
/// values or values that do not differ.
pub(super) fn shape_of_tail(excess: &[f64]) -> Option<f64> {
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
    let k = shape(mean / sum);
    k.is_finite().then(|| (n as f64 * k + 5.0) / (n as f64 + 10.0))
}
