//! Set results beside the paper's and the basic model's, or runs beside each other.

use hmcvi_record::{Basic, ComparedRun, Difference, Estimate, Published, Report, RunReport};
use maud::{Markup, html};

use super::figures::{both, framed};
use super::table::{behind, table, with_note};
use super::{noun, typed};
use crate::Noun;
use crate::figure::{Interval, intervals};
use crate::report::under_protocol;
use crate::words::{counted, duration, fixed, grouped, negated, signed, with_error};

pub(super) fn results(report: &Report) -> Markup {
    match &report.runs[..] {
        [run] => single(run, noun(report)),
        _ => several(&report.comparison.runs, noun(report)),
    }
}

/// An estimate of a run with what it is compared with.
struct Row {
    name: String,
    here: Estimate,
    basic: Option<Estimate>,
    gain: Option<Difference>,
    paper: Option<f64>,
}

/// The paper's row, where the data is the paper's.
fn published(run: &RunReport) -> Option<&Published> {
    run.facts.published.as_ref().filter(|p| p.same_data == Some(true))
}

/// The plain model, unless it is the paper's and of other data.
fn basic(run: &RunReport) -> Option<&Basic> {
    run.basic.as_ref().filter(|b| b.place.is_some() || published(run).is_some())
}

fn single(run: &RunReport, noun: Noun) -> Markup {
    let rows = rows(run, noun);
    if rows.is_empty() {
        return not_evaluated(run, noun);
    }
    let basic = basic(run).filter(|_| rows.iter().any(|r| r.basic.is_some()));
    let (with_gain, paper) = (rows.iter().any(|r| r.gain.is_some()), published(run));
    let mut titles = vec![html! { "Estimate" }, html! { (run.facts.name) }];
    let source = |b: &Basic| if b.place.is_some() { "basic model" } else { "basic model, paper" };
    titles.extend(basic.map(|b| with_note(&b.name, source(b))));
    titles.extend(with_gain.then(|| html! { "Gain" }));
    titles.extend(paper.map(|p| with_note(&p.name, "paper")));
    let cells = |row: &Row| {
        let or_dash = |text: Option<String>| html! { (text.unwrap_or("–".into())) };
        let mut cells = vec![html! { (row.name) }, html! { strong { (negated(&row.here)) } }];
        cells.extend(basic.map(|_| or_dash(row.basic.as_ref().map(negated))));
        cells.extend(with_gain.then(|| or_dash(row.gain.as_ref().map(gained))));
        cells.extend(paper.map(|_| or_dash(row.paper.map(|p| fixed(-p, 2)))));
        cells
    };
    let lines: Vec<Vec<Markup>> = rows.iter().map(cells).collect();
    html! {
        div class="lone" {
            (table(&noun.say("−log p(x) in nats per image"), &titles, &lines))
            p class="meaning" { (notes(run, &rows, noun)) }
        }
        (drawn(run, &rows))
    }
}

fn rows(run: &RunReport, noun: Noun) -> Vec<Row> {
    let Some(evaluation) = &run.facts.evaluation else { return Vec::new() };
    let (basic, paper) = (basic(run), published(run));
    let row = |name: String, here: Estimate| Row { name, here, basic: None, gain: None, paper: None };
    let mut rows = vec![Row {
        basic: basic.and_then(|b| b.bound),
        gain: basic.and_then(|b| b.bound_gain),
        paper: paper.map(|p| p.bound),
        ..row("Bound".into(), evaluation.bound)
    }];
    if let Some(encoder) = &evaluation.encoder_bound {
        let name = format!("Bound of the encoder alone, {}", counted(encoder.samples, "sample"));
        rows.push(row(name, encoder.bound));
    }
    if let Some(sampling) = &evaluation.importance_sampling {
        let name = format!("Importance sampling, {}", counted(sampling.samples, "sample"));
        rows.push(Row {
            basic: basic.and_then(|b| b.log_likelihood),
            gain: basic.and_then(|b| b.log_likelihood_gain),
            paper: paper.map(|p| p.log_likelihood),
            ..row(name, sampling.log_likelihood)
        });
    }
    if let Some(quadrature) = &evaluation.quadrature {
        rows.push(row("Quadrature".into(), quadrature.log_likelihood));
    }
    if let Some(annealing) = &evaluation.annealing {
        let name = format!("Annealing, first {}", noun.counted(annealing.images, ""));
        rows.push(row(name, annealing.log_likelihood));
    }
    rows
}

fn gained(gain: &Difference) -> String {
    with_error(gain.estimate.mean, gain.estimate.standard_error, 2)
}

/// What the numbers are of, and how far they compare.
fn notes(run: &RunReport, rows: &[Row], noun: Noun) -> String {
    let Some(e) = &run.facts.evaluation else { return String::new() };
    let images = noun.counted(e.images, &e.split);
    let mut text = format!("{images}, {} of each.", counted(e.draws, &noun.say("binarisation draw")));
    if let Some(gain) = rows.iter().find_map(|r| r.gain) {
        text += &noun.say(match gain.paired {
            true => " Gains are paired: both models saw the same binary images.",
            false => {
                " Gains are unpaired, since the two models were not evaluated on the same binary images: their errors are \
                 those of independent means."
            }
        });
    }
    if published(run).is_some_and(|p| !under_protocol(&run.facts, p)) {
        text += " The paper’s numbers are means over all 10,000 test images with five binarisation draws of each, so they \
                 compare only roughly.";
    }
    text
}

