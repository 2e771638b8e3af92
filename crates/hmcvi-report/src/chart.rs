//! Draw learning curves and latent maps, each as SVG and as PNG with the same content.

use std::fmt::Display;
use std::ops::Range;
use std::path::Path;

use hmcvi_record::{Curve, LatentPoint};
use plotters::coord::Shift;
use plotters::element::DashedPathElement;
use plotters::prelude::*;

use crate::ReportError;
use crate::canvas::Canvas;
use crate::grid::{encode_png, save};
use crate::palette::{COLOURS, LINES};

/// Size of the text of legends. Plotters makes their boxes from its own estimate of a text's width, which
/// at this size is that of the bitmap font.
const LEGEND: i32 = 18;

/// A number beside an axis, with no more digits than it has.
fn tick(value: &f64) -> String {
    ((value * 1e6).round() / 1e6).to_string()
}

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

/// Points of a latent space with two dimensions, in panels with equal axes.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LatentMap {
    /// Titles and points of the panels, from left to right.
    pub panels: Vec<(String, Vec<LatentPoint>)>,
}

impl Chart {
    /// Writes `path` with the extensions `.svg` and `.png`.
    pub fn save(&self, path: &Path) -> Result<(), ReportError> {
        both(path, (900, 560), |area| self.draw(area), |area| self.draw(area))
    }

    fn draw<B: DrawingBackend>(&self, area: &DrawingArea<B, Shift>) -> Result<(), ReportError> {
        area.fill(&WHITE).map_err(drawing)?;
        let points = || self.curves.iter().flat_map(|c| &c.points);
        let empty = || ReportError::Empty(self.title.clone());
        let x = range(points().map(|p| p.0), 0.0).ok_or_else(empty)?;
        let y = range(points().map(|p| p.1), 0.06).ok_or_else(empty)?;
        let mut chart = ChartBuilder::on(area)
            .caption(&self.title, ("sans-serif", 22))
            .margin(16)
            .x_label_area_size(44)
            .y_label_area_size(72)
            .build_cartesian_2d(x, y)
            .map_err(drawing)?;
        chart
            .configure_mesh()
            .x_desc(&self.x)
            .y_desc(&self.y)
            .light_line_style(TRANSPARENT)
            .bold_line_style(RGBColor(225, 225, 225))
            .x_labels(8)
            .y_labels(8)
            .x_label_formatter(&tick)
            .y_label_formatter(&tick)
            .label_style(("sans-serif", 14))
            .axis_desc_style(("sans-serif", 16))
            .draw()
            .map_err(drawing)?;
        for (i, curve) in self.curves.iter().enumerate() {
            let (r, g, b) = LINES[i % LINES.len()];
            let style = RGBColor(r, g, b).stroke_width(2);
            let points = curve.points.iter().copied().filter(|p| p.0.is_finite() && p.1.is_finite());
            // Where colours come again, lines are dashed.
            const DASH: (u32, u32) = (6, 4);
            if i < LINES.len() {
                let line = chart.draw_series(LineSeries::new(points, style)).map_err(drawing)?;
                line.label(&curve.name).legend(move |(x, y)| PathElement::new([(x, y), (x + 18, y)], style));
            } else {
                let dashed = DashedLineSeries::new(points, DASH.0, DASH.1, style);
                chart.draw_series(dashed).map_err(drawing)?.label(&curve.name).legend(move |(x, y)| {
                    DashedPathElement::new([(x, y), (x + 18, y)], DASH.0, DASH.1, style)
                });
            }
        }
        chart
            .configure_series_labels()
            .position(SeriesLabelPosition::LowerRight)
            .margin(12)
            .background_style(WHITE.mix(0.85))
            .border_style(RGBColor(200, 200, 200))
            .label_font(("sans-serif", LEGEND))
            .draw()
            .map_err(drawing)
    }
}

