//! Choose the range of a figure and draw its axes.

use std::fmt::Write;

use hmcvi_record::{Figure, FigureKind, MarkAxis};

use super::scale::Scale;
use super::{LETTER, Size};
use crate::page::html::escape;

/// Space above the frame, which has the name of the vertical axis, and below it.
const TOP: f64 = 26.0;
const BOTTOM: f64 = 42.0;
/// Share of the range that is left free above and below.
const MARGIN: f64 = 0.06;
/// The first tenth of a training may be far off; it is cut if it would make the rest smaller than a third.
const TRANSIENT: f64 = 0.1;
const SHARE_OF_REST: f64 = 1.0 / 3.0;

/// Where values lie in a drawing.
pub(super) struct Frame {
    pub(super) x: Scale,
    pub(super) y: Scale,
    size: Size,
}

impl Frame {
    /// `None` if there is nothing to draw.
    pub(super) fn new(figure: &Figure, size: Size, right: f64) -> Option<Self> {
        let xs = range(figure.curves.iter().flat_map(|c| c.points.iter().map(|p| p.0)))?;
        let (low, high) = vertical(figure, xs)?;
        let y = Scale { low, high, from: size.1 - BOTTOM, to: TOP };
        let labels = y.ticks(5.0, false).into_iter().map(|t| t.1.chars().count()).max().unwrap_or(1);
        let left = 14.0 + LETTER * labels as f64;
        let (low, high) = if xs.1 > xs.0 { xs } else { (xs.0 - 0.5, xs.1 + 0.5) };
        let x = Scale { low, high, from: left, to: size.0 - right };
        Some(Frame { x, y, size })
    }

    /// The frame, a little larger so that lines along its edges are whole.
    pub(super) fn rectangle(&self) -> String {
        let (x, y) = (self.x.from - 2.0, self.y.to - 2.0);
        format!(
            r#"x="{x:.1}" y="{y:.1}" width="{:.1}" height="{:.1}""#,
            self.x.to + 2.0 - x,
            self.y.from + 2.0 - y
        )
    }

    /// Grid lines, ticks and names.
    pub(super) fn axes(&self, out: &mut String, figure: &Figure) {
        let (left, right, floor) = (self.x.from, self.x.to, self.y.from);
        for (value, label) in self.y.ticks(5.0, false) {
            let y = self.y.at(value);
            let _ = write!(
                out,
                r#"<line class="grid" x1="{left:.1}" y1="{y:.1}" x2="{right:.1}" y2="{y:.1}"/><text x="{:.1}" y="{:.1}" text-anchor="end">{label}</text>"#,
                left - 8.0,
                y + 4.5
            );
        }
        let about = ((right - left) / 55.0).clamp(3.0, 10.0);
        for (value, label) in self.x.ticks(about, matches!(figure.x.as_str(), "epoch" | "HMC step")) {
            let x = self.x.at(value);
            let _ = write!(
                out,
                r#"<line class="axis" x1="{x:.1}" y1="{floor:.1}" x2="{x:.1}" y2="{:.1}"/><text x="{x:.1}" y="{:.1}" text-anchor="middle">{label}</text>"#,
                floor + 4.0,
                floor + 18.0
            );
        }
        let _ = write!(
            out,
            r#"<line class="axis" x1="{left:.1}" y1="{floor:.1}" x2="{right:.1}" y2="{floor:.1}"/><text x="0" y="12">{}</text><text x="{right:.1}" y="{:.1}" text-anchor="end">{}</text>"#,
            escape(&figure.y),
            self.size.1 - 6.0,
            escape(&figure.x)
        );
    }
}

fn range(values: impl Iterator<Item = f64>) -> Option<(f64, f64)> {
    let ends = values
        .filter(|v| v.is_finite())
        .fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), v| (l.min(v), h.max(v)));
    (ends.0 <= ends.1).then_some(ends)
}

/// The vertical range: all values and marks, but not a beginning that would flatten the rest.
fn vertical(figure: &Figure, (first, last): (f64, f64)) -> Option<(f64, f64)> {
    let points = || figure.curves.iter().flat_map(|c| c.points.iter().copied());
    let marks = || figure.marks.iter().filter(|m| m.axis == MarkAxis::Y).map(|m| m.value);
    let all = range(points().map(|p| p.1).chain(marks()))?;
    if figure.kind == FigureKind::Steps {
        return Some((0.0, if all.1 > 0.0 { all.1 * (1.0 + MARGIN) } else { 1.0 }));
    }
    let settled = first + TRANSIENT * (last - first);
    let later = range(points().filter(|p| p.0 > settled).map(|p| p.1).chain(marks())).unwrap_or(all);
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
