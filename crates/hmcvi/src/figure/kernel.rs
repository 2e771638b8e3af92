//! Estimate a density on a grid from draws, with a Gaussian kernel.

use hmcvi_record::figure::{Field, Point};

/// Standard deviations of the kernel by Scott's rule, `σ n^(-1/6)` in two dimensions. The spread is that of the
/// middle half where that is smaller, so that a few far draws do not blur the rest.
pub(super) fn bandwidth(draws: &[Point]) -> Point {
    let n = draws.len() as f64;
    [0, 1].map(|i| {
        let mut x: Vec<f64> = draws.iter().map(|z| z[i]).collect();
        x.sort_by(f64::total_cmp);
        let mean = x.iter().sum::<f64>() / n;
        let deviation = (x.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / (n - 1.0)).sqrt();
        let quartile = |q: usize| x[(x.len() * q / 4).min(x.len() - 1)];
        // The middle half of a Gaussian is 1.349 σ wide.
        deviation.min((quartile(3) - quartile(1)) / 1.349) * n.powf(-1.0 / 6.0)
    })
}

/// The density of draws on a grid, normalised there. Draws outside of it are left out.
pub(super) fn density(draws: &[Point], width: Point, grid: &Field) -> Field {
    let (columns, rows, spacing) = (grid.columns, grid.rows, grid.spacing());
    let mut values = vec![0.0; columns * rows];
    for z in draws {
        let at = [0, 1].map(|i| (z[i] - grid.low[i]) / spacing[i]);
        let inside =
            at[0] >= 0.0 && at[1] >= 0.0 && at[0] < (columns - 1) as f64 && at[1] < (rows - 1) as f64;
        if !inside {
            continue;
        }
        // Each draw is shared among the four grid points around it.
        let (x, y, fx, fy) = (at[0] as usize, at[1] as usize, at[0].fract(), at[1].fract());
        for (dx, dy, share) in [
            (0, 0, (1.0 - fx) * (1.0 - fy)),
            (1, 0, fx * (1.0 - fy)),
            (0, 1, (1.0 - fx) * fy),
            (1, 1, fx * fy),
        ] {
            values[(y + dy) * columns + x + dx] += share;
        }
    }
    let values = blurred(&values, columns, (1, columns), kernel(width[0] / spacing[0]));
    let values = blurred(&values, rows, (columns, columns), kernel(width[1] / spacing[1]));
    let mut field = Field { values, ..Field::empty(grid.low, grid.high, columns, rows) };
    let mass = field.integral();
    field.values.iter_mut().for_each(|v| *v /= mass);
    field
}

/// Half of a Gaussian kernel with its standard deviation in grid steps, cut where it has no weight left.
fn kernel(deviation: f64) -> Vec<f64> {
    let reach = (6.0 * deviation).ceil() as usize;
    let weight = |i: usize| (-0.5 * (i as f64 / deviation.max(1e-9)).powi(2)).exp();
    let half: Vec<f64> = (0..=reach).map(weight).collect();
    let sum = 2.0 * half.iter().sum::<f64>() - half[0];
    half.iter().map(|w| w / sum).collect()
}

/// Convolves along lines of `length` values that are `stride` apart; `columns` is the width of the grid.
fn blurred(values: &[f64], length: usize, (stride, columns): (usize, usize), half: Vec<f64>) -> Vec<f64> {
    let mut out = vec![0.0; values.len()];
    for (i, value) in values.iter().enumerate().filter(|(_, v)| **v != 0.0) {
        let along = if stride == 1 { i % columns } else { i / columns };
        for (distance, weight) in half.iter().enumerate() {
            if along + distance < length {
                out[i + distance * stride] += value * weight;
            }
            if distance > 0 && along >= distance {
                out[i - distance * stride] += value * weight;
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::eval::prior_draws;

    #[test]
    fn the_estimate_for_gaussian_draws_is_that_gaussian_made_wider_by_the_kernel() {
        let draws: Vec<Point> = prior_draws(2, 40_000, 1)
            .as_chunks::<2>()
            .0
            .iter()
            .map(|z| [z[0].into(), 0.5 * f64::from(z[1])])
            .collect();
        let grid = Field::empty([-6.0, -3.0], [6.0, 3.0], 241, 241);
        let width = bandwidth(&draws);
        // σ n^(-1/6) = 0.171 σ
        assert!((width[0] - 0.171).abs() < 0.003 && (width[1] - 0.0855).abs() < 0.0015, "{width:?}");
        let found = density(&draws, width, &grid);
        assert!((found.integral() - 1.0).abs() < 1e-12);
        let wider = [0, 1].map(|i| ([1.0, 0.25][i] + width[i].powi(2)).sqrt());
        for (z, found) in found.points().zip(&found.values) {
            let square: f64 = (0..2).map(|i| (z[i] / wider[i]).powi(2)).sum();
            let exact = (-0.5 * square).exp() / (std::f64::consts::TAU * wider[0] * wider[1]);
            // Variance f / (4π n h₁ h₂) with f at most 0.32: a standard error of 0.0066 at the top.
            assert!((found - exact).abs() < 0.03, "{found} and {exact} at {z:?}");
        }
    }
}
