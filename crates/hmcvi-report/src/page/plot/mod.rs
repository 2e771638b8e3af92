//! Draw a figure as SVG in the colours of the page, which follow the reader's choice of light or dark.

mod frame;
mod intervals;
mod scale;

use std::fmt::Write;

use hmcvi_record::{Curve, Figure, FigureKind, MarkAxis};

pub(super) use self::intervals::{Interval, intervals};

use self::frame::Frame;
use super::html::{escape, fixed};
use crate::palette::LINES;

/// Dashes of lines in order, so that colour is not all that tells them apart.
const DASHES: [&str; 6] = ["none", "7 4", "2 4", "10 4 2 4", "14 5", "4 3"];
/// Most lines that are named at their ends.
const NAMED: usize = 3;
/// Width of a letter, roughly.
const LETTER: f64 = 7.3;
/// Width of a bold letter, roughly.
const BOLD: f64 = 8.6;
/// Least distance of two names at line ends.
const NAME_HEIGHT: f64 = 15.0;

/// Width and height in units of which letters have thirteen.
#[derive(Clone, Copy, Debug)]
pub(super) struct Size(pub(super) f64, pub(super) f64);

/// For a column of its own, and on a telephone.
pub(super) const SMALL: Size = Size(330.0, 214.0);
/// Over the whole width.
pub(super) const LARGE: Size = Size(920.0, 340.0);

/// Number of a line's colour in the style sheet.
pub(super) fn colour(index: usize) -> usize {
    index % LINES.len()
}

/// Curves that have points, with their numbers.
fn drawn(figure: &Figure) -> impl Iterator<Item = (usize, &Curve)> {
    figure.curves.iter().enumerate().filter(|(_, c)| !c.points.is_empty())
}

/// Whether lines are named at their ends, which have to be below each other; otherwise a legend has to.
fn direct(figure: &Figure) -> bool {
    let curves: Vec<&Curve> = drawn(figure).map(|(_, c)| c).collect();
    let short = |c: &&Curve| c.name.chars().count() <= 10;
    let end = |c: &Curve| c.points.last().map(|p| p.0);
    let together = curves.windows(2).all(|w| end(w[0]) == end(w[1]));
    let few = (1..=NAMED).contains(&curves.len()) && curves.iter().all(short);
    figure.kind == FigureKind::Lines && few && together
}

/// The drawing.
pub(super) fn svg(figure: &Figure, size: Size) -> String {
    let longest = drawn(figure).map(|(_, c)| c.name.chars().count()).max().unwrap_or(0) as f64;
    let right = if direct(figure) { 10.0 + BOLD * longest } else { 14.0 };
    let Some(frame) = Frame::new(figure, size, right) else { return String::new() };
    let Size(width, height) = size;
    let mut out = format!(
        r#"<svg viewBox="0 0 {width} {height}" role="img" aria-label="{}" xmlns="http://www.w3.org/2000/svg">"#,
        escape(&spoken(figure))
    );
    frame.axes(&mut out, figure);
    let clip = format!("clip-{}-{width}", escape(&figure.id));
    let _ = write!(
        out,
        r#"<clipPath id="{clip}"><rect {}/></clipPath><g clip-path="url(#{clip})">"#,
        frame.rectangle()
    );
    for (i, curve) in drawn(figure) {
        line(&mut out, figure.kind, &frame, curve, i);
    }
    out.push_str("</g>");
    marks(&mut out, &frame, figure);
    if direct(figure) {
        names(&mut out, &frame, figure);
    }
    out.push_str("</svg>");
    out
}

/// What a screen reader says instead of the drawing; the numbers are in the table below it.
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

