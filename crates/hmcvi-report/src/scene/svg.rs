//! Write a drawing as SVG.

use std::fmt::Write;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use maud::{Markup, html};

use super::paint::encode;
use super::{Anchor, Look, Pixels, Place, Rect, Scene, Shape, Stroke, Text};
use crate::palette::Colour;

const NAMESPACE: &str = "http://www.w3.org/2000/svg";
/// Fonts in the order in which they are looked for: the one that the PNG has, then similar ones.
const FONTS: &str = "DejaVu Sans, Verdana, Helvetica, Arial, sans-serif";
/// Size of subscripts, as a share, and how far they are below the line, in units of the text's size.
const SMALL: f64 = 0.72;
const BELOW: f64 = 0.2;

/// A drawing that stands alone, on white paper.
pub(super) fn file(scene: &Scene) -> Markup {
    let (w, h) = (number(scene.width), number(scene.height));
    html! {
        svg xmlns=(NAMESPACE) width=(w) height=(h) viewBox={ "0 0 " (w) " " (h) } font-family=(FONTS)
            stroke-linecap="round" stroke-linejoin="round" role="img" {
            title { (visible(&scene.title)) }
            rect width=(w) height=(h) fill="#fff" {}
            (shapes(&scene.shapes, Colour::on_white))
        }
        "\n"
    }
}

/// A part of a page, as wide as there is room.
pub(super) fn on_page(scene: &Scene, label: &str) -> Markup {
    html! {
        svg viewBox={ "0 0 " (number(scene.width)) " " (number(scene.height)) }
            stroke-linecap="round" stroke-linejoin="round" role="img" aria-label=(label) {
            (shapes(&scene.shapes, Colour::on_page))
        }
    }
}

/// The shapes without a background, to be measured.
pub(super) fn shapes_only(scene: &Scene) -> Markup {
    html! { svg xmlns=(NAMESPACE) width="1" height="1" font-family=(FONTS) { (shapes(&scene.shapes, Colour::on_white)) } }
}

/// How colours are written.
type Colours = fn(Colour) -> String;

fn shapes(all: &[Shape], colours: Colours) -> Markup {
    html! { @for shape in all { (one(shape, colours)) } }
}

fn one(shape: &Shape, colours: Colours) -> Markup {
    match shape {
        Shape::Lines { parts, closed, fill, stroke, opacity } => {
            path(&lines(parts, *closed), fill.as_ref(), stroke.as_ref(), *opacity, colours)
        }
        // Lines without length and with round ends: the shortest way to write many discs.
        Shape::Dots { places, radius, colour, opacity } => {
            let dots: String =
                places.iter().map(|(x, y)| format!("M{} {}h0", short(*x), short(*y))).collect();
            path(&dots, None, Some(&Stroke::new(*colour, 2.0 * radius)), *opacity, colours)
        }
        Shape::Disc { place: (x, y), radius, fill, edge } => html! {
            circle cx=(number(*x)) cy=(number(*y)) r=(number(*radius)) fill=(colours(*fill))
                stroke=(colours(edge.colour)) stroke-width=(number(edge.width)) {}
        },
        Shape::Text(t) => text(t, colours),
        Shape::Picture { area, pixels, look } => picture(area, pixels, *look),
        // An inner drawing shows nothing beyond its edges, and needs no name that is unique on a page.
        Shape::Clipped { area: r, shapes: inner } => {
            let [x, y, w, h] = [r.x, r.y, r.width, r.height].map(number);
            html! {
                svg x=(x) y=(y) width=(w) height=(h) viewBox={ (x) " " (y) " " (w) " " (h) } overflow="hidden" {
                    (shapes(inner, colours))
                }
            }
        }
    }
}

fn path(d: &str, fill: Option<&Colour>, stroke: Option<&Stroke>, opacity: f64, colours: Colours) -> Markup {
    html! {
        path d=(d) fill=(fill.map_or("none".into(), |c| colours(*c))) stroke=[stroke.map(|s| colours(s.colour))]
            stroke-width=[stroke.map(|s| number(s.width))]
            stroke-dasharray=[stroke.map(|s| s.dashes).filter(|d| !d.is_empty())]
            opacity=[(opacity < 1.0).then(|| number(opacity))] {}
    }
}

/// A number with a hundredth of a unit, and no digits that say nothing.
fn number(x: f64) -> String {
    let text = format!("{x:.2}");
    let text = text.trim_end_matches('0').trim_end_matches('.');
    if text == "-0" { "0".into() } else { text.into() }
}

/// A tenth of a unit: small enough for lines and dots, of which there are many.
fn short(x: f64) -> String {
    number((x * 10.0).round() / 10.0)
}

