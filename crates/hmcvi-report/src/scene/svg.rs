//! Write a drawing as SVG text.

use std::fmt::Write;

use super::runs::{BELOW, SMALL};
use super::{Anchor, Paint, Pixels, Place, Rect, Scene, Shape, Stroke, Text, runs};
use crate::grid::encode_png;

/// Fonts in the order in which they are looked for: the one that the PNG has, then similar ones.
const FONTS: &str = "DejaVu Sans, Verdana, Helvetica, Arial, sans-serif";

/// A number with a tenth or hundredth of a unit, and no digits that say nothing.
fn number(x: f64) -> String {
    let text = format!("{x:.2}");
    let text = text.trim_end_matches('0').trim_end_matches('.');
    if text == "-0" { "0".into() } else { text.into() }
}

pub(super) fn write(scene: &Scene) -> String {
    let mut out = String::new();
    let (w, h) = (number(scene.width), number(scene.height));
    let _ = writeln!(
        out,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{w}\" height=\"{h}\" viewBox=\"0 0 {w} {h}\" \
         font-family=\"{FONTS}\" role=\"img\"><title>{}</title>",
        escaped(&scene.title)
    );
    let _ = writeln!(out, "<rect width=\"{w}\" height=\"{h}\" rx=\"8\" fill=\"#fff\"/>");
    let mut clips = 0;
    shapes(&mut out, &scene.shapes, &mut clips);
    out + "</svg>\n"
}

fn shapes(out: &mut String, shapes: &[Shape], clips: &mut usize) {
    for shape in shapes {
        // Writing to a string cannot fail.
        let _ = one(out, shape, clips);
    }
}

fn one(out: &mut String, shape: &Shape, clips: &mut usize) -> std::fmt::Result {
    match shape {
        Shape::Lines { parts, closed, fill, stroke } => {
            write!(out, "<path d=\"")?;
            for part in parts {
                path(out, part, *closed)?;
            }
            write!(out, "\"")?;
            filled(out, *fill)?;
            if let Some(stroke) = stroke {
                stroked(out, stroke)?;
            }
            writeln!(out, "/>")
        }
        Shape::Dots { places, radius, paint } => {
            // Lines without length and with round ends: the shortest way to write many discs.
            write!(out, "<path d=\"")?;
            for (x, y) in places {
                write!(out, "M{} {}h0", short(*x), short(*y))?;
            }
            write!(out, "\" fill=\"none\"")?;
            stroked(out, &Stroke::new(*paint, 2.0 * radius))?;
            writeln!(out, "/>")
        }
        Shape::Disc { place: (x, y), radius, fill, edge } => {
            write!(out, "<circle cx=\"{}\" cy=\"{}\" r=\"{}\"", number(*x), number(*y), number(*radius))?;
            filled(out, Some(*fill))?;
            stroked(out, edge)?;
            writeln!(out, "/>")
        }
        Shape::Text(t) => text(out, t),
        Shape::Picture { area, pixels, smooth } => picture(out, area, pixels, *smooth),
        Shape::Clipped { area: r, shapes: inner } => {
            *clips += 1;
            let (x, y, w, h) = (number(r.x), number(r.y), number(r.width), number(r.height));
            // Several figures may stand on one page: the name has the place in it.
            let id = format!("c{clips}-{x}-{y}-{w}-{h}").replace('.', "_");
            writeln!(
                out,
                "<clipPath id=\"{id}\"><rect x=\"{x}\" y=\"{y}\" width=\"{w}\" height=\"{h}\"/></clipPath>\
                 <g clip-path=\"url(#{id})\">"
            )?;
            shapes(out, inner, clips);
            writeln!(out, "</g>")
        }
    }
}

/// A tenth of a unit: small enough for dots, of which there are many.
fn short(x: f64) -> String {
    number((x * 10.0).round() / 10.0)
}

fn path(out: &mut String, part: &[Place], closed: bool) -> std::fmt::Result {
    for (i, (x, y)) in part.iter().enumerate() {
        write!(out, "{}{} {}", if i == 0 { 'M' } else { 'L' }, short(*x), short(*y))?;
    }
    if closed { write!(out, "Z") } else { Ok(()) }
}

fn hexadecimal(paint: Paint) -> String {
    let (r, g, b) = paint.colour;
    format!("#{r:02x}{g:02x}{b:02x}")
}

