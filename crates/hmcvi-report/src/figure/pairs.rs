//! Draw two numbers of a model against each other, in a panel for each method.

use hmcvi_record::PairPlot;

use super::panel::{BELOW, Panel, range};
use super::{LABEL, TITLE};
use crate::palette::Colour;
use crate::scene::{Place, Rect, Scene, Shape, Text};

const SIDE: f64 = 270.0;
const TOP: f64 = 44.0;
/// Share of the draws that may lie beyond an end of the axes.
const BEYOND: f64 = 0.002;

/// A panel for each method, with the same axes.
pub fn pairs(data: &PairPlot) -> Scene {
    let ends = [0, 1].map(|axis| ends(data, axis));
    let (low, high) = (ends.map(|e| e.0), ends.map(|e| e.1));
    let left = Panel::left(low[1], high[1], SIDE) + 8.0;
    let width = (left + SIDE + 14.0) * data.panels.len() as f64;
    let title = format!("Draws of {} and {}", data.x, data.y);
    let mut scene = Scene::new(title, width, TOP + SIDE + BELOW);
    for (i, part) in data.panels.iter().enumerate() {
        let x = left + (left + SIDE + 14.0) * i as f64;
        let area = Rect { x, y: TOP, width: SIDE, height: SIDE };
        let panel = Panel::new(area, low, high);
        panel.grid(&mut scene);
        let places: Vec<Place> = part.points.iter().map(|point| panel.at(*point)).collect();
        scene.clipped(area, |scene| {
            scene.add(Shape::Dots {
                places,
                radius: 2.0,
                colour: Colour::Line(part.line as usize),
                opacity: 0.45,
            });
        });
        panel.axes(&mut scene, "", "", "");
        // Names that a user gave are shown as they are, without subscripts.
        let (cx, cy) = area.centre();
        scene.text(Text::new((cx, TOP - 14.0), &part.name, TITLE).bold().literal());
        scene.text(Text::new((cx, area.bottom() + BELOW - 10.0), &data.x, LABEL).literal());
        let place = (area.x - left + 8.0 + 0.75 * LABEL, cy);
        scene.text(Text::new(place, &data.y, LABEL).upwards().literal());
    }
    scene
}

/// Where nearly all draws lie.
fn ends(data: &PairPlot, axis: usize) -> (f64, f64) {
    let points = data.panels.iter().flat_map(|panel| &panel.points);
    let mut values: Vec<f64> = points.map(|point| point[axis]).filter(|value| value.is_finite()).collect();
    values.sort_by(f64::total_cmp);
    let left_out = (BEYOND * values.len() as f64) as usize;
    let within = values.len().saturating_sub(2 * left_out);
    range(values.into_iter().skip(left_out).take(within), 0.04).unwrap_or((0.0, 1.0))
}
