//! Arrange grey images in a grid.

use crate::ReportError;
use crate::scene::{Look, Pixels, Rect, Scene, Shape};

/// Pixels that an image is to have on its longer side: small images are enlarged by a whole factor.
const LARGE: usize = 56;
/// Most pixels of a side of the picture that are worth enlarging for.
const LARGEST: usize = 8000;

/// Images with values from 0 to 1, to be shown in rows.
#[derive(Clone, Debug, PartialEq)]
pub struct GreyGrid {
    /// Pixels of an image from top to bottom.
    pub height: usize,
    /// Pixels of an image from left to right.
    pub width: usize,
    /// Images in a row.
    pub columns: usize,
    /// Values of all images, one after the other.
    pub values: Vec<f32>,
}

impl GreyGrid {
    /// The grid as PNG.
    pub fn png(&self) -> Result<Vec<u8>, ReportError> {
        self.scene()?.to_png()
    }

    /// The grid as a drawing: images one of their pixels apart, each pixel a square.
    pub fn scene(&self) -> Result<Scene, ReportError> {
        let pixels = self.pixels()?;
        let longest = pixels.width.max(pixels.height);
        let zoom = (LARGE / self.height.max(self.width)).min(LARGEST / longest).max(1);
        let [width, height] = [pixels.width, pixels.height].map(|side| (side * zoom) as f64);
        let mut scene = Scene::of_pixels("Images in rows", width, height);
        let area = Rect { x: 0.0, y: 0.0, width, height };
        scene.add(Shape::Picture { area, pixels, look: Look::Squares });
        Ok(scene)
    }

    /// Grey pixels with transparent gaps.
    fn pixels(&self) -> Result<Pixels, ReportError> {
        let GreyGrid { height, width, columns, ref values } = *self;
        let size = height * width;
        if size == 0 || values.is_empty() || !values.len().is_multiple_of(size) {
            return Err(ReportError::Pixels { found: values.len(), height, width });
        }
        let (columns, images) = (columns.clamp(1, values.len() / size), values.len() / size);
        let (all_width, all_height) =
            (columns * (width + 1) - 1, images.div_ceil(columns) * (height + 1) - 1);
        let mut rgba = vec![0; 4 * all_width * all_height];
        for (i, value) in values.iter().enumerate() {
            let (image, y, x) = (i / size, i % size / width, i % width);
            let (row, column) = ((image / columns) * (height + 1) + y, (image % columns) * (width + 1) + x);
            let grey = (value.clamp(0.0, 1.0) * 255.0).round() as u8;
            rgba[4 * (row * all_width + column)..][..4].copy_from_slice(&[grey, grey, grey, u8::MAX]);
        }
        Ok(Pixels { width: all_width, height: all_height, rgba })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn images_lie_where_the_grid_puts_them() {
        // Three 1 x 1 images in two columns: 0 and 1 above, 0.5 below left, nothing below right.
        let grid = GreyGrid { height: 1, width: 1, columns: 2, values: vec![0.0, 1.0, 0.5] };
        let Pixels { width, height, rgba } = grid.pixels().expect("three images");
        assert_eq!((width, height), (3, 3));
        let at = |x: usize, y: usize| (rgba[4 * (y * width + x)], rgba[4 * (y * width + x) + 3]);
        assert_eq!([at(0, 0), at(2, 0), at(0, 2), at(2, 2)], [(0, 255), (255, 255), (128, 255), (0, 0)]);
        assert_eq!(at(1, 0), (0, 0), "gaps are transparent");
    }

    #[test]
    fn small_images_are_as_large_as_others_and_their_pixels_are_squares() {
        let size = |side: usize| {
            let values = (0..4 * side * side).map(|i| (i % 2) as f32).collect();
            let grid = GreyGrid { height: side, width: side, columns: 2, values };
            let bytes = grid.scene().and_then(|s| s.to_png()).expect("it can be painted");
            let mut reader = png::Decoder::new(std::io::Cursor::new(bytes)).read_info().expect("it is PNG");
            let mut pixels = vec![0; reader.output_buffer_size().expect("it is small")];
            let info = reader.next_frame(&mut pixels).expect("it is whole");
            assert!(pixels.iter().all(|p| [0, 255].contains(p)), "nothing between black and white");
            let black = pixels.iter().filter(|p| **p == 0).count() as f64 / pixels.len() as f64;
            assert!((0.4..0.5).contains(&black), "every other pixel is black, and gaps are not: {black}");
            (info.width, info.height)
        };
        // Twice 28 and a gap, two pixels for each; twice 8 and a gap, seven for each.
        assert_eq!((size(28), size(8)), ((114, 114), (119, 119)));
    }
}
