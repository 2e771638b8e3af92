//! List what a report could show and cannot yet, with the commands that change that.

use hmcvi_record::{Missing, RunState};

use super::{RunData, noun};
use crate::Noun;

/// Images that are enough for a first look at an estimator that takes long.
const FEW: u64 = 100;

pub(super) fn missing(run: &RunData) -> Vec<Missing> {
    let place = &crate::quoted(&run.facts.place);
    let mut all: Vec<Missing> = run.no_pictures.iter().cloned().collect();
    let mut add = |what: &str, command: String| all.push(Missing { what: what.into(), command });
    if run.facts.state == RunState::Stopped {
        let done = run.epochs.last().map_or(0, |e| e.epoch);
        add(
            &format!("the other {} epochs of training", run.facts.planned.saturating_sub(done)),
            format!("hmcvi resume {place}"),
        );
    }
    let noun = noun(std::slice::from_ref(run));
    let Some(evaluation) = &run.facts.evaluation else {
        add(&noun.say("bound and likelihood of test images"), format!("hmcvi eval {place}"));
        return all;
    };
    // Quadrature is of binary data only.
    let binary = noun == Noun::Image || run.facts.settings.binarisation != "none";
    let flags = [
        (
            evaluation.importance_sampling.is_none(),
            "the likelihood by importance sampling",
            "--samples 5000".into(),
        ),
        (
            evaluation.quadrature.is_none() && run.facts.settings.latent == 2 && binary,
            "the likelihood itself",
            "--quadrature".into(),
        ),
        (evaluation.annealing.is_none(), "the likelihood by annealing", format!("--ais {FEW}")),
        (evaluation.bidirectional.is_none(), "how wrong annealing can be", format!("--bdmc {FEW}")),
        (
            evaluation.posterior.is_none() && run.facts.settings.hmc_steps > 0,
            "how much nearer the HMC steps bring the encoder to the posterior",
            "--posterior 20".into(),
        ),
        (
            evaluation.reverse.is_none() && run.facts.settings.hmc_steps > 0,
            "what better reverse models would add to the bound",
            "--reverse 100".into(),
        ),
    ];
    if let Some(from) = run.began_with.as_ref().filter(|from| from.facts.evaluation.is_none()) {
        let flags = (evaluation.images, evaluation.draws);
        add(
            &format!("what it gains over {}, the basic model it began with", from.facts.name),
            format!(
                "hmcvi eval {} --limit {} --draws {}",
                crate::quoted(&from.facts.place),
                flags.0,
                flags.1
            ),
        );
    }
    let wanted: Vec<String> = flags.iter().filter(|f| f.0).map(|f| f.2.clone()).collect();
    let command = format!("hmcvi eval {place} {}", wanted.join(" "));
    let whats: Vec<&str> = flags.iter().filter(|f| f.0).map(|f| f.1).collect();
    if !whats.is_empty() {
        add(&whats.join("; "), command);
    }
    all
}
