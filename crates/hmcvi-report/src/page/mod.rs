//! Write a report as one page that needs nothing else: no network, no script, light and dark, wide and narrow.

mod cards;
mod diagnosis;
mod figures;
mod fit;
mod pictures;
mod reproduce;
mod results;
mod table;
mod trust;

use hmcvi_record::{Report, RunReport, RunState, Section};
use maud::{DOCTYPE, Markup, PreEscaped, html};

pub use fit::fit_page;
pub use pictures::Picture;

use crate::Noun;
use crate::palette::{COLOURS, COLOURS_ON_DARK, LINES, LINES_ON_DARK, variables};
use crate::words::{counted, date};

/// The style sheet, but for the colours of lines and classes.
const STYLE: &str = include_str!("style.css");

/// What comes from elsewhere is refused by the browser itself.
const POLICY: &str =
    "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'";

/// A part of the page: its address, its title, how to read it, and what is in it.
type Part = (&'static str, &'static str, String, Markup);

/// The page of a report, with pictures of its runs.
pub fn page(report: &Report, pictures: &[Picture]) -> String {
    let made = Made { version: &report.version, command: &report.command, made: report.made };
    document(&report.title, &head(report), &parts(report, pictures), made)
}

/// Who made a page.
#[derive(Clone, Copy)]
struct Made<'r> {
    version: &'r str,
    command: &'r [String],
    made: u64,
}

/// A page of parts.
fn document(title: &str, head: &Markup, parts: &[Part], Made { version, command, made }: Made<'_>) -> String {
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                meta http-equiv="Content-Security-Policy" content=(POLICY);
                meta name="generator" content={ "hmcvi " (version) };
                link rel="icon" href="data:,";
                title { (title) " · hmcvi report" }
                style { (PreEscaped(style())) }
            }
            body {
                a class="skip" href="#main" { "Skip to the content" }
                (head)
                nav aria-label="Parts of this page" {
                    div class="wide" { ul { @for (id, title, ..) in parts { li { a href={ "#" (id) } { (title) } } } } }
                }
                main id="main" class="wide" {
                    @for (id, title, lead, body) in parts {
                        section id=(id) aria-labelledby={ (id) "-title" } {
                            h2 id={ (id) "-title" } { (title) }
                            @if !lead.is_empty() { p class="lead" { (lead) } }
                            (body)
                        }
                    }
                }
                footer {
                    div class="wide" {
                        "Made by hmcvi " (version) " on " (date(made)) " with "
                        code { (reproduce::shell(command)) }
                        ". All numbers are in the JSON file of the same name beside this page."
                    }
                }
            }
        }
    };
    page.into_string()
}

/// What rows of the data are called.
fn noun(report: &Report) -> Noun {
    Noun::of(report.runs.iter().map(|run| run.facts.info.as_ref()))
}

fn style() -> String {
    let (light, dark) = (variables(&LINES, &COLOURS), variables(&LINES_ON_DARK, &COLOURS_ON_DARK));
    format!("{STYLE}:root {{ {light}}}\n@media (prefers-color-scheme: dark) {{ :root {{ {dark}}} }}\n")
}

fn parts(report: &Report, pictures: &[Picture]) -> Vec<Part> {
    let panels = |section| figures::panels(report, section);
    let all = [
        (
            "results",
            "Results",
            noun(report).say(
                "Nats per image, so smaller is better. Errors are standard errors over images; intervals span two of them \
                 on either side.",
            ),
            results::results(report),
        ),
        (
            "learning",
            "Learning",
            "The bound over training, and the terms that add up to it.".into(),
            panels(Section::Learning),
        ),
        ("chain", "The HMC chain", "How the simulations inside the bound went.".into(), panels(Section::Chain)),
        (
            "trust",
            "How far to trust it",
            "A bound can be loose, and importance sampling can miss part of the posterior. These numbers tell.".into(),
            html! { (trust::trust(report)) (panels(Section::Trust)) },
        ),
        ("pictures", "Pictures", String::new(), pictures::pictures(report, pictures)),
        (
            "diagnosis",
            "Diagnosis",
            "What was found, what it means, and what to do next.".into(),
            diagnosis::diagnosis(report),
        ),
        ("reproduce", "Reproduce it", String::new(), reproduce::reproduce(report)),
    ];
    all.into_iter().filter(|(.., body)| !body.0.is_empty()).collect()
}

fn head(report: &Report) -> Markup {
    let what = if report.runs.len() == 1 { "Report on a run" } else { "Comparison of runs" };
    // A number and its error stay on one line.
    let verdict = report.verdict.replace(" ± ", "\u{a0}±\u{a0}").replace(" nats", "\u{a0}nats");
    html! {
        header class="top" {
            div class="wide" {
                p class="eyebrow" { "hmcvi · " (what) " · " (date(report.made)) }
                h1 { (report.title) }
                p class="verdict" { (verdict) }
                @if let [run] = &report.runs[..] {
                    ul class="chips" aria-label="Settings" { @for chip in chips(run) { li class="chip" { (chip) } } }
                }
                (cards::cards(report))
            }
        }
    }
}

/// The settings in a few words each.
fn chips(run: &RunReport) -> Vec<String> {
    let s = &run.facts.settings;
    let mut all = vec![match run.facts.state {
        RunState::Finished => "training finished".to_string(),
        RunState::Running => "in training".into(),
        RunState::Stopped => "training stopped".into(),
    }];
    all.extend(run.facts.preset.clone().filter(|p| !run.facts.name.starts_with(p)));
    all.push(counted(s.latent, "latent dimension"));
    if s.hmc_steps == 0 {
        all.push("no HMC steps".into());
    } else {
        let leapfrog = counted(s.leapfrog_steps, "leapfrog step");
        all.push(format!("{} of {leapfrog}", counted(s.hmc_steps, "HMC step")));
        all.push(format!("{} mass", s.mass));
        all.extend((s.acceptance != "none").then(|| format!("{} acceptance", s.acceptance)));
        all.extend(s.partial_momentum.then(|| "partial momentum".into()));
    }
    all.extend(s.family.iter().cloned());
    all.push(format!("seed {}", s.seed));
    all
}

/// The name of a run as a heading, where there are several.
fn heading(report: &Report, run: &RunReport) -> Markup {
    html! { @if report.runs.len() > 1 { h3 { (run.facts.name) } } }
}

/// Something to be typed.
fn typed(text: &str) -> Markup {
    html! { pre tabindex="0" { code { (text) } } }
}
