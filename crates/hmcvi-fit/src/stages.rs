//! Keep the trace of a fit while it is made, and name its stages.

use hmcvi::bayes::Fitted;
use hmcvi::bayes::fit::{EvidenceStage, Learning, Progress, Stage, Stopped};
use hmcvi_record::FitStage;

/// The name of a stage in records.
pub fn name(stage: Stage) -> &'static str {
    match stage {
        Stage::Places => "places",
        Stage::Start => "start",
        Stage::Gaussian => "gaussian",
        Stage::Bend => "bend",
        Stage::Chain => "chain",
    }
}

/// What a stage does, for a person.
pub fn in_words(stage: Stage) -> &'static str {
    match stage {
        Stage::Places => "trying places to begin from",
        Stage::Start => "looking for a first Gaussian",
        Stage::Gaussian => "learning the Gaussian",
        Stage::Bend => "bending its coordinates",
        Stage::Chain => "learning the chain",
    }
}

/// What a part of bracketing the log evidence does, for a person.
pub fn of_evidence(stage: EvidenceStage) -> &'static str {
    match stage {
        EvidenceStage::Importance => "importance sampling",
        EvidenceStage::LongChain => "a long chain",
        EvidenceStage::Tuning => "tuning annealing",
        EvidenceStage::Lower => "annealing from the Gaussian",
        EvidenceStage::Upper => "annealing from the posterior",
    }
}

/// Why a stage ended, as records have it.
pub fn why(learning: &Learning) -> &'static str {
    match learning.stopped {
        Stopped::StoodStill => "stood-still",
        Stopped::MostUpdates => "most-updates",
        Stopped::Asked => "asked",
        Stopped::GivenUp => "given-up",
    }
}

/// The stages of a fit with the bounds that were seen on the way.
#[derive(Clone, Debug, Default)]
pub struct Stages(Vec<FitStage>);

impl Stages {
    /// Adds what is seen; returns whether a stage begins.
    pub fn add(&mut self, progress: &Progress) -> bool {
        let begins = self.0.last().is_none_or(|last| last.name != name(progress.stage));
        if begins {
            let (name, trace) = (name(progress.stage).into(), Vec::new());
            self.0.push(FitStage { name, stopped: None, trace });
        }
        let done = progress.updates.0 as u64;
        if let Some(stage) = self.0.last_mut() {
            stage.trace.push((done, Some(progress.bound).filter(|bound| bound.is_finite())));
        }
        begins
    }

    /// The stages, with what ended them.
    pub fn of(mut self, fitted: &Fitted) -> Vec<FitStage> {
        for (name, learning) in fitted.learning() {
            let stage = self.0.iter_mut().find(|stage| stage.name == name);
            if let (Some(stage), Some(learning)) = (stage, learning) {
                stage.stopped = Some(why(learning).into());
            }
        }
        self.0
    }
}
