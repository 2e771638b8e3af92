//! Arrange grey images in a grid and write them as PNG.

use std::path::Path;

use crate::ReportError;

/// Pixels between images.
const GAP: usize = 2;
/// Grey of the gaps.
const BACKGROUND: u8 = 160;

/// Images with values from 0 to 1, to be shown in rows.
#[derive(Clone, Debug, PartialEq)]
pub struct GreyGrid {
    /// Pixels of an image from top to bottom.
    pub height: usize,
    /// Pixels of an image from left to right.
    pub width: usize,
    /// Images in a row.
    pub columns: usize,
    /// Every image pixel is shown as a square of so many.
    pub zoom: usize,
    /// Values of all images, one after the other.
    pub values: Vec<f32>,
}

impl GreyGrid {
    /// Writes the grid as PNG.
    pub fn save(&self, path: &Path) -> Result<(), ReportError> {
        save(path, &self.png()?)
    }

    /// The grid as PNG.
    pub fn png(&self) -> Result<Vec<u8>, ReportError> {
        let (pixels, width, height) = self.render()?;
        encode_png(&pixels, width as u32, height as u32, png::ColorType::Grayscale)
    }

    fn render(&self) -> Result<(Vec<u8>, usize, usize), ReportError> {
        let GreyGrid { height, width, columns, zoom, ref values } = *self;
        let size = height * width;
        if size == 0 || values.is_empty() || !values.len().is_multiple_of(size) {
            return Err(ReportError::Pixels { found: values.len(), height, width });
        }
        let (columns, zoom, images) = (columns.max(1), zoom.max(1), values.len() / size);
        let (cell_width, cell_height) = (width * zoom + GAP, height * zoom + GAP);
        let total_width = columns.min(images) * cell_width + GAP;
        let total_height = images.div_ceil(columns) * cell_height + GAP;
        let mut pixels = vec![BACKGROUND; total_width * total_height];
        for (i, image) in values.chunks(size).enumerate() {
            let (left, top) = (GAP + (i % columns) * cell_width, GAP + (i / columns) * cell_height);
            for y in 0..height * zoom {
                for x in 0..width * zoom {
                    let value = image[(y / zoom) * width + x / zoom].clamp(0.0, 1.0);
                    pixels[(top + y) * total_width + left + x] = (value * 255.0).round() as u8;
                }
            }
        }
        Ok((pixels, total_width, total_height))
    }
}

/// PNG with eight bits a channel.
pub fn encode_png(
    pixels: &[u8],
    width: u32,
    height: u32,
    kind: png::ColorType,
) -> Result<Vec<u8>, ReportError> {
    let failed = |e: png::EncodingError| ReportError::Drawing(e.to_string());
    let mut bytes = Vec::new();
    let mut encoder = png::Encoder::new(&mut bytes, width, height);
    encoder.set_color(kind);
    encoder.set_depth(png::BitDepth::Eight);
    let mut writer = encoder.write_header().map_err(failed)?;
    writer.write_image_data(pixels).map_err(failed)?;
    writer.finish().map_err(failed)?;
    Ok(bytes)
}

pub(crate) fn save(path: &Path, bytes: &[u8]) -> Result<(), ReportError> {
    std::fs::write(path, bytes).map_err(|source| ReportError::Io { file: path.into(), source })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn images_lie_where_the_grid_puts_them() {
        // Three 1 x 1 images in two columns: 0 and 1 above, 0.5 below left, gap below right.
        let grid = GreyGrid { height: 1, width: 1, columns: 2, zoom: 1, values: vec![0.0, 1.0, 0.5] };
        let (pixels, width, height) = grid.render().expect("three images");
        assert_eq!((width, height), (8, 8));
        let at = |x: usize, y: usize| pixels[y * width + x];
        assert_eq!([at(2, 2), at(5, 2), at(2, 5), at(5, 5)], [0, 255, 128, BACKGROUND]);
    }
}
