//! Estimate a log evidence between two sides by Bennett's acceptance ratio (*Efficient estimation of free energy
//! differences from Monte Carlo data*, 1976).

use hmcvi_record::Estimate;

/// Steps that halve the interval; twice as many as a number has digits.
const HALVINGS: usize = 100;

/// The log evidence `c` that log weights of chains from a start to the posterior and of those back agree on,
/// `Σ f(c - w) = Σ f(w' - c)` of their means with `f(x) = 1 / (1 + eˣ)`. It has less error than either side. `None` if
/// there are none on a side, or any is not finite.
pub fn bridge(forward: &[f64], reverse: &[f64]) -> Option<Estimate> {
    let finite = forward.iter().chain(reverse).all(|w| w.is_finite());
    if forward.is_empty() || reverse.is_empty() || !finite {
        return None;
    }
    let share = |x: f64| 1.0 / (1.0 + x.exp());
    let mean =
        |all: &[f64], of: &dyn Fn(f64) -> f64| all.iter().map(|w| of(*w)).sum::<f64>() / all.len() as f64;
    let excess = |c: f64| mean(forward, &|w| share(c - w)) - mean(reverse, &|w| share(w - c));
    let all = || forward.iter().chain(reverse).copied();
    let mut low = all().fold(f64::INFINITY, f64::min);
    let mut high = all().fold(f64::NEG_INFINITY, f64::max);
    for _ in 0..HALVINGS {
        let middle = 0.5 * (low + high);
        // The excess falls with c.
        if excess(middle) > 0.0 { low = middle } else { high = middle }
    }
    let c = 0.5 * (low + high);
    let scatter = |all: &[f64], of: &dyn Fn(f64) -> f64| {
        let first = mean(all, of);
        mean(all, &|w| (of(w) - first).powi(2)) / all.len() as f64
    };
    let noise = scatter(forward, &|w| share(c - w)) + scatter(reverse, &|w| share(w - c));
    let slope =
        mean(forward, &|w| share(c - w) * share(w - c)) + mean(reverse, &|w| share(c - w) * share(w - c));
    Some(Estimate { mean: c, standard_error: noise.sqrt() / slope })
}

#[cfg(test)]
mod tests {
    use hmcvi_graph::random::{Key, normal};

    use super::*;

    #[test]
    fn gaussian_weights_have_their_known_mean_between() {
        // Weights N(c - s²/2, s²) have mean eᶜ; under them, those of the way back are N(c + s²/2, s²).
        let (c, s): (f64, f64) = (-7.0, 1.5);
        let draws = |row| {
            let mut noise = vec![0.0; 4000];
            normal(Key { seed: 3, stream: 0, step: 0, row }, &mut noise);
            noise
        };
        let forward: Vec<f64> = draws(0).iter().map(|e| c - 0.5 * s * s + s * e).collect();
        let reverse: Vec<f64> = draws(1).iter().map(|e| c + 0.5 * s * s + s * e).collect();
        let found = bridge(&forward, &reverse).expect("an estimate");
        assert!((found.mean - c).abs() < 4.0 * found.standard_error, "{found:?}");
        assert!(found.standard_error < 0.05, "{found:?}");
        assert!(bridge(&[], &reverse).is_none() && bridge(&forward, &[f64::NAN]).is_none());
        let same = bridge(&[2.0, 2.0], &[2.0]).expect("an estimate");
        assert!((same.mean - 2.0).abs() < 1e-12 && same.standard_error == 0.0, "{same:?}");
    }
}
