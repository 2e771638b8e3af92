//! Let the scores of a Gaussian match those of the density (Cai, Modi, Pillaud-Vivien, Margossian, Gower, Blei and Saul,
//! *Batch and match*, 2024): a few dozen batches find mean and covariance, however badly scaled the density is.

use super::FitError;
use super::evaluator::Evaluator;
use super::normal::FullGaussian;
use super::path::{Candidate, bound_of};
use crate::linalg::{cholesky, product, symmetric_eigen, transpose};

/// Dimensions above which variances alone are matched: with covariances each batch would cost more than it tells.
pub(super) const MOST_DIMENSIONS: usize = 300;
/// Rows of a batch that matches variances.
const ROWS_FOR_VARIANCES: usize = 128;
/// Batches that match scores after the last one of which the bound rose by much, and of all of them together.
const BATCHES: u64 = 60;
const MOST_BATCHES: u64 = 600;
/// Batches after which the bound is looked at, and the rise, in nats, that is much.
const BETWEEN_LOOKS: u64 = 10;
pub(super) const MUCH: f64 = 1.0;

/// Rows of a batch.
pub(super) fn rows(dimension: usize) -> usize {
    (2 * dimension).clamp(64, 512)
}

/// Takes a Gaussian through batches until its bound stands still, and gives the best one. `watch` is told batches so far,
/// of how many at most, and the best one; it returns whether to go on.
pub(super) fn settle(
    many: &mut Evaluator,
    found: Candidate,
    seed: u64,
    watch: &mut dyn FnMut(usize, usize, &Candidate) -> bool,
) -> Result<Candidate, FitError> {
    let (d, mut best) = (found.gaussian.dimension(), found);
    let variances = d > MOST_DIMENSIONS;
    let mut current = if variances { best.gaussian.diagonal() } else { best.gaussian.clone() };
    // Far away, every batch counts for as much as the first.
    let mut since = 0;
    for batch in 0..MOST_BATCHES {
        let about = (seed, 1000 + batch);
        let (rows, parameters) = if variances { (ROWS_FOR_VARIANCES, 1) } else { (rows(d), d) };
        let trust = (rows * parameters) as f64 / (since + 1) as f64;
        since += 1;
        let next = match variances {
            true => step_of_variances(many, &current, rows, trust, about)?,
            false => step(many, &current, rows, trust, about)?,
        };
        let Some(next) = next else { break };
        current = next;
        // Noise decides between neighbours; what counts is not to end with a bad one.
        if (batch + 1) % BETWEEN_LOOKS == 0 {
            let found = bound_of(many, &current, seed, 2000 + batch)?;
            if found > best.bound + MUCH {
                since = 0;
            }
            if found > best.bound {
                best = Candidate { gaussian: current.clone(), bound: found };
            }
            let goes_on = watch(batch as usize + 1, (batch + 1 + BATCHES - since) as usize, &best);
            if !goes_on || since >= BATCHES {
                break;
            }
        }
    }
    Ok(best)
}

/// Moves a Gaussian so that its scores match those of a batch of its own draws. `trust` is large where the batch counts
/// for much. Nothing if the batch tells nothing.
fn step(
    evaluator: &mut Evaluator,
    gaussian: &FullGaussian,
    rows: usize,
    trust: f64,
    (seed, step): (u64, u64),
) -> Result<Option<FullGaussian>, FitError> {
    let d = gaussian.dimension();
    let (points, _) = gaussian.draws(rows, seed, step);
    evaluator.evaluate(&points)?;
    let scores = evaluator.gradient();
    // In coordinates in which the Gaussian is the standard one: e = L⁻¹(z - m), and scores Lᵀg.
    let (mut places, mut pulls) = (Vec::with_capacity(rows * d), Vec::with_capacity(rows * d));
    for (z, g) in points.chunks(d).zip(scores.chunks(d)) {
        let pull = transposed_times(&gaussian.factor, g);
        if pull.iter().all(|x| x.is_finite()) {
            places.extend(forward_substitute(&gaussian.factor, z, &gaussian.mean));
            pulls.extend(pull);
        }
    }
    if places.len() < 2 * d.max(1) {
        return Ok(None);
    }
    let (place, spread) = moments(&places, d);
    let (pull, roughness) = moments(&pulls, d);
    let rest = trust / (1.0 + trust);
    let identity = |k: usize| f64::from(u8::from(k / d == k % d));
    let outer = |x: &[f64], k: usize| x[k / d] * x[k % d];
    let u: Vec<f64> = (0..d * d).map(|k| trust * roughness[k] + rest * outer(&pull, k)).collect();
    let v: Vec<f64> = (0..d * d).map(|k| identity(k) + trust * spread[k] + rest * outer(&place, k)).collect();
    let Some(covariance) = solve(&u, &v, d) else { return Ok(None) };
    let moved = |i: usize| -> f64 { (0..d).map(|j| covariance[i * d + j] * pull[j]).sum() };
    let mean: Vec<f64> = (0..d).map(|i| rest * (moved(i) + place[i])).collect();
    let factor = cholesky(&covariance, d);
    let factor = product(&gaussian.factor, &factor, d);
    let fine = factor.iter().chain(&mean).all(|x| x.is_finite()) && (0..d).all(|i| factor[i * d + i] > 0.0);
    Ok(fine.then(|| FullGaussian { mean: gaussian.place(&mean), factor }))
}

