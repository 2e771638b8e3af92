//! Measure how far draws of a number are from others: means, standard deviations, 1-Wasserstein distance.

use hmcvi_record::{DrawTable, FitDifference};

/// How far draws of all numbers are from those of a reference, in the order of the reference.
pub fn differences(draws: &[DrawTable], reference: &[DrawTable]) -> Vec<FitDifference> {
    let column = |tables: &[DrawTable], name: &str| -> Option<Vec<f64>> {
        tables.iter().map(|table| table.column(name)).collect::<Option<Vec<_>>>().map(|all| all.concat())
    };
    let names = reference.first().into_iter().flat_map(DrawTable::names);
    let both = |name: &str| Some(difference(name, &column(draws, name)?, &column(reference, name)?));
    names.filter_map(both).collect()
}

/// How far draws of one number are from others, in standard deviations of the latter.
pub(super) fn difference(name: &str, draws: &[f64], reference: &[f64]) -> FitDifference {
    let ((mean, sd), (its_mean, its_sd)) = (moments(draws), moments(reference));
    let scaled = |value: f64| Some(value / its_sd).filter(|value| value.is_finite());
    FitDifference {
        name: name.into(),
        mean: scaled(mean - its_mean),
        sd_ratio: scaled(sd),
        wasserstein: scaled(wasserstein(draws, reference)),
    }
}

/// Mean and standard deviation.
pub(super) fn moments(values: &[f64]) -> (f64, f64) {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let squares: f64 = values.iter().map(|x| (x - mean).powi(2)).sum();
    (mean, (squares / (n - 1.0).max(1.0)).sqrt())
}

/// The area between two empirical distribution functions.
fn wasserstein(a: &[f64], b: &[f64]) -> f64 {
    let step = |values: &[f64], sign: f64| {
        let share = sign / values.len() as f64;
        values.iter().map(|value| (*value, share)).collect::<Vec<_>>()
    };
    let mut steps = [step(a, 1.0), step(b, -1.0)].concat();
    steps.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut apart = 0.0;
    let mut area = 0.0;
    for pair in steps.windows(2) {
        apart += pair[0].1;
        area += apart.abs() * (pair[1].0 - pair[0].0);
    }
    area
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances_are_those_of_shifted_and_stretched_draws() {
        let draws: Vec<f64> = (0..1000).map(|i| f64::from(i) / 999.0).collect();
        let shifted: Vec<f64> = draws.iter().map(|x| x + 0.25).collect();
        let wide: Vec<f64> = draws.iter().step_by(2).map(|x| 2.0 * x).collect();
        assert!((wasserstein(&shifted, &draws) - 0.25).abs() < 1e-12);
        // ∫ |2u - u| du = 1/2; half as many draws move quantiles by less than 1/500.
        assert!((wasserstein(&wide, &draws) - 0.5).abs() < 4e-3);
        let found = difference("mu", &shifted, &draws);
        let (_, sd) = moments(&draws);
        assert!((found.mean.expect("finite") - 0.25 / sd).abs() < 1e-12);
        assert!((found.sd_ratio.expect("finite") - 1.0).abs() < 1e-12);
        assert_eq!(difference("L[1,1]", &[1.0; 3], &[1.0; 3]).mean, None);
    }
}
