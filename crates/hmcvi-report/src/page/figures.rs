//! Set the figures of a part of the page beside each other, each with its numbers.

use std::collections::BTreeMap;
use std::fmt::Write;

use hmcvi_record::{Curve, Figure, FigureKind, Report, Section};

use super::html::{escape, number};
use super::plot::{LARGE, SMALL, beyond, legend, svg};
use super::table::behind;

/// All figures of a part; empty if there are none.
pub(super) fn panels(report: &Report, section: Section) -> String {
    let mut out = String::new();
    for figure in report.figures.iter().filter(|f| f.section == section) {
        panel(&mut out, figure);
    }
    if out.is_empty() { out } else { format!("<div class=\"panels\">\n{out}</div>\n") }
}

fn panel(out: &mut String, figure: &Figure) {
    let (id, title) = (escape(&figure.id), escape(&figure.title));
    // The bound is what a run is about: it gets the whole width.
    let full = figure.id == "bound";
    let class = if full { " class=\"full\"" } else { "" };
    let outside = beyond(figure).map_or(String::new(), |text| format!(" {text}"));
    let _ = write!(
        out,
        "<figure id=\"figure-{id}\"{class} aria-labelledby=\"title-{id}\">\n<h3 id=\"title-{id}\">{title}</h3>\n\
         <figcaption>{}{}</figcaption>\n{}",
        escape(&figure.caption),
        escape(&outside),
        legend(figure)
    );
    let _ = match full {
        true => writeln!(
            out,
            "<div class=\"broad\">{}</div><div class=\"narrow\">{}</div>",
            svg(figure, LARGE),
            svg(figure, SMALL)
        ),
        false => writeln!(out, "{}", svg(figure, SMALL)),
    };
    let _ = writeln!(out, "{}</figure>", numbers(figure));
}

/// The numbers that are drawn, one row for each place on the horizontal axis.
fn numbers(figure: &Figure) -> String {
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
    let titles: Vec<String> =
        [first].iter().chain(drawn.iter().map(|c| &c.name)).map(|t| escape(t)).collect();
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
