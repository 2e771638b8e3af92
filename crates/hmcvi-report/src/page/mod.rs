//! Write a report as one page that needs nothing else: no network, no script, light and dark, wide and narrow.

mod cards;
mod diagnosis;
mod figures;
mod html;
mod pictures;
mod plot;
mod reproduce;
mod results;
mod table;
mod trust;

use std::fmt::Write;

use hmcvi_record::{Report, RunReport, RunState, Section};

pub use pictures::{Image, Picture};

use self::html::{date, escape};
use crate::palette::{LINES, LINES_ON_DARK};

/// The style sheet, but for the colours of lines.
const STYLE: &str = include_str!("style.css");

/// What comes from elsewhere is refused by the browser itself.
const POLICY: &str =
    "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'";

/// A part of the page: its address, its title, and what is in it.
struct Part {
    id: &'static str,
    title: &'static str,
    lead: &'static str,
    body: String,
}

/// The page of a report, with pictures of its runs.
pub fn page(report: &Report, pictures: &[Picture]) -> String {
    let parts = parts(report, pictures);
    let title = escape(&report.title);
    let mut out = format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"{POLICY}\">\n\
         <meta name=\"generator\" content=\"hmcvi {}\">\n<link rel=\"icon\" href=\"data:,\">\n\
         <title>{title} · hmcvi report</title>\n<style>\n{STYLE}{}</style>\n</head>\n<body>\n\
         <a class=\"skip\" href=\"#main\">Skip to the content</a>\n",
        escape(&report.version),
        colours()
    );
    head(&mut out, report, &title);
    navigation(&mut out, &parts);
    out.push_str("<main id=\"main\" class=\"wide\">\n");
    for Part { id, title, lead, body } in &parts {
        let _ = write!(
            out,
            "<section id=\"{id}\" aria-labelledby=\"{id}-title\">\n<h2 id=\"{id}-title\">{title}</h2>\n"
        );
        if !lead.is_empty() {
            let _ = writeln!(out, "<p class=\"lead\">{lead}</p>");
        }
        let _ = writeln!(out, "{body}</section>");
    }
    let _ = write!(
        out,
        "</main>\n<footer><div class=\"wide\">Made by hmcvi {} on {} with <code>{}</code>. All numbers are in the JSON \
         file of the same name beside this page.</div></footer>\n</body>\n</html>\n",
        escape(&report.version),
        date(report.made),
        escape(&reproduce::shell(&report.command))
    );
    out
}

fn parts(report: &Report, pictures: &[Picture]) -> Vec<Part> {
    let part = |id, title, lead, body| Part { id, title, lead, body };
    let all = [
        part(
            "results",
            "Results",
            "Nats per image, so smaller is better. Errors are standard errors over images; intervals show two of them.",
            results::results(report),
        ),
        part(
            "learning",
            "Learning",
            "The bound over training, and the terms that add up to it.",
            figures::panels(report, Section::Learning),
        ),
        part(
            "chain",
            "The HMC chain",
            "How the simulations inside the bound went.",
            figures::panels(report, Section::Chain),
        ),
        part(
            "trust",
            "How far to trust it",
            "A bound can be loose and importance sampling can miss a part of the posterior; these numbers tell.",
            trust::trust(report) + &figures::panels(report, Section::Trust),
        ),
        part("pictures", "Pictures", "", pictures::pictures(report, pictures)),
        part(
            "diagnosis",
            "Diagnosis",
            "What was found, what it means, and what to do next.",
            diagnosis::diagnosis(report),
        ),
        part("reproduce", "Reproduce it", "", reproduce::reproduce(report)),
    ];
    all.into_iter().filter(|p| !p.body.is_empty()).collect()
}

fn head(out: &mut String, report: &Report, title: &str) {
    let what = if report.runs.len() == 1 { "Report on a run" } else { "Comparison of runs" };
    let _ = write!(
        out,
        "<header class=\"top\"><div class=\"wide\">\n<p class=\"eyebrow\">hmcvi · {what} · {}</p>\n<h1>{title}</h1>\n\
         <p class=\"verdict\">{}</p>\n",
        date(report.made),
        // A number and its error stay on one line.
        escape(&report.verdict).replace(" ± ", "\u{a0}±\u{a0}").replace(" nats", "\u{a0}nats")
    );
    if let [run] = &report.runs[..] {
        let chips: String =
            chips(run).iter().map(|c| format!("<li class=\"chip\">{}</li>", escape(c))).collect();
        let _ = writeln!(out, "<ul class=\"chips\" aria-label=\"Settings\">{chips}</ul>");
    }
    let _ = writeln!(out, "{}</div></header>", cards::cards(report));
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
    all.push(format!("{} latent dimensions", s.latent));
    if s.hmc_steps == 0 {
        all.push("no HMC steps".into());
    } else {
        all.push(format!("{} HMC × {} leapfrog steps", s.hmc_steps, s.leapfrog_steps));
        all.push(format!("{} mass", s.mass));
        all.extend((s.acceptance != "none").then(|| format!("{} acceptance", s.acceptance)));
        all.extend(s.partial_momentum.then(|| "partial momentum".into()));
    }
    all.push(format!("seed {}", s.seed));
    all
}

fn navigation(out: &mut String, parts: &[Part]) {
    out.push_str("<nav aria-label=\"Parts of this page\"><div class=\"wide\"><ul>");
    for Part { id, title, .. } in parts {
        let _ = write!(out, "<li><a href=\"#{id}\">{title}</a></li>");
    }
    out.push_str("</ul></div></nav>\n");
}

/// Classes for strokes and fills of lines, for light and for dark pages.
fn colours() -> String {
    let rules = |colours: &[(u8, u8, u8)]| -> String {
        let rule = |(i, (r, g, b)): (usize, &(u8, u8, u8))| {
            let colour = format!("#{r:02x}{g:02x}{b:02x}");
            format!(".s{i} {{ stroke: {colour}; }} svg .f{i} {{ fill: {colour}; }}\n")
        };
        colours.iter().enumerate().map(rule).collect()
    };
    // Letters need more contrast than lines.
    let letters = "@media (prefers-color-scheme: light) { svg .label { filter: brightness(.8); } }\n";
    format!("{}{letters}@media (prefers-color-scheme: dark) {{\n{}}}\n", rules(&LINES), rules(&LINES_ON_DARK))
}
