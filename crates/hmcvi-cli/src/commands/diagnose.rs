//! Say whether a run is satisfactory, and what to do if it is not.

use clap::Args;
use hmcvi::run::FitDirectory;
use hmcvi_record::{Finding, Level};
use hmcvi_report::{counted, diagnose, diagnose_fit};
use serde::Serialize;

use crate::Context;
use crate::arguments::Chosen;
use crate::commands::report::{fits, gather};
use crate::failure::Failure;

/// What was typed.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    chosen: Chosen,
}

/// The answer.
#[derive(Serialize)]
struct Diagnosis {
    satisfactory: bool,
    not_checked: usize,
    findings: Vec<Finding>,
}

pub(crate) fn run(context: &Context, arguments: &Arguments) -> Result<(), Failure> {
    let Some(run) = arguments.chosen.run() else {
        return Err(Failure::Usage(
            "the model inside the program has no record of its training; `hmcvi eval builtin` evaluates it, and \
             `hmcvi diagnose RUN` examines a run directory"
                .into(),
        ));
    };
    let findings = match FitDirectory::is_fit(run) {
        true => {
            let fit = fits::one(run)?;
            diagnose_fit(&fit.record, &fit.place)
        }
        false => diagnose(&gather::alone(context, run)?.known()),
    };
    let count = |level| findings.iter().filter(|f| f.level == level).count();
    let (problems, not_checked) = (count(Level::Problem), count(Level::Unchecked));
    if context.terminal.json {
        context.terminal.print_json(&Diagnosis { satisfactory: problems == 0, not_checked, findings })?;
    } else {
        context.terminal.print(&text(&findings))?;
    }
    if problems > 0 {
        return Err(Failure::Unsatisfactory(format!("{} found", counted(problems as u64, "problem"))));
    }
    if not_checked > 0 {
        let checks = counted(not_checked as u64, "check");
        context.terminal.notice(&format!("{checks} could not be made; the commands above make them"));
    }
    Ok(())
}

fn text(findings: &[Finding]) -> String {
    let mut text = String::new();
    for f in findings {
        let level = match f.level {
            Level::Good => "good",
            Level::Remark => "remark",
            Level::Unchecked => "not checked",
            Level::Problem => "PROBLEM",
        };
        text += &format!("{level:<12} {}: {}\n{:13}meaning: {}\n", f.about, f.finding, "", f.meaning);
        if !f.action.is_empty() {
            text += &format!("{:13}next: {}\n", "", f.action);
        }
    }
    text
}
