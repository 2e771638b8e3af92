//! Draw lines over a common axis, with their names beside them.

use hmcvi_record::Curve;

use super::LABEL;
use super::panel::{Key, Panel, SIGN, key, range, ticks};
use crate::ReportError;
use crate::palette::LINES;
use crate::scene::{Anchor, Colour, Place, Rect, Scene, Stroke, Text, text_width};

/// Height of a line of the legend.
const LINE: f64 = 24.0;
const GRID: Colour = (228, 228, 228);

/// Lines over a common axis.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Chart {
    /// Title above the figure.
    pub title: String,
    /// Label of the horizontal axis.
    pub x: String,
    /// Label of the vertical axis.
    pub y: String,
    /// The lines.
    pub curves: Vec<Curve>,
}

/// The chart; an error if no point is finite.
pub fn chart(data: &Chart) -> Result<Scene, ReportError> {
    let points = || data.curves.iter().flat_map(|c| &c.points).filter(|p| p.0.is_finite() && p.1.is_finite());
    let empty = || ReportError::Empty(data.title.clone());
    let x = range(points().map(|p| p.0), 0.0).ok_or_else(empty)?;
    let y = range(points().map(|p| p.1), 0.06).ok_or_else(empty)?;
    let widest = data.curves.iter().map(|c| text_width(&c.name, LABEL, false)).fold(0.0, f64::max);
    let area = Rect { x: 92.0, y: 44.0, width: 660.0, height: 440.0 };
    let legend = area.right() + 22.0;
    let mut scene = Scene::new(&data.title, legend + SIGN + 7.0 + widest + 20.0, 552.0);
    let panel = Panel::new(area, [x.0, y.0], [x.1, y.1]);
    for value in ticks(y.0, y.1) {
        scene.line(&[panel.at([x.0, value]), panel.at([x.1, value])], Stroke::new(GRID, 1.0));
    }
    for (i, curve) in data.curves.iter().enumerate() {
        // Where colours come again, lines are dashed.
        let stroke = Stroke { dashed: i >= LINES.len(), ..Stroke::new(LINES[i % LINES.len()], 2.0) };
        let finite = curve.points.iter().filter(|p| p.0.is_finite() && p.1.is_finite());
        let places: Vec<Place> = finite.map(|p| panel.at([p.0, p.1])).collect();
        scene.line(&places, stroke);
        let place = (legend, area.y + 14.0 + LINE * i as f64);
        key(&mut scene, place, &Key::Line(stroke));
        let text = Text::new((legend + SIGN + 7.0, place.1), &curve.name, LABEL);
        scene.text(text.anchor(Anchor::Start));
    }
    panel.axes(&mut scene, &data.title, &data.x, &data.y);
    Ok(scene)
}
