//! Know the standard normal distribution function and its inverse.

/// `Φ(x)`, the share of a standard normal distribution below `x`.
pub fn normal_distribution(x: f64) -> f64 {
    0.5 * libm::erfc(-x * std::f64::consts::FRAC_1_SQRT_2)
}

/// The point below which the share `p` of a standard normal distribution lies; infinite for 0 and 1.
pub fn normal_quantile(p: f64) -> f64 {
    if p <= 0.0 || p >= 1.0 {
        return if p <= 0.0 { f64::NEG_INFINITY } else { f64::INFINITY };
    }
    // Beyond 38.5 there is nothing left that f64 can tell from 0; sixty halvings leave less than its rounding.
    let (mut low, mut high) = (-38.5, 38.5);
    for _ in 0..60 {
        let middle = 0.5 * (low + high);
        if normal_distribution(middle) < p { low = middle } else { high = middle }
    }
    0.5 * (low + high)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_distribution_function_and_its_inverse_are_the_tabulated_ones() {
        for (x, p) in [(0.0, 0.5), (1.0, 0.841_344_746_068_543), (-1.959_963_984_540_054, 0.025)] {
            assert!((normal_distribution(x) - p).abs() < 1e-15, "Φ({x})");
            assert!((normal_quantile(p) - x).abs() < 1e-13, "quantile of {p}");
        }
        assert_eq!([normal_quantile(0.0), normal_quantile(1.0)], [f64::NEG_INFINITY, f64::INFINITY]);
    }
}
