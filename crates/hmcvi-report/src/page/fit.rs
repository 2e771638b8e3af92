//! Write a report on fits of a Bayesian model as a page.

use hmcvi_record::{
    FitComparison, FitMethod, FitReport, FitRow, FitRunReport, LargeQuantity, Level, PairPlot, Section,
};
use maud::{Markup, html};

use super::cards::{Card, set};
use super::diagnosis::findings;
use super::figures::of_section;
use super::reproduce::shell;
use super::table::{hint, table};
use super::{Made, Part, document, typed};
use crate::figure::pairs;
use crate::fit::{annealed, plain_facts};
use crate::words::{counted, date, duration, fixed, grouped, number};

/// Rows of a table of numbers; all are in the record.
const ROWS: usize = 300;
/// Differences from NUTS that are listed.
const LISTED: usize = 30;

/// The page of a report on fits.
pub fn fit_page(report: &FitReport) -> String {
    let made = Made { version: &report.version, command: &report.command, made: report.made };
    document(&report.title, &head(report), &parts(report), made)
}

fn head(report: &FitReport) -> Markup {
    let what = if report.runs.len() == 1 { "Report on a fit" } else { "Comparison of fits" };
    html! {
        header class="top" {
            div class="wide" {
                p class="eyebrow" { "hmcvi · " (what) " · " (date(report.made)) }
                h1 { (report.title) }
                p class="verdict" { (report.verdict) }
                @if let [run] = &report.runs[..] {
                    ul class="chips" aria-label="Settings" { @for chip in chips(run) { li class="chip" { (chip) } } }
                    (set(cards(run)))
                } @else {
                    (set(report.runs.iter().map(card).collect()))
                }
            }
        }
    }
}

fn chips(run: &FitRunReport) -> Vec<String> {
    let record = &run.record;
    let end = if record.finished { "finished" } else { "interrupted" };
    vec![
        end.into(),
        record.model.clone(),
        format!("method {}", record.method.name()),
        counted(record.dimension, "dimension"),
    ]
}

/// The few numbers that matter most.
fn cards(run: &FitRunReport) -> Vec<Card> {
    let record = &run.record;
    let error = |error: Option<f64>| error.map_or(String::new(), |error| format!("± {}", fixed(error, 3)));
    let mut all = Vec::new();
    let mut add = |name: &str, value: String, unit, note: String| {
        all.push(Card { name: name.into(), value, unit, note });
    };
    if let Some(evidence) = record.log_evidence {
        let sides = record.evidence.as_ref().map_or(String::new(), |e| {
            format!("; {} from below, {} from above", fixed(e.lower.mean, 2), fixed(e.upper.mean, 2))
        });
        let by = if annealed(record) { "annealing" } else { "importance sampling" };
        let note = format!("{}, by {by}{sides}", error(record.log_evidence_standard_error));
        add("Log evidence", fixed(evidence, 2), "nats", note);
    }
    if let Some(bound) = record.bound {
        add("Bound on it", fixed(bound, 2), "nats", error(record.bound_standard_error));
    }
    if record.method != FitMethod::Nuts {
        let k_hat = record.k_hat.map_or("–".into(), |k| fixed(k, 2));
        add("k-hat", k_hat, "", "below 0.5 is good, above 0.7 is not to be trusted".into());
    }
    let chains = match record.method {
        FitMethod::Nuts => format!("of {}", counted(record.chains, "chain")),
        _ => {
            let how = if record.resampled { "chosen by their importance weights" } else { "independent" };
            record
                .effective_sample_size
                .map_or(how.into(), |n| format!("{how}; weighted ones are worth {}", grouped(n as u64)))
        }
    };
    add("Draws", grouped(record.draws), "", chains);
    let divergences = counted(record.divergences, "divergence");
    add("Time", duration(record.seconds), "", divergences);
    let count = |level| run.findings.iter().filter(|f| f.level == level).count();
    let (problems, good) = (count(Level::Problem), count(Level::Good));
    let note = format!("{good} of {} passed", counted(run.findings.len() as u64, "check"));
    add("Problems found", problems.to_string(), "", note);
    all
}

/// A fit among others.
fn card(run: &FitRunReport) -> Card {
    let record = &run.record;
    let k_hat = record.k_hat.map_or(String::new(), |k| format!(" · k-hat {}", fixed(k, 2)));
    let (value, unit) = match record.log_evidence {
        Some(evidence) => (fixed(evidence, 2), "nats of log evidence"),
        None => (grouped(record.draws), "draws"),
    };
    let note = format!("{}{k_hat} · {}", record.method.name(), duration(record.seconds));
    Card { name: run.name.clone(), value, unit, note }
}

fn parts(report: &FitReport) -> Vec<Part> {
    let lead = "Each histogram has the draws of one number by all methods that there are; the closer to NUTS, the better. \
                The Gaussian alone is what a chain begins with.";
    let all: Vec<Part> = vec![
        ("posterior", "Posterior", format!("{lead} {}", report.shown), of_section(&report.figures, Section::Posterior)),
        ("pair", "A pair", report.pair.as_ref().map_or(String::new(), |p| p.rule.clone()), pair(report.pair.as_ref())),
        ("results", "Every number", columns(report), results(report)),
        (
            "differences",
            "Differences",
            "In standard deviations of the reference, the largest first. Means within 0.1 and standard deviations within \
             10% are hard to see."
                .into(),
            differences(&report.comparisons),
        ),
        ("learning", "Learning", String::new(), of_section(&report.figures, Section::Learning)),
        ("diagnosis", "Diagnosis", "What was found, what it means, and what to do next.".into(), diagnosis(report)),
        ("reproduce", "Reproduce it", String::new(), reproduce(report)),
    ];
    all.into_iter().filter(|(.., body)| !body.0.is_empty()).collect()
}

