//! Show what was found, and what to do next; then what the report could not show.

use std::fmt::Write;

use hmcvi_record::{Finding, Level, Missing, Report};

use super::html::escape;

pub(super) fn diagnosis(report: &Report) -> String {
    let mut out = String::new();
    for run in &report.runs {
        if report.runs.len() > 1 {
            let _ = writeln!(out, "<h3>{}</h3>", escape(&run.facts.name));
        }
        let mut findings: Vec<&Finding> = run.findings.iter().collect();
        findings.sort_by_key(|f| match f.level {
            Level::Problem => 0,
            Level::Unchecked => 1,
            Level::Remark => 2,
            Level::Good => 3,
        });
        out.push_str("<ul class=\"findings\">\n");
        for finding in findings {
            item(&mut out, finding);
        }
        out.push_str("</ul>\n");
        missing(&mut out, &run.missing);
    }
    out
}

fn item(out: &mut String, finding: &Finding) {
    let (class, level) = match finding.level {
        Level::Problem => ("problem", "Problem"),
        Level::Remark => ("remark", "Remark"),
        Level::Unchecked => ("unchecked", "Not checked"),
        Level::Good => ("good", "Good"),
    };
    let _ = write!(
        out,
        "<li class=\"{class}\"><span class=\"level {class}\">{level}</span><strong>{}</strong>\n<p>{}.</p>\n\
         <p class=\"meaning\">{}.</p>\n",
        escape(&title(&finding.about)),
        escape(&capital(&finding.finding)),
        escape(&capital(&finding.meaning))
    );
    if !finding.action.is_empty() {
        let _ = writeln!(out, "<p>Next: <code>{}</code></p>", escape(&finding.action));
    }
    out.push_str("</li>\n");
}

fn missing(out: &mut String, missing: &[Missing]) {
    if missing.is_empty() {
        return;
    }
    out.push_str("<h3>Not in this report yet</h3>\n<ul class=\"missing\">\n");
    for Missing { what, command } in missing {
        let _ = writeln!(out, "<li>{}: <code>{}</code></li>", escape(&capital(what)), escape(command));
    }
    out.push_str("</ul>\n");
}

/// A key as a title.
fn title(about: &str) -> String {
    if about == "k-hat" { about.into() } else { capital(&about.replace('-', " ")) }
}

fn capital(text: &str) -> String {
    let mut letters = text.chars();
    // Names of things keep their own letters.
    let keeps = text.starts_with("k-hat") || text.starts_with("hmcvi");
    letters.next().map_or(String::new(), |first| match keeps {
        true => text.into(),
        false => first.to_uppercase().chain(letters).collect(),
    })
}
