//! Draw the flow chart of an HMC step.

use hmcvi_record::figure::FlowChart;

use super::{LABEL, TITLE};
use crate::palette::LINES;
use crate::scene::{BLACK, Colour, GREY, Place, Rect, Scene, Stroke, Text, WHITE};

const WIDTH: f64 = 860.0;
const BOX: (f64, f64) = (320.0, 62.0);
/// From one box to the next.
const DISTANCE: f64 = 116.0;
const CENTRE: f64 = 300.0;
/// Fill of states.
const PALE: Colour = (234, 241, 248);

/// Boxes from top to bottom, arrows with what they mean, and two ends.
pub fn flow_chart(data: &FlowChart) -> Scene {
    let states = data.states.len() as f64;
    let mut scene = Scene::new(
        "Flow chart of the HMC step with partial momentum updates",
        WIDTH,
        28.0 + states * DISTANCE + 150.0,
    );
    let top = |i: usize| 24.0 + DISTANCE * i as f64;
    for (i, state) in data.states.iter().enumerate() {
        boxed(&mut scene, (CENTRE, top(i)), &state.name, &state.meaning, LINES[0]);
        let Some(step) = data.steps.get(i) else { continue };
        let (from, to) = (top(i) + BOX.1, top(i) + DISTANCE);
        if i + 1 < data.states.len() {
            arrow(&mut scene, &[(CENTRE, from), (CENTRE, to)]);
        }
        let lines = wrapped(step, 44);
        let middle = if i + 1 < data.states.len() { (from + to) / 2.0 } else { from + 24.0 };
        for (j, line) in lines.iter().enumerate() {
            let y = middle + 5.0 + 19.0 * (j as f64 - (lines.len() - 1) as f64 / 2.0);
            scene
                .text(Text::new((CENTRE + 18.0, y), line.clone(), LABEL).anchor(crate::scene::Anchor::Start));
        }
    }
    let fork = top(data.states.len() - 1) + BOX.1;
    let y = fork + 96.0;
    scene.line(&[(CENTRE, fork), (CENTRE, fork + 54.0)], Stroke::new(GREY, 1.8));
    let ends = data.ends.len();
    for (i, (why, outcome)) in data.ends.iter().enumerate() {
        let x = if ends == 1 { CENTRE } else { 190.0 + 400.0 * i as f64 };
        let colour = if i == 0 { LINES[2] } else { LINES[1] };
        arrow(&mut scene, &[(CENTRE, fork + 54.0), (x, fork + 54.0), (x, y)]);
        boxed(&mut scene, (x, y), outcome, why, colour);
    }
    scene
}

fn boxed(scene: &mut Scene, (cx, top): Place, name: &str, meaning: &str, edge: Colour) {
    let (width, height) = BOX;
    let area = Rect { x: cx - width / 2.0, y: top, width, height };
    let fill = if edge == LINES[0] { PALE } else { WHITE };
    scene.rect(area, Some(fill.into()), Some(Stroke::new(edge, 2.0)));
    scene.text(Text::new((cx, top + 27.0), name, TITLE + 1.0).bold());
    scene.text(Text::new((cx, top + 49.0), meaning, LABEL - 1.0).colour(GREY));
    let _ = BLACK;
}

fn arrow(scene: &mut Scene, places: &[Place]) {
    scene.line(places, Stroke::new(GREY, 1.8));
    let Some(&(x, y)) = places.last() else { return };
    // All arrows point downwards.
    scene.polygon(&[(x, y), (x - 5.5, y - 11.0), (x + 5.5, y - 11.0)], Some(GREY.into()), None);
}

/// Breaks a text into lines of at most so many letters, between words.
fn wrapped(text: &str, most: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split(' ') {
        match lines.last_mut() {
            Some(line) if line.chars().count() + 1 + word.chars().count() <= most => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.into()),
        }
    }
    lines
}
