//! Say exactly how runs were made, so that they can be made again.

use std::fmt::Write;

use hmcvi_record::{Report, RunReport};

use super::html::{date, escape};
use crate::report::grouped;

pub(super) fn reproduce(report: &Report) -> String {
    let mut out = String::new();
    for run in &report.runs {
        if report.runs.len() > 1 {
            let _ = writeln!(out, "<h3>{}</h3>", escape(&run.facts.name));
        }
        let lead = match &run.facts.reproduce_caveats[..] {
            [] => "The settings file holds everything that the result depends on, so this gives the same numbers again:".into(),
            caveats => format!("This comes close, but cannot be exact: {}.", escape(&caveats.join("; "))),
        };
        let _ = write!(
            out,
            "<p class=\"lead\">{lead}</p>\n<pre tabindex=\"0\"><code>{}</code></pre>\n",
            escape(&run.facts.reproduce.join("\n"))
        );
        facts(&mut out, run);
        let _ = writeln!(
            out,
            "<details><summary>Complete settings (config.toml)</summary><pre tabindex=\"0\"><code>{}</code></pre></details>",
            escape(&run.facts.config)
        );
    }
    out
}

fn facts(out: &mut String, run: &RunReport) {
    let mut rows = vec![("Run directory", format!("<code>{}</code>", escape(&run.facts.place)))];
    if let Some(info) = &run.facts.info {
        rows.push(("Begun", date(info.started)));
        rows.push(("With", format!("<code>{}</code>", escape(&shell(&info.command)))));
        rows.push(("Version", format!("hmcvi {}", escape(&info.version))));
        rows.push(("Device", escape(&info.device)));
        rows.push(("Data", escape(&info.data)));
        rows.push(("SHA-256 of the data", format!("<code>{}</code>", escape(&info.data_sha256))));
        rows.push(("Trained values", grouped(info.parameters)));
        if let Some(step) = info.first_step_size {
            rows.push(("First step size", format!("{step:.3e}").replace('-', "−")));
        }
    }
    if let Some(evaluation) = &run.facts.evaluation {
        rows.push(("Judged with", format!("<code>{}</code>", escape(&shell(&evaluation.command)))));
        rows.push((
            "Checkpoint judged",
            format!("{}, epoch {}", escape(&evaluation.checkpoint), evaluation.epoch),
        ));
        rows.push(("Pixel scale", format!("byte / {}", evaluation.pixel_scale)));
    }
    out.push_str("<dl class=\"facts\">\n");
    for (name, value) in rows {
        let _ = writeln!(out, "<dt>{name}</dt><dd>{value}</dd>");
    }
    out.push_str("</dl>\n");
}

/// A command as a shell takes it, with the program's own name first.
pub(super) fn shell(command: &[String]) -> String {
    let word = |(i, word): (usize, &String)| match word {
        _ if i == 0 => "hmcvi".to_string(),
        word => crate::report::quoted(word),
    };
    command.iter().enumerate().map(word).collect::<Vec<_>>().join(" ")
}
