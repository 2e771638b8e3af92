//! Draw up the figures of fits: the bound stage by stage, and distributions of single numbers.

use hmcvi_record::{Curve, Figure, FigureKind, FitRecord, FitStage, Mark, MarkAxis, Section};

use super::data::{FitData, Series};
use crate::report::histogram::histograms;

/// Bins of a distribution.
const BINS: usize = 40;
/// Share of the draws beyond either end of a distribution's axis.
const BEYOND: f64 = 0.002;

/// The bound over the updates of a fit; nothing where no bound was learnt.
pub(super) fn bound(fits: &[FitData]) -> Option<Figure> {
    let curves: Vec<Curve> = match fits {
        [fit] => trace(&fit.record.stages),
        _ => fits.iter().map(|fit| whole(fit.name.clone(), &fit.record)).collect(),
    };
    let evidence = fits.first().filter(|_| fits.len() == 1).and_then(|fit| fit.record.log_evidence);
    let mark = |value| Mark { name: "log evidence by importance sampling".into(), value, axis: MarkAxis::Y };
    curves.iter().any(|curve| !curve.points.is_empty()).then(|| Figure {
        id: "bound".into(),
        section: Section::Learning,
        kind: FigureKind::Lines,
        title: "Bound on the log evidence".into(),
        caption: "Means over 50 updates: higher is better. The start looks for a first Gaussian, then the Gaussian is \
                  learnt, its coordinates are bent where that pays, and the chain of HMC steps is learnt. What a stage \
                  adds to the one before is what it is worth."
            .into(),
        x: "update".into(),
        y: "bound (nats)".into(),
        curves,
        marks: evidence.map(mark).into_iter().collect(),
    })
}

/// A curve for each stage, one after the other.
pub fn trace(stages: &[FitStage]) -> Vec<Curve> {
    let mut before = 0;
    let mut curves = Vec::new();
    for stage in stages {
        let points: Vec<(f64, f64)> =
            stage.trace.iter().filter_map(|(at, bound)| Some(((before + at) as f64, (*bound)?))).collect();
        before += stage.trace.last().map_or(0, |(at, _)| *at);
        curves.push(Curve { name: stage.name.clone(), points });
    }
    curves
}

fn whole(name: String, record: &FitRecord) -> Curve {
    Curve { name, points: trace(&record.stages).into_iter().flat_map(|curve| curve.points).collect() }
}

/// The distribution of each of these numbers, by all who have draws of it.
pub(super) fn marginals(all: &[Series<'_>], names: &[String]) -> Vec<Figure> {
    names.iter().enumerate().filter_map(|(i, name)| marginal(all, i, name)).collect()
}

fn marginal(all: &[Series<'_>], index: usize, name: &str) -> Option<Figure> {
    let draws: Vec<(String, Vec<f64>)> =
        all.iter().filter_map(|series| Some((series.name.clone(), series.column(name)?))).collect();
    let ends = ends(draws.iter().flat_map(|(_, values)| values))?;
    Some(Figure {
        id: format!("marginal-{}", index + 1),
        section: Section::Posterior,
        kind: FigureKind::Steps,
        title: name.into(),
        caption: String::new(),
        x: "value".into(),
        y: "share of draws".into(),
        curves: histograms(&draws, ends, BINS),
        marks: Vec::new(),
    })
}

/// Where nearly all values lie; nothing if they are all the same.
fn ends<'v>(values: impl Iterator<Item = &'v f64>) -> Option<(f64, f64)> {
    let mut sorted: Vec<f64> = values.copied().filter(|value| value.is_finite()).collect();
    sorted.sort_by(f64::total_cmp);
    let left_out = (BEYOND * sorted.len() as f64) as usize;
    let (low, high) = (*sorted.get(left_out)?, *sorted.get(sorted.len().checked_sub(1 + left_out)?)?);
    (high > low).then_some((low, high))
}