impl LatentMap {
    /// Writes `path` with the extensions `.svg` and `.png`.
    pub fn save(&self, path: &Path) -> Result<(), ReportError> {
        let width = 560 * self.panels.len().max(1) as u32;
        both(path, (width, 600), |area| self.draw(area), |area| self.draw(area))
    }

    fn draw<B: DrawingBackend>(&self, area: &DrawingArea<B, Shift>) -> Result<(), ReportError> {
        area.fill(&WHITE).map_err(drawing)?;
        let panels = area.split_evenly((1, self.panels.len().max(1)));
        for (area, (title, points)) in panels.iter().zip(&self.panels) {
            panel(area, title, points)?;
        }
        Ok(())
    }
}

fn panel<B: DrawingBackend>(
    area: &DrawingArea<B, Shift>,
    title: &str,
    points: &[LatentPoint],
) -> Result<(), ReportError> {
    let empty = || ReportError::Empty(title.into());
    let x = range(points.iter().map(|p| p.x), 0.05).ok_or_else(empty)?;
    let y = range(points.iter().map(|p| p.y), 0.05).ok_or_else(empty)?;
    let mut chart = ChartBuilder::on(area)
        .caption(title, ("sans-serif", 20))
        .margin(12)
        .x_label_area_size(30)
        .y_label_area_size(40)
        .build_cartesian_2d(x, y)
        .map_err(drawing)?;
    chart
        .configure_mesh()
        .disable_mesh()
        .x_label_formatter(&tick)
        .y_label_formatter(&tick)
        .x_labels(6)
        .y_labels(6)
        .label_style(("sans-serif", 13))
        .draw()
        .map_err(drawing)?;
    let classes = points.iter().map(|p| p.class).max().unwrap_or(0);
    for class in 0..=classes {
        let (r, g, b) = COLOURS[usize::from(class) % COLOURS.len()];
        let style = RGBColor(r, g, b).mix(0.85).filled();
        let of_class = points.iter().filter(|p| p.class == class && p.x.is_finite() && p.y.is_finite());
        let circles =
            chart.draw_series(of_class.map(|p| Circle::new((p.x, p.y), 2, style))).map_err(drawing)?;
        circles.label(class.to_string()).legend(move |(x, y)| Circle::new((x + 9, y), 4, style));
    }
    chart
        .configure_series_labels()
        .position(SeriesLabelPosition::UpperRight)
        .margin(6)
        .background_style(WHITE.mix(0.8))
        .border_style(RGBColor(200, 200, 200))
        .label_font(("sans-serif", LEGEND))
        .draw()
        .map_err(drawing)
}

/// From the smallest to the largest finite value, a little wider. `None` if there is none.
fn range(values: impl Iterator<Item = f64>, margin: f64) -> Option<Range<f64>> {
    let finite = values.filter(|v| v.is_finite());
    let (low, high) = finite.fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), v| (l.min(v), h.max(v)));
    if low > high {
        return None;
    }
    let wider = if high > low { (high - low) * margin } else { 0.5 };
    Some(low - wider..high + wider)
}

fn drawing(error: impl Display) -> ReportError {
    ReportError::Drawing(error.to_string())
}

/// Draws the same figure as SVG and as PNG.
fn both(
    path: &Path,
    (width, height): (u32, u32),
    svg: impl FnOnce(&DrawingArea<SVGBackend<'_>, Shift>) -> Result<(), ReportError>,
    bitmap: impl FnOnce(&DrawingArea<Canvas<'_>, Shift>) -> Result<(), ReportError>,
) -> Result<(), ReportError> {
    let mut text = String::new();
    {
        let area = SVGBackend::with_string(&mut text, (width, height)).into_drawing_area();
        svg(&area)?;
        area.present().map_err(drawing)?;
    }
    let file = path.with_extension("svg");
    save(&file, text.as_bytes())?;
    let mut pixels = vec![255; (3 * width * height) as usize];
    bitmap(&Canvas::new(&mut pixels, width, height).into_drawing_area())?;
    let file = path.with_extension("png");
    save(&file, &encode_png(&pixels, width, height, png::ColorType::Rgb)?)
}
