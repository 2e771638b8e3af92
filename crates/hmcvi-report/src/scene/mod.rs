//! Describe a drawing as a list of shapes, and turn it into SVG text or into pixels with the same content.

mod colours;
mod font;
mod raster;
mod runs;
mod svg;

pub(crate) use font::text_width;
use runs::runs;
pub(crate) use svg::base64;

use std::path::Path;

use crate::ReportError;
use crate::grid::save;

/// Red, green and blue.
pub(crate) type Colour = (u8, u8, u8);

pub(crate) const BLACK: Colour = (34, 34, 34);
pub(crate) const GREY: Colour = (110, 110, 110);
pub(crate) const WHITE: Colour = (255, 255, 255);

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

/// What an area is filled with, or a line is drawn with.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Paint {
    pub(crate) colour: Colour,
    pub(crate) opacity: f64,
}

impl From<Colour> for Paint {
    fn from(colour: Colour) -> Self {
        Paint { colour, opacity: 1.0 }
    }
}

/// How a line is drawn.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Stroke {
    pub(crate) paint: Paint,
    pub(crate) width: f64,
    pub(crate) dashed: bool,
}

impl Stroke {
    pub(crate) fn new(paint: impl Into<Paint>, width: f64) -> Self {
        Stroke { paint: paint.into(), width, dashed: false }
    }

    pub(crate) fn dashed(self) -> Self {
        Stroke { dashed: true, ..self }
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
    pub(crate) place: Place,
    pub(crate) text: String,
    pub(crate) size: f64,
    pub(crate) anchor: Anchor,
    pub(crate) colour: Colour,
    pub(crate) bold: bool,
    /// Turned to be read from below.
    pub(crate) upwards: bool,
}

impl Text {
    pub(crate) fn new(place: Place, text: impl Into<String>, size: f64) -> Self {
        Text {
            place,
            text: text.into(),
            size,
            anchor: Anchor::Middle,
            colour: BLACK,
            bold: false,
            upwards: false,
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
}

/// A picture of red, green and blue bytes.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Pixels {
    pub(crate) width: usize,
    pub(crate) height: usize,
    pub(crate) rgb: Vec<u8>,
}

/// Something to be seen.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Shape {
    /// Lines from place to place, several parts together.
    Lines {
        parts: Vec<Vec<Place>>,
        closed: bool,
        fill: Option<Paint>,
        stroke: Option<Stroke>,
    },
    /// Discs of one kind.
    Dots {
        places: Vec<Place>,
        radius: f64,
        paint: Paint,
    },
    /// A disc with an edge.
    Disc {
        place: Place,
        radius: f64,
        fill: Paint,
        edge: Stroke,
    },
    Text(Text),
    /// A picture; its pixels are squares, or run into each other where it is smooth.
    Picture {
        area: Rect,
        pixels: Pixels,
        smooth: bool,
    },
    /// Shapes of which only what lies in an area is seen.
    Clipped {
        area: Rect,
        shapes: Vec<Shape>,
    },
}

/// A drawing.
#[derive(Clone, Debug, PartialEq)]
pub struct Scene {
    width: f64,
    height: f64,
    /// What it shows, for those who cannot see it.
    title: String,
    shapes: Vec<Shape>,
}

/// Pixels of the PNG for each unit of length.
const SCALE: f64 = 1.6;

impl Scene {
    pub(crate) fn new(title: &str, width: f64, height: f64) -> Self {
        Scene { width, height, title: title.into(), shapes: Vec::new() }
    }

    /// The drawing as SVG, complete with its background.
    pub fn to_svg(&self) -> String {
        svg::write(self)
    }

    /// The drawing as PNG of 256 colours, 1.6 pixels for each unit of the SVG.
    pub fn to_png(&self) -> Result<Vec<u8>, ReportError> {
        raster::png(self, SCALE)
    }

    /// Writes `path` with the extensions `.svg` and `.png`.
    pub fn save(&self, path: &Path) -> Result<(), ReportError> {
        save(&path.with_extension("svg"), self.to_svg().as_bytes())?;
        save(&path.with_extension("png"), &self.to_png()?)
    }

    pub(crate) fn add(&mut self, shape: Shape) {
        self.shapes.push(shape);
    }

    pub(crate) fn text(&mut self, text: Text) {
        self.add(Shape::Text(text));
    }

    pub(crate) fn line(&mut self, places: &[Place], stroke: Stroke) {
        let parts = vec![places.to_vec()];
        self.add(Shape::Lines { parts, closed: false, fill: None, stroke: Some(stroke) });
    }

    pub(crate) fn polygon(&mut self, places: &[Place], fill: Option<Paint>, stroke: Option<Stroke>) {
        self.add(Shape::Lines { parts: vec![places.to_vec()], closed: true, fill, stroke });
    }

    pub(crate) fn rect(&mut self, r: Rect, fill: Option<Paint>, stroke: Option<Stroke>) {
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
