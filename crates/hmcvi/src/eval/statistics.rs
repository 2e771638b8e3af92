//! Turn values of images into means with standard errors.

use hmcvi_record::Estimate;

/// Mean over images, each with its mean over draws, and the standard error over images: draws of one
/// image are not independent of each other. `values` holds all images of the first draw, then of the
/// second, and so on.
pub fn estimate(values: &[f64], images: usize) -> Estimate {
    let draws = values.len() / images.max(1);
    let of_image = |i: usize| (0..draws).map(|d| values[d * images + i]).sum::<f64>() / draws as f64;
    let means: Vec<f64> = (0..images).map(of_image).collect();
    let mean = means.iter().sum::<f64>() / images as f64;
    let square: f64 = means.iter().map(|m| (m - mean) * (m - mean)).sum();
    let standard_error = (square / (images.max(2) - 1) as f64 / images as f64).sqrt();
    Estimate { mean, standard_error }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn draws_of_an_image_count_as_one() {
        // Image means 1.5 and 3.5: mean 2.5, standard deviation √2, standard error 1.
        let e = estimate(&[1.0, 3.0, 2.0, 4.0], 2);
        assert!((e.mean - 2.5).abs() < 1e-12 && (e.standard_error - 1.0).abs() < 1e-12, "{e:?}");
    }
}
