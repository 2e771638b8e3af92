//! Say what is wrong with a run, what it means, and what to do about it.

mod evaluation;
mod likelihood;
mod training;

use hmcvi_record::{Epoch, Evaluation, Finding, Level, RunInfo, RunSettings, Summary};

use crate::Noun;

/// What is known of a run.
#[derive(Clone, Copy, Debug)]
pub struct Known<'a> {
    /// Where it is, as commands name it.
    pub place: &'a str,
    /// The settings that matter.
    pub settings: &'a RunSettings,
    /// All epochs.
    pub epochs: &'a [Epoch],
    /// Who made it, with what.
    pub info: Option<&'a RunInfo>,
    /// Outcome of training.
    pub summary: Option<&'a Summary>,
    /// The latest evaluation.
    pub evaluation: Option<&'a Evaluation>,
    /// Whether that is of the checkpoint as it is now.
    pub evaluation_is_current: Option<bool>,
}

impl Known<'_> {
    /// What rows of the data are called.
    fn noun(&self) -> Noun {
        Noun::of([self.info])
    }
}

/// Examines everything that is known of a run. What could not be examined is [`Level::Unchecked`], never good.
pub fn diagnose(known: &Known<'_>) -> Vec<Finding> {
    let mut all = training::findings(known);
    match known.evaluation {
        Some(e) => {
            all.extend(evaluation::subject(known, e));
            all.extend(evaluation::dimensions(known, e));
            all.extend(likelihood::findings(known, e));
            all.extend(evaluation::posterior(known, e));
            all.extend(evaluation::reverse(known, e));
        }
        None => all.push(problem(
            "evaluation",
            "the model has not been evaluated",
            "the validation bound says nothing about how loose it is",
            format!("hmcvi eval {}", known.place),
        )),
    }
    all
}

pub(crate) fn finding(
    level: Level,
    about: &str,
    finding: impl Into<String>,
    meaning: &str,
    action: impl Into<String>,
) -> Finding {
    Finding {
        level,
        about: about.into(),
        finding: finding.into(),
        meaning: meaning.into(),
        action: action.into(),
    }
}

pub(crate) fn good(about: &str, found: impl Into<String>, meaning: &str) -> Finding {
    finding(Level::Good, about, found, meaning, "")
}

pub(crate) fn remark(
    about: &str,
    found: impl Into<String>,
    meaning: &str,
    action: impl Into<String>,
) -> Finding {
    finding(Level::Remark, about, found, meaning, action)
}

pub(crate) fn problem(
    about: &str,
    found: impl Into<String>,
    meaning: &str,
    action: impl Into<String>,
) -> Finding {
    finding(Level::Problem, about, found, meaning, action)
}

pub(crate) fn unchecked(
    about: &str,
    found: impl Into<String>,
    meaning: &str,
    action: impl Into<String>,
) -> Finding {
    finding(Level::Unchecked, about, found, meaning, action)
}