fn pair(pair: Option<&PairPlot>) -> Markup {
    let Some(pair) = pair else { return Markup::default() };
    let (drawing, title) = (pairs(pair), format!("{} and {}", pair.x, pair.y));
    html! {
        div class="panels" {
            figure class="full" {
                h3 { (title) }
                figcaption { "Draws of both numbers, in panels with the same axes." }
                (hint("figure"))
                div class="scroll" tabindex="0" role="region" aria-label=(title) { (drawing.on_page(&title)) }
            }
        }
    }
}

fn columns(report: &FitReport) -> String {
    let chains = report.runs.iter().any(|run| run.record.method == FitMethod::Nuts);
    let more = match chains {
        true => " R-hat and effective sample sizes are rank-normalised.",
        false => " Independent draws have no R-hat and no autocorrelation.",
    };
    format!("Names as Stan writes them; mcse is the Monte Carlo standard error of the mean.{more}")
}

fn results(report: &FitReport) -> Markup {
    html! {
        @for run in report.runs.iter().filter(|run| !run.record.parameters.is_empty()) {
            @if report.runs.len() > 1 { h3 { (run.name) } }
            div class="lone" { (numbers(run, &format!("Draws of {}", run.name), &run.record.parameters)) }
            @if let Some(generated) = &run.record.generated {
                @if !generated.rows.is_empty() {
                    h3 { "Generated quantities" }
                    div class="lone" {
                        (numbers(run, &format!("Generated quantities of {}", run.name), &generated.rows))
                    }
                }
                @for LargeQuantity { name, numbers } in &generated.large {
                    p class="meaning" {
                        code { (name) } ": " (counted(*numbers, "number")) " in " code { (run.place) "/draws.npz" } "."
                    }
                }
            }
        }
    }
}

fn numbers(run: &FitRunReport, title: &str, rows: &[FitRow]) -> Markup {
    let chains = rows.iter().any(|row| row.rhat.is_some());
    let mut titles = ["", "mean", "sd", "q05", "q50", "q95", "mcse"].map(String::from).to_vec();
    titles.extend(chains.then_some(["rhat", "ess_bulk", "ess_tail"]).into_iter().flatten().map(String::from));
    let or_dash = |value: Option<String>| value.unwrap_or("–".into());
    let cells = |row: &FitRow| {
        let mut cells = vec![row.name.clone()];
        cells.extend([row.mean, row.sd, row.q05, row.q50, row.q95].map(number));
        cells.push(or_dash(row.mcse.map(number)));
        if chains {
            cells.push(or_dash(row.rhat.map(|rhat| fixed(rhat, 3))));
            cells.extend([row.ess_bulk, row.ess_tail].map(|ess| or_dash(ess.map(|ess| grouped(ess as u64)))));
        }
        cells
    };
    let lines: Vec<Vec<String>> = rows.iter().take(ROWS).map(cells).collect();
    let left = rows.len().saturating_sub(ROWS) as u64;
    html! {
        (table(title, &titles, &lines))
        @if left > 0 { p class="meaning" { (counted(left, "more row")) " in " code { (run.place) "/fit.json" } "." } }
    }
}

fn differences(all: &[FitComparison]) -> Markup {
    let number = |value: Option<f64>| value.map_or("–".into(), |value| fixed(value, 3));
    let titles = ["", "mean", "sd ratio", "1-Wasserstein"].map(String::from);
    html! {
        @for FitComparison { name, reference, parameters } in all {
            @let rows: Vec<Vec<String>> = parameters.iter().take(LISTED).map(|d| {
                vec![d.name.clone(), number(d.mean), number(d.sd_ratio), number(d.wasserstein)]
            }).collect();
            div class="lone" { (table(&format!("{name} against {reference}"), &titles, &rows)) }
        }
    }
}

fn diagnosis(report: &FitReport) -> Markup {
    html! {
        @for run in &report.runs {
            @if report.runs.len() > 1 { h3 { (run.name) } }
            (findings(&run.findings))
        }
    }
}

fn reproduce(report: &FitReport) -> Markup {
    html! {
        @for run in &report.runs {
            @if report.runs.len() > 1 { h3 { (run.name) } }
            p class="lead" { "The settings file holds everything that the result depends on, with the data it names:" }
            (typed(&run.reproduce.join("\n")))
            dl class="facts" { @for (name, value) in facts(run) { dt { (name) } dd { (value) } } }
            details { summary { "Complete settings (fit.toml)" } (typed(&run.config)) }
        }
    }
}

fn facts(run: &FitRunReport) -> Vec<(String, Markup)> {
    let (record, code) = (&run.record, |text: &str| html! { code { (text) } });
    let mut all = vec![
        ("Folder".to_string(), code(&run.place)),
        ("Started".into(), html! { (date(record.started)) }),
        ("Command".into(), code(&shell(&record.command))),
        ("Version".into(), html! { "hmcvi " (record.version) }),
        ("SHA-256 of the data".into(), code(&record.data_sha256)),
    ];
    all.extend(plain_facts(record).into_iter().map(|(name, value)| (name.to_string(), html! { (value) })));
    all
}
