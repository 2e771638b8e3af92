//! Show the few numbers that matter most.

use hmcvi_record::{ComparedRun, Level, Published, Report, RunReport};
use maud::{Markup, html};

use super::noun;
use crate::Noun;
use crate::report::under_protocol;
use crate::words::{counted, duration, fixed, grouped, negated, signed};

/// A number with its unit, what it is, and what belongs to it.
pub(super) struct Card {
    pub(super) name: String,
    pub(super) value: String,
    pub(super) unit: &'static str,
    pub(super) note: String,
}

pub(super) fn cards(report: &Report) -> Markup {
    let noun = noun(report);
    let cards = match &report.runs[..] {
        [run] => single(run, noun, report.comparison.runs.first().and_then(|r| r.validation_bound)),
        _ => report.comparison.runs.iter().enumerate().map(|(i, r)| compared(i, r, noun)).collect(),
    };
    set(cards)
}

/// Cards beside each other.
pub(super) fn set(cards: Vec<Card>) -> Markup {
    html! {
        dl class="cards" {
            @for Card { name, value, unit, note } in cards {
                div class="card" {
                    dt { (name) }
                    dd class="value" { (value) " " span class="unit" { (unit) } }
                    dd class="note" { (note) }
                }
            }
        }
    }
}

fn single(run: &RunReport, noun: Noun, best: Option<f64>) -> Vec<Card> {
    let mut cards = Vec::new();
    // Next to a headline, the paper's number invites comparison: it is there only where that is fair.
    let published = run.facts.published.as_ref().filter(|p| under_protocol(&run.facts, p));
    let paper = |of: fn(&Published) -> f64| {
        published.map_or(String::new(), |p| format!(" · paper {}", fixed(-of(p), 2)))
    };
    if let Some(evaluation) = &run.facts.evaluation {
        let card = |name: &str, e: &hmcvi_record::Estimate, of: fn(&Published) -> f64| Card {
            name: name.into(),
            value: fixed(-e.mean, 2),
            unit: "nats",
            note: format!("± {}{}", fixed(e.standard_error, 2), paper(of)),
        };
        cards.push(card("Bound, −log p(x) ≤", &evaluation.bound, |p| p.bound));
        let sampling = evaluation.importance_sampling.as_ref();
        let likelihood = |e| card("Likelihood, −log p(x) ≈", e, |p| p.log_likelihood);
        cards.extend(sampling.map(|s| likelihood(&s.log_likelihood)));
    } else {
        cards.extend(best.map(|best| validation(best, noun)));
    }
    cards.extend(gain(run, noun));
    cards.extend(trust(run, noun));
    cards.push(training(run, noun));
    cards.push(diagnosis(run));
    cards
}

fn validation(best: f64, noun: Noun) -> Card {
    Card {
        name: "Validation bound, −log p(x) ≤".into(),
        value: fixed(-best, 2),
        unit: "nats",
        note: noun.say("the best so far; not evaluated on test images yet"),
    }
}

fn gain(run: &RunReport, noun: Noun) -> Option<Card> {
    let basic = run.basic.as_ref()?;
    let gain = basic.bound_gain?;
    let how = noun.say(if gain.paired { "paired by image" } else { "unpaired" });
    let whose =
        if basic.place.is_some() { basic.name.clone() } else { format!("the paper’s {}", basic.name) };
    Some(Card {
        name: format!("Gain in the bound over {whose}"),
        value: fixed(gain.estimate.mean, 2),
        unit: "nats",
        note: format!("± {}, {how}", fixed(gain.estimate.standard_error, 2)),
    })
}

fn trust(run: &RunReport, noun: Noun) -> Option<Card> {
    let s = run.facts.evaluation.as_ref()?.importance_sampling.as_ref()?;
    let (effective, samples) = (fixed(s.effective_sample_size, 0), grouped(s.samples));
    Some(Card {
        name: noun.say("Images with k-hat above 0.7"),
        value: fixed(100.0 * s.k_hat_high, 1),
        unit: "%",
        note: format!("effective sample size {effective} of {samples} on average"),
    })
}

fn training(run: &RunReport, noun: Noun) -> Card {
    let last = run.last.as_ref();
    let divergences = run.facts.summary.as_ref().map_or(0, |s| s.divergences);
    let speed = last.map_or(String::new(), |e| {
        let (time, speed) = (duration(e.seconds), grouped(e.images_per_second as u64));
        format!(" · {time} · {speed} {}/s · {}", noun.say("images"), counted(divergences, "divergence"))
    });
    Card {
        name: "Epochs of training".into(),
        value: grouped(last.map_or(0, |e| e.epoch)),
        unit: "",
        note: format!("of {}{speed}", grouped(run.facts.planned)),
    }
}

fn diagnosis(run: &RunReport) -> Card {
    let count = |level| run.findings.iter().filter(|f| f.level == level).count();
    let (problems, good) = (count(Level::Problem), count(Level::Good));
    Card {
        name: "Problems found".into(),
        value: problems.to_string(),
        unit: "",
        note: format!("{good} of {} passed", counted(run.findings.len() as u64, "check")),
    }
}

fn compared(index: usize, run: &ComparedRun, noun: Noun) -> Card {
    let bound = run.bound.as_ref();
    let value = bound.map(|b| fixed(-b.mean, 2));
    let validation = run.validation_bound.map(|b| fixed(-b, 2));
    let nll = run.log_likelihood.as_ref().map_or(String::new(), |l| format!(" · likelihood {}", negated(l)));
    let difference = run.bound_difference.as_ref().filter(|_| index > 0);
    let difference = difference.map_or(String::new(), |d| format!(" · {} from the first", signed(d)));
    let note = match bound {
        Some(b) => format!("bound ± {}{difference}{nll}", fixed(b.standard_error, 2)),
        None if validation.is_some() => noun.say("best validation bound; not evaluated on test images yet"),
        None => "no validation bound yet".into(),
    };
    Card { name: run.name.clone(), value: value.or(validation).unwrap_or("–".into()), unit: "nats", note }
}
