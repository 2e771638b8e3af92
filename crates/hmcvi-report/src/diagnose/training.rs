//! Examine how training went.

use std::collections::BTreeMap;

use hmcvi_record::{Epoch, Finding, Level, RunSettings, Summary};

use super::{Known, finding, good, problem, remark, unchecked};

/// Acceptance rates that waste simulations, and those that could take larger steps.
const LOW_ACCEPTANCE: f64 = 0.5;
const HIGH_ACCEPTANCE: f64 = 0.995;
/// Share of images whose simulation diverges.
const MANY_DIVERGENCES: f64 = 1e-3;
/// Nats by which the bound of training images may be above that of validation images, and by which the latter may
/// have fallen from its best value.
const TRAINING_ABOVE: f64 = 3.0;
const FALLEN: f64 = 0.3;
/// Learning rate at the end, as a share of the largest.
const HIGH_LAST_RATE: f64 = 0.5;
/// Mean norm of an epoch's gradients, as a share of the limit, from which on many are clipped.
const LONG_GRADIENTS: f64 = 0.7;
/// Nats gained in the last fifth of training by a validation bound that still rises.
const STILL_RISING: f64 = 0.5;

pub(super) fn findings(known: &Known<'_>) -> Vec<Finding> {
    let Known { place, settings, epochs, .. } = *known;
    [
        finished(place, known.summary),
        overfitting(known),
        learning_rate(place, settings, epochs),
        gradients(settings, epochs),
        still_rising(place, epochs),
        acceptance(epochs),
        divergences(known),
        skipped(epochs),
    ]
    .into_iter()
    .flatten()
    .collect()
}

fn finished(place: &str, summary: Option<&Summary>) -> Option<Finding> {
    let done = summary.is_some_and(|s| s.finished);
    let epochs = match summary.map_or(0, |s| s.epochs) {
        1 => "1 epoch".into(),
        n => format!("{n} epochs"),
    };
    (!done).then(|| {
        problem(
            "training",
            format!("training stopped after {epochs}, before its end"),
            "the learning rate has not reached its final value, so the model is not what it could be",
            format!("hmcvi resume {place}"),
        )
    })
}

/// Epochs with a validation bound, beside the training bound of the same epoch.
fn validated(epochs: &[Epoch]) -> Vec<(u64, f64, f64)> {
    let bound = |map: &BTreeMap<String, f64>| map.get("bound").copied();
    let both = |e: &Epoch| Some((e.epoch, bound(&e.train)?, bound(e.validation.as_ref()?)?));
    epochs.iter().filter_map(both).collect()
}

fn overfitting(known: &Known<'_>) -> Option<Finding> {
    let (Known { place, epochs, .. }, noun) = (*known, known.noun());
    epochs.last()?;
    let all = validated(epochs);
    let Some((_, train, validation)) = all.last().copied() else {
        return Some(unchecked(
            "overfitting",
            "no epoch has a validation bound",
            &noun.say("whether the model fits more than its training images is unknown"),
            format!("hmcvi eval {place} --split validation"),
        ));
    };
    let (best_epoch, best) = all.iter().map(|l| (l.0, l.2)).max_by(|a, b| a.1.total_cmp(&b.1))?;
    let (above, fallen) = (train - validation, best - validation);
    let numbers = format!(
        "the bound is {train:.2} on training and {validation:.2} on validation {} (best {best:.2} in epoch {best_epoch})",
        noun.say("images")
    );
    Some(if above > TRAINING_ABOVE || fallen > FALLEN {
        problem(
            "overfitting",
            numbers,
            &noun.say(
                "the encoder, the decoder or both have memorised the training images; it is the encoder alone if \
                 importance sampling gives training and test images the same likelihood",
            ),
            format!(
                "use the best checkpoint (the default); compare `hmcvi eval {place} --split train` with `--split test`; \
                 train with more data or smaller `model.hidden`"
            ),
        )
    } else {
        good("overfitting", numbers, &noun.say("training and validation images are described equally well"))
    })
}

