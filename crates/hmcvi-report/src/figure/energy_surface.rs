//! Draw the potential energy of one image over the latent plane, and chains on it.

use hmcvi_record::figure::EnergySurface;

use super::panel::{Key, Panel, legend, number};
use super::picture::{framed, ground};
use super::{LABEL, NUMBER, contour, ramp};
use crate::palette::{Colour, INK, PAPER, SOFT};
use crate::scene::{Anchor, Place, Rect, Scene, Shape, Stroke, Text, text_width};

const SIDE: f64 = 456.0;
/// Contours so many nats above the lowest energy of the plane.
const ABOVE: [f64; 7] = [3.0, 10.0, 30.0, 60.0, 100.0, 200.0, 400.0];
/// The same near the posterior.
const NEAR: [f64; 8] = [0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0];
/// Ends of the chains.
const AFTER: Colour = Colour::Fixed((204, 51, 17));

/// The whole plane, and the neighbourhood of the posterior.
pub fn energy_surface(data: &EnergySurface) -> Scene {
    let title = "Potential energy of an observed image over the latent plane, and draws on it";
    let mut scene = Scene::new(title, 1140.0, 632.0);
    let area = |x: f64| Rect { x, y: 44.0, width: SIDE, height: SIDE };
    let plane = Panel::new(area(64.0), data.energy.low, data.energy.high);
    let near = Panel::new(area(654.0), data.near.low, data.near.high);
    whole(&mut scene, &plane, &near, data);
    close(&mut scene, &near, data);
    let y = 594.0;
    let mut entries = vec![(Key::Ring(SOFT), "encoder")];
    if moves(data) {
        entries.push((Key::Dot(AFTER), "after the chain"));
    }
    legend(&mut scene, (882.0, y), entries);
    levels(&mut scene, (64.0, y));
    let note = "lines at 0.5, 1, 2, 4, 8, … nats above the lowest energy";
    scene.text(Text::new((882.0, y + 24.0), note, NUMBER + 1.0).colour(SOFT));
    scene
}

/// Whether there are HMC steps after the encoder's draws.
fn moves(data: &EnergySurface) -> bool {
    data.paths.iter().any(|path| path.points.len() > 1)
}

/// The lowest energy that is known.
fn lowest(data: &EnergySurface) -> f64 {
    data.energy.range().0.min(data.near.range().0)
}

fn whole(scene: &mut Scene, plane: &Panel, near: &Panel, data: &EnergySurface) {
    ground(scene, plane.area, &data.decoded.picture, 0.55);
    let lowest = lowest(data);
    for (i, above) in ABOVE.iter().enumerate() {
        let stroke = Stroke::new(ramp::contour(i as f64 / (ABOVE.len() - 1) as f64), 2.2);
        contour::draw_lines(scene, plane, &data.energy, lowest + above, (stroke, 1.0));
    }
    let ((x, bottom), (right, y)) = (plane.at(near.low), plane.at(near.high));
    let shown = Rect { x, y, width: right - x, height: bottom - y };
    scene.clipped(plane.area, |scene| scene.rect(shown, None, Some(Stroke::new(AFTER, 2.4))));
    let side = 92.0;
    // The inset goes where the neighbourhood of the posterior is not.
    let left = x < plane.area.centre().0 && y < plane.area.centre().1;
    let inset = Rect {
        x: if left { plane.area.right() - side - 8.0 } else { plane.area.x + 8.0 },
        y: plane.area.y + 8.0,
        width: side,
        height: side,
    };
    let mat = Rect { x: inset.x - 4.0, y: inset.y - 4.0, width: side + 8.0, height: side + 8.0 };
    scene.rect(mat, Some(PAPER), Some(Stroke::new(INK, 1.2)));
    framed(scene, inset, &data.observed);
    plane.axes(scene, "U(z) over the plane, decoded means behind", "z_1", "z_2");
}

/// The colours of the contours with their heights.
fn levels(scene: &mut Scene, (x, y): Place) {
    let mut at = x - 14.0;
    scene.text(Text::new((at, y), "nats above the lowest:", LABEL).anchor(Anchor::Start));
    at += text_width("nats above the lowest:", LABEL) + 12.0;
    for (i, above) in ABOVE.iter().enumerate() {
        let colour = ramp::contour(i as f64 / (ABOVE.len() - 1) as f64);
        scene.line(&[(at, y - 5.0), (at + 16.0, y - 5.0)], Stroke::new(colour, 3.0));
        scene.text(Text::new((at + 20.0, y), number(*above), NUMBER).anchor(Anchor::Start));
        at += 26.0 + text_width(&number(*above), NUMBER);
    }
}

fn close(scene: &mut Scene, near: &Panel, data: &EnergySurface) {
    let lowest = lowest(data);
    let heights: Vec<f64> = NEAR.iter().map(|above| lowest + above).collect();
    contour::bands(scene, near, &data.near, &heights, ramp::energy);
    scene.clipped(near.area, |scene| {
        for path in &data.paths {
            let places: Vec<Place> = path.points.iter().map(|p| near.at(*p)).collect();
            scene.line(&places, Stroke::new(INK, 1.2));
            scene.add(Shape::Dots { places: places[1..].to_vec(), radius: 2.1, colour: INK, opacity: 1.0 });
        }
        for path in &data.paths {
            let (place, edge) = (near.at(path.points[0]), Stroke::new(SOFT, 2.2));
            scene.add(Shape::Disc { place, radius: 5.0, fill: PAPER, edge });
        }
        for path in data.paths.iter().filter(|_| moves(data)) {
            let (place, edge) = (near.at(path.end), Stroke::new(PAPER, 1.0));
            scene.add(Shape::Disc { place, radius: 6.0, fill: AFTER, edge });
        }
    });
    scene.rect(near.area, None, Some(Stroke::new(AFTER, 2.4)));
    near.axes(
        scene,
        if moves(data) { "Chains near the posterior" } else { "Draws near the posterior" },
        "z_1",
        "z_2",
    );
}
