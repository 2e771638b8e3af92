//! Draw the map of the training images in the unit square.

use hmcvi_record::figure::LatentSquare;

use super::panel::Panel;
use super::picture::ground;
use super::{LABEL, TITLE};
use crate::palette::COLOURS;
use crate::scene::{Anchor, BLACK, GREY, Paint, Place, Rect, Scene, Shape, Stroke, Text};

const SIDE: f64 = 700.0;

/// Decoded means with the encoded images on them, and which colour is which class.
pub fn latent_square(data: &LatentSquare) -> Scene {
    let mut scene = Scene::new("The latent space through the Gaussian distribution function", 884.0, 810.0);
    let area = Rect { x: 72.0, y: 40.0, width: SIDE, height: SIDE };
    let panel = Panel::new(area, [0.0; 2], [1.0; 2]);
    ground(&mut scene, area, &data.decoded.picture, 0.62);
    let classes = data.points.iter().map(|p| p.class).max().unwrap_or(0);
    for class in 0..=classes {
        let of_class = data.points.iter().filter(|p| p.class == class);
        let places: Vec<Place> = of_class.map(|p| panel.at([p.x, p.y])).collect();
        let paint = Paint { colour: COLOURS[usize::from(class) % COLOURS.len()], opacity: 0.8 };
        scene.add(Shape::Dots { places, radius: 2.4, paint });
    }
    let title = format!("{} training images after the HMC steps", data.images);
    panel.axes(&mut scene, &title, "Φ(z_1)", "Φ(z_2)");
    let x = area.right() + 30.0;
    scene.text(Text::new((x - 8.0, area.y + 12.0), "class", LABEL).anchor(Anchor::Start).colour(GREY));
    for class in 0..=classes {
        let y = area.y + 40.0 + 30.0 * f64::from(class);
        let (fill, edge) = (COLOURS[usize::from(class) % COLOURS.len()].into(), Stroke::new(BLACK, 0.6));
        scene.add(Shape::Disc { place: (x, y), radius: 8.0, fill, edge });
        scene.text(Text::new((x + 20.0, y + 0.36 * TITLE), class.to_string(), TITLE).anchor(Anchor::Start));
    }
    scene
}