fn learning_rate(place: &str, settings: &RunSettings, epochs: &[Epoch]) -> Option<Finding> {
    let last = epochs.last()?.learning_rate;
    let largest = epochs.iter().map(|e| e.learning_rate).fold(0.0, f64::max);
    let numbers = format!("the learning rate went from {largest:.1e} to {last:.1e}");
    if settings.average > 0.0 {
        return Some(good(
            "learning-rate",
            numbers,
            "parameters are averaged, which removes the noise of updates",
        ));
    }
    Some(if epochs.len() > 1 && last > HIGH_LAST_RATE * largest {
        problem(
            "learning-rate",
            numbers,
            "updates are still large at the end, and their noise keeps the bound below what the model can reach",
            format!(
                "train again with `--set train.average=0.1` or `train.learning_rate.last={:.1e}`, or continue from it with \
                 `--init-from {place}`",
                largest / 10.0
            ),
        )
    } else {
        good("learning-rate", numbers, "the last updates are small")
    })
}

fn gradients(settings: &RunSettings, epochs: &[Epoch]) -> Option<Finding> {
    let (norm, limit) = (*epochs.last()?.train.get("gradient_norm")?, settings.max_grad_norm);
    (limit > 0.0 && norm > LONG_GRADIENTS * limit).then(|| {
        remark(
            "gradients",
            format!("gradients had a mean norm of {norm:.0} in the last epoch and are clipped to {limit:.0}"),
            "the limit is there for rare accidents; where it clips many updates, it can hold the bound down",
            format!(
                "train again with `--set train.adam.max_grad_norm={:.0}`, or 0 for no limit",
                10.0 * limit
            ),
        )
    })
}

fn still_rising(place: &str, epochs: &[Epoch]) -> Option<Finding> {
    let all = validated(epochs);
    let last = all.last()?;
    let fifth = all.iter().rev().find(|l| l.0 as f64 <= 0.8 * last.0 as f64)?;
    let gain = last.2 - fifth.2;
    (gain > STILL_RISING).then(|| {
        remark(
            "convergence",
            format!("the validation bound rose by {gain:.2} nats since epoch {}", fifth.0),
            "more epochs would improve the model",
            format!("hmcvi resume {place} --set train.epochs={}", 2 * last.0),
        )
    })
}

fn acceptance(epochs: &[Epoch]) -> Option<Finding> {
    let rate = *epochs.last()?.train.get("acceptance_rate")?;
    let numbers = format!("{:.1}% of proposals were accepted in the last epoch", 100.0 * rate);
    Some(if rate < LOW_ACCEPTANCE {
        problem(
            "acceptance",
            numbers,
            "most simulations are wasted, and the bound pays for every rejection",
            "train longer, with a smaller `train.learning_rate.first`, or with fewer `chain.leapfrog_steps`",
        )
    } else if rate > HIGH_ACCEPTANCE {
        remark(
            "acceptance",
            numbers,
            "the acceptance step hardly ever rejects: it costs time, and the step size could be larger",
            "try `chain.acceptance=none`",
        )
    } else {
        good("acceptance", numbers, "simulations are accurate enough")
    })
}

fn divergences(known: &Known<'_>) -> Option<Finding> {
    let epochs = known.epochs;
    let last = epochs.iter().rfind(|e| e.train.contains_key("step_size"))?;
    let all: u64 = epochs.iter().map(|e| e.divergences).sum();
    let share = last.divergences as f64 / last.images.max(1) as f64;
    let numbers = format!("{} simulations diverged in the last epoch, {all} in all", last.divergences);
    Some(if share > MANY_DIVERGENCES {
        problem(
            "divergences",
            numbers,
            &known.noun().say(
                "the step size is too large for some images; without the acceptance step they are dropped, so the bound \
                 is that of the others",
            ),
            "lower `train.learning_rate.first`, or use `chain.step_size=network` or `chain.acceptance=simple`",
        )
    } else {
        good("divergences", numbers, "simulations stay in range")
    })
}

fn skipped(epochs: &[Epoch]) -> Option<Finding> {
    let (skipped, steps): (u64, u64) = (epochs.iter().map(|e| e.skipped).sum(), epochs.last()?.step);
    (skipped > 0).then(|| {
        finding(
            if skipped * 100 > steps { Level::Problem } else { Level::Remark },
            "updates",
            format!("{skipped} of {steps} updates were skipped because the gradient was not finite"),
            "values left the range of f32 in some batches",
            "lower `train.learning_rate.first`",
        )
    })
}
