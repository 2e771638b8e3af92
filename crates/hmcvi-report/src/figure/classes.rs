//! Draw points in the colours of their classes, and say which colour is which.

use hmcvi_record::LatentPoint;

use super::panel::Panel;
use super::{LABEL, TITLE};
use crate::palette::COLOURS;
use crate::scene::{Anchor, BLACK, Colour, GREY, Paint, Place, Scene, Shape, Stroke, Text};

fn colour(class: u8) -> Colour {
    COLOURS[usize::from(class) % COLOURS.len()]
}

/// The largest class there is.
pub(super) fn last<'p>(points: impl IntoIterator<Item = &'p LatentPoint>) -> u8 {
    points.into_iter().map(|p| p.class).max().unwrap_or(0)
}

/// Points of a panel, one class after the other.
pub(super) fn dots(scene: &mut Scene, panel: &Panel, points: &[LatentPoint], radius: f64) {
    for class in 0..=last(points) {
        let of_class = points.iter().filter(|p| p.class == class && p.x.is_finite() && p.y.is_finite());
        let places: Vec<Place> = of_class.map(|p| panel.at([p.x, p.y])).collect();
        scene.add(Shape::Dots { places, radius, paint: Paint { colour: colour(class), opacity: 0.8 } });
    }
}

/// One line for each class up to the last, below each other.
pub(super) fn legend(scene: &mut Scene, (x, y): Place, last: u8) {
    scene.text(Text::new((x - 8.0, y + 12.0), "class", LABEL).anchor(Anchor::Start).colour(GREY));
    for class in 0..=last {
        let y = y + 40.0 + 30.0 * f64::from(class);
        let (fill, edge) = (colour(class).into(), Stroke::new(BLACK, 0.6));
        scene.add(Shape::Disc { place: (x, y), radius: 8.0, fill, edge });
        scene.text(Text::new((x + 20.0, y + 0.36 * TITLE), class.to_string(), TITLE).anchor(Anchor::Start));
    }
}
