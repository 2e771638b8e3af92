//! Choose the numbers of a model that a page shows, and the pair that is worth a look.

use hmcvi_record::{FitMethod, PairPanel, PairPlot};

use super::data::{FitData, GAUSSIAN, Series, reference};
use super::differences::{difference, moments};

/// Numbers that are shown.
pub(super) const SHOWN: usize = 12;
/// Points of a pair plot by one method.
const POINTS: usize = 1000;
/// Numbers with a higher rank correlation are functions of each other, which says nothing about the posterior.
const SAME: f64 = 0.999;

/// How little a number is trusted.
type Score<'s> = Box<dyn Fn(&str) -> f64 + 's>;
/// Why a number was chosen: words about one, and about several.
pub(super) type Rule = [&'static str; 2];

/// Numbers of the model, those first that are least trusted, and by what rule.
pub(super) fn worst_first(fits: &[FitData], all: &[Series<'_>]) -> (Vec<String>, Rule) {
    let Some(first) = all.first() else { return (Vec::new(), [""; 2]) };
    let names: Vec<String> = first.chains.iter().take(1).flat_map(|c| c.names().map(String::from)).collect();
    let held = reference(all, fits.len());
    let other = held.and_then(|held| all.iter().find(|series| series.name != held.name));
    let (score, rule): (Score<'_>, Rule) = match (held, other) {
        (Some(held), Some(other)) => {
            let rule = match held.nuts {
                true => ["is furthest from NUTS", "are furthest from NUTS"],
                false => ["differs most between the fits", "differ most between the fits"],
            };
            (Box::new(|name| apart(other, held, name)), rule)
        }
        _ if fits[0].record.method == FitMethod::Nuts => {
            let rule = ["has the smallest effective sample size", "have the smallest effective sample sizes"];
            (Box::new(|name| missing_draws(&fits[0], name)), rule)
        }
        _ if fits[0].record.resampled
            && let Some(gaussian) = all.iter().find(|s| s.name == GAUSSIAN) =>
        {
            let rule = ["is furthest from the Gaussian", "are furthest from the Gaussian"];
            (Box::new(|name| apart(first, gaussian, name)), rule)
        }
        _ => {
            let rule = ["is moved most by importance weights", "are moved most by importance weights"];
            (Box::new(|name| moved_by_weights(first, name)), rule)
        }
    };
    let mut scored: Vec<(f64, String)> = names.into_iter().map(|name| (score(&name), name)).collect();
    scored.retain(|(score, _)| score.is_finite());
    // Stable, so that numbers that are equally good keep the order of the model.
    scored.sort_by(|a, b| b.0.total_cmp(&a.0));
    (scored.into_iter().map(|(_, name)| name).collect(), rule)
}

/// 1-Wasserstein distance of one number.
fn apart(draws: &Series<'_>, held: &Series<'_>, name: &str) -> f64 {
    let found = || difference(name, &draws.column(name)?, &held.column(name)?).wasserstein;
    found().unwrap_or(f64::NAN)
}

fn missing_draws(fit: &FitData, name: &str) -> f64 {
    let row = fit.record.parameters.iter().find(|row| row.name == name);
    row.and_then(|row| Some(-row.ess_bulk?.min(row.ess_tail.unwrap_or(0.0)))).unwrap_or(f64::NAN)
}

/// How far importance weights move the mean and the standard deviation, in standard deviations.
fn moved_by_weights(series: &Series<'_>, name: &str) -> f64 {
    let (Some(x), Some(log_weights)) = (series.column(name), series.column("log_weight__")) else {
        return f64::NAN;
    };
    let most = log_weights.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let weights: Vec<f64> = log_weights.iter().map(|w| (w - most).exp()).collect();
    let total: f64 = weights.iter().sum();
    let weighted =
        |of: &dyn Fn(f64) -> f64| x.iter().zip(&weights).map(|(x, w)| w * of(*x)).sum::<f64>() / total;
    let (mean, sd) = moments(&x);
    let its_mean = weighted(&|x| x);
    let its_sd = weighted(&|x| (x - its_mean).powi(2)).sqrt();
    (its_mean - mean).abs() / sd + (its_sd / sd).ln().abs()
}

/// The number that is least trusted, and the one that depends on it most.
pub(super) fn pair(all: &[Series<'_>], names: &[String], [rule, _]: Rule) -> Option<PairPlot> {
    let (own, x) = (all.first()?, names.first()?);
    let of_x = ranks(&own.column(x)?);
    let related = names[1..].iter().filter_map(|name| {
        let correlation = correlation(&of_x, &ranks(&own.column(name)?));
        (correlation.abs() < SAME).then_some((name, correlation))
    });
    let (y, rank_correlation) = related.max_by(|a, b| a.1.abs().total_cmp(&b.1.abs()))?;
    let panel = |(line, series): (usize, &Series<'_>)| {
        let (x, y) = (series.column(x)?, series.column(y)?);
        let every = x.len().div_ceil(POINTS).max(1);
        let points = x.into_iter().zip(y).map(|(x, y)| [x, y]).step_by(every).collect();
        Some(PairPanel { name: series.name.clone(), line: line as u64, points })
    };
    // The Gaussian comes first, as it does in the fit.
    let mut panels: Vec<PairPanel> = all.iter().enumerate().filter_map(panel).collect();
    if panels.len() > 1 && panels[1].name == GAUSSIAN {
        panels.swap(0, 1);
    }
    let rule = format!(
        "Of all numbers, {x} {rule}; {y} is the one whose ranks have most to do with those of {x} (correlation \
         {rank_correlation:.2})."
    );
    Some(PairPlot { x: x.clone(), y: y.clone(), rule, rank_correlation, panels })
}

/// The place of each value among all, from 0.
fn ranks(values: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by(|a, b| values[*a].total_cmp(&values[*b]));
    let mut ranks = vec![0.0; values.len()];
    order.into_iter().enumerate().for_each(|(rank, place)| ranks[place] = rank as f64);
    ranks
}

fn correlation(a: &[f64], b: &[f64]) -> f64 {
    let ((mean_a, sd_a), (mean_b, sd_b)) = (moments(a), moments(b));
    let sum: f64 = a.iter().zip(b).map(|(a, b)| (a - mean_a) * (b - mean_b)).sum();
    sum / ((a.len() as f64 - 1.0) * sd_a * sd_b)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_that_rise_together_are_correlated() {
        let a: Vec<f64> = (0..100).map(|i| f64::from(i * 37 % 100)).collect();
        let cubes: Vec<f64> = a.iter().map(|x| x.powi(3)).collect();
        let down: Vec<f64> = a.iter().map(|x| (-x).exp()).collect();
        assert!((correlation(&ranks(&a), &ranks(&cubes)) - 1.0).abs() < 1e-12);
        assert!((correlation(&ranks(&a), &ranks(&down)) + 1.0).abs() < 1e-12);
    }
}
