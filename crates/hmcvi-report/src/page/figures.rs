//! Set the figures of a part of the page beside each other, each with its numbers.

use std::collections::BTreeMap;

use hmcvi_record::{Curve, Figure, FigureKind, Report, Section};
use maud::{Markup, html};

use super::table::behind;
use crate::Scene;
use crate::figure::{Layout, beyond, plot};
use crate::words::number;

/// Widths of drawings over the whole page and in a column of it or on a telephone, in units of which numbers have thirteen.
pub(super) const BROAD: f64 = 920.0;
pub(super) const NARROW: f64 = 340.0;

/// All figures of a part; empty if there are none.
pub(super) fn panels(report: &Report, section: Section) -> Markup {
    of_section(&report.figures, section)
}

/// The same of any figures.
pub(super) fn of_section(figures: &[Figure], section: Section) -> Markup {
    let all: Vec<&Figure> = figures.iter().filter(|f| f.section == section).collect();
    html! { @if !all.is_empty() { div class="panels" { @for figure in all { (panel(figure)) } } } }
}

fn panel(figure: &Figure) -> Markup {
    let of_width = |width, height| plot(figure, Layout { width, height, alone: false });
    let narrow = || of_width(NARROW, 224.0).map(|scene| scene.on_page(scene.title()));
    // The bound is what a run is about: it gets the whole width.
    let full = figure.id == "bound";
    let outside = beyond(figure).map_or(String::new(), |text| format!(" {text}"));
    framed(
        &figure.id,
        &figure.title,
        &format!("{}{outside}", figure.caption),
        full,
        &html! {
            @if full { (both(|width| of_width(width, if width > NARROW { 340.0 } else { 224.0 }))) }
            @else { @if let Some(drawing) = narrow() { (drawing) } }
            (numbers(figure))
        },
    )
}

/// A figure with its title and how to read it.
pub(super) fn framed(id: &str, title: &str, caption: &str, full: bool, body: &Markup) -> Markup {
    html! {
        figure id={ "figure-" (id) } class=[full.then_some("full")] aria-labelledby={ "title-" (id) } {
            h3 id={ "title-" (id) } { (title) }
            figcaption { (caption) }
            (body)
        }
    }
}

/// A drawing for wide pages and the same for narrow ones, of which one is shown.
pub(super) fn both(draw: impl Fn(f64) -> Option<Scene>) -> Markup {
    html! {
        @for (class, width) in [("broad", BROAD), ("narrow", NARROW)] {
            @if let Some(scene) = draw(width) { div class=(class) { (scene.on_page(scene.title())) } }
        }
    }
}

/// The numbers that are drawn, one row for each place on the horizontal axis.
fn numbers(figure: &Figure) -> Markup {
    let drawn: Vec<&Curve> = figure.curves.iter().filter(|c| !c.points.is_empty()).collect();
    let mut rows: BTreeMap<u64, (f64, Vec<Option<f64>>)> = BTreeMap::new();
    let empty = vec![None; drawn.len()];
    for (i, curve) in drawn.iter().enumerate() {
        // The last point of a histogram only closes its last bin.
        let closing = usize::from(figure.kind == FigureKind::Steps);
        for (x, y) in &curve.points[..curve.points.len() - closing] {
            rows.entry(order(*x)).or_insert_with(|| (*x, empty.clone())).1[i] = Some(*y);
        }
    }
    let first =
        if figure.kind == FigureKind::Steps { format!("{}, from", figure.x) } else { figure.x.clone() };
    let titles: Vec<String> = [first].into_iter().chain(drawn.iter().map(|c| c.name.clone())).collect();
    let place = |x: f64| {
        if x.fract() == 0.0 && x.abs() < 1e9 { format!("{x}").replace('-', "−") } else { number(x) }
    };
    let row = |(x, values): &(f64, Vec<Option<f64>>)| {
        let values = values.iter().map(|v| v.map_or("–".into(), number));
        std::iter::once(place(*x)).chain(values).collect()
    };
    let rows: Vec<Vec<String>> = rows.values().map(row).collect();
    behind(&format!("{}, {}", figure.title, figure.y), &titles, &rows)
}

/// Bits of a number in the order of numbers.
fn order(x: f64) -> u64 {
    let bits = x.to_bits();
    if bits >> 63 == 1 { !bits } else { bits | 1 << 63 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_in_the_order_of_numbers() {
        let values = [-1e9, -2.0, -0.5, 0.0, 1e-300, 0.5, 3.0];
        assert!(values.map(order).is_sorted());
    }
}
