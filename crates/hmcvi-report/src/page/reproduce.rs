//! Say exactly how runs were made, so that they can be made again.

use hmcvi_record::{Report, RunReport};
use maud::{Markup, html};

use super::{heading, typed};
use crate::words::{date, grouped};

pub(super) fn reproduce(report: &Report) -> Markup {
    html! {
        @for run in &report.runs {
            (heading(report, run))
            p class="lead" {
                @match &run.facts.reproduce_caveats[..] {
                    [] => {
                        "The settings file holds everything that the result depends on, so these commands give the same numbers \
                         again:"
                    }
                    caveats => { "This comes close, but cannot be exact: " (caveats.join("; ")) "." }
                }
            }
            (typed(&run.facts.reproduce.join("\n")))
            dl class="facts" { @for (name, value) in facts(run) { dt { (name) } dd { (value) } } }
            details { summary { "Complete settings (config.toml)" } (typed(&run.facts.config)) }
        }
    }
}

fn facts(run: &RunReport) -> Vec<(&'static str, Markup)> {
    let code = |text: &str| html! { code { (text) } };
    let mut rows = vec![("Run directory", code(&run.facts.place))];
    if let Some(info) = &run.facts.info {
        rows.extend([
            ("Started", html! { (date(info.started)) }),
            ("Command", code(&shell(&info.command))),
            ("Version", html! { "hmcvi " (info.version) }),
            ("Device", html! { (info.device) }),
            ("Data", html! { (info.data) }),
            ("SHA-256 of the data", code(&info.data_sha256)),
            ("Trained parameters", html! { (grouped(info.parameters)) }),
        ]);
        let step = info.first_step_size.map(|step| format!("{step:.3e}").replace('-', "−"));
        rows.extend(step.map(|step| ("Initial step size", html! { (step) })));
    }
    if let Some(evaluation) = &run.facts.evaluation {
        rows.extend([
            ("Evaluated with", code(&shell(&evaluation.command))),
            ("Checkpoint evaluated", html! { (evaluation.checkpoint) ", epoch " (evaluation.epoch) }),
            ("Pixel scale", html! { "byte / " (evaluation.pixel_scale) }),
        ]);
    }
    rows
}

/// A command as a shell takes it, with the program's own name first.
pub(super) fn shell(command: &[String]) -> String {
    let word = |(i, word): (usize, &String)| match word {
        _ if i == 0 => "hmcvi".to_string(),
        word => crate::report::quoted(word),
    };
    command.iter().enumerate().map(word).collect::<Vec<_>>().join(" ")
}
