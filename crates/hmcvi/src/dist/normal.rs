//! Know the standard normal distribution function and its inverse.

use super::HALF_LOG_TWO_PI;

/// `Φ(x)`, the share of a standard normal distribution below `x`.
pub fn normal_distribution(x: f64) -> f64 {
    0.5 * libm::erfc(-x * std::f64::consts::FRAC_1_SQRT_2)
}

/// The point below which the share `p` of a standard normal distribution lies; infinite for 0 and 1.
pub fn normal_quantile(p: f64) -> f64 {
    if p <= 0.0 || p >= 1.0 {
        return if p <= 0.0 { f64::NEG_INFINITY } else { f64::INFINITY };
    }
    if p > 0.5 {
        return -normal_quantile(1.0 - p);
    }
    // Abramowitz and Stegun 26.2.23 is good to 4.5e-4; two steps of Halley's method leave rounding alone.
    let t = (-2.0 * p.ln()).sqrt();
    let start = (2.515_517 + t * (0.802_853 + t * 0.010_328))
        / (1.0 + t * (1.432_788 + t * (0.189_269 + t * 0.001_308)))
        - t;
    (0..2).fold(start, |x, _| {
        let step = (normal_distribution(x) - p) * (0.5 * x * x + HALF_LOG_TWO_PI).exp();
        x - step / (1.0 + 0.5 * x * step)
    })
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
        // Far out, too: the inverse of the function itself.
        for x in [-37.0, -20.0, -8.0, -3.0, -0.1, 0.1, 3.0, 6.0] {
            let found = normal_quantile(normal_distribution(x));
            // Near 1 a probability is known to 1e-16 only, which is so much of x.
            let limit = 1e-13 * x.abs().max(1.0) + 3e-16 * (0.5 * x * x).exp() * f64::from(u8::from(x > 0.0));
            assert!((found - x).abs() < limit, "{x}: {found}");
        }
        assert_eq!([normal_quantile(0.0), normal_quantile(1.0)], [f64::NEG_INFINITY, f64::INFINITY]);
    }
}
