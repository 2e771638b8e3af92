//! Draw estimates below each other, each with an interval of two standard errors.

use super::NUMBER;
use super::panel::{range, ticks};
use crate::palette::{Colour, GRID, SOFT};
use crate::scene::{Anchor, Place, Scene, Shape, Stroke, Text};
use crate::words::with_error;

/// An estimate to be drawn.
pub(crate) struct Interval {
    pub(crate) name: String,
    pub(crate) mean: f64,
    pub(crate) error: f64,
    pub(crate) colour: usize,
}

/// Height of a row: a name, and below it a lane with the interval, which nothing but the interval's own grid crosses.
const ROW: f64 = 46.0;
const LANE: (f64, f64) = (21.0, 41.0);
const BOTTOM: f64 = 24.0;

/// The rows over a common axis; differences have a line at zero.
pub(crate) fn intervals(title: &str, all: &[Interval], width: f64, differences: bool) -> Scene {
    let ends = all.iter().flat_map(|i| [i.mean - 2.0 * i.error, i.mean + 2.0 * i.error]);
    let (low, high) = range(ends.chain(differences.then_some(0.0)), 0.05).unwrap_or((0.0, 1.0));
    let at = |value: f64| 8.0 + (value - low) / (high - low) * (width - 16.0);
    let spoken: Vec<String> = all.iter().map(named).collect();
    let height = ROW * all.len() as f64 + BOTTOM;
    let mut scene = Scene::new(format!("{title}: {}.", spoken.join("; ")), width, height);
    let numbers = ticks(low, high, width / 90.0, false);
    for (value, label) in &numbers {
        scene.text(Text::new((at(*value), height - 6.0), label, NUMBER).colour(SOFT));
    }
    for (row, interval) in all.iter().enumerate() {
        let top = ROW * row as f64;
        let mut across = |value: f64, stroke| {
            scene.line(&[(at(value), top + LANE.0), (at(value), top + LANE.1)], stroke);
        };
        numbers.iter().for_each(|(value, _)| across(*value, Stroke::new(GRID, 1.0)));
        if differences {
            across(0.0, Stroke::new(SOFT, 2.0));
        }
        one(&mut scene, interval, top, at);
    }
    scene
}

fn one(scene: &mut Scene, interval: &Interval, top: f64, at: impl Fn(f64) -> f64) {
    let (y, colour) = (top + (LANE.0 + LANE.1) / 2.0, Colour::Line(interval.colour));
    let ends: [Place; 2] = [-2.0, 2.0].map(|k| (at(interval.mean + k * interval.error), y));
    scene.line(&ends, Stroke::new(colour, 3.0));
    scene.add(Shape::Dots { places: vec![(at(interval.mean), y)], radius: 5.0, colour, opacity: 1.0 });
    scene.text(Text::new((8.0, top + 15.0), named(interval), NUMBER).anchor(Anchor::Start));
}

fn named(Interval { name, mean, error, .. }: &Interval) -> String {
    format!("{name}: {}", with_error(*mean, *error, 2))
}
