//! Draw into memory, with an 8 x 8 bitmap font in the public domain instead of one of the system.

use std::convert::Infallible;

use font8x8::{BASIC_FONTS, UnicodeFonts};
use plotters_backend::text_anchor::{HPos, VPos};
use plotters_backend::{BackendColor, BackendCoord, BackendTextStyle, DrawingBackend, DrawingErrorKind};

/// Width and height of a letter before scaling.
const LETTER: i32 = 8;
/// From this size on, letters are doubled.
const DOUBLE_FROM: f64 = 20.0;

/// Red, green and blue bytes of every pixel.
pub(crate) struct Canvas<'b> {
    pixels: &'b mut [u8],
    width: u32,
    height: u32,
}

impl<'b> Canvas<'b> {
    pub(crate) fn new(pixels: &'b mut [u8], width: u32, height: u32) -> Self {
        debug_assert_eq!(pixels.len(), (3 * width * height) as usize);
        Canvas { pixels, width, height }
    }
}

fn scale(size: f64) -> i32 {
    if size >= DOUBLE_FROM { 2 } else { 1 }
}

fn extent(text: &str, size: f64) -> (i32, i32) {
    (text.chars().count() as i32 * LETTER * scale(size), LETTER * scale(size))
}

/// Pixels of a text whose upper left corner is at the origin.
fn lit(text: &str, size: f64) -> impl Iterator<Item = (i32, i32)> {
    let scale = scale(size);
    let letters = text.chars().enumerate().map(|(i, c)| (i as i32, BASIC_FONTS.get(c).unwrap_or([0; 8])));
    letters.flat_map(move |(i, rows)| {
        let side = LETTER * scale;
        (0..side * side).filter_map(move |p| {
            let (x, y) = (p % side, p / side);
            // The lowest bit is the leftmost pixel.
            let on = rows[(y / scale) as usize] >> (x / scale) & 1 == 1;
            on.then_some((i * side + x, y))
        })
    })
}

impl DrawingBackend for Canvas<'_> {
    type ErrorType = Infallible;

    fn get_size(&self) -> (u32, u32) {
        (self.width, self.height)
    }

    fn ensure_prepared(&mut self) -> Result<(), DrawingErrorKind<Infallible>> {
        Ok(())
    }

    fn present(&mut self) -> Result<(), DrawingErrorKind<Infallible>> {
        Ok(())
    }

    fn draw_pixel(
        &mut self,
        (x, y): BackendCoord,
        colour: BackendColor,
    ) -> Result<(), DrawingErrorKind<Infallible>> {
        let inside = (0..self.width as i32).contains(&x) && (0..self.height as i32).contains(&y);
        if inside {
            let at = 3 * (y as usize * self.width as usize + x as usize);
            let (r, g, b) = colour.rgb;
            for (old, new) in self.pixels[at..at + 3].iter_mut().zip([r, g, b]) {
                let mixed = f64::from(*old) * (1.0 - colour.alpha) + f64::from(new) * colour.alpha;
                *old = mixed.round() as u8;
            }
        }
        Ok(())
    }

    fn draw_text<S: BackendTextStyle>(
        &mut self,
        text: &str,
        style: &S,
        (x, y): BackendCoord,
    ) -> Result<(), DrawingErrorKind<Infallible>> {
        let (width, height) = extent(text, style.size());
        let dx = match style.anchor().h_pos {
            HPos::Left => 0,
            HPos::Center => -width / 2,
            HPos::Right => -width,
        };
        let dy = match style.anchor().v_pos {
            VPos::Top => 0,
            VPos::Center => -height / 2,
            VPos::Bottom => -height,
        };
        for (px, py) in lit(text, style.size()) {
            let (tx, ty) = style.transform().transform(px + dx, py + dy);
            self.draw_pixel((x + tx, y + ty), style.color())?;
        }
        Ok(())
    }

    fn estimate_text_size<S: BackendTextStyle>(
        &self,
        text: &str,
        style: &S,
    ) -> Result<(u32, u32), DrawingErrorKind<Infallible>> {
        let (width, height) = extent(text, style.size());
        Ok((width as u32, height as u32))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_stay_inside_the_extent_that_layouts_are_made_with() {
        for size in [12.0, 24.0] {
            let (width, height) = extent("Bound 1", size);
            assert!(lit("Bound 1", size).count() > 50);
            assert!(lit("Bound 1", size).all(|(x, y)| x < width && y < height));
        }
    }
}
