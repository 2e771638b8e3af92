//! Say how far draws of one number are apart: 1-Wasserstein distances of samples, and of draws from what their weights say.

/// 1-Wasserstein distance of two samples: the area between their distribution functions.
pub fn wasserstein(mut a: Vec<f64>, mut b: Vec<f64>) -> f64 {
    a.sort_by(f64::total_cmp);
    b.sort_by(f64::total_cmp);
    let mut all: Vec<f64> = a.iter().chain(&b).copied().collect();
    all.sort_by(f64::total_cmp);
    let (mut i, mut j, mut area) = (0, 0, 0.0);
    for pair in all.windows(2) {
        while i < a.len() && a[i] <= pair[0] {
            i += 1;
        }
        while j < b.len() && b[j] <= pair[0] {
            j += 1;
        }
        area += (i as f64 / a.len() as f64 - j as f64 / b.len() as f64).abs() * (pair[1] - pair[0]);
    }
    area
}

/// The mean 1-Wasserstein distance of samples of one distribution, times the square root of their size:
/// `√(2/π) ∫ √(F (1 - F)) dx`, the mean of the limiting Brownian bridge. Draws stand for the distribution.
pub fn wasserstein_by_chance(draws: &[f64]) -> f64 {
    let mut sorted = draws.to_vec();
    sorted.sort_by(f64::total_cmp);
    let n = sorted.len() as f64;
    let part = |(i, pair): (usize, &[f64])| {
        let below = (i + 1) as f64 / n;
        (below * (1.0 - below)).sqrt() * (pair[1] - pair[0])
    };
    std::f64::consts::FRAC_2_PI.sqrt() * sorted.windows(2).enumerate().map(part).sum::<f64>()
}

/// The 1-Wasserstein distance of weighted draws, taken as they are, from what they are draws of when they count by their
/// weights: once for each of so many parts of the draws, which are neighbours. The mean over the parts is the distance, and
/// their scatter its error.
///
/// Both distribution functions come from the same draws, so that their difference has the noise of the weights alone. On which
/// side of zero the difference lies is judged by all other parts, so that noise adds nothing: of draws with weights that have
/// nothing to do with them the mean is zero.
pub fn wasserstein_of_weights(draws: &[f64], weights: &[f64], parts: usize) -> Vec<f64> {
    let n = draws.len();
    let mut order: Vec<usize> = (0..n).collect();
    order.sort_by(|a, b| draws[*a].total_cmp(&draws[*b]));
    let part_of = |draw: usize| draw * parts / n;
    let (mut total, mut count) = (vec![0.0; parts], vec![0.0; parts]);
    for (draw, weight) in weights.iter().enumerate() {
        total[part_of(draw)] += weight;
        count[part_of(draw)] += 1.0;
    }
    // How much more than its share of each part lies below, by weight.
    let (mut more, mut all) = (vec![0.0; parts], 0.0);
    let mut areas = vec![0.0; parts];
    for pair in order.windows(2) {
        let (draw, part) = (pair[0], part_of(pair[0]));
        let step = weights[draw] / total[part] - 1.0 / count[part];
        (more[part], all) = (more[part] + step, all + step);
        let gap = draws[pair[1]] - draws[draw];
        for (area, own) in areas.iter_mut().zip(&more) {
            *area += own * gap * (all - own).signum();
        }
    }
    areas
}

#[cfg(test)]
mod tests {
    use hmcvi_graph::random::{Key, normal, uniform};

    use super::*;

    #[test]
    fn chance_is_that_of_a_uniform_distribution() {
        // √(2/π) ∫ √(x (1 - x)) dx = √(2/π) π/8
        let x: Vec<f64> = (0..10_000).map(|i| f64::from(i) / 10_000.0).collect();
        let expected = std::f64::consts::FRAC_2_PI.sqrt() * std::f64::consts::PI / 8.0;
        assert!((wasserstein_by_chance(&x) - expected).abs() < 1e-3, "{}", wasserstein_by_chance(&x));
    }

    #[test]
    fn a_shift_has_its_length_as_wasserstein_distance() {
        let a = vec![0.0, 1.0, 5.0];
        let b = a.iter().map(|x| x + 0.75).collect();
        assert!((wasserstein(a.clone(), b) - 0.75).abs() < 1e-12);
        // One point against two: half of the mass moves by 2.
        assert!((wasserstein(vec![0.0], vec![0.0, 2.0]) - 1.0).abs() < 1e-12);
    }

    /// Draws of `N(0, 1)`.
    fn draws(n: usize) -> Vec<f64> {
        let mut x = vec![0.0; n];
        normal(Key { seed: 1, stream: 0, step: 0, row: 0 }, &mut x);
        x
    }

    fn mean_and_error(parts: &[f64]) -> (f64, f64) {
        let n = parts.len() as f64;
        let mean = parts.iter().sum::<f64>() / n;
        let squares: f64 = parts.iter().map(|part| (part - mean).powi(2)).sum();
        (mean, (squares / (n * (n - 1.0))).sqrt())
    }

    #[test]
    fn weights_that_shift_draws_have_the_shift_as_distance() {
        // N(s, 1) / N(0, 1) = exp(s x - s² / 2), and the distance of these is s.
        let x = draws(100_000);
        for shift in [0.3, 0.01, 0.003] {
            let weights: Vec<f64> = x.iter().map(|x| (shift * x - 0.5 * shift * shift).exp()).collect();
            let (distance, error) = mean_and_error(&wasserstein_of_weights(&x, &weights, 20));
            assert!((distance - shift).abs() < 4.0 * error, "{distance} ± {error} for {shift}");
            // Draws of both would have 0.0036.
            assert!(error < 0.012 * shift, "{error}");
        }
    }

    #[test]
    fn weights_that_have_nothing_to_do_with_draws_have_no_distance() {
        let x = draws(50_000);
        let mut weights = vec![0.0; x.len()];
        uniform(Key { seed: 1, stream: 1, step: 0, row: 0 }, &mut weights);
        let (distance, error) = mean_and_error(&wasserstein_of_weights(&x, &weights, 20));
        assert!(distance.abs() < 4.0 * error && error < 0.003, "{distance} ± {error}");
        assert_eq!(wasserstein_of_weights(&x, &vec![1.0; x.len()], 2).len(), 2);
    }
}
