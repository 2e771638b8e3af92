//! Draw points in the colours of their classes, and say which colour is which.

use std::collections::BTreeSet;

use hmcvi_record::LatentPoint;

use super::panel::Panel;
use super::{LABEL, TITLE};
use crate::palette::{Colour, INK, SOFT};
use crate::scene::{Anchor, Place, Scene, Shape, Stroke, Text};

/// The colour of a class; points without one are neutral.
fn colour(class: Option<u8>) -> Colour {
    class.map_or(Colour::Line(0), |class| Colour::Class(usize::from(class)))
}

/// Whether there are classes to tell apart.
pub(super) fn any<'p>(points: impl IntoIterator<Item = &'p LatentPoint>) -> bool {
    points.into_iter().any(|p| p.class.is_some())
}

/// Points of a panel, one class after the other.
pub(super) fn dots(scene: &mut Scene, panel: &Panel, points: &[LatentPoint], radius: f64) {
    let classes: BTreeSet<Option<u8>> = points.iter().map(|p| p.class).collect();
    for class in classes {
        let of_class = points.iter().filter(|p| p.class == class && p.x.is_finite() && p.y.is_finite());
        let places: Vec<Place> = of_class.map(|p| panel.at([p.x, p.y])).collect();
        scene.add(Shape::Dots { places, radius, colour: colour(class), opacity: 0.8 });
    }
}

/// One line for each class up to the largest, below each other; nothing without classes.
pub(super) fn legend<'p>(
    scene: &mut Scene,
    (x, y): Place,
    points: impl IntoIterator<Item = &'p LatentPoint>,
) {
    let Some(last) = points.into_iter().filter_map(|p| p.class).max() else { return };
    scene.text(Text::new((x - 8.0, y + 12.0), "class", LABEL).anchor(Anchor::Start).colour(SOFT));
    for class in 0..=last {
        let y = y + 40.0 + 30.0 * f64::from(class);
        let (fill, edge) = (colour(Some(class)), Stroke::new(INK, 0.6));
        scene.add(Shape::Disc { place: (x, y), radius: 8.0, fill, edge });
        scene.text(Text::new((x + 20.0, y + 0.36 * TITLE), class.to_string(), TITLE).anchor(Anchor::Start));
    }
}
