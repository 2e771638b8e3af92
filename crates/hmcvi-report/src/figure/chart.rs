//! Draw lines or histograms over a common axis, with a legend above them that no line can cross.

use hmcvi_record::{Curve, Figure, FigureKind, Mark, MarkAxis, Section};

use super::TITLE;
use super::panel::{BELOW, Key, Legend, Panel, range};
use crate::ReportError;
use crate::palette::{Colour, INK, LINES};
use crate::scene::{Place, Rect, Scene, Shape, Stroke, Text};
use crate::words::{fixed, number};

/// Dashes of lines in order, so that colour is not all that tells them apart.
const DASHES: [&str; 6] = ["", "7 5", "1 5", "10 5 1 5", "14 6", "4 4"];
/// Share of the range that is left free above and below.
const MARGIN: f64 = 0.06;
/// The first tenth of a training may be far off; it is cut if it would make the rest smaller than a third.
const TRANSIENT: f64 = 0.1;
const SHARE_OF_REST: f64 = 1.0 / 3.0;

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
    let Chart { title, x, y, curves } = data.clone();
    let (id, caption) = Default::default();
    let (section, kind, marks) = (Section::Learning, FigureKind::Lines, Vec::new());
    let figure = Figure { id, section, kind, title, caption, x, y, curves, marks };
    let layout = Layout { width: 860.0, height: 552.0, alone: true };
    plot(&figure, layout).ok_or_else(|| ReportError::Empty(data.title.clone()))
}

/// How a chart is drawn: its size, and whether it stands alone, with its title and the whole range of its values.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Layout {
    pub(crate) width: f64,
    pub(crate) height: f64,
    pub(crate) alone: bool,
}

/// The drawing; `None` if there is nothing to draw.
pub(crate) fn plot(figure: &Figure, Layout { width, height, alone }: Layout) -> Option<Scene> {
    let x = range(points(figure).map(|p| p.0), 0.0)?;
    let y = if alone { range(values(figure), MARGIN) } else { vertical(figure) }?;
    let legend = Legend::new(entries(figure), width - 16.0);
    let top = legend.height() + if alone { 44.0 } else { 10.0 };
    let floor = height + legend.height() - BELOW;
    let left = Panel::left(y.0, y.1, floor - top) + 2.0;
    let area = Rect { x: left, y: top, width: width - left - 16.0, height: floor - top };
    let mut scene = Scene::new(spoken(figure), width, floor + BELOW);
    let panel = Panel::new(area, [x.0, y.0], [x.1, y.1]);
    panel.grid(&mut scene);
    // A little larger, so that lines along the edges are whole.
    let clip = Rect { x: left - 2.0, y: top - 2.0, width: area.width + 4.0, height: area.height + 4.0 };
    scene.clipped(clip, |scene| {
        for (i, curve) in drawn(figure) {
            line(scene, &panel, figure.kind, curve, i);
        }
        for mark in &figure.marks {
            let ends = match mark.axis {
                MarkAxis::X => [panel.at([mark.value, y.0]), panel.at([mark.value, y.1])],
                MarkAxis::Y => [panel.at([x.0, mark.value]), panel.at([x.1, mark.value])],
            };
            scene.line(&ends, mark_stroke());
        }
    });
    panel.axes(&mut scene, "", &figure.x, &figure.y);
    if alone {
        scene.text(Text::new((width / 2.0, 24.0), &figure.title, TITLE).bold());
    }
    legend.draw(&mut scene, (width / 2.0, if alone { 52.0 } else { 17.0 }));
    Some(scene)
}

fn points(figure: &Figure) -> impl Iterator<Item = (f64, f64)> + '_ {
    let all = figure.curves.iter().flat_map(|c| c.points.iter().copied());
    all.filter(|p| p.0.is_finite() && p.1.is_finite())
}

fn values(figure: &Figure) -> impl Iterator<Item = f64> + '_ {
    let marks = figure.marks.iter().filter(|m| m.axis == MarkAxis::Y).map(|m| m.value);
    points(figure).map(|p| p.1).chain(marks)
}

/// Curves that have points, with their numbers.
fn drawn(figure: &Figure) -> impl Iterator<Item = (usize, &Curve)> {
    figure.curves.iter().enumerate().filter(|(_, c)| !c.points.is_empty())
}

pub(super) fn stroke(index: usize) -> Stroke {
    // Where colours come again, so do dashes, but not the same.
    let dashes = DASHES[(index + index / LINES.len()) % DASHES.len()];
    Stroke { dashes, ..Stroke::new(Colour::Line(index), 2.2) }
}

fn mark_stroke() -> Stroke {
    Stroke { dashes: "2 4", ..Stroke::new(INK, 1.3) }
}

