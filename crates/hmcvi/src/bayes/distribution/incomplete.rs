//! Compute distribution functions that have no formula: incomplete gamma and beta functions of known numbers.

use libm::lgamma;

/// Terms of a series or fraction until it stands still.
const MOST: usize = 10_000;

/// `[P, Q]`: the regularised incomplete gamma function `P(a, x)` and the rest to 1, each with its own digits.
pub(super) fn gamma(a: f64, x: f64) -> [f64; 2] {
    if x <= 0.0 {
        return [0.0, 1.0];
    }
    let log_scale = a * x.ln() - x - lgamma(a);
    if x < a + 1.0 {
        // Series of ascending powers.
        let (mut term, mut sum) = (1.0 / a, 1.0 / a);
        for k in 1..MOST {
            term *= x / (a + k as f64);
            sum += term;
            if term < sum * 1e-17 {
                break;
            }
        }
        let p = (log_scale + sum.ln()).exp();
        return [p, 1.0 - p];
    }
    let fraction = lentz(x + 1.0 - a, |k| {
        let k = k as f64;
        [k * (a - k), x + 2.0 * k + 1.0 - a]
    });
    let q = (log_scale - fraction.ln()).exp();
    [1.0 - q, q]
}

/// `[I, 1 - I]`: the regularised incomplete beta function `I(x; a, b)`, given `x` and `1 - x`.
pub(super) fn beta(a: f64, b: f64, [x, rest]: [f64; 2]) -> [f64; 2] {
    if x <= 0.0 || rest <= 0.0 {
        return if x <= 0.0 { [0.0, 1.0] } else { [1.0, 0.0] };
    }
    if x > (a + 1.0) / (a + b + 2.0) {
        let [above, below] = beta(b, a, [rest, x]);
        return [below, above];
    }
    let log_scale = a * x.ln() + b * rest.ln() + lgamma(a + b) - lgamma(a) - lgamma(b) - a.ln();
    let fraction = lentz(1.0, |k| {
        let m = (k / 2) as f64;
        let numerator = match k % 2 {
            0 => m * (b - m) / ((a + 2.0 * m - 1.0) * (a + 2.0 * m)),
            _ => -(a + m) * (a + b + m) / ((a + 2.0 * m) * (a + 2.0 * m + 1.0)),
        };
        [numerator * x, 1.0]
    });
    let below = (log_scale - fraction.ln()).exp();
    [below, 1.0 - below]
}

/// The continued fraction `b₀ + a₁/(b₁ + a₂/(b₂ + …))` by Lentz's method, from `b₀` and `[aₖ, bₖ]`.
fn lentz(first: f64, part: impl Fn(usize) -> [f64; 2]) -> f64 {
    const TINY: f64 = 1e-300;
    let (mut value, mut c, mut d) = (first, first, 0.0);
    for k in 1..MOST {
        let [a, b] = part(k);
        d = 1.0 / nonzero(b + a * d, TINY);
        c = nonzero(b + a / c, TINY);
        value *= c * d;
        if (c * d - 1.0).abs() < 1e-16 {
            break;
        }
    }
    value
}

fn nonzero(x: f64, tiny: f64) -> f64 {
    if x.abs() < tiny { tiny } else { x }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Closed forms: `P(1, x) = 1 - e⁻ˣ`, `Q(½, x) = erfc √x`, `I(x; 1, b) = 1 - (1 - x)ᵇ`, `I(x; ½, ½) = 2/π asin √x`.
    #[test]
    fn closed_forms_are_met() {
        for x in [1e-8, 0.3, 1.0, 2.7, 9.0, 40.0] {
            let near = |found: f64, expected: f64| {
                assert!((found / expected - 1.0).abs() < 1e-13, "{x}: {found} {expected}")
            };
            near(gamma(1.0, x)[0], -(-x).exp_m1());
            near(gamma(1.0, x)[1], (-x).exp());
            near(gamma(0.5, x)[1], libm::erfc(x.sqrt()));
            let u = x / (1.0 + x);
            near(beta(1.0, 3.5, [u, 1.0 / (1.0 + x)])[0], -(3.5 * (-u).ln_1p()).exp_m1());
            near(beta(0.5, 0.5, [u, 1.0 / (1.0 + x)])[0], u.sqrt().asin() * std::f64::consts::FRAC_2_PI);
        }
    }
}
