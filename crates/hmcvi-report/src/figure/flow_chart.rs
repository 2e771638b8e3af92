//! Draw the flow chart of an HMC step.

use hmcvi_record::figure::FlowChart;

use super::{LABEL, TITLE};
use crate::palette::{Colour, PAPER, SOFT};
use crate::scene::{Anchor, Place, Rect, Scene, Stroke, Text};

const WIDTH: f64 = 780.0;
const BOX: (f64, f64) = (320.0, 62.0);
/// From one box to the next.
const DISTANCE: f64 = 116.0;
const CENTRE: f64 = 290.0;
/// Fill of states.
const PALE: Colour = Colour::Fixed((234, 241, 248));

/// Boxes from top to bottom, arrows with what they mean, and two ends.
pub fn flow_chart(data: &FlowChart) -> Scene {
    let states = data.states.len() as f64;
    let mut scene = Scene::new(
        "Flow chart of the HMC step with partial momentum updates",
        WIDTH,
        24.0 + (states - 1.0) * DISTANCE + 2.0 * BOX.1 + 124.0,
    );
    let top = |i: usize| 24.0 + DISTANCE * i as f64;
    for (i, state) in data.states.iter().enumerate() {
        boxed(&mut scene, (CENTRE, top(i)), &state.name, &state.meaning, Colour::Line(0));
        let Some(step) = data.steps.get(i) else { continue };
        let (from, to) = (top(i) + BOX.1, top(i) + DISTANCE);
        if i + 1 < data.states.len() {
            arrow(&mut scene, &[(CENTRE, from), (CENTRE, to)]);
        }
        let lines: Vec<&str> = step.lines().collect();
        let middle = if i + 1 < data.states.len() { (from + to) / 2.0 } else { from + 26.0 };
        for (j, line) in lines.iter().enumerate() {
            let y = middle + 5.0 + 19.0 * (j as f64 - (lines.len() - 1) as f64 / 2.0);
            scene.text(Text::new((CENTRE + 18.0, y), *line, LABEL).anchor(Anchor::Start));
        }
    }
    let fork = top(data.states.len() - 1) + BOX.1;
    let y = fork + 100.0;
    scene.line(&[(CENTRE, fork), (CENTRE, fork + 58.0)], Stroke::new(SOFT, 1.8));
    let ends = data.ends.len();
    for (i, (why, outcome)) in data.ends.iter().enumerate() {
        let x = if ends == 1 { CENTRE } else { 196.0 + 388.0 * i as f64 };
        let colour = if i == 0 { Colour::Line(2) } else { Colour::Line(1) };
        arrow(&mut scene, &[(CENTRE, fork + 58.0), (x, fork + 58.0), (x, y)]);
        boxed(&mut scene, (x, y), outcome, why, colour);
    }
    scene
}

fn boxed(scene: &mut Scene, (cx, top): Place, name: &str, meaning: &str, edge: Colour) {
    let (width, height) = BOX;
    let area = Rect { x: cx - width / 2.0, y: top, width, height };
    let fill = if edge == Colour::Line(0) { PALE } else { PAPER };
    scene.rect(area, Some(fill), Some(Stroke::new(edge, 2.0)));
    scene.text(Text::new((cx, top + 27.0), name, TITLE + 1.0).bold());
    scene.text(Text::new((cx, top + 49.0), meaning, LABEL - 1.0).colour(SOFT));
}

fn arrow(scene: &mut Scene, places: &[Place]) {
    scene.line(places, Stroke::new(SOFT, 1.8));
    let Some(&(x, y)) = places.last() else { return };
    // All arrows point downwards.
    scene.polygon(&[(x, y), (x - 5.5, y - 11.0), (x + 5.5, y - 11.0)], Some(SOFT), None);
}