/// Names of lines and marks; nothing for a histogram alone, which its title names.
fn entries(figure: &Figure) -> Vec<(Key, String)> {
    let curves = drawn(figure).map(|(i, c)| (Key::Line(stroke(i)), c.name.clone()));
    let name = |m: &Mark| match m.axis {
        MarkAxis::X => m.name.clone(),
        MarkAxis::Y => format!("{} {}", m.name, fixed(m.value, 2)),
    };
    let marks = figure.marks.iter().map(|m| (Key::Line(mark_stroke()), name(m)));
    let all: Vec<(Key, String)> = curves.chain(marks).collect();
    if figure.kind == FigureKind::Steps && all.len() == 1 { Vec::new() } else { all }
}

fn line(scene: &mut Scene, panel: &Panel, kind: FigureKind, curve: &Curve, index: usize) {
    let finite = curve.points.iter().filter(|p| p.0.is_finite() && p.1.is_finite());
    let mut places: Vec<Place> = finite.map(|p| panel.at([p.0, p.1])).collect();
    if let [place] = places[..] {
        let colour = Colour::Line(index);
        return scene.add(Shape::Dots { places: vec![place], radius: 3.5, colour, opacity: 1.0 });
    }
    if kind == FigureKind::Steps {
        let corners = places.windows(2).flat_map(|w| [w[0], (w[1].0, w[0].1)]);
        places = corners.chain(places.last().copied()).collect();
        let (Some(first), Some(last), floor) = (places.first(), places.last(), panel.area.bottom()) else {
            return;
        };
        let parts = vec![[&[(first.0, floor)], &places[..], &[(last.0, floor)]].concat()];
        let fill = Some(Colour::Line(index));
        scene.add(Shape::Lines { parts, closed: true, fill, stroke: None, opacity: 0.12 });
    }
    scene.line(&places, stroke(index));
}

/// The vertical range: all values and marks, but not a beginning that would flatten the rest.
fn vertical(figure: &Figure) -> Option<(f64, f64)> {
    let (first, last) = range(points(figure).map(|p| p.0), 0.0)?;
    let ends = |values: &mut dyn Iterator<Item = f64>| {
        values.fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h): (f64, f64), v| (l.min(v), h.max(v)))
    };
    let all = ends(&mut values(figure));
    if figure.kind == FigureKind::Steps {
        return Some((0.0, if all.1 > 0.0 { all.1 * (1.0 + MARGIN) } else { 1.0 }));
    }
    let settled = first + TRANSIENT * (last - first);
    let marks = figure.marks.iter().filter(|m| m.axis == MarkAxis::Y).map(|m| m.value);
    let later = ends(&mut points(figure).filter(|p| p.0 > settled).map(|p| p.1).chain(marks));
    let few = figure.curves.iter().all(|c| c.points.len() < 10);
    let flat = (later.1 - later.0) < SHARE_OF_REST * (all.1 - all.0);
    // A beginning is cut off at as much as the rest takes up.
    let reach = 0.5 * (later.1 - later.0);
    let (low, high) =
        if flat && !few { (all.0.max(later.0 - reach), all.1.min(later.1 + reach)) } else { all };
    let wider = if high > low { (high - low) * MARGIN } else { high.abs().max(1e-3) * 0.1 };
    let (low, high) = (low - wider, high + wider);
    // What cannot be negative or above one does not look as if it could.
    let positive = all.0 >= 0.0 && low < 0.0;
    let share = figure.y.starts_with("share") && all.1 <= 1.0 && high > 1.0;
    Some((if positive { 0.0 } else { low }, if share { 1.0 } else { high }))
}

/// Says how far lines leave the frame of a chart on a page, if they do.
pub(crate) fn beyond(figure: &Figure) -> Option<String> {
    let (bottom, top) = vertical(figure)?;
    let (low, high) = range(points(figure).map(|p| p.1), 0.0)?;
    let below = (low < bottom).then(|| format!("down to {}", number(low)));
    let above = (high > top).then(|| format!("up to {}", number(high)));
    let both: Vec<String> = below.into_iter().chain(above).collect();
    (!both.is_empty()).then(|| format!("The first values go {}, outside the frame.", both.join(" and ")))
}

/// What a screen reader says instead of the drawing.
fn spoken(figure: &Figure) -> String {
    let curve = |c: &Curve| {
        let (first, last) = (c.points.first()?, c.points.last()?);
        Some(match figure.kind {
            FigureKind::Lines => format!("{} from {:.4} to {:.4}", c.name, first.1, last.1),
            FigureKind::Steps => format!("{} between {:.4} and {:.4}", c.name, first.0, last.0),
        })
    };
    let curves: Vec<String> = figure.curves.iter().filter_map(curve).collect();
    let kind = if figure.kind == FigureKind::Lines { "Line chart" } else { "Histogram" };
    format!("{kind} of {}, {} over {}: {}.", figure.title, figure.y, figure.x, curves.join("; "))
}
