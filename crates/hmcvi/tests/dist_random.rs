//! Check that draws outside of programs have the moments and the frequencies of their densities.

mod common;

use common::{STANDARD_ERRORS, assert_mean, evaluate};
use hmcvi::dist::{Multinomial, NegativeBinomial, Poisson, RandomSource, normal_distribution};
use hmcvi_graph::random::Key;
use hmcvi_graph::{Expr, Graph};

const DRAWS: usize = 200_000;

/// A source for each case, so that cases are independent.
fn source(case: usize) -> RandomSource {
    RandomSource::new(Key { seed: 20, stream: 77, step: 0, row: case as u32 })
}

/// Probabilities of all of `values`, by the distribution that programs have.
fn probabilities(values: &[f64], log_prob: impl for<'g> Fn(Expr<'g>) -> Expr<'g>) -> Vec<f64> {
    let graph = Graph::new();
    let log_prob = log_prob(graph.batch_input("x", 1));
    let found = evaluate(&graph, values.len(), &[("x", values)], &[("log_prob", log_prob)]);
    found["log_prob"].iter().map(|l| l.exp()).collect()
}

/// Checks frequencies by a chi-square test whose statistic is made normal (Wilson and Hilferty).
#[track_caller]
fn assert_frequencies(what: &str, counts: &[f64], probabilities: &[f64]) {
    let draws: f64 = counts.iter().sum();
    // Neighbours go together until there are enough of them, up to fifty groups.
    let least = (draws / 50.0).max(10.0);
    let (mut groups, mut open) = (Vec::new(), (0.0, 0.0));
    for (count, p) in counts.iter().zip(probabilities) {
        open = (open.0 + count, open.1 + p * draws);
        if open.1 >= least {
            groups.push(std::mem::take(&mut open));
        }
    }
    let last = groups.last_mut().expect("one group at least");
    *last = (last.0 + open.0, last.1 + open.1);
    assert!(groups.len() > 1, "{what}: there is something to compare");
    let statistic: f64 = groups.iter().map(|(found, expected)| (found - expected).powi(2) / expected).sum();
    let freedom = (groups.len() - 1) as f64;
    let spread = 2.0 / (9.0 * freedom);
    let distance = ((statistic / freedom).cbrt() - (1.0 - spread)) / spread.sqrt();
    assert!(distance < STANDARD_ERRORS, "{what}: χ² is {statistic} with {freedom} degrees of freedom");
}

/// Checks counts against the probabilities of a range that holds all but a negligible rest.
#[track_caller]
fn assert_counts(
    what: &str,
    draws: &[f64],
    range: (f64, f64),
    log_prob: impl for<'g> Fn(Expr<'g>) -> Expr<'g>,
) {
    assert!(draws.iter().all(|x| *x >= 0.0 && x.fract() == 0.0), "{what}: counts");
    let (low, high) = (range.0.max(0.0).floor(), range.1.ceil());
    let values: Vec<f64> = (0..=(high - low) as usize).map(|k| low + k as f64).collect();
    let probabilities = probabilities(&values, log_prob);
    let missing = 1.0 - probabilities.iter().sum::<f64>();
    assert!(missing.abs() < 1e-6, "{what}: the probabilities add up to one, but for {missing}");
    let mut counts = vec![0.0; values.len()];
    draws.iter().for_each(|x| counts[(x.clamp(low, high) - low) as usize] += 1.0);
    assert_frequencies(what, &counts, &probabilities);
}

/// Checks mean and variance.
#[track_caller]
fn assert_moments(what: &str, draws: &[f64], mean: f64, variance: f64) {
    assert_mean(&format!("mean of {what}"), draws, mean);
    let squares: Vec<f64> = draws.iter().map(|x| (x - mean).powi(2)).collect();
    assert_mean(&format!("variance of {what}"), &squares, variance);
}

fn draws(case: usize, mut draw: impl FnMut(&mut RandomSource) -> f64) -> Vec<f64> {
    let mut source = source(case);
    (0..DRAWS).map(|_| draw(&mut source)).collect()
}