fn drawn(run: &RunReport, rows: &[Row]) -> Markup {
    let model = run.basic.as_ref().filter(|b| b.place.is_some());
    let mut all = Vec::new();
    for row in rows {
        all.push(interval(row.name.clone(), &row.here, 0));
        if let (Some(basic), Some(model)) = (row.basic, model) {
            all.push(interval(format!("{}, {}", row.name, model.name), &basic, 1));
        }
    }
    estimates(&all)
}

/// An estimate of `log p(x)`, or a difference of two, as it is shown.
fn interval(name: String, estimate: &Estimate, colour: usize) -> Interval {
    Interval { name, mean: -estimate.mean, error: estimate.standard_error, colour }
}

fn estimates(all: &[Interval]) -> Markup {
    let words = (
        "estimates",
        "Estimates",
        "−log p(x) in nats, with two standard errors on either side; further left is better.",
    );
    figure(words, all, false)
}

/// A figure over the whole width; nothing where there is nothing to draw.
fn figure((id, title, caption): (&str, &str, &str), all: &[Interval], differences: bool) -> Markup {
    if all.is_empty() {
        return Markup::default();
    }
    let row = |i: &Interval| {
        let values = [i.mean, i.mean - 2.0 * i.error, i.mean + 2.0 * i.error].map(|v| fixed(v, 2));
        std::iter::once(i.name.clone()).chain(values).collect()
    };
    let rows: Vec<Vec<String>> = all.iter().map(row).collect();
    let titles = ["", "−log p(x)", "from", "to"].map(String::from);
    let body = html! {
        (both(|width| Some(intervals(title, all, width, differences))))
        (behind(title, &titles, &rows))
    };
    html! { div class="panels" { (framed(id, title, caption, true, &body)) } }
}

/// What is known without an evaluation.
fn not_evaluated(run: &RunReport, noun: Noun) -> Markup {
    let last = run.last.as_ref().and_then(|e| Some((e.epoch, *e.validation.as_ref()?.get("bound")?)));
    html! {
        div class="lone" {
            p class="first" {
                (noun.say("The model has not been evaluated on test images yet."))
                @if let Some((epoch, bound)) = last {
                    " In epoch " (epoch) (noun.say(" the bound on validation images was −log p(x) ≤ ")) (fixed(-bound, 2)) " nats."
                }
                " This command evaluates it:"
            }
            (typed(&format!("hmcvi eval {}", crate::report::quoted(&run.facts.place))))
        }
    }
}

fn several(runs: &[ComparedRun], noun: Noun) -> Markup {
    let first = runs.first().map_or("", |r| r.name.as_str());
    let less = format!("minus {first}");
    let titles = [
        with_note("Run", ""),
        with_note("Bound", "−log p(x) ≤"),
        with_note("Bound", &less),
        with_note("Likelihood", "−log p(x) ≈"),
        with_note("Likelihood", &less),
        with_note("Validation bound", "best"),
        with_note("Epochs", ""),
        with_note("Time", ""),
        with_note("Divergences", ""),
    ];
    let value = |e: &Option<Estimate>| html! { (e.as_ref().map_or("–".into(), negated)) };
    let difference = |d: &Option<Difference>| match d {
        Some(d) => with_note(signed(d), if d.paired { "paired" } else { "unpaired" }),
        None => html! { "–" },
    };
    let row = |r: &ComparedRun| {
        vec![
            html! { (r.name) },
            value(&r.bound),
            difference(&r.bound_difference),
            value(&r.log_likelihood),
            difference(&r.log_likelihood_difference),
            html! { (r.validation_bound.map_or("–".into(), |b| fixed(-b, 2))) },
            html! { (grouped(r.epochs)) },
            html! { (duration(r.seconds)) },
            html! { (grouped(r.divergences)) },
        ]
    };
    let rows: Vec<Vec<Markup>> = runs.iter().map(row).collect();
    html! {
        div class="lone" {
            (table(&noun.say("−log p(x) in nats per image"), &titles, &rows))
            p class="meaning" {
                (noun.say("Paired differences are over the same binary images, so their errors are smaller than those of \
                           the runs themselves. A negative difference is an improvement."))
            }
            @for (run, why) in runs.iter().filter_map(|r| Some((r, r.not_comparable.as_ref()?))) {
                p class="meaning" { (run.name) " has no difference from " (first) ": " (why) "." }
            }
        }
        (differences(runs, first, noun))
        (estimates(&estimated(runs)))
    }
}

fn estimated(runs: &[ComparedRun]) -> Vec<Interval> {
    let of = |(i, r): (usize, &ComparedRun)| {
        let named = |what: &str, e: &Estimate| interval(format!("{}, {what}", r.name), e, i);
        [r.bound.map(|e| named("bound", &e)), r.log_likelihood.map(|e| named("likelihood", &e))]
    };
    runs.iter().enumerate().flat_map(of).flatten().collect()
}

/// How far runs are from the first, whose errors would hide it.
fn differences(runs: &[ComparedRun], first: &str, noun: Noun) -> Markup {
    let of = |(i, r): (usize, &ComparedRun)| {
        let named = |what: &str, d: &Difference| {
            let how = if d.paired { "" } else { " (unpaired)" };
            interval(format!("{}, {what}{how}", r.name), &d.estimate, i)
        };
        let bound = r.bound_difference.map(|d| named("bound", &d));
        [bound, r.log_likelihood_difference.map(|d| named("likelihood", &d))]
    };
    let all: Vec<Interval> = runs.iter().enumerate().flat_map(of).flatten().collect();
    let title = format!("Differences from {first}");
    let caption = "Difference in −log p(x) in nats, with two standard errors on either side, over pairs of the same images \
                   unless it says otherwise. Left of zero is better.";
    figure(("differences", &title, &noun.say(caption)), &all, true)
}
