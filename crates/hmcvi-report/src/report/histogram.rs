//! Count values into bins that several runs share.

use hmcvi_record::Curve;

/// Shares of each run's values in the same bins, as points of a step figure. Values beyond the ends count in the
/// outermost bins; a run without values has no points.
pub(crate) fn histograms(runs: &[(String, Vec<f64>)], (low, high): (f64, f64), bins: usize) -> Vec<Curve> {
    let width = (high - low) / bins as f64;
    let curve = |(name, values): &(String, Vec<f64>)| {
        if values.is_empty() {
            return Curve { name: name.clone(), points: Vec::new() };
        }
        let mut counts = vec![0.0; bins];
        for value in values {
            let bin = ((value - low) / width).floor().clamp(0.0, (bins - 1) as f64);
            counts[bin as usize] += 1.0 / values.len() as f64;
        }
        let left = |(i, share): (usize, &f64)| (low + width * i as f64, *share);
        let mut points: Vec<(f64, f64)> = counts.iter().enumerate().map(left).collect();
        points.push((high, counts[bins - 1]));
        Curve { name: name.clone(), points }
    };
    runs.iter().map(curve).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_add_up_and_outliers_count_at_the_ends() {
        let curves =
            histograms(&[("a".into(), vec![-5.0, 0.1, 0.6, 9.0]), ("b".into(), vec![])], (0.0, 1.0), 2);
        assert!(curves.len() == 2 && curves[1].points.is_empty());
        assert_eq!(curves[0].points, [(0.0, 0.5), (0.5, 0.5), (1.0, 0.5)]);
    }
}