#[test]
fn a_source_depends_on_its_key_alone() {
    let key = Key { seed: 3, stream: 4, step: 5 << 33, row: 6 };
    let first = |key: Key| {
        let mut source = RandomSource::new(key);
        (0..9).map(|_| source.uniform()).collect::<Vec<f64>>()
    };
    assert_eq!(first(key), first(key));
    let others = [
        Key { seed: 3 + (1 << 40), ..key },
        Key { stream: 5, ..key },
        Key { step: 6 << 33, ..key },
        Key { row: 7, ..key },
    ];
    for other in others {
        assert!(first(key).iter().zip(first(other)).all(|(a, b)| *a != b), "{other:?}");
    }
}

#[test]
fn uniform_and_normal_draws_have_their_distributions() {
    let uniform = draws(0, RandomSource::uniform);
    assert!(uniform.iter().all(|u| *u > 0.0 && *u < 1.0));
    assert_moments("uniform draws", &uniform, 0.5, 1.0 / 12.0);
    let normal = draws(1, RandomSource::normal);
    assert_moments("normal draws", &normal, 0.0, 1.0);
    for (what, draws) in
        [("uniform", uniform), ("normal", normal.iter().map(|x| normal_distribution(*x)).collect())]
    {
        let mut counts = [0.0; 50];
        draws.iter().for_each(|u| counts[(u * 50.0) as usize] += 1.0);
        assert_frequencies(what, &counts, &[1.0 / 50.0; 50]);
        // Neighbours have nothing to do with each other.
        let products = draws.windows(2).map(|w| (w[0] - 0.5) * (w[1] - 0.5)).collect::<Vec<_>>();
        assert_mean(what, &products, 0.0);
    }
}

#[test]
fn poisson_draws_have_the_frequencies_of_their_probabilities() {
    for (case, mean) in [0.05, 0.7, 5.0, 9.99, 10.0, 35.5, 1000.0, 1e6].into_iter().enumerate() {
        let what = format!("Poisson draws with mean {mean}");
        let draws = draws(10 + case, |source| source.poisson(mean));
        assert_moments(&what, &draws, mean, mean);
        let width = 8.0 * f64::sqrt(mean) + 8.0;
        assert_counts(&what, &draws, (mean - width, mean + width), |x| {
            Poisson { log_rate: x.graph().constant(mean.ln()) }.log_prob(x)
        });
    }
    assert_eq!([source(30).poisson(0.0), source(30).poisson(-1.0)], [0.0, 0.0]);
}

#[test]
fn gamma_draws_have_their_moments() {
    // ψ(k), the mean of the logarithm.
    let cases = [
        (0.05, -20.497_844_991_299_87),
        (0.5, -1.963_510_026_021_423_5),
        (1.0, -0.577_215_664_901_532_9),
        (3.7, 1.167_153_539_361_511_3),
        (1e6, 13.815_510_057_964_19),
    ];
    for (case, (shape, log_mean)) in cases.into_iter().enumerate() {
        let what = format!("gamma draws with shape {shape}");
        let draws = draws(40 + case, |source| source.gamma(shape));
        assert_moments(&what, &draws, shape, shape);
        assert_mean(&what, &draws.iter().map(|x| x.ln()).collect::<Vec<_>>(), log_mean);
    }
    // Nearly all draws of so small a shape are too small for a number.
    assert!(draws(45, |source| source.gamma(1e-7)).iter().all(|x| x.is_finite() && *x >= 0.0));
}

