//! Draw figures as SVG, with the same figures as reports.

use hmcvi_record::{Curve, PairPanel, PairPlot};
use hmcvi_report::figure::{Chart, chart, pairs as pair_figure};
use pyo3::prelude::*;

use crate::failure;

/// Lines over a common axis, each with its name and its points.
#[pyfunction]
pub(crate) fn lines(
    title: &str,
    x: &str,
    y: &str,
    curves: Vec<(String, Vec<(f64, f64)>)>,
) -> PyResult<String> {
    let curves = curves.into_iter().map(|(name, points)| Curve { name, points }).collect();
    let scene = chart(&Chart { title: title.into(), x: x.into(), y: y.into(), curves });
    Ok(scene.map_err(|error| failure::of_other(&error))?.to_svg())
}

/// Two numbers against each other, in a panel for each method.
#[pyfunction]
pub(crate) fn pairs(x: &str, y: &str, panels: Vec<(String, Vec<[f64; 2]>)>) -> String {
    let panels = (0..).zip(panels).map(|(line, (name, points))| PairPanel { name, line, points }).collect();
    let (rule, rank_correlation) = (String::new(), 0.0);
    pair_figure(&PairPlot { x: x.into(), y: y.into(), rule, rank_correlation, panels }).to_svg()
}