/// The same for a Gaussian without covariances, each dimension on its own.
fn step_of_variances(
    evaluator: &mut Evaluator,
    gaussian: &FullGaussian,
    rows: usize,
    trust: f64,
    (seed, step): (u64, u64),
) -> Result<Option<FullGaussian>, FitError> {
    let d = gaussian.dimension();
    let scales: Vec<f64> = (0..d).map(|i| gaussian.factor[i * d + i]).collect();
    let (points, places) = gaussian.draws_of_variances(rows, seed, step);
    evaluator.evaluate(&points)?;
    // Sums of places, pulls and their squares, over rows that have a gradient.
    let (mut sums, mut n) = (vec![[0.0; 4]; d], 0.0);
    for (places, scores) in places.chunks(d).zip(evaluator.gradient().chunks(d)) {
        if scores.iter().any(|score| !score.is_finite()) {
            continue;
        }
        n += 1.0;
        for (sums, (e, pull)) in
            sums.iter_mut().zip(places.iter().zip(scores.iter().zip(&scales).map(|(g, s)| g * s)))
        {
            [*e, e * e, pull, pull * pull].iter().zip(sums).for_each(|(x, sum)| *sum += x);
        }
    }
    if n < 2.0 {
        return Ok(None);
    }
    let rest = trust / (1.0 + trust);
    let (mut mean, mut factor) = (gaussian.mean.clone(), vec![0.0; d * d]);
    for (i, sums) in sums.iter().enumerate() {
        let [place, place_square, pull, pull_square] = sums.map(|sum| sum / n);
        let (spread, roughness) = (place_square - place * place, pull_square - pull * pull);
        let u = trust * roughness + rest * pull * pull;
        let v = 1.0 + trust * spread + rest * place * place;
        let variance = 2.0 * v / (1.0 + (1.0 + 4.0 * u * v).sqrt());
        mean[i] += scales[i] * rest * (variance * pull + place);
        factor[i * d + i] = scales[i] * variance.sqrt();
    }
    let fine = mean.iter().all(|x| x.is_finite()) && (0..d).all(|i| factor[i * d + i].is_normal());
    Ok(fine.then_some(FullGaussian { mean, factor }))
}

/// The positive definite `Σ` with `ΣUΣ + Σ = V`.
fn solve(u: &[f64], v: &[f64], d: usize) -> Option<Vec<f64>> {
    let root = cholesky(v, d);
    if !root.iter().all(|x| x.is_finite()) {
        return None;
    }
    let middle = product(&product(&transpose(&root, d), u, d), &root, d);
    let (values, vectors) = symmetric_eigen(&middle, d);
    let scale = |s: f64| 2.0 / (1.0 + (1.0 + 4.0 * s.max(0.0)).sqrt());
    let scaled: Vec<f64> = (0..d * d).map(|k| scale(values[k / d]) * vectors[k]).collect();
    let inner = product(&transpose(&vectors, d), &scaled, d);
    let whole = product(&product(&root, &inner, d), &transpose(&root, d), d);
    whole.iter().all(|x| x.is_finite()).then_some(whole)
}

/// Mean and covariance of rows.
fn moments(rows: &[f64], d: usize) -> (Vec<f64>, Vec<f64>) {
    let n = (rows.len() / d) as f64;
    let mut mean = vec![0.0; d];
    rows.chunks(d).for_each(|row| mean.iter_mut().zip(row).for_each(|(m, x)| *m += x / n));
    let mut covariance = vec![0.0; d * d];
    for row in rows.chunks(d) {
        for i in 0..d {
            let x = (row[i] - mean[i]) / n;
            for j in 0..d {
                covariance[i * d + j] += x * (row[j] - mean[j]);
            }
        }
    }
    (mean, covariance)
}

fn transposed_times(factor: &[f64], x: &[f64]) -> Vec<f64> {
    let d = x.len();
    (0..d).map(|j| (j..d).map(|i| factor[i * d + j] * x[i]).sum()).collect()
}

/// `L⁻¹(z - m)`
pub(super) fn forward_substitute(factor: &[f64], z: &[f64], mean: &[f64]) -> Vec<f64> {
    let d = z.len();
    let mut e = vec![0.0; d];
    for i in 0..d {
        let dot: f64 = (0..i).map(|j| factor[i * d + j] * e[j]).sum();
        e[i] = (z[i] - mean[i] - dot) / factor[i * d + i];
    }
    e
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_quadratic_matrix_equation_is_solved() {
        let d = 3;
        let u = [2.0, 0.3, 0.1, 0.3, 1.0, 0.0, 0.1, 0.0, 4.0];
        let v = [1.5, -0.2, 0.0, -0.2, 3.0, 0.5, 0.0, 0.5, 2.0];
        let found = solve(&u, &v, d).expect("a solution");
        let left = product(&product(&found, &u, d), &found, d);
        assert!((0..9).all(|k| (left[k] + found[k] - v[k]).abs() < 1e-12), "{found:?}");
    }
}
