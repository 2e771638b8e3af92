//! Paint SVG as PNG, with the letters that the library carries.

use std::sync::{Arc, LazyLock};

use resvg::tiny_skia::{Color, Pixmap, Transform};
use resvg::usvg::{self, fontdb};

use super::{Pixels, Scene, Text};
use crate::ReportError;

/// Subsets of DejaVu Sans; `assets/font/README.md` has their licence. Fonts of the system are not looked at, so that
/// the same drawing has the same pixels everywhere.
static FONTS: LazyLock<Arc<fontdb::Database>> = LazyLock::new(|| {
    let mut fonts = fontdb::Database::new();
    fonts.load_font_data(include_bytes!("../../assets/font/regular.ttf").to_vec());
    fonts.load_font_data(include_bytes!("../../assets/font/bold.ttf").to_vec());
    Arc::new(fonts)
});

fn tree(svg: &str) -> Result<usvg::Tree, ReportError> {
    let options = usvg::Options { fontdb: FONTS.clone(), ..usvg::Options::default() };
    usvg::Tree::from_str(svg, &options).map_err(|e| ReportError::Drawing(e.to_string()))
}

/// The drawing with so many pixels for each unit of length.
pub(super) fn png(svg: &str, scale: f64) -> Result<Vec<u8>, ReportError> {
    let tree = tree(svg)?;
    let pixels = |length: f32| (f64::from(length) * scale).round() as u32;
    let (width, height) = (pixels(tree.size().width()), pixels(tree.size().height()));
    let size = || ReportError::Drawing(format!("{width} x {height} pixels are too few or too many"));
    let mut pixmap = Pixmap::new(width, height).ok_or_else(size)?;
    // Paper, also in a last row or column that the drawing covers in part.
    pixmap.fill(Color::WHITE);
    resvg::render(&tree, Transform::from_scale(scale as f32, scale as f32), &mut pixmap.as_mut());
    encode(&Pixels { width: width as usize, height: height as usize, rgba: pixmap.take() })
}

/// PNG with no more channels than the pixels need.
pub(super) fn encode(pixels: &Pixels) -> Result<Vec<u8>, ReportError> {
    let all = pixels.rgba.as_chunks::<4>().0;
    let grey = all.iter().all(|[r, g, b, _]| r == g && g == b);
    let opaque = all.iter().all(|p| p[3] == u8::MAX);
    let (kind, channels): (_, &[usize]) = match (grey, opaque) {
        (true, true) => (png::ColorType::Grayscale, &[0]),
        (true, false) => (png::ColorType::GrayscaleAlpha, &[0, 3]),
        (false, true) => (png::ColorType::Rgb, &[0, 1, 2]),
        (false, false) => (png::ColorType::Rgba, &[0, 1, 2, 3]),
    };
    let bytes: Vec<u8> = all.iter().flat_map(|p| channels.iter().map(|c| p[*c])).collect();
    let failed = |e: png::EncodingError| ReportError::Drawing(e.to_string());
    let mut file = Vec::new();
    let mut encoder = png::Encoder::new(&mut file, pixels.width as u32, pixels.height as u32);
    encoder.set_color(kind);
    encoder.set_depth(png::BitDepth::Eight);
    encoder.set_compression(png::Compression::High);
    let mut writer = encoder.write_header().map_err(failed)?;
    writer.write_image_data(&bytes).map_err(failed)?;
    writer.finish().map_err(failed)?;
    Ok(file)
}

/// Width of a text in units of length.
pub(crate) fn text_width(text: &str, size: f64) -> f64 {
    width(Text::new((0.0, 0.0), text, size))
}

/// The same of a name, which has no subscripts.
pub(crate) fn name_width(name: &str, size: f64) -> f64 {
    width(Text::new((0.0, 0.0), name, size).literal())
}

/// The same of bold letters, which are wider.
pub(crate) fn bold_width(text: &str, size: f64) -> f64 {
    width(Text::new((0.0, 0.0), text, size).bold())
}

fn width(text: Text) -> f64 {
    let mut scene = Scene::new("", 1.0, 1.0);
    scene.text(text);
    let measured = super::svg::shapes_only(&scene).into_string();
    // What cannot be measured takes no room: there is nothing to be seen of it.
    tree(&measured).map_or(0.0, |tree| f64::from(tree.root().bounding_box().width()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::palette::Colour;
    use crate::scene::Rect;

    #[test]
    fn shapes_are_painted_where_they_are_and_only_inside_their_clip() {
        let mut scene = Scene::new("test", 20.0, 10.0);
        let all = Rect { x: 0.0, y: 0.0, width: 20.0, height: 10.0 };
        scene.clipped(Rect { width: 10.0, ..all }, |inner| {
            inner.rect(all, Some(Colour::Fixed((255, 0, 0))), None);
        });
        scene.text(Text::new((15.0, 8.0), "m", 8.0));
        let bytes = scene.to_png().expect("it can be painted");
        let mut reader = png::Decoder::new(std::io::Cursor::new(bytes)).read_info().expect("it is PNG");
        let mut pixels = vec![0; reader.output_buffer_size().expect("it is small")];
        let info = reader.next_frame(&mut pixels).expect("it is whole");
        assert_eq!((info.width, info.height, info.color_type), (32, 16, png::ColorType::Rgb));
        let at = |x: usize, y: usize| &pixels[3 * (y * 32 + x)..][..3];
        assert_eq!([at(5, 5), at(20, 1)], [&[255, 0, 0][..], &[255, 255, 255]]);
        // Some letter is there, in the right half and nowhere else.
        let dark = |x: usize| (0..16).any(|y| at(x, y)[1] < 128 && at(x, y)[0] < 128);
        assert!((16..32).any(dark) && !(0..16).any(dark));
    }

    #[test]
    fn every_letter_that_figures_use_has_a_width_of_its_own() {
        // Letters that the fonts lack are left out, so that a text with one is as wide as without.
        for letter in "Uz−0.5|αεπΔΣ√²*≤≥≈±·×‖→é∇∞“”’…½%Φ₀".chars() {
            let (with, without) = (text_width(&format!("m{letter}m"), 10.0), text_width("mm", 10.0));
            assert!(with > without + 1.0, "no `{letter}`");
        }
        // Twice as many letters of twice the size.
        assert!((text_width("mmmm", 20.0) / text_width("mm", 10.0) - 4.0).abs() < 1e-3);
    }
}
