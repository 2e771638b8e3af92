//! Say in one sentence how runs turned out.

use hmcvi_record::{Basic, ComparedRun, Comparison, Difference, Estimate, Level, RunReport, RunState};

use crate::Noun;
use crate::words::{counted, grouped};

/// Differences of fewer standard errors are not called differences.
const CLEAR: f64 = 2.0;

pub(super) fn verdict(runs: &[RunReport], comparison: &Comparison) -> String {
    match runs {
        [] => "There is nothing to report.".into(),
        [run] => single(run, comparison.runs.first().and_then(|r| r.validation_bound)),
        [first, ..] => several(first, comparison, noun(runs)),
    }
}

fn noun(runs: &[RunReport]) -> Noun {
    Noun::of(runs.iter().map(|run| run.facts.info.as_ref()))
}

fn single(run: &RunReport, best: Option<f64>) -> String {
    let name = &run.facts.name;
    let Some(evaluation) = &run.facts.evaluation else { return training(run, best) };
    let images = noun(std::slice::from_ref(run)).say("images");
    let images = format!("{} {} {images}", grouped(evaluation.images), evaluation.split);
    let gain = |of: fn(&Basic) -> Option<Difference>| run.basic.as_ref().and_then(of);
    let (bound, than) = (nats(&evaluation.bound), run.basic.as_ref().map(whose).unwrap_or_default());
    let bound_gain = gain(|b| b.bound_gain);
    let reached = match &evaluation.importance_sampling {
        Some(sampling) => {
            let better_by = gain(|b| b.log_likelihood_gain).map(|g| format!(", {} than {than}", better(&g)));
            let bound_by = bound_gain.map(|g| match better_by {
                Some(_) => format!(" ({})", better(&g)),
                None => format!(", {} than {than}", better(&g)),
            });
            format!(
                "{name} reaches −log p(x) ≈ {} on {images}{}, with a bound of {bound}{}",
                nats(&sampling.log_likelihood),
                better_by.unwrap_or_default(),
                bound_by.unwrap_or_default()
            )
        }
        None => {
            let by = bound_gain.map_or(String::new(), |g| format!(", {} than {than}", better(&g)));
            format!("{name} reaches a bound of −log p(x) ≤ {bound} on {images}{by}")
        }
    };
    let count = |level| run.findings.iter().filter(|f| f.level == level).count() as u64;
    let trust = match (count(Level::Problem), count(Level::Unchecked)) {
        (0, 0) => format!("none of {} found a problem", counted(run.findings.len() as u64, "check")),
        (0, n) => format!("no check found a problem, but {} not made", were(n)),
        (n, _) => format!("{} below, so these numbers are not to be relied on yet", counted(n, "problem")),
    };
    format!("{reached}; {trust}.")
}

fn were(checks: u64) -> String {
    format!("{} {}", counted(checks, "check"), if checks == 1 { "was" } else { "were" })
}

/// The plain model in words.
fn whose(basic: &Basic) -> String {
    match basic.place {
        Some(_) => format!("the basic model it began with ({})", basic.name),
        None => format!("the paper’s {}", basic.name),
    }
}

fn training(run: &RunReport, best: Option<f64>) -> String {
    let name = &run.facts.name;
    let done = run.last.as_ref().map_or(0, |e| e.epoch);
    let state = match run.facts.state {
        RunState::Finished => format!("{name} has finished its {}", counted(run.facts.planned, "epoch")),
        RunState::Running => {
            format!("{name} is being trained, with {done} of {} epochs done", grouped(run.facts.planned))
        }
        RunState::Stopped => format!("{name} stopped after {done} of {} epochs", grouped(run.facts.planned)),
    };
    let bound =
        best.map_or(String::new(), |b| format!("; its best validation bound is −log p(x) ≤ {:.2} nats", -b));
    let images = noun(std::slice::from_ref(run)).say("images");
    format!("{state}{bound}; it has not been evaluated on test {images}.")
}

/// The best bound and the best likelihood, which need not be of the same run.
fn several(first: &RunReport, comparison: &Comparison, noun: Noun) -> String {
    let bound = best(comparison, |r| Some((r.bound?, r.bound_difference)));
    let likelihood = best(comparison, |r| Some((r.log_likelihood?, r.log_likelihood_difference)));
    if let Some(run) = comparison.runs.iter().find(|r| r.not_comparable.is_some()) {
        let why = run.not_comparable.as_deref().unwrap_or_default();
        return format!("{} and {} cannot be compared: {why}.", first.facts.name, run.name);
    }
    let Some((winner, estimate, difference)) = bound else {
        let images = noun.say("images");
        return format!("None of the {} runs has been evaluated on test {images}.", comparison.runs.len());
    };
    let than = |d: Option<Difference>| {
        d.map_or(String::new(), |d| format!(", {} than {}", better(&d), first.facts.name))
    };
    let mut text =
        format!("{winner} has the best bound, −log p(x) ≤ {}{}", nats(&estimate), than(difference));
    if let Some((other, estimate, difference)) = likelihood {
        let who = if other == winner { ", and".to_string() } else { format!("; {other} has") };
        text += &format!("{who} the best likelihood, −log p(x) ≈ {}{}", nats(&estimate), than(difference));
    }
    text + "."
}

/// A value of a run, and its difference from the first.
type Value = (Estimate, Option<Difference>);

fn best(
    comparison: &Comparison,
    of: fn(&ComparedRun) -> Option<Value>,
) -> Option<(&str, Estimate, Option<Difference>)> {
    let known = comparison.runs.iter().filter_map(|r| of(r).map(|(e, d)| (r.name.as_str(), e, d)));
    known.max_by(|a, b| a.1.mean.total_cmp(&b.1.mean))
}

fn better(difference: &Difference) -> String {
    let Estimate { mean, standard_error } = difference.estimate;
    let size = format!("{:.2} ± {standard_error:.2} nats", mean.abs());
    match () {
        () if mean.abs() < CLEAR * standard_error => format!("{size} {} (not significant)", word(mean)),
        () => format!("{size} {}", word(mean)),
    }
}

fn word(mean: f64) -> &'static str {
    if mean >= 0.0 { "better" } else { "worse" }
}

fn nats(estimate: &Estimate) -> String {
    format!("{:.2} ± {:.2} nats", -estimate.mean, estimate.standard_error)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_difference_within_its_error_is_called_so() {
        let difference = |mean| Difference { estimate: Estimate { mean, standard_error: 0.1 }, paired: true };
        assert_eq!(better(&difference(1.0)), "1.00 ± 0.10 nats better");
        assert_eq!(better(&difference(-0.15)), "0.15 ± 0.10 nats worse (not significant)");
    }
}
