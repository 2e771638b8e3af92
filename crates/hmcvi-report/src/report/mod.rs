//! Gather what is known of runs into the record of a report. A pure function: nothing is read or drawn here.

mod compare;
mod figures;
pub(crate) mod histogram;
mod missing;
mod verdict;

use hmcvi_record::{
    Basic, Difference, Epoch, Estimate, Evaluation, ImageEvaluation, Missing, Published, REPORT_SCHEMA,
    Report, RunFacts, RunReport, RunState,
};

pub use compare::compare;

use crate::{Known, Noun, diagnose};

/// Everything that was read of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct RunData {
    /// What is told as it is.
    pub facts: RunFacts,
    /// All epochs.
    pub epochs: Vec<Epoch>,
    /// What the latest evaluation found out about every image.
    pub images: Vec<ImageEvaluation>,
    /// The run that this one began with, if it is known.
    pub began_with: Option<Box<RunData>>,
    /// The paper's plain model of the same size.
    pub published_basic: Option<Published>,
    /// Why there are no pictures, and what to do about it.
    pub no_pictures: Option<Missing>,
}

impl RunData {
    /// What a diagnosis is made from.
    pub fn known(&self) -> Known<'_> {
        let facts = &self.facts;
        Known {
            place: &facts.place,
            settings: &facts.settings,
            epochs: &self.epochs,
            info: facts.info.as_ref(),
            summary: facts.summary.as_ref(),
            evaluation: facts.evaluation.as_ref(),
            evaluation_is_current: facts.evaluation_is_current,
        }
    }
}

/// What rows of the data of runs are called.
fn noun(runs: &[RunData]) -> Noun {
    Noun::of(runs.iter().map(|run| run.facts.info.as_ref()))
}

/// Who makes a report.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Maker {
    /// Version of the program.
    pub version: String,
    /// The command.
    pub command: Vec<String>,
    /// Seconds since 1970.
    pub made: u64,
}

/// The report on one run, or the comparison of several with the first.
pub fn report(runs: &[RunData], maker: Maker) -> Report {
    let comparison = compare(runs);
    let parts: Vec<RunReport> = runs.iter().map(run_report).collect();
    let title = match &parts[..] {
        [one] => one.facts.name.clone(),
        [one, other] => format!("{} and {}", one.facts.name, other.facts.name),
        [one, others @ ..] => format!("{} and {} others", one.facts.name, others.len()),
        [] => "No runs".into(),
    };
    Report {
        schema: REPORT_SCHEMA,
        version: maker.version,
        command: maker.command,
        made: maker.made,
        title,
        verdict: verdict::verdict(&parts, &comparison),
        figures: figures::figures(runs),
        runs: parts,
        comparison,
    }
}

fn run_report(run: &RunData) -> RunReport {
    let facts = run.facts.clone();
    let mut findings = diagnose(&run.known());
    // A training that is under way has not stopped.
    findings.retain(|f| !(facts.state == RunState::Running && f.about == "training"));
    let (last, basic, missing) = (run.epochs.last().cloned(), basic(run), missing::missing(run));
    RunReport { facts, last, basic, findings, missing }
}

/// The model that the run began with, else the paper's plain model; nothing for a plain model itself.
fn basic(run: &RunData) -> Option<Basic> {
    if run.facts.settings.hmc_steps == 0 {
        return None;
    }
    if let Some(from) = &run.began_with {
        return Some(Basic {
            name: from.facts.name.clone(),
            place: Some(from.facts.place.clone()),
            bound: bound(from),
            log_likelihood: log_likelihood(from),
            bound_gain: compare::bound_difference(from, run),
            log_likelihood_gain: compare::log_likelihood_difference(from, run),
        });
    }
    let paper = run.published_basic.as_ref()?;
    let exact = |mean: f64| Estimate { mean, standard_error: 0.0 };
    let gain = |here: Option<Estimate>, there: f64| {
        let Estimate { mean, standard_error } = here?;
        let estimate = Estimate { mean: mean - there, standard_error };
        Some(Difference { estimate, paired: false })
    };
    // A difference from published numbers means something on the same data and by the same protocol only.
    let same = under_protocol(&run.facts, paper);
    Some(Basic {
        name: paper.name.clone(),
        place: None,
        bound: Some(exact(paper.bound)),
        log_likelihood: Some(exact(paper.log_likelihood)),
        bound_gain: same.then(|| gain(bound(run), paper.bound)).flatten(),
        log_likelihood_gain: same.then(|| gain(log_likelihood(run), paper.log_likelihood)).flatten(),
    })
}

/// Whether the evaluation is by the paper's protocol: all test images of MNIST, five binarisation draws of each.
pub(crate) fn under_protocol(facts: &RunFacts, paper: &Published) -> bool {
    let is_it = |e: &Evaluation| e.split == "test" && (e.images, e.draws, e.pixel_scale) == (10_000, 5, 256);
    paper.same_data == Some(true) && facts.evaluation.as_ref().is_some_and(is_it)
}

fn bound(run: &RunData) -> Option<Estimate> {
    run.facts.evaluation.as_ref().map(|e| e.bound).filter(|b| b.mean.is_finite())
}

fn log_likelihood(run: &RunData) -> Option<Estimate> {
    let sampling = run.facts.evaluation.as_ref()?.importance_sampling.as_ref()?;
    Some(sampling.log_likelihood).filter(|l| l.mean.is_finite())
}

/// A word as a shell takes it.
pub fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./=:,+@%".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word.into()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::quoted;

    #[test]
    fn words_survive_a_shell() {
        assert_eq!(quoted("runs/a-1"), "runs/a-1");
        assert_eq!(quoted("model.hidden=[16,16]"), "'model.hidden=[16,16]'");
        assert_eq!(quoted("it's"), r"'it'\''s'");
    }
}
