//! Lay out a panel: a rectangle with axes, numbers, labels, a title and a legend.

use hmcvi_record::figure::Point;

use super::{LABEL, NUMBER, TITLE};
use crate::palette::{Colour, GRID, INK, PAPER, SOFT};
use crate::scene::{Anchor, Place, Rect, Scene, Shape, Stroke, Text, text_width};
use crate::words::fixed;

/// A part of a plane shown in an area.
#[derive(Clone, Copy, Debug)]
pub(super) struct Panel {
    pub(super) area: Rect,
    pub(super) low: Point,
    pub(super) high: Point,
}

/// Length of the marks at numbers.
const MARK: f64 = 5.0;
/// Room below a panel for its numbers and its label.
pub(super) const BELOW: f64 = MARK + NUMBER + LABEL + 14.0;

impl Panel {
    pub(super) fn new(area: Rect, low: Point, high: Point) -> Self {
        Panel { area, low, high }
    }

    /// Where a point is shown.
    pub(super) fn at(&self, [x, y]: Point) -> Place {
        let share = |v: f64, i: usize| (v - self.low[i]) / (self.high[i] - self.low[i]);
        (self.area.x + share(x, 0) * self.area.width, self.area.bottom() - share(y, 1) * self.area.height)
    }

    fn vertical(&self) -> Vec<(f64, String)> {
        ticks(self.low[1], self.high[1], self.area.height / 50.0, false)
    }

    /// Draws a line at every number of the vertical axis.
    pub(super) fn grid(&self, scene: &mut Scene) {
        for (value, _) in self.vertical() {
            let ends = [self.at([self.low[0], value]), self.at([self.high[0], value])];
            scene.line(&ends, Stroke::new(GRID, 1.0));
        }
    }

    /// Room on the left of a panel of this height for its numbers and its label.
    pub(super) fn left(low: f64, high: f64, height: f64) -> f64 {
        let numbers = ticks(low, high, height / 50.0, false);
        let widest = numbers.iter().map(|(_, number)| text_width(number, NUMBER)).fold(0.0, f64::max);
        MARK + 3.0 + widest + 8.0 + LABEL
    }

    /// Draws the frame, numbers along two sides, and labels.
    pub(super) fn axes(&self, scene: &mut Scene, title: &str, x: &str, y: &str) {
        let whole = matches!(x, "epoch" | "HMC step");
        self.axes_at(scene, &ticks(self.low[0], self.high[0], self.area.width / 55.0, whole), title, x, y);
    }

    /// The same with these numbers along the horizontal axis.
    pub(super) fn axes_at(
        &self,
        scene: &mut Scene,
        numbers: &[(f64, String)],
        title: &str,
        x: &str,
        y: &str,
    ) {
        let (left, bottom) = (self.area.x, self.area.bottom());
        let line = Stroke::new(SOFT, 1.0);
        scene.rect(self.area, None, Some(line));
        for (value, number) in numbers {
            let (px, _) = self.at([*value, self.low[1]]);
            scene.line(&[(px, bottom), (px, bottom + MARK)], line);
            scene.text(Text::new((px, bottom + MARK + NUMBER), number, NUMBER));
        }
        for (value, number) in self.vertical() {
            let (_, py) = self.at([self.low[0], value]);
            scene.line(&[(left - MARK, py), (left, py)], line);
            let place = (left - MARK - 3.0, py + 0.36 * NUMBER);
            scene.text(Text::new(place, number, NUMBER).anchor(Anchor::End));
        }
        let (cx, cy) = self.area.centre();
        scene.text(Text::new((cx, bottom + BELOW - 10.0), x, LABEL));
        let room = Panel::left(self.low[1], self.high[1], self.area.height);
        scene.text(Text::new((left - room + 0.75 * LABEL, cy), y, LABEL).upwards());
        scene.text(Text::new((cx, self.area.y - 12.0), title, TITLE).bold());
    }
}

/// A number with no more digits than it has.
pub(super) fn number(value: f64) -> String {
    let text = format!("{}", (value * 1e6).round() / 1e6);
    text.replace('-', "−")
}

/// Multiples of 1, 2 or 5 times a power of ten from `low` to `high`, about so many, with their labels.
pub(super) fn ticks(low: f64, high: f64, about: f64, whole: bool) -> Vec<(f64, String)> {
    let rough = (high - low) / about.clamp(3.0, 8.0);
    let power = 10f64.powf(rough.log10().floor());
    let factor = [1.0, 2.0, 5.0, 10.0].into_iter().find(|f| f * power >= rough * 0.999).unwrap_or(10.0);
    let step = if whole { (factor * power).max(1.0) } else { factor * power };
    let decimals = (-step.log10().floor()).clamp(0.0, 12.0) as usize;
    let label = |value: f64| match value {
        _ if step < 1e-4 && value != 0.0 => format!("{value:.1e}").replace('-', "−"),
        _ => fixed(value, decimals),
    };
    let (first, last) = ((low / step - 1e-9).ceil() as i64, (high / step + 1e-9).floor() as i64);
    (first..=last).map(|i| (i as f64 * step, label(i as f64 * step))).collect()
}

/// Numbers along an axis of decimal logarithms: 1, 2 and 5 times powers of ten, or powers of ten alone where they are many.
pub(super) fn logarithmic_ticks(low: f64, high: f64) -> Vec<(f64, String)> {
    const MANY: f64 = 3.0;
    let factors: &[f64] = if high - low > MANY { &[1.0] } else { &[1.0, 2.0, 5.0] };
    let powers = low.floor() as i32..=high.floor() as i32;
    let values = powers.flat_map(|power| factors.iter().map(move |factor| factor * 10f64.powi(power)));
    let inside = values.filter(|value| (low..=high).contains(&value.log10()));
    inside.map(|value| (value.log10(), number(value))).collect()
}