/// Names of lines with a stroke of each; nothing where lines are named themselves.
pub(super) fn legend(figure: &Figure) -> String {
    if direct(figure) || (figure.kind == FigureKind::Steps && figure.curves.len() == 1) {
        return String::new();
    }
    let mut out = String::from(r#"<ul class="legend">"#);
    for (i, curve) in drawn(figure) {
        let _ = write!(
            out,
            r#"<li><svg viewBox="0 0 26 10" aria-hidden="true"><line x1="1" y1="5" x2="25" y2="5" class="line s{}" stroke-dasharray="{}"/></svg>{}</li>"#,
            colour(i),
            DASHES[i % DASHES.len()],
            escape(&curve.name)
        );
    }
    out + "</ul>"
}

fn line(out: &mut String, kind: FigureKind, frame: &Frame, curve: &Curve, index: usize) {
    let (c, dash) = (colour(index), DASHES[index % DASHES.len()]);
    let mut path = String::new();
    for (i, (x, y)) in curve.points.iter().enumerate() {
        let (px, py) = (frame.x.at(*x), frame.y.at(*y));
        let _ = match kind {
            _ if i == 0 => write!(path, "M{px:.1} {py:.1}"),
            FigureKind::Lines => write!(path, "L{px:.1} {py:.1}"),
            FigureKind::Steps => write!(path, "H{px:.1}V{py:.1}"),
        };
    }
    if kind == FigureKind::Steps {
        let (Some(first), Some(last)) = (curve.points.first(), curve.points.last()) else { return };
        let floor = frame.y.from;
        let (left, right) = (frame.x.at(first.0), frame.x.at(last.0));
        let _ = write!(out, r#"<path class="area f{c}" d="{path}L{right:.1} {floor:.1}H{left:.1}Z"/>"#);
    }
    if let [(x, y)] = curve.points[..] {
        let (x, y) = (frame.x.at(x), frame.y.at(y));
        let _ = write!(out, r#"<circle class="f{c}" cx="{x:.1}" cy="{y:.1}" r="3.5"/>"#);
        return;
    }
    let _ = write!(out, r#"<path class="line s{c}" stroke-dasharray="{dash}" d="{path}"/>"#);
}

fn marks(out: &mut String, frame: &Frame, figure: &Figure) {
    for mark in &figure.marks {
        let (left, right, top, floor) = (frame.x.from, frame.x.to, frame.y.to, frame.y.from);
        let name = escape(&mark.name);
        let _ = match mark.axis {
            MarkAxis::X if (frame.x.low..=frame.x.high).contains(&mark.value) => {
                let x = frame.x.at(mark.value);
                write!(
                    out,
                    r#"<line class="mark" x1="{x:.1}" y1="{top:.1}" x2="{x:.1}" y2="{floor:.1}"/><text x="{:.1}" y="{:.1}">{name}</text>"#,
                    x + 5.0,
                    top + 11.0
                )
            }
            MarkAxis::Y if (frame.y.low..=frame.y.high).contains(&mark.value) => {
                let y = frame.y.at(mark.value);
                let value = fixed(mark.value, 2);
                // On the side of the line that has more room.
                let above = if y - top > 24.0 { y - 6.0 } else { y + 16.0 };
                write!(
                    out,
                    r#"<line class="mark" x1="{left:.1}" y1="{y:.1}" x2="{right:.1}" y2="{y:.1}"/><text x="{:.1}" y="{above:.1}">{name} {value}</text>"#,
                    left + 6.0
                )
            }
            _ => Ok(()),
        };
    }
}

/// Names at the ends of lines, pushed apart where they would overlap.
fn names(out: &mut String, frame: &Frame, figure: &Figure) {
    let (top, floor) = (frame.y.to, frame.y.from);
    let end = |(i, c): (usize, &Curve)| Some((i, frame.y.at(c.points.last()?.1).clamp(top, floor)));
    let mut ends: Vec<(usize, f64)> = drawn(figure).filter_map(end).collect();
    ends.sort_by(|a, b| a.1.total_cmp(&b.1));
    for i in 1..ends.len() {
        ends[i].1 = ends[i].1.max(ends[i - 1].1 + NAME_HEIGHT);
    }
    for i in (0..ends.len()).rev() {
        let most = if i + 1 < ends.len() { ends[i + 1].1 - NAME_HEIGHT } else { floor };
        ends[i].1 = ends[i].1.min(most);
    }
    for (i, y) in ends {
        let (x, name) = (frame.x.to + 7.0, escape(&figure.curves[i].name));
        let _ =
            write!(out, r#"<text class="label f{}" x="{x:.1}" y="{:.1}">{name}</text>"#, colour(i), y + 4.5);
    }
}

/// Says how far lines leave the frame, if they do.
pub(super) fn beyond(figure: &Figure) -> Option<String> {
    let frame = Frame::new(figure, SMALL, 14.0)?;
    let all = || figure.curves.iter().flat_map(|c| c.points.iter().map(|p| p.1));
    let (low, high) = all().fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), v| (l.min(v), h.max(v)));
    let below = (low < frame.y.low).then(|| format!("down to {}", super::html::number(low)));
    let above = (high > frame.y.high).then(|| format!("up to {}", super::html::number(high)));
    let both: Vec<String> = below.into_iter().chain(above).collect();
    (!both.is_empty()).then(|| format!("The first values go {}, outside the frame.", both.join(" and ")))
}
