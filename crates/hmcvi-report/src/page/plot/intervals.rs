//! Draw estimates below each other, each with an interval of two standard errors.

use std::fmt::Write;

use super::scale::Scale;
use super::{Size, colour};
use crate::page::html::{escape, fixed};

/// An estimate to be drawn.
pub(in crate::page) struct Interval {
    pub(in crate::page) name: String,
    pub(in crate::page) mean: f64,
    pub(in crate::page) error: f64,
    pub(in crate::page) colour: usize,
}

/// Height of a row: a name, and below it the interval.
const ROW: f64 = 42.0;
const BOTTOM: f64 = 26.0;

/// The drawing, once for wide pages and once for narrow ones.
pub(in crate::page) fn intervals(title: &str, all: &[Interval]) -> String {
    let [broad, narrow] = [920.0, 340.0].map(|width| one(title, all, width));
    format!("<div class=\"broad\">{broad}</div><div class=\"narrow\">{narrow}</div>\n")
}

fn one(title: &str, all: &[Interval], width: f64) -> String {
    let ends = all.iter().flat_map(|i| [i.mean - 2.0 * i.error, i.mean + 2.0 * i.error]);
    let (low, high) = ends.fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), v| (l.min(v), h.max(v)));
    let margin = if high > low { 0.05 * (high - low) } else { 1.0 };
    let x = Scale { low: low - margin, high: high + margin, from: 8.0, to: width - 8.0 };
    let Size(width, height) = Size(width, ROW * all.len() as f64 + BOTTOM);
    let floor = height - BOTTOM;
    let spoken: Vec<String> =
        all.iter().map(|i| format!("{} {} ± {}", i.name, fixed(i.mean, 2), fixed(i.error, 2))).collect();
    let mut out = format!(
        r#"<svg viewBox="0 0 {width} {height}" role="img" aria-label="{}" xmlns="http://www.w3.org/2000/svg">"#,
        escape(&format!("{title}: {}.", spoken.join("; ")))
    );
    for (value, label) in x.ticks((width / 90.0).max(3.0), false) {
        let at = x.at(value);
        let _ = write!(
            out,
            r#"<line class="grid" x1="{at:.1}" y1="0" x2="{at:.1}" y2="{floor:.1}"/><text x="{at:.1}" y="{:.1}" text-anchor="middle">{label}</text>"#,
            height - 8.0
        );
    }
    for (i, interval) in all.iter().enumerate() {
        let (top, c) = (ROW * i as f64, colour(interval.colour));
        let y = top + 29.0;
        let [from, at, to] = [-2.0, 0.0, 2.0].map(|k| x.at(interval.mean + k * interval.error));
        let _ = write!(
            out,
            r#"<text x="8" y="{:.1}">{}  <tspan class="label f{c}">{}</tspan></text><line class="line s{c}" x1="{from:.1}" y1="{y:.1}" x2="{to:.1}" y2="{y:.1}"/><circle class="f{c}" cx="{at:.1}" cy="{y:.1}" r="5"/>"#,
            top + 14.0,
            escape(&interval.name),
            fixed(interval.mean, 2)
        );
    }
    out + "</svg>"
}