/// From the smallest to the largest finite value, a little wider. `None` if there is none.
pub(super) fn range(values: impl Iterator<Item = f64>, margin: f64) -> Option<(f64, f64)> {
    let finite = values.filter(|v| v.is_finite());
    let (low, high) = finite.fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), v| (l.min(v), h.max(v)));
    let wider = if high > low { (high - low) * margin } else { 0.5 };
    (low <= high).then_some((low - wider, high + wider))
}

/// What an entry of a legend looks like.
pub(super) enum Key {
    Line(Stroke),
    Dot(Colour),
    Ring(Colour),
}

/// Width of an entry's sign, and space between entries and between their lines.
const SIGN: f64 = 22.0;
const GAP: f64 = 22.0;
const LINE: f64 = 22.0;

/// Draws the sign of an entry whose text has this baseline.
fn sign(scene: &mut Scene, (x, y): Place, key: &Key) {
    let place = (x + SIGN / 2.0, y - 0.35 * LABEL);
    let mut disc = |radius, fill, edge| scene.add(Shape::Disc { place, radius, fill, edge });
    match *key {
        Key::Line(stroke) => scene.line(&[(x, place.1), (x + SIGN, place.1)], stroke),
        Key::Dot(colour) => disc(5.0, colour, Stroke::new(INK, 0.8)),
        Key::Ring(colour) => disc(4.5, PAPER, Stroke::new(colour, 2.0)),
    }
}

/// Entries of a legend in lines of at most a width, each with the width that it takes.
pub(super) struct Legend(Vec<Vec<(Key, String, f64)>>);

impl Legend {
    pub(super) fn new(entries: Vec<(Key, String)>, most: f64) -> Self {
        let mut lines = vec![Vec::new()];
        let mut used = -GAP;
        for (key, text) in entries {
            let width = SIGN + 7.0 + text_width(&text, LABEL);
            if used > 0.0 && used + GAP + width > most {
                lines.push(Vec::new());
                used = -GAP;
            }
            used += GAP + width;
            let last = lines.len() - 1;
            lines[last].push((key, text, width));
        }
        lines.retain(|line| !line.is_empty());
        Legend(lines)
    }

    pub(super) fn height(&self) -> f64 {
        LINE * self.0.len() as f64
    }

    /// Draws the lines around a centre, the first on a baseline.
    pub(super) fn draw(&self, scene: &mut Scene, (cx, y): Place) {
        for (i, line) in self.0.iter().enumerate() {
            let total: f64 = line.iter().map(|(_, _, width)| width + GAP).sum::<f64>() - GAP;
            let (mut x, y) = (cx - total / 2.0, y + LINE * i as f64);
            for (key, text, width) in line {
                sign(scene, (x, y), key);
                scene.text(Text::new((x + SIGN + 7.0, y), text, LABEL).anchor(Anchor::Start));
                x += width + GAP;
            }
        }
    }
}

/// Draws entries in one line around a centre.
pub(super) fn legend(scene: &mut Scene, centre: Place, entries: Vec<(Key, &str)>) {
    let entries = entries.into_iter().map(|(key, text)| (key, text.to_string())).collect();
    Legend::new(entries, f64::INFINITY).draw(scene, centre);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(low: f64, high: f64, whole: bool) -> Vec<String> {
        ticks(low, high, 5.0, whole).into_iter().map(|t| t.1).collect()
    }

    #[test]
    fn numbers_beside_axes_are_round_and_inside() {
        assert_eq!(labels(-123.0, -98.0, false), ["−120", "−115", "−110", "−105", "−100"]);
        assert_eq!(labels(0.0, 0.09, false), ["0.00", "0.02", "0.04", "0.06", "0.08"]);
        assert_eq!(labels(1.0, 3.0, true), ["1", "2", "3"]);
        assert_eq!([number(0.6000000000000001), number(-2.0)], ["0.6", "−2"]);
    }

    #[test]
    fn numbers_along_logarithms_are_round_too() {
        let labels = |low: f64, high: f64| -> Vec<String> {
            logarithmic_ticks(low.log10(), high.log10()).into_iter().map(|tick| tick.1).collect()
        };
        assert_eq!(labels(8.0, 700.0), ["10", "20", "50", "100", "200", "500"]);
        assert_eq!(labels(0.05, 200.0), ["0.1", "1", "10", "100"]);
        assert_eq!(logarithmic_ticks(0.9, 1.1), [(1.0, "10".to_string())]);
    }

    #[test]
    fn points_are_shown_with_the_second_coordinate_upwards() {
        let area = Rect { x: 10.0, y: 20.0, width: 100.0, height: 50.0 };
        let panel = Panel::new(area, [0.0, 0.0], [1.0, 2.0]);
        assert_eq!([panel.at([0.0, 0.0]), panel.at([1.0, 2.0])], [(10.0, 70.0), (110.0, 20.0)]);
    }

    #[test]
    fn a_legend_takes_as_many_lines_as_it_needs() {
        let entries = |n: usize| (0..n).map(|i| (Key::Dot(INK), format!("entry {i}"))).collect();
        assert_eq!(Legend::new(entries(6), 1e9).0.len(), 1);
        let narrow = Legend::new(entries(6), 250.0);
        assert!((2..=6).contains(&narrow.0.len()));
        for line in &narrow.0 {
            assert!(line.iter().map(|(_, _, w)| w + GAP).sum::<f64>() - GAP <= 250.0);
        }
    }
}
