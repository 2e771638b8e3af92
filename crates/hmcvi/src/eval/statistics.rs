//! Turn values of images into means with standard errors.

use hmcvi_record::Estimate;

/// Mean over images and its standard error. Draws of one image are not independent of each other: their
/// mean is the image's one value.
pub fn estimate(values: &[f64]) -> Estimate {
    let n = values.len();
    let mean = values.iter().sum::<f64>() / n as f64;
    let square: f64 = values.iter().map(|m| (m - mean) * (m - mean)).sum();
    let standard_error = (square / (n.max(2) - 1) as f64 / n as f64).sqrt();
    Estimate { mean, standard_error }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_error_is_that_of_the_mean() {
        // Standard deviation √2 over two values: standard error 1.
        let e = estimate(&[1.5, 3.5]);
        assert!((e.mean - 2.5).abs() < 1e-12 && (e.standard_error - 1.0).abs() < 1e-12, "{e:?}");
    }
}
