//! Lay values out along an axis, with ticks at round numbers.

use crate::page::html::fixed;

/// A stretch of values and where it is drawn.
#[derive(Clone, Copy, Debug)]
pub(super) struct Scale {
    pub(super) low: f64,
    pub(super) high: f64,
    pub(super) from: f64,
    pub(super) to: f64,
}

impl Scale {
    pub(super) fn at(&self, value: f64) -> f64 {
        self.from + (value - self.low) / (self.high - self.low) * (self.to - self.from)
    }

    /// Ticks at multiples of 1, 2 or 5 times a power of ten, about so many, with their labels.
    pub(super) fn ticks(&self, about: f64, whole: bool) -> Vec<(f64, String)> {
        let rough = (self.high - self.low) / about;
        let power = 10f64.powf(rough.log10().floor());
        let factor = [1.0, 2.0, 5.0, 10.0].into_iter().find(|f| f * power >= rough * 0.999).unwrap_or(10.0);
        let step = if whole { (factor * power).max(1.0) } else { factor * power };
        let decimals = (-step.log10().floor()).clamp(0.0, 12.0) as usize;
        let (first, last) =
            ((self.low / step - 1e-9).ceil() as i64, (self.high / step + 1e-9).floor() as i64);
        let tick = |i: i64| (i as f64 * step, label(i as f64 * step, step, decimals));
        (first..=last).map(tick).collect()
    }
}

fn label(value: f64, step: f64, decimals: usize) -> String {
    if step < 1e-4 && value != 0.0 {
        format!("{value:.1e}").replace('-', "−")
    } else {
        fixed(value, decimals)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(low: f64, high: f64, whole: bool) -> Vec<String> {
        Scale { low, high, from: 0.0, to: 1.0 }.ticks(5.0, whole).into_iter().map(|t| t.1).collect()
    }

    #[test]
    fn ticks_are_round_and_within() {
        assert_eq!(labels(-123.0, -98.0, false), ["−120", "−115", "−110", "−105", "−100"]);
        assert_eq!(labels(0.0, 0.09, false), ["0.00", "0.02", "0.04", "0.06", "0.08"]);
        assert_eq!(labels(1.0, 3.0, true), ["1", "2", "3"]);
    }
}
