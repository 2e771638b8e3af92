//! Read the outlines and widths of letters from the fonts that the library carries.

use std::sync::LazyLock;

use ttf_parser::{Face, OutlineBuilder};

use super::runs::{BELOW, SMALL, runs};

/// A subset of DejaVu Sans; `assets/font/README.md` has its licence.
static REGULAR: LazyLock<Option<Face<'static>>> =
    LazyLock::new(|| Face::parse(include_bytes!("../../assets/font/regular.ttf"), 0).ok());
static BOLD: LazyLock<Option<Face<'static>>> =
    LazyLock::new(|| Face::parse(include_bytes!("../../assets/font/bold.ttf"), 0).ok());

fn face(bold: bool) -> Option<&'static Face<'static>> {
    if bold { BOLD.as_ref() } else { REGULAR.as_ref() }
}

/// Width of a text in units of length.
pub(crate) fn text_width(text: &str, size: f64, bold: bool) -> f64 {
    runs(text)
        .into_iter()
        .map(|(part, below)| run_width(part, if below { SMALL * size } else { size }, bold))
        .sum()
}

fn run_width(text: &str, size: f64, bold: bool) -> f64 {
    let Some(face) = face(bold) else { return 0.0 };
    let advance = |c: char| face.glyph_index(c).and_then(|glyph| face.glyph_hor_advance(glyph)).unwrap_or(0);
    text.chars().map(|c| f64::from(advance(c))).sum::<f64>() * size / f64::from(face.units_per_em())
}

/// Adds the outlines of a text to a path, its first letter at the origin.
pub(super) fn outline(text: &str, size: f64, bold: bool, path: &mut tiny_skia::PathBuilder) {
    let Some(face) = face(bold) else { return };
    let mut x = 0.0;
    for (part, below) in runs(text) {
        let (size, y) = if below { (SMALL * size, (BELOW * size) as f32) } else { (size, 0.0) };
        let scale = (size / f64::from(face.units_per_em())) as f32;
        for glyph in part.chars().filter_map(|c| face.glyph_index(c)) {
            face.outline_glyph(glyph, &mut Pen { path, x, y, scale });
            x += f32::from(face.glyph_hor_advance(glyph).unwrap_or(0)) * scale;
        }
    }
}

/// Turns the font's units, upwards, into those of the drawing, downwards.
struct Pen<'a> {
    path: &'a mut tiny_skia::PathBuilder,
    x: f32,
    y: f32,
    scale: f32,
}

impl Pen<'_> {
    fn at(&self, x: f32, y: f32) -> (f32, f32) {
        (self.x + x * self.scale, self.y - y * self.scale)
    }
}

impl OutlineBuilder for Pen<'_> {
    fn move_to(&mut self, x: f32, y: f32) {
        let (x, y) = self.at(x, y);
        self.path.move_to(x, y);
    }

    fn line_to(&mut self, x: f32, y: f32) {
        let (x, y) = self.at(x, y);
        self.path.line_to(x, y);
    }

    fn quad_to(&mut self, x1: f32, y1: f32, x: f32, y: f32) {
        let ((x1, y1), (x, y)) = (self.at(x1, y1), self.at(x, y));
        self.path.quad_to(x1, y1, x, y);
    }

    fn curve_to(&mut self, x1: f32, y1: f32, x2: f32, y2: f32, x: f32, y: f32) {
        let ((x1, y1), (x2, y2), (x, y)) = (self.at(x1, y1), self.at(x2, y2), self.at(x, y));
        self.path.cubic_to(x1, y1, x2, y2, x, y);
    }

    fn close(&mut self) {
        self.path.close();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_letter_that_figures_use_is_in_both_fonts() {
        let letters = "Uz−0.5 log p(x|z) αεπΔΣ √(1−α²) s̃ s* ≤ ≥ ≈ ± · × ‖ → é ∇ ∞ “” ’ … ½ % Φ";
        for face in [face(false), face(true)] {
            let face = face.expect("the fonts are whole");
            for letter in letters.chars() {
                assert!(face.glyph_index(letter).is_some(), "no `{letter}`");
            }
        }
        // Twice as many letters of twice the size.
        assert!((text_width("mmmm", 20.0, false) / text_width("mm", 10.0, false) - 4.0).abs() < 1e-9);
        assert!(text_width("m", 10.0, true) > text_width("m", 10.0, false));
    }
}
