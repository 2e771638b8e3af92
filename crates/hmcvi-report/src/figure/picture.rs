//! Turn grey values into the pixels of a drawing.

use hmcvi_record::figure::Picture;

use crate::palette::SOFT;
use crate::scene::{Look, Pixels, Rect, Scene, Shape, Stroke};

/// The grey image as ink on paper: 0 is transparent, 1 is black; `strength` below 1 makes it paler.
fn ink(picture: &Picture, strength: f64) -> Pixels {
    let opacity = |v: &f32| (255.0 * strength * f64::from(v.clamp(0.0, 1.0))).round() as u8;
    let rgba = picture.values.iter().map(opacity).flat_map(|a| [0, 0, 0, a]).collect();
    Pixels { width: picture.width, height: picture.height, rgba }
}

/// Draws a pale picture of many images, to be drawn upon.
pub(super) fn ground(scene: &mut Scene, area: Rect, picture: &Picture, strength: f64) {
    scene.add(Shape::Picture { area, pixels: ink(picture, strength), look: Look::SmoothInk });
}

/// Draws a picture with a frame.
pub(super) fn framed(scene: &mut Scene, area: Rect, picture: &Picture) {
    scene.add(Shape::Picture { area, pixels: ink(picture, 1.0), look: Look::Ink });
    scene.rect(area, None, Some(Stroke::new(SOFT, 1.0)));
}