#[test]
fn negative_binomial_draws_have_the_frequencies_of_their_probabilities() {
    let cases = [(0.5, 0.1), (3.0, 1.0), (20.0, 0.5), (100.0, 30.0), (1e4, 2.0), (3.0, f64::exp(15.0))];
    for (case, (mean, dispersion)) in cases.into_iter().enumerate() {
        let what = format!("negative binomial draws with mean {mean} and dispersion {dispersion}");
        let draws = draws(50 + case, |source| source.negative_binomial(mean, dispersion));
        let variance = mean + mean * mean / dispersion;
        assert_moments(&what, &draws, mean, variance);
        // The tail is that of a gamma variable, exp(-x r/m).
        let high = mean + 8.0 * f64::sqrt(mean) + 30.0 * (mean / dispersion + 1.0);
        assert_counts(&what, &draws, (0.0, high), |x| {
            let number = |value: f64| x.graph().constant(value.ln());
            NegativeBinomial { log_mean: number(mean), log_dispersion: number(dispersion) }.log_prob(x)
        });
    }
}

/// A binomial variable is the first of two columns that share `n`.
fn binomial_log_prob(x: Expr<'_>, n: f64, p: f64) -> Expr<'_> {
    let graph = x.graph();
    let logits = graph.constant_matrix(1, 2, &[p.ln(), (1.0 - p).ln()]);
    let total = graph.constant(n);
    Multinomial { logits, total }.log_prob(Expr::concat_cols(&[x, n - x]))
}

#[test]
fn binomial_draws_have_the_frequencies_of_their_probabilities() {
    let cases = [(5.0, 0.3), (40.0, 0.1), (40.0, 0.5), (100.0, 0.97), (1e6, 1e-6), (1e6, 0.3)];
    for (case, (n, p)) in cases.into_iter().enumerate() {
        let what = format!("binomial draws of {n} with probability {p}");
        let draws = draws(70 + case, |source| source.binomial(n, p));
        let (mean, variance) = (n * p, n * p * (1.0 - p));
        assert_moments(&what, &draws, mean, variance);
        let width = 8.0 * f64::sqrt(variance) + 8.0;
        let range = (mean - width, f64::min(mean + width, n));
        assert_counts(&what, &draws, range, |x| binomial_log_prob(x, n, p));
    }
    let mut source = source(80);
    let sure = [source.binomial(7.0, 0.0), source.binomial(7.0, 1.0), source.binomial(0.0, 0.4)];
    assert_eq!(sure, [0.0, 7.0, 0.0]);
}

#[test]
fn multinomial_draws_share_their_sum() {
    const WEIGHTS: [f64; 5] = [2.0, 0.0, 1.0, 6.5, 0.5];
    for (case, n) in [1.0, 30.0, 5000.0].into_iter().enumerate() {
        let mut source = source(90 + case);
        let mut row = [0f32; 5];
        let mut rows = Vec::new();
        for _ in 0..DRAWS {
            source.multinomial(n, &WEIGHTS, &mut row);
            assert!(row.iter().sum::<f32>() == n as f32 && row[1] == 0.0, "{row:?}");
            rows.push(row.map(f64::from));
        }
        for i in [0, 2, 3, 4] {
            let p = WEIGHTS[i] / 10.0;
            let column: Vec<f64> = rows.iter().map(|row| row[i]).collect();
            let what = format!("column {i} of {n}");
            assert_moments(&what, &column, n * p, n * p * (1.0 - p));
            if n == 30.0 {
                assert_counts(&what, &column, (0.0, n), |x| binomial_log_prob(x, n, p));
            }
        }
        // The covariance is -n p q.
        let products: Vec<f64> = rows.iter().map(|row| (row[0] - 0.2 * n) * (row[3] - 0.65 * n)).collect();
        assert_mean("covariance", &products, -n * 0.2 * 0.65);
    }
}

#[test]
fn categorical_draws_have_the_frequencies_of_their_weights() {
    const WEIGHTS: [f64; 5] = [0.0, 3.0, 0.5, 0.0, 1.5];
    let mut source = source(100);
    let mut counts = [0.0; 5];
    (0..DRAWS).for_each(|_| counts[source.categorical(&WEIGHTS)] += 1.0);
    assert_eq!([counts[0], counts[3]], [0.0, 0.0]);
    assert_frequencies("classes", &counts, &WEIGHTS.map(|w| w / 5.0));
    assert_eq!(source.categorical(&[0.0, 0.0]), 1);
}
