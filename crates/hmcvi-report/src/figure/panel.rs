//! Lay out a panel: a rectangle with axes, numbers, labels and a title.

use hmcvi_record::figure::Point;

use super::{LABEL, NUMBER, TITLE};
use crate::scene::{Anchor, BLACK, Colour, GREY, Place, Rect, Scene, Shape, Stroke, Text};

/// A part of a plane shown in an area.
#[derive(Clone, Copy, Debug)]
pub(super) struct Panel {
    pub(super) area: Rect,
    pub(super) low: Point,
    pub(super) high: Point,
}

/// Length of the marks at numbers.
const MARK: f64 = 5.0;

impl Panel {
    pub(super) fn new(area: Rect, low: Point, high: Point) -> Self {
        Panel { area, low, high }
    }

    /// Where a point is shown.
    pub(super) fn at(&self, [x, y]: Point) -> Place {
        let share = |v: f64, i: usize| (v - self.low[i]) / (self.high[i] - self.low[i]);
        (self.area.x + share(x, 0) * self.area.width, self.area.bottom() - share(y, 1) * self.area.height)
    }

    /// Draws the frame, numbers along two sides, and labels.
    pub(super) fn axes(&self, scene: &mut Scene, title: &str, x: &str, y: &str) {
        let (left, bottom) = (self.area.x, self.area.bottom());
        let line = Stroke::new(GREY, 1.0);
        scene.rect(self.area, None, Some(line));
        for value in ticks(self.low[0], self.high[0]) {
            let (px, _) = self.at([value, self.low[1]]);
            scene.line(&[(px, bottom), (px, bottom + MARK)], line);
            scene.text(Text::new((px, bottom + MARK + NUMBER), number(value), NUMBER));
        }
        for value in ticks(self.low[1], self.high[1]) {
            let (_, py) = self.at([self.low[0], value]);
            scene.line(&[(left - MARK, py), (left, py)], line);
            let place = (left - MARK - 3.0, py + 0.36 * NUMBER);
            scene.text(Text::new(place, number(value), NUMBER).anchor(Anchor::End));
        }
        let (cx, cy) = self.area.centre();
        scene.text(Text::new((cx, bottom + MARK + NUMBER + 20.0), x, LABEL));
        let numbers = ticks(self.low[1], self.high[1]).into_iter().map(|v| number(v).chars().count());
        let widest = numbers.max().unwrap_or(0) as f64 * 0.62 * NUMBER;
        scene.text(Text::new((left - MARK - widest - 12.0, cy), y, LABEL).upwards());
        self.title(scene, title);
    }

    pub(super) fn title(&self, scene: &mut Scene, title: &str) {
        scene.text(Text::new((self.area.centre().0, self.area.y - 12.0), title, TITLE).bold());
    }
}

/// A number with no more digits than it has.
pub(super) fn number(value: f64) -> String {
    let text = format!("{}", (value * 1e6).round() / 1e6);
    text.replace('-', "−")
}

/// Round numbers from `low` to `high`, about six.
pub(super) fn ticks(low: f64, high: f64) -> Vec<f64> {
    let rough = (high - low) / 6.0;
    let power = 10f64.powf(rough.log10().floor());
    let step =
        [1.0, 2.0, 5.0, 10.0].map(|s| s * power).into_iter().find(|s| *s >= rough * 0.999).unwrap_or(rough);
    let first = (low / step).ceil() as i64;
    let last = (high / step + 1e-9).floor() as i64;
    (first..=last).map(|i| i as f64 * step).collect()
}

/// From the smallest to the largest finite value, a little wider. `None` if there is none.
pub(super) fn range(values: impl Iterator<Item = f64>, margin: f64) -> Option<(f64, f64)> {
    let finite = values.filter(|v| v.is_finite());
    let (low, high) = finite.fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), v| (l.min(v), h.max(v)));
    let wider = if high > low { (high - low) * margin } else { 0.5 };
    (low <= high).then_some((low - wider, high + wider))
}

/// One entry of a legend: what it looks like and what it means.
pub(super) enum Key {
    Line(Stroke),
    Dot(Colour),
    Ring(Colour),
}

/// Width of an entry's sign.
pub(super) const SIGN: f64 = 22.0;

/// Draws the sign of an entry whose text has this baseline.
pub(super) fn key(scene: &mut Scene, (x, y): Place, key: &Key) {
    let middle = (x + SIGN / 2.0, y - 0.35 * LABEL);
    match *key {
        Key::Line(stroke) => scene.line(&[(x, middle.1), (x + SIGN, middle.1)], stroke),
        Key::Dot(colour) => scene.add(Shape::Disc {
            place: middle,
            radius: 5.0,
            fill: colour.into(),
            edge: Stroke::new(BLACK, 0.8),
        }),
        Key::Ring(colour) => scene.add(Shape::Disc {
            place: middle,
            radius: 4.5,
            fill: crate::scene::WHITE.into(),
            edge: Stroke::new(colour, 2.0),
        }),
    }
}

/// Draws entries in one line around a centre.
pub(super) fn legend(scene: &mut Scene, (cx, y): Place, entries: &[(Key, &str)]) {
    const GAP: f64 = 26.0;
    let width = |text: &str| SIGN + 7.0 + crate::scene::text_width(text, LABEL, false);
    let total =
        entries.iter().map(|(_, t)| width(t)).sum::<f64>() + GAP * entries.len().saturating_sub(1) as f64;
    let mut x = cx - total / 2.0;
    for (sign, text) in entries {
        key(scene, (x, y), sign);
        scene.text(Text::new((x + SIGN + 7.0, y), *text, LABEL).anchor(Anchor::Start));
        x += width(text) + GAP;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_beside_axes_are_round_and_inside() {
        assert_eq!(ticks(-3.0, 3.0), [-3.0, -2.0, -1.0, 0.0, 1.0, 2.0, 3.0]);
        assert_eq!(ticks(0.0, 1.0), [0.0, 0.2, 0.4, 0.6000000000000001, 0.8, 1.0]);
        assert_eq!(number(0.6000000000000001), "0.6");
        assert_eq!(number(-2.0), "−2");
    }

    #[test]
    fn points_are_shown_with_the_second_coordinate_upwards() {
        let area = Rect { x: 10.0, y: 20.0, width: 100.0, height: 50.0 };
        let panel = Panel::new(area, [0.0, 0.0], [1.0, 2.0]);
        assert_eq!([panel.at([0.0, 0.0]), panel.at([1.0, 2.0])], [(10.0, 70.0), (110.0, 20.0)]);
    }
}
