//! Show the few numbers that matter most.

use std::fmt::Write;

use hmcvi_record::{ComparedRun, Level, Report, RunReport};

use super::html::{duration, escape, fixed, negated, signed};
use crate::report::grouped;

/// A number with its unit, what it is, and what belongs to it.
struct Card {
    name: String,
    value: String,
    unit: &'static str,
    note: String,
}

pub(super) fn cards(report: &Report) -> String {
    let cards = match &report.runs[..] {
        [run] => single(run, report.comparison.runs.first().and_then(|r| r.validation_bound)),
        _ => report.comparison.runs.iter().enumerate().map(|(i, r)| compared(i, r)).collect(),
    };
    let mut out = String::from("<dl class=\"cards\">\n");
    for Card { name, value, unit, note } in cards {
        let _ = writeln!(
            out,
            "<div class=\"card\"><dt>{}</dt><dd class=\"value\">{} <span class=\"unit\">{unit}</span></dd>\
             <dd class=\"note\">{}</dd></div>",
            escape(&name),
            escape(&value),
            escape(&note)
        );
    }
    out + "</dl>\n"
}

fn single(run: &RunReport, best: Option<f64>) -> Vec<Card> {
    let mut cards = Vec::new();
    let paper = |of: fn(&hmcvi_record::Published) -> f64| {
        run.facts.published.as_ref().map_or(String::new(), |p| format!(" · paper {}", fixed(-of(p), 2)))
    };
    if let Some(evaluation) = &run.facts.evaluation {
        cards.push(Card {
            name: "Bound, −log p(x) ≤".into(),
            value: fixed(-evaluation.bound.mean, 2),
            unit: "nats",
            note: format!("± {}{}", fixed(evaluation.bound.standard_error, 2), paper(|p| p.bound)),
        });
        if let Some(sampling) = &evaluation.importance_sampling {
            let e = &sampling.log_likelihood;
            cards.push(Card {
                name: "Likelihood, −log p(x) ≈".into(),
                value: fixed(-e.mean, 2),
                unit: "nats",
                note: format!("± {}{}", fixed(e.standard_error, 2), paper(|p| p.log_likelihood)),
            });
        }
    } else {
        cards.extend(best.map(validation));
    }
    cards.extend(gain(run));
    cards.extend(trust(run));
    cards.push(training(run));
    cards.push(diagnosis(run));
    cards
}

fn validation(best: f64) -> Card {
    Card {
        name: "Validation bound, −log p(x) ≤".into(),
        value: fixed(-best, 2),
        unit: "nats",
        note: "the best so far; test images were not looked at yet".into(),
    }
}

fn gain(run: &RunReport) -> Option<Card> {
    let basic = run.basic.as_ref()?;
    let gain = basic.bound_gain?;
    let how = if gain.paired { "over pairs of images" } else { "of two independent means" };
    let whose =
        if basic.place.is_some() { basic.name.clone() } else { format!("the paper's {}", basic.name) };
    Some(Card {
        name: format!("Gain of the bound over {whose}"),
        value: fixed(gain.estimate.mean, 2),
        unit: "nats",
        note: format!("± {}, {how}", fixed(gain.estimate.standard_error, 2)),
    })
}

fn trust(run: &RunReport) -> Option<Card> {
    let s = run.facts.evaluation.as_ref()?.importance_sampling.as_ref()?;
    Some(Card {
        name: "Images with k-hat above 0.7".into(),
        value: fixed(100.0 * s.k_hat_high, 1),
        unit: "%",
        note: format!(
            "{} of {} samples effective on average",
            fixed(s.effective_sample_size, 0),
            grouped(s.samples)
        ),
    })
}

fn training(run: &RunReport) -> Card {
    let last = run.last.as_ref();
    let divergences = run.facts.summary.as_ref().map_or(0, |s| s.divergences);
    let speed = last.map_or(String::new(), |e| {
        format!(
            "{} · {} images/s · {} divergences",
            duration(e.seconds),
            grouped(e.images_per_second as u64),
            grouped(divergences)
        )
    });
    Card {
        name: "Epochs of training".into(),
        value: grouped(last.map_or(0, |e| e.epoch)),
        unit: "",
        note: if speed.is_empty() {
            format!("of {}", grouped(run.facts.planned))
        } else {
            format!("of {} · {speed}", grouped(run.facts.planned))
        },
    }
}

fn diagnosis(run: &RunReport) -> Card {
    let count = |level| run.findings.iter().filter(|f| f.level == level).count();
    let (problems, good) = (count(Level::Problem), count(Level::Good));
    Card {
        name: "Problems found".into(),
        value: problems.to_string(),
        unit: "",
        note: format!("{good} of {} checks are as they should be", run.findings.len()),
    }
}

fn compared(index: usize, run: &ComparedRun) -> Card {
    let bound = run.bound.as_ref();
    let value = bound.map(|b| fixed(-b.mean, 2));
    let validation = run.validation_bound.map(|b| fixed(-b, 2));
    let nll = run.log_likelihood.as_ref().map_or(String::new(), |l| format!(" · likelihood {}", negated(l)));
    let difference =
        run.bound_difference.as_ref().map_or(String::new(), |d| format!(" · {} to the first", signed(d)));
    let note = match (bound, index) {
        (Some(b), 0) => format!("bound ± {}{nll}", fixed(b.standard_error, 2)),
        (Some(b), _) => format!("bound ± {}{difference}{nll}", fixed(b.standard_error, 2)),
        (None, _) if validation.is_some() => "best validation bound; not judged on test images yet".into(),
        (None, _) => "no validation bound yet".into(),
    };
    Card { name: run.name.clone(), value: value.or(validation).unwrap_or("–".into()), unit: "nats", note }
}
