//! Paint a drawing with smooth edges, and write it as PNG.

use tiny_skia::{
    FillRule, FilterQuality, LineCap, LineJoin, Mask, Path, PathBuilder, Pixmap, PixmapPaint, Rect as Area,
    StrokeDash, Transform,
};

use super::colours::reduced;
use super::font::outline;
use super::{Anchor, Paint, Pixels, Place, Rect, Scene, Shape, Stroke, Text, text_width};
use crate::ReportError;

pub(super) fn png(scene: &Scene, scale: f64) -> Result<Vec<u8>, ReportError> {
    let (width, height) = ((scene.width * scale).round() as u32, (scene.height * scale).round() as u32);
    let size = || ReportError::Drawing(format!("{width} x {height} pixels are too few or too many"));
    let mut pixmap = Pixmap::new(width, height).ok_or_else(size)?;
    pixmap.fill(tiny_skia::Color::WHITE);
    let mut painter = Painter { pixmap, transform: Transform::from_scale(scale as f32, scale as f32) };
    painter.shapes(&scene.shapes, None);
    // Everything is opaque on the white ground, so that three of four bytes are the picture.
    let pixels: Vec<[u8; 3]> =
        painter.pixmap.data().as_chunks::<4>().0.iter().map(|[r, g, b, _]| [*r, *g, *b]).collect();
    let (palette, numbers) = reduced(&pixels);
    encode(&palette, &numbers, width, height).map_err(|e| ReportError::Drawing(e.to_string()))
}

fn encode(palette: &[u8], numbers: &[u8], width: u32, height: u32) -> Result<Vec<u8>, png::EncodingError> {
    let mut bytes = Vec::new();
    let mut encoder = png::Encoder::new(&mut bytes, width, height);
    encoder.set_color(png::ColorType::Indexed);
    encoder.set_depth(png::BitDepth::Eight);
    encoder.set_palette(palette);
    encoder.set_compression(png::Compression::High);
    // Neighbouring numbers of a palette have nothing to do with each other.
    encoder.set_filter(png::Filter::NoFilter);
    let mut writer = encoder.write_header()?;
    writer.write_image_data(numbers)?;
    writer.finish()?;
    Ok(bytes)
}

struct Painter {
    pixmap: Pixmap,
    transform: Transform,
}

fn paint(from: Paint) -> tiny_skia::Paint<'static> {
    let (r, g, b) = from.colour;
    let mut paint = tiny_skia::Paint { anti_alias: true, ..tiny_skia::Paint::default() };
    paint.set_color_rgba8(r, g, b, (from.opacity * 255.0).round() as u8);
    paint
}

fn lines(parts: &[Vec<Place>], closed: bool) -> Option<Path> {
    let mut path = PathBuilder::new();
    for part in parts {
        for (i, (x, y)) in part.iter().enumerate() {
            let (x, y) = (*x as f32, *y as f32);
            if i == 0 { path.move_to(x, y) } else { path.line_to(x, y) }
        }
        if closed {
            path.close();
        }
    }
    path.finish()
}

fn discs(places: &[Place], radius: f64) -> Vec<Path> {
    // One path each: overlapping discs of one path would not show through each other.
    let disc = |(x, y): &Place| PathBuilder::from_circle(*x as f32, *y as f32, radius as f32);
    places.iter().filter_map(disc).collect()
}

impl Painter {
    fn shapes(&mut self, shapes: &[Shape], mask: Option<&Mask>) {
        for shape in shapes {
            match shape {
                Shape::Lines { parts, closed, fill, stroke } => {
                    if let Some(path) = lines(parts, *closed) {
                        self.path(&path, *fill, *stroke, mask);
                    }
                }
                Shape::Dots { places, radius, paint } => {
                    for path in discs(places, *radius) {
                        self.path(&path, Some(*paint), None, mask);
                    }
                }
                Shape::Disc { place, radius, fill, edge } => {
                    for path in discs(&[*place], *radius) {
                        self.path(&path, Some(*fill), Some(*edge), mask);
                    }
                }
                Shape::Text(text) => self.text(text, mask),
                Shape::Picture { area, pixels, smooth } => self.picture(*area, pixels, *smooth, mask),
                Shape::Clipped { area, shapes } => {
                    let clip = self.clip(*area);
                    self.shapes(shapes, clip.as_ref().or(mask));
                }
            }
        }
    }

