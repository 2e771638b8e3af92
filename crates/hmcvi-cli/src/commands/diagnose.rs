//! Say whether a run is satisfactory, and what to do if it is not.

use clap::Args;
use hmcvi::run::RunDirectory;
use hmcvi_record::{Finding, Level};
use hmcvi_report::diagnose;
use serde::Serialize;

use crate::Context;
use crate::arguments::Chosen;
use crate::commands::report::gather::settings;
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
    findings: Vec<Finding>,
}

pub(crate) fn run(context: &Context, arguments: &Arguments) -> Result<(), Failure> {
    let Some(run) = arguments.chosen.run() else {
        return Err(Failure::Usage(
            "the model inside the program has no record of its training; `hmcvi eval builtin` judges it, and \
             `hmcvi diagnose RUN` looks at a run directory"
                .into(),
        ));
    };
    let directory = RunDirectory::open(run)?;
    let (epochs, summary) = (directory.epochs()?, directory.summary().ok());
    let evaluation = directory.evaluation()?;
    let place = run.display().to_string();
    let settings = settings(&directory.spec()?);
    let findings = diagnose(&place, &settings, &epochs, summary.as_ref(), evaluation.as_ref());
    let problems = findings.iter().filter(|f| f.level == Level::Problem).count();
    if context.terminal.json {
        context.terminal.print_json(&Diagnosis { satisfactory: problems == 0, findings })?;
    } else {
        context.terminal.print(&text(&findings))?;
    }
    match problems {
        0 => Ok(()),
        1 => Err(Failure::Unsatisfactory("1 finding is a problem".into())),
        n => Err(Failure::Unsatisfactory(format!("{n} findings are problems"))),
    }
}

fn text(findings: &[Finding]) -> String {
    let mut text = String::new();
    for f in findings {
        let level = match f.level {
            Level::Good => "good",
            Level::Remark => "remark",
            Level::Problem => "PROBLEM",
        };
        text += &format!("{level:<8} {}: {}\n         meaning: {}\n", f.about, f.finding, f.meaning);
        if !f.action.is_empty() {
            text += &format!("         next: {}\n", f.action);
        }
    }
    text
}
