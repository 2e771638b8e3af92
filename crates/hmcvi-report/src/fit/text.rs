//! Show what a fit has found as a table for a terminal.

use hmcvi_record::{
    Estimate, FailedQuantities, FitEvidence, FitMethod, FitRecord, FitRow, FitStage, LargeQuantity,
    MissedPart,
};

use super::trust::{of_weights, trust};
use crate::table::{Align, Table};
use crate::words::{counted, grouped, number, with_error};

/// Numbers that tell where a part is that draws miss.
const NAMED: usize = 4;
/// A share from which on digits tell nothing.
const MANY_TIMES: f64 = 1000.0;
/// Rows that a terminal shows; all are in the record.
const SHOWN: usize = 100;

/// The numbers of the model, then bound, log evidence and k-hat, and why the fit ended. `place` is where all of it is.
pub fn fit_text(record: &FitRecord, place: &str) -> String {
    let mut text = format!("{}\n\n", subject(record));
    if !record.parameters.is_empty() {
        text += &format!("{}\n", table(&record.parameters, place));
    }
    if let Some(generated) = &record.generated {
        if !generated.rows.is_empty() {
            text += &format!("generated quantities\n{}\n", table(&generated.rows, place));
        }
        for LargeQuantity { name, numbers } in &generated.large {
            text += &format!("{name}: {} in {place}/draws.npz\n", counted(*numbers, "number"));
        }
        if !generated.large.is_empty() {
            text.push('\n');
        }
    }
    for (name, value) in plain_facts(record) {
        text += &format!("{name:<14}{value}\n");
    }
    text
}

/// What was fitted, and how.
pub(super) fn subject(record: &FitRecord) -> String {
    let draws = match record.method {
        FitMethod::Nuts => {
            format!("{} of {}", counted(record.draws, "draw"), counted(record.chains, "chain"))
        }
        _ if record.resampled => {
            format!("{} that were chosen by their importance weights", counted(record.draws, "draw"))
        }
        _ => counted(record.draws, "independent draw"),
    };
    let (model, method) = (&record.model, record.method.name());
    let unfinished = if record.finished { "" } else { ", unfinished" };
    format!("{model} by {method}{unfinished}: {}, {draws}", counted(record.dimension, "dimension"))
}

fn table(rows: &[FitRow], place: &str) -> String {
    let names = ["mean", "sd", "q05", "q50", "q95", "mcse", "rhat", "ess_bulk", "ess_tail"];
    let titles = std::iter::once(("name", Align::Left)).chain(names.map(|name| (name, Align::Right)));
    let mut table = Table::new(titles);
    for row in rows.iter().take(SHOWN) {
        let count = |value: Option<f64>| value.map_or("-".into(), |value| format!("{value:.0}"));
        let known = |value: f64| plain(number(value));
        table.row([
            row.name.clone(),
            known(row.mean),
            known(row.sd),
            known(row.q05),
            known(row.q50),
            known(row.q95),
            row.mcse.map_or("-".into(), |mcse| Short(mcse).to_string()),
            row.rhat.map_or("-".into(), |rhat| format!("{rhat:.3}")),
            count(row.ess_bulk),
            count(row.ess_tail),
        ]);
    }
    match rows.len().saturating_sub(SHOWN) {
        0 => table.to_string(),
        more => format!("{table}… and {} more in {place}/fit.json\n", grouped(more as u64)),
    }
}

/// A number with two digits that count.
struct Short(f64);

impl std::fmt::Display for Short {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let decimals = (1 - self.0.abs().log10().floor() as i32).clamp(0, 8) as usize;
        match self.0 {
            0.0 => f.write_str("0"),
            _ => write!(f, "{:.decimals$}", self.0),
        }
    }
}

/// Terminals are read by programs too: they get the minus of their keyboards.
fn plain(text: String) -> String {
    text.replace(['−', '–'], "-")
}