fn lines(parts: &[Vec<Place>], closed: bool) -> String {
    let mut d = String::new();
    for part in parts {
        for (i, (x, y)) in part.iter().enumerate() {
            // Writing to a string cannot fail.
            let _ = write!(d, "{}{} {}", if i == 0 { 'M' } else { 'L' }, short(*x), short(*y));
        }
        d.push_str(if closed { "Z" } else { "" });
    }
    d
}

fn text(t: &Text, colours: Colours) -> Markup {
    let (x, y) = (number(t.place.0), number(t.place.1));
    let anchor = match t.anchor {
        Anchor::Start => None,
        Anchor::Middle => Some("middle"),
        Anchor::End => Some("end"),
    };
    let turned = t.upwards.then(|| format!("rotate(-90 {x} {y})"));
    let (shift, size) = (BELOW * t.size, number(SMALL * t.size));
    let all = visible(&t.text);
    let parts = if t.literal { vec![(all.as_str(), false)] } else { runs(&all) };
    let after_subscript = |i: usize| i > 0 && parts[i - 1].1;
    html! {
        text x=(x) y=(y) font-size=(number(t.size)) text-anchor=[anchor] font-weight=[t.bold.then_some("bold")]
            fill=(colours(t.colour)) transform=[turned] {
            @for (i, (part, below)) in parts.iter().enumerate() {
                @if *below { tspan dy=(number(shift)) font-size=(size) { (part) } }
                @else if after_subscript(i) { tspan dy=(number(-shift)) { (part) } }
                @else { (part) }
            }
        }
    }
}

/// A text whose control characters, which are no part of XML, are replaced by a sign.
fn visible(text: &str) -> String {
    let unseen = |c: char| c.is_control() || matches!(c, '\u{fffe}' | '\u{ffff}');
    text.replace(unseen, "\u{fffd}")
}

/// Parts of a text and whether each is a subscript: after `_`, the letters and digits, or what stands in braces.
fn runs(text: &str) -> Vec<(&str, bool)> {
    let mut parts = Vec::new();
    let mut rest = text;
    while let Some(at) = rest.find('_') {
        parts.push((&rest[..at], false));
        let after = &rest[at + 1..];
        let braced = after.strip_prefix('{').and_then(|inner| inner.split_once('}'));
        let word = after.find(|c: char| !c.is_alphanumeric()).unwrap_or(after.len());
        let (below, left) = braced.unwrap_or_else(|| after.split_at(word));
        parts.push((below, true));
        rest = left;
    }
    parts.push((rest, false));
    parts.retain(|(part, _)| !part.is_empty());
    parts
}

fn picture(r: &Rect, pixels: &Pixels, look: Look) -> Markup {
    // A picture that cannot be encoded has no pixels.
    let bytes = encode(pixels).unwrap_or_default();
    let squares = matches!(look, Look::Squares | Look::Ink);
    html! {
        image x=(number(r.x)) y=(number(r.y)) width=(number(r.width)) height=(number(r.height))
            preserveAspectRatio="none" class=[matches!(look, Look::Ink | Look::SmoothInk).then_some("ink")]
            style=[squares.then_some("image-rendering:pixelated")]
            href={ "data:image/png;base64," (STANDARD.encode(bytes)) } {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_cannot_break_out() {
        let mut scene = Scene::new("a < b", 10.0, 10.0);
        scene.text(Text::new((1.0, 2.0), "p < q & r\u{1b}", 3.0));
        let svg = scene.to_svg();
        assert!(svg.contains("<title>a &lt; b</title>"), "{svg}");
        assert!(svg.contains(">p &lt; q &amp; r\u{fffd}</text>"), "{svg}");
        scene.to_png().expect("a name with a control character can be painted");
    }

    #[test]
    fn subscripts_are_words_or_what_stands_in_braces() {
        assert_eq!(runs("plain"), [("plain", false)]);
        assert_eq!(runs("z_1"), [("z", false), ("1", true)]);
        let found = runs("s*_{t−1} = (z_HD, v)");
        assert_eq!(found, [("s*", false), ("t−1", true), (" = (z", false), ("HD", true), (", v)", false)]);
    }

    #[test]
    fn drawings_on_a_page_take_its_colours() {
        let mut scene = Scene::new("", 10.0, 10.0);
        scene.line(&[(0.0, 0.0), (9.0, 9.0)], Stroke::new(Colour::Line(7), 1.0));
        scene.text(Text::new((1.0, 2.0), "name", 3.0));
        let page = scene.on_page("a line").into_string();
        assert!(page.contains("var(--line-1)") && page.contains("var(--ink)"), "{page}");
        assert!(!page.contains("#fff") && !scene.to_svg().contains("var("), "{page}");
    }
}