    fn clip(&self, r: Rect) -> Option<Mask> {
        let area = Area::from_xywh(r.x as f32, r.y as f32, r.width as f32, r.height as f32)?;
        let mut mask = Mask::new(self.pixmap.width(), self.pixmap.height())?;
        mask.fill_path(&PathBuilder::from_rect(area), FillRule::Winding, true, self.transform);
        Some(mask)
    }

    fn path(&mut self, path: &Path, fill: Option<Paint>, stroke: Option<Stroke>, mask: Option<&Mask>) {
        if let Some(fill) = fill {
            self.pixmap.fill_path(path, &paint(fill), FillRule::Winding, self.transform, mask);
        }
        if let Some(Stroke { paint: from, width, dashed }) = stroke {
            let width = width as f32;
            let dash = if dashed { StrokeDash::new(vec![3.0 * width, 3.5 * width], 0.0) } else { None };
            let (line_cap, line_join) = (LineCap::Round, LineJoin::Round);
            let stroke =
                tiny_skia::Stroke { width, line_cap, line_join, dash, ..tiny_skia::Stroke::default() };
            self.pixmap.stroke_path(path, &paint(from), &stroke, self.transform, mask);
        }
    }

    fn text(&mut self, text: &Text, mask: Option<&Mask>) {
        let mut path = PathBuilder::new();
        outline(&text.text, text.size, text.bold, &mut path);
        let Some(path) = path.finish() else { return };
        let width = text_width(&text.text, text.size, text.bold);
        let before = match text.anchor {
            Anchor::Start => 0.0,
            Anchor::Middle => width / 2.0,
            Anchor::End => width,
        };
        let place = self.transform.pre_translate(text.place.0 as f32, text.place.1 as f32);
        let turned = if text.upwards { place.pre_rotate(-90.0) } else { place };
        let transform = turned.pre_translate(-before as f32, 0.0);
        self.pixmap.fill_path(&path, &paint(text.colour.into()), FillRule::Winding, transform, mask);
    }

    fn picture(&mut self, area: Rect, pixels: &Pixels, smooth: bool, mask: Option<&Mask>) {
        let Some(mut picture) = Pixmap::new(pixels.width as u32, pixels.height as u32) else { return };
        let (rgb, _) = pixels.rgb.as_chunks::<3>();
        for (to, [r, g, b]) in picture.data_mut().as_chunks_mut::<4>().0.iter_mut().zip(rgb) {
            *to = [*r, *g, *b, 255];
        }
        let (sx, sy) = (area.width / pixels.width as f64, area.height / pixels.height as f64);
        let transform =
            self.transform.pre_translate(area.x as f32, area.y as f32).pre_scale(sx as f32, sy as f32);
        let quality = if smooth { FilterQuality::Bilinear } else { FilterQuality::Nearest };
        let paint = PixmapPaint { quality, ..PixmapPaint::default() };
        self.pixmap.draw_pixmap(0, 0, picture.as_ref(), &paint, transform, mask);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scene::Colour;

    fn decoded(scene: &Scene) -> (png::OutputInfo, Vec<u8>) {
        let bytes = scene.to_png().expect("it can be painted");
        let mut decoder = png::Decoder::new(std::io::Cursor::new(bytes));
        decoder.set_transformations(png::Transformations::EXPAND);
        let mut reader = decoder.read_info().expect("it is PNG");
        let mut pixels = vec![0; reader.output_buffer_size().expect("it is small")];
        let info = reader.next_frame(&mut pixels).expect("it is whole");
        (info, pixels)
    }

    #[test]
    fn shapes_are_painted_where_they_are_and_only_inside_their_clip() {
        let red: Colour = (255, 0, 0);
        let mut scene = Scene::new("test", 20.0, 10.0);
        let all = Rect { x: 0.0, y: 0.0, width: 20.0, height: 10.0 };
        scene.clipped(Rect { width: 10.0, ..all }, |inner| inner.rect(all, Some(red.into()), None));
        scene.text(Text::new((15.0, 8.0), "m", 8.0));
        let (info, pixels) = decoded(&scene);
        assert_eq!((info.width, info.height), (32, 16));
        let at = |x: usize, y: usize| &pixels[3 * (y * 32 + x)..][..3];
        assert_eq!([at(5, 5), at(20, 1)], [&[255, 0, 0][..], &[255, 255, 255]]);
        // Some letter is there, in the right half and nowhere else.
        let dark = |x: usize| (0..16).any(|y| at(x, y)[1] < 128 && at(x, y)[0] < 128);
        assert!((16..32).any(dark) && !(0..16).any(dark));
    }
}