/// What there is beside the numbers of the model.
pub(crate) fn plain_facts(record: &FitRecord) -> Vec<(&'static str, String)> {
    let mut all = Vec::new();
    let mut add = |name, value: Option<String>| all.extend(value.map(|value| (name, value)));
    let within = |value: Option<f64>, error: Option<f64>| {
        let error = error.map_or(String::new(), |error| format!(" ± {error:.3}"));
        value.map(|value| format!("{value:.3}{error} nats"))
    };
    let bound = within(record.bound, record.bound_standard_error);
    add("bound", bound.map(|text| format!("{text}, a lower bound on the log evidence")));
    let together = record.bound_together.as_ref().map(|b| {
        let value = within(Some(b.mean), Some(b.standard_error)).unwrap_or_default();
        format!("{value}, the bound of {} together", b.draws)
    });
    add("several draws", together);
    let evidence = within(record.log_evidence, record.log_evidence_standard_error);
    let by = if annealed(record) { "annealing" } else { "importance sampling" };
    add("log evidence", evidence.map(|text| format!("{text}, by {by}")));
    let side = |e: &Estimate| plain(with_error(e.mean, e.standard_error, 3));
    let sides =
        |e: &FitEvidence| format!("{} nats from below, {} from above", side(&e.lower), side(&e.upper));
    add("annealing", record.evidence.as_ref().map(sides));
    let importance = record.evidence.as_ref().and_then(|e| e.importance.as_ref());
    add("importance", importance.map(|e| format!("{} nats by importance sampling", side(e))));
    match record.method {
        FitMethod::Nuts => add("verdict", Some(trust(record).1.into())),
        _ => {
            let k_hat = record.k_hat.map_or("unknown".into(), |k| format!("{k:.2}"));
            add("k-hat", Some(format!("{k_hat}: {}", of_weights(record).1)));
        }
    }
    let worth = record.effective_sample_size.map(|n| format!("{n:.0} of {}", grouped(record.draws)));
    add("weighted ESS", worth);
    let modes = record.elsewhere.as_ref().map(|elsewhere| match &elsewhere.missed {
        Some(missed) => missed_in_words(missed),
        None => format!("none found by {}", counted(elsewhere.walks, "walk from other places")),
    });
    add("other modes", modes);
    add("divergences", Some(grouped(record.divergences)));
    let end = |stage: &FitStage| Some(format!("{}: {}", stage.name, ending(stage)?));
    let stages: Vec<String> = record.stages.iter().filter_map(end).collect();
    add("stopped", (!stages.is_empty()).then(|| stages.join("; ")));
    let failed = record.generated.as_ref().and_then(|generated| generated.failed.as_ref());
    add("quantities", failed.map(|failed| failure(failed, record.draws)));
    add("seconds", Some(format!("{:.1}", record.seconds)));
    all
}

/// What draws miss, and where it is.
pub(super) fn missed_in_words(missed: &MissedPart) -> String {
    let place = |(name, value): &(String, f64)| format!("{name} = {}", plain(number(*value)));
    let mut place: Vec<String> = missed.middle.iter().take(NAMED).map(place).collect();
    if missed.middle.len() > NAMED {
        place.push("…".into());
    }
    let share = match missed.share {
        share if share < 1.0 => format!("{:.0}%", (100.0 * share).floor().max(1.0)),
        share if share < MANY_TIMES => format!("{:.1} times", share),
        _ => format!("more than {MANY_TIMES} times"),
    };
    format!(
        "a part without draws has at least {share} as much of the posterior as was found, around {}",
        place.join(", ")
    )
}

/// Whether the log evidence is by annealing from both sides.
pub(crate) fn annealed(record: &FitRecord) -> bool {
    record.evidence.as_ref().is_some_and(|e| e.is_bracket && e.between.is_some())
}

/// What went wrong with generated quantities, in one line.
pub(crate) fn failure(failed: &FailedQuantities, draws: u64) -> String {
    let first = failed.message.lines().next().unwrap_or_default();
    let which = match failed.draws == draws {
        true => "in all draws".into(),
        false => format!("in {} of {}", grouped(failed.draws), counted(draws, "draw")),
    };
    format!("wrong {which}, first in draw {}: {first}", grouped(failed.first))
}

/// Why a stage ended.
pub(super) fn ending(stage: &FitStage) -> Option<String> {
    let updates = counted(stage.trace.last().map_or(0, |(updates, _)| *updates), "update");
    Some(match stage.stopped.as_deref()? {
        "stood-still" => format!("the bound stood still after {updates}"),
        "most-updates" => format!("all {updates} that were allowed were made"),
        "given-up" => format!("given up after {updates}, since it did not pay"),
        _ => format!("it was interrupted after {updates}"),
    })
}
