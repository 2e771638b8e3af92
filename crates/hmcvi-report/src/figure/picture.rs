//! Turn grey values into the pixels of a drawing.

use hmcvi_record::figure::Picture;

use crate::scene::{GREY, Pixels, Rect, Scene, Shape, Stroke};

/// The grey image as ink on paper: 0 is white, 1 is black; `strength` below 1 makes it paler.
fn ink(picture: &Picture, strength: f64) -> Pixels {
    let byte = |v: &f32| (255.0 * (1.0 - strength * f64::from(v.clamp(0.0, 1.0)))).round() as u8;
    let rgb = picture.values.iter().map(byte).flat_map(|b| [b, b, b]).collect();
    Pixels { width: picture.width, height: picture.height, rgb }
}

/// Draws a pale picture of many images, to be drawn upon.
pub(super) fn ground(scene: &mut Scene, area: Rect, picture: &Picture, strength: f64) {
    scene.add(Shape::Picture { area, pixels: ink(picture, strength), smooth: true });
}

/// Draws a picture with a frame.
pub(super) fn framed(scene: &mut Scene, area: Rect, picture: &Picture) {
    scene.add(Shape::Picture { area, pixels: ink(picture, 1.0), smooth: false });
    scene.rect(area, None, Some(Stroke::new(GREY, 1.0)));
}
