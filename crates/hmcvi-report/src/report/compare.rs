//! Set runs beside the first of them, over pairs of images where both saw the same ones.

use std::collections::BTreeMap;

use hmcvi_record::{
    ComparedRun, Comparison, Difference, Estimate, Evaluation, ImageEvaluation, REPORT_SCHEMA,
};

use super::{RunData, bound, log_likelihood, noun};

/// The runs, each with its difference from the first.
pub fn compare(runs: &[RunData]) -> Comparison {
    let row = |(i, run): (usize, &RunData)| {
        let first = runs.first().filter(|_| i > 0);
        let not_comparable = first.and_then(|first| not_comparable(first, run));
        let (last, evaluation) = (run.epochs.last(), run.facts.evaluation.as_ref());
        ComparedRun {
            name: run.facts.name.clone(),
            place: run.facts.place.clone(),
            bound: bound(run),
            log_likelihood: log_likelihood(run),
            bound_difference: first.and_then(|f| bound_difference(f, run)),
            log_likelihood_difference: first.and_then(|f| log_likelihood_difference(f, run)),
            not_comparable,
            split: evaluation.map(|e| e.split.clone()),
            images: evaluation.map(|e| e.images),
            draws: evaluation.map(|e| e.draws),
            validation_bound: best_validation_bound(run),
            epochs: last.map_or(0, |e| e.epoch),
            seconds: last.map_or(0.0, |e| e.seconds),
            divergences: run.epochs.iter().map(|e| e.divergences).sum(),
        }
    };
    Comparison { schema: REPORT_SCHEMA, runs: runs.iter().enumerate().map(row).collect() }
}

fn best_validation_bound(run: &RunData) -> Option<f64> {
    let looks = run.epochs.iter().filter_map(|e| e.validation.as_ref()?.get("bound").copied());
    looks.filter(|b| b.is_finite()).reduce(f64::max)
}

/// What a run was evaluated on. Evaluations know their data by its hash only.
fn data_of(run: &RunData, evaluation: &Evaluation) -> String {
    let info = run.facts.info.as_ref().filter(|info| info.data_sha256 == evaluation.data_sha256);
    info.map_or_else(
        || format!("other data than {} was trained on", run.facts.name),
        |info| info.data.clone(),
    )
}

/// Why numbers of two runs say nothing about which model is better, if so. Neither is missing.
fn not_comparable(from: &RunData, to: &RunData) -> Option<String> {
    let (a, b) = (from.facts.evaluation.as_ref()?, to.facts.evaluation.as_ref()?);
    let stale = |run: &&RunData| run.facts.evaluation_is_current == Some(false);
    if let Some(run) = [from, to].iter().find(|run| stale(run)) {
        return Some(format!("{} was trained further after its evaluation", run.facts.name));
    }
    if a.data_sha256 != b.data_sha256 {
        return Some(format!("evaluated on different data ({} and {})", data_of(from, a), data_of(to, b)));
    }
    if a.split != b.split {
        let images = noun(std::slice::from_ref(from)).say("images");
        return Some(format!("evaluated on {} and on {} {images}", a.split, b.split));
    }
    let ways = [from, to].map(|run| &run.facts.settings.binarisation);
    if ways[0] != ways[1] || a.pixel_scale != b.pixel_scale {
        return Some("pixels become binary in different ways, so the images are not the same".into());
    }
    None
}

/// The bound of a run less that of another.
pub(super) fn bound_difference(from: &RunData, to: &RunData) -> Option<Difference> {
    difference((from, bound(from)?), (to, bound(to)?), |i| i.bound)
}

/// The likelihood of a run less that of another.
pub(super) fn log_likelihood_difference(from: &RunData, to: &RunData) -> Option<Difference> {
    difference((from, log_likelihood(from)?), (to, log_likelihood(to)?), |i| i.log_likelihood)
}

fn difference(
    (from, first): (&RunData, Estimate),
    (to, second): (&RunData, Estimate),
    of: fn(&ImageEvaluation) -> Option<f64>,
) -> Option<Difference> {
    if not_comparable(from, to).is_some() {
        return None;
    }
    if let Some(estimate) = same_draws(from, to).then(|| over_pairs(from, to, of)).flatten() {
        return Some(Difference { estimate, paired: true });
    }
    let standard_error = first.standard_error.hypot(second.standard_error);
    let estimate = Estimate { mean: second.mean - first.mean, standard_error };
    Some(Difference { estimate, paired: false })
}

/// Whether two evaluations saw the same binary images. Their draws depend on the number of the image, the
/// number of the draw and the way pixels become binary, and on nothing else.
fn same_draws(from: &RunData, to: &RunData) -> bool {
    let (Some(a), Some(b)) = (&from.facts.evaluation, &to.facts.evaluation) else { return false };
    let of = |e: &Evaluation| (e.split.clone(), e.images, e.draws, e.pixel_scale, e.data_sha256.clone());
    of(a) == of(b) && from.facts.settings.binarisation == to.facts.settings.binarisation
}

/// Mean and error of the differences of all images; absent unless every image of one has its like in the other.
fn over_pairs(from: &RunData, to: &RunData, of: fn(&ImageEvaluation) -> Option<f64>) -> Option<Estimate> {
    let values = |run: &RunData| -> BTreeMap<u64, f64> {
        run.images.iter().filter_map(|i| Some((i.image, of(i)?))).collect()
    };
    let (first, second) = (values(from), values(to));
    if first.len() < 2 || !first.keys().eq(second.keys()) {
        return None;
    }
    Estimate::of_finite(second.iter().map(|(image, value)| value - first[image]))
}