fn filled(out: &mut String, fill: Option<Paint>) -> std::fmt::Result {
    let Some(paint) = fill else { return write!(out, " fill=\"none\"") };
    write!(out, " fill=\"{}\"", hexadecimal(paint))?;
    if paint.opacity < 1.0 {
        write!(out, " fill-opacity=\"{}\"", number(paint.opacity))?;
    }
    Ok(())
}

fn stroked(out: &mut String, stroke: &Stroke) -> std::fmt::Result {
    write!(out, " stroke=\"{}\" stroke-width=\"{}\"", hexadecimal(stroke.paint), number(stroke.width))?;
    write!(out, " stroke-linecap=\"round\" stroke-linejoin=\"round\"")?;
    if stroke.paint.opacity < 1.0 {
        write!(out, " stroke-opacity=\"{}\"", number(stroke.paint.opacity))?;
    }
    if stroke.dashed {
        write!(out, " stroke-dasharray=\"{} {}\"", number(stroke.width * 3.0), number(stroke.width * 3.5))?;
    }
    Ok(())
}

fn text(out: &mut String, t: &Text) -> std::fmt::Result {
    let (x, y) = (number(t.place.0), number(t.place.1));
    write!(out, "<text x=\"{x}\" y=\"{y}\" font-size=\"{}\"", number(t.size))?;
    match t.anchor {
        Anchor::Start => {}
        Anchor::Middle => write!(out, " text-anchor=\"middle\"")?,
        Anchor::End => write!(out, " text-anchor=\"end\"")?,
    }
    if t.bold {
        write!(out, " font-weight=\"bold\"")?;
    }
    filled(out, Some(t.colour.into()))?;
    if t.upwards {
        write!(out, " transform=\"rotate(-90 {x} {y})\"")?;
    }
    write!(out, ">")?;
    let mut lowered = false;
    for (part, below) in runs(&t.text) {
        let shift = number(BELOW * t.size);
        match (below, lowered) {
            (true, _) => {
                let size = number(SMALL * t.size);
                write!(out, "<tspan dy=\"{shift}\" font-size=\"{size}\">{}</tspan>", escaped(part))?;
            }
            (false, true) => write!(out, "<tspan dy=\"-{shift}\">{}</tspan>", escaped(part))?,
            (false, false) => write!(out, "{}", escaped(part))?,
        }
        lowered = below;
    }
    writeln!(out, "</text>")
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

fn picture(out: &mut String, r: &Rect, pixels: &Pixels, smooth: bool) -> std::fmt::Result {
    // A picture that cannot be encoded has no pixels.
    let bytes = encode_png(&pixels.rgb, pixels.width as u32, pixels.height as u32, png::ColorType::Rgb);
    write!(
        out,
        "<image x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" preserveAspectRatio=\"none\"",
        number(r.x),
        number(r.y),
        number(r.width),
        number(r.height)
    )?;
    if !smooth {
        write!(out, " style=\"image-rendering:pixelated\"")?;
    }
    writeln!(out, " href=\"data:image/png;base64,{}\"/>", base64(&bytes.unwrap_or_default()))
}

/// Bytes as text of 64 letters, three bytes in four letters.
pub(crate) fn base64(bytes: &[u8]) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for chunk in bytes.chunks(3) {
        let at = |i: usize| u32::from(chunk.get(i).copied().unwrap_or(0));
        let word = at(0) << 16 | at(1) << 8 | at(2);
        for i in 0..4 {
            let letter = LETTERS[(word >> (18 - 6 * i)) as usize & 63];
            text.push(if i <= chunk.len() { letter.into() } else { '=' });
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_become_the_letters_of_the_standard() {
        // The examples of RFC 4648.
        let known = [("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foobar", "Zm9vYmFy")];
        for (bytes, text) in known {
            assert_eq!(base64(bytes.as_bytes()), text);
        }
    }

    #[test]
    fn texts_cannot_break_out() {
        let mut scene = Scene::new("a < b", 10.0, 10.0);
        scene.text(Text::new((1.0, 2.0), "p < q & r", 3.0));
        let svg = scene.to_svg();
        assert!(svg.contains("<title>a &lt; b</title>") && svg.contains(">p &lt; q &amp; r</text>"), "{svg}");
    }
}
