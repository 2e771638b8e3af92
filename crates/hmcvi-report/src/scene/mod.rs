//! Describe a drawing as a list of shapes, which become SVG: for a file, for a page, or to be painted as PNG.

#[cfg(test)]
mod crossed;
mod paint;
mod svg;

use maud::Markup;

pub(crate) use self::paint::{bold_width, name_width, text_width};
use crate::ReportError;
use crate::palette::{Colour, INK};

/// A place on the drawing: to the right, and downwards.
pub(crate) type Place = (f64, f64);

/// A rectangle with its sides along the axes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Rect {
    pub(crate) x: f64,
    pub(crate) y: f64,
    pub(crate) width: f64,
    pub(crate) height: f64,
}

impl Rect {
    pub(crate) fn right(&self) -> f64 {
        self.x + self.width
    }

    pub(crate) fn bottom(&self) -> f64 {
        self.y + self.height
    }

    pub(crate) fn centre(&self) -> Place {
        (self.x + self.width / 2.0, self.y + self.height / 2.0)
    }
}

/// How a line is drawn.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Stroke {
    pub(crate) colour: Colour,
    pub(crate) width: f64,
    /// Lengths of dashes and gaps; empty for a line without.
    pub(crate) dashes: &'static str,
}

impl Stroke {
    pub(crate) fn new(colour: Colour, width: f64) -> Self {
        Stroke { colour, width, dashes: "" }
    }

    pub(crate) fn dashed(self) -> Self {
        Stroke { dashes: "5 6", ..self }
    }
}

/// Which point of a text is placed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Anchor {
    Start,
    #[default]
    Middle,
    End,
}

/// One line of text. `z_1` and `s_{t−1}` have subscripts.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Text {
    /// On the baseline.
    place: Place,
    text: String,
    size: f64,
    anchor: Anchor,
    colour: Colour,
    bold: bool,
    /// Turned to be read from below.
    upwards: bool,
    /// Without subscripts, such as a name that a user gave.
    literal: bool,
}

impl Text {
    pub(crate) fn new(place: Place, text: impl Into<String>, size: f64) -> Self {
        let anchor = Anchor::Middle;
        Text {
            place,
            text: text.into(),
            size,
            anchor,
            colour: INK,
            bold: false,
            upwards: false,
            literal: false,
        }
    }

    pub(crate) fn anchor(self, anchor: Anchor) -> Self {
        Text { anchor, ..self }
    }

    pub(crate) fn bold(self) -> Self {
        Text { bold: true, ..self }
    }

    pub(crate) fn colour(self, colour: Colour) -> Self {
        Text { colour, ..self }
    }

    pub(crate) fn upwards(self) -> Self {
        Text { upwards: true, ..self }
    }

    pub(crate) fn literal(self) -> Self {
        Text { literal: true, ..self }
    }
}

/// A picture of red, green, blue and opacity bytes.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Pixels {
    pub(crate) width: usize,
    pub(crate) height: usize,
    pub(crate) rgba: Vec<u8>,
}

/// Something to be seen.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Shape {
    /// Lines from place to place, several parts together.
    Lines {
        parts: Vec<Vec<Place>>,
        closed: bool,
        fill: Option<Colour>,
        stroke: Option<Stroke>,
        opacity: f64,
    },
    /// Discs of one kind.
    Dots {
        places: Vec<Place>,
        radius: f64,
        colour: Colour,
        opacity: f64,
    },
    /// A disc with an edge.
    Disc {
        place: Place,
        radius: f64,
        fill: Colour,
        edge: Stroke,
    },
    Text(Text),
    Picture {
        area: Rect,
        pixels: Pixels,
        look: Look,
    },
    /// Shapes of which only what lies in an area is seen.
    Clipped {
        area: Rect,
        shapes: Vec<Shape>,
    },
}

/// How the pixels of a picture are seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Look {
    /// As squares.
    Squares,
    /// Running into each other.
    Smooth,
    /// Black ink on transparent paper, as squares; on dark pages the ink is white.
    Ink,
    /// The same, running into each other.
    SmoothInk,
}

/// A drawing.
#[derive(Clone, Debug, PartialEq)]
pub struct Scene {
    width: f64,
    height: f64,
    /// Pixels of the PNG for each unit of length.
    scale: f64,
    /// What it shows, for those who cannot see it.
    title: String,
    shapes: Vec<Shape>,
}

/// Pixels of the PNG for each unit of length, where these are not pixels themselves.
const SCALE: f64 = 1.6;

impl Scene {
    pub(crate) fn new(title: impl Into<String>, width: f64, height: f64) -> Self {
        Scene { width, height, scale: SCALE, title: title.into(), shapes: Vec::new() }
    }

    /// A drawing whose units are pixels of the PNG.
    pub(crate) fn of_pixels(title: impl Into<String>, width: f64, height: f64) -> Self {
        Scene { scale: 1.0, ..Scene::new(title, width, height) }
    }

    /// The drawing as SVG, complete with its white background.
    pub fn to_svg(&self) -> String {
        svg::file(self).into_string()
    }

    /// The SVG as PNG.
    pub fn to_png(&self) -> Result<Vec<u8>, ReportError> {
        paint::png(&self.to_svg(), self.scale)
    }

    /// The drawing in the colours of the page that it stands on; `label` is read to those who cannot see it.
    pub(crate) fn on_page(&self, label: &str) -> Markup {
        svg::on_page(self, label)
    }

    /// Whether there is something to read in it, which must not become too small.
    pub(crate) fn has_letters(&self) -> bool {
        self.shapes.iter().any(|shape| matches!(shape, Shape::Text(_)))
    }

    pub(crate) fn title(&self) -> &str {
        &self.title
    }

    #[cfg(test)]
    pub(crate) fn shapes(&self) -> &[Shape] {
        &self.shapes
    }

    pub(crate) fn add(&mut self, shape: Shape) {
        self.shapes.push(shape);
    }

    pub(crate) fn text(&mut self, text: Text) {
        self.add(Shape::Text(text));
    }

    pub(crate) fn line(&mut self, places: &[Place], stroke: Stroke) {
        let parts = vec![places.to_vec()];
        self.add(Shape::Lines { parts, closed: false, fill: None, stroke: Some(stroke), opacity: 1.0 });
    }

    pub(crate) fn polygon(&mut self, places: &[Place], fill: Option<Colour>, stroke: Option<Stroke>) {
        self.add(Shape::Lines { parts: vec![places.to_vec()], closed: true, fill, stroke, opacity: 1.0 });
    }

    pub(crate) fn rect(&mut self, r: Rect, fill: Option<Colour>, stroke: Option<Stroke>) {
        let places = [(r.x, r.y), (r.right(), r.y), (r.right(), r.bottom()), (r.x, r.bottom())];
        self.polygon(&places, fill, stroke);
    }

    /// Adds what `draw` adds, as far as it lies in an area.
    pub(crate) fn clipped(&mut self, area: Rect, draw: impl FnOnce(&mut Scene)) {
        let mut inner = Scene::new("", self.width, self.height);
        draw(&mut inner);
        self.add(Shape::Clipped { area, shapes: inner.shapes });
    }
}
