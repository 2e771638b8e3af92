//! Show what was found, and what to do next; then what the report could not show.

use hmcvi_record::{Finding, Level, Report};
use maud::{Markup, html};

use super::heading;

pub(super) fn diagnosis(report: &Report) -> Markup {
    html! {
        @for run in &report.runs {
            (heading(report, run))
            (findings(&run.findings))
            @if !run.missing.is_empty() {
                h3 { "Not in this report yet" }
                ul class="missing" {
                    @for missing in &run.missing { li { (capital(&missing.what)) ": " code { (missing.command) } } }
                }
            }
        }
    }
}

/// What was found, the worst first.
pub(super) fn findings(all: &[Finding]) -> Markup {
    html! { ul class="findings" { @for finding in sorted(all) { (item(finding)) } } }
}

/// The worst first.
fn sorted(findings: &[Finding]) -> Vec<&Finding> {
    let mut all: Vec<&Finding> = findings.iter().collect();
    all.sort_by_key(|f| match f.level {
        Level::Problem => 0,
        Level::Unchecked => 1,
        Level::Remark => 2,
        Level::Good => 3,
    });
    all
}

fn item(finding: &Finding) -> Markup {
    let (class, level) = match finding.level {
        Level::Problem => ("problem", "Problem"),
        Level::Remark => ("remark", "Remark"),
        Level::Unchecked => ("unchecked", "Not checked"),
        Level::Good => ("good", "Good"),
    };
    html! {
        li class=(class) {
            span class={ "level " (class) } { (level) }
            strong { (title(&finding.about)) }
            p { (capital(&finding.finding)) "." }
            p class="meaning" { (capital(&finding.meaning)) "." }
            @if !finding.action.is_empty() { p { "Next: " code { (finding.action) } } }
        }
    }
}

/// A key as a title.
fn title(about: &str) -> String {
    match about {
        "k-hat" => about.into(),
        "ess" => "Effective sample size".into(),
        _ => capital(&about.replace('-', " ").replace("bdmc", "BDMC").replace("hmc", "HMC")),
    }
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

#[cfg(test)]
mod tests {
    use super::title;

    #[test]
    fn titles_are_written_as_people_write_them() {
        let found = ["k-hat", "overfitting", "BDMC-gap", "learning-rate"].map(title);
        assert_eq!(found, ["k-hat", "Overfitting", "BDMC gap", "Learning rate"]);
    }
}
