//! Say what is wrong with a run, what it means, and what to do about it.

use hmcvi_record::{Epoch, Estimate, Evaluation, Finding, Level, Quadrature, RunSettings, Summary};

/// Share of images with a k-hat above 0.7 from which on the mean is not to be trusted.
const HIGH_K_HAT_SHARE: f64 = 0.05;
/// Effective share of samples below which importance sampling rests on too few of them.
const SMALL_SAMPLE_SHARE: f64 = 0.01;
/// Nats by which another estimate may be above importance sampling.
const ABOVE: f64 = 0.1;
/// Nats between integrals over either half of the points, from which on they are too far from each other.
const HALVES_APART: f64 = 0.5;
/// Share of an integral in the rim of the disc from which on something may be beyond it.
const WIDE_RIM: f64 = 0.01;
/// Nats that better reverse models may add to the bound.
const POOR_REVERSE: f64 = 0.5;
/// Nats between the two bounds of bidirectional Monte Carlo.
const WIDE_GAP: f64 = 0.5;
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
/// Mean norm of an epoch's gradients, as a share of the limit, from which on many are shortened.
const LONG_GRADIENTS: f64 = 0.7;
/// Nats of the validation bound in the last fifth of training that say that it goes on.
const STILL_RISING: f64 = 0.5;
/// Largest R-hat of chains that agree.
const CONVERGED: f64 = 1.05;

/// Looks at everything that is known of a run at `place`.
pub fn diagnose(
    place: &str,
    settings: &RunSettings,
    epochs: &[Epoch],
    summary: Option<&Summary>,
    evaluation: Option<&Evaluation>,
) -> Vec<Finding> {
    let mut all = Vec::new();
    all.extend(finished(place, summary));
    all.extend(over_fitting(place, epochs));
    all.extend(learning_rate(place, settings, epochs));
    all.extend(gradients(settings, epochs));
    all.extend(still_rising(place, epochs));
    all.extend(acceptance(epochs));
    all.extend(divergences(epochs));
    all.extend(skipped(epochs));
    match evaluation {
        Some(e) => {
            all.extend(outdated(place, summary, e));
            all.extend(dimensions(e));
            all.extend(importance(place, settings, e));
            all.extend(quadrature(place, e));
            all.extend(annealing(place, settings, e));
            all.extend(gap(place, e));
            all.extend(posterior(e));
            all.extend(reverse(e));
        }
        None => all.push(Finding {
            level: Level::Problem,
            about: "evaluation".into(),
            finding: "the model was not judged yet".into(),
            meaning: "the validation bound says nothing about how loose it is".into(),
            action: format!("hmcvi eval {place}"),
        }),
    }
    all
}

fn finished(place: &str, summary: Option<&Summary>) -> Option<Finding> {
    let done = summary.is_some_and(|s| s.finished);
    let epochs = summary.map_or(0, |s| s.epochs);
    (!done).then(|| Finding {
        level: Level::Problem,
        about: "training".into(),
        finding: format!("training stopped after {epochs} epochs, before its end"),
        meaning:
            "the learning rate has not come down to its last value, so the model is not what it could be"
                .into(),
        action: format!("hmcvi resume {place}"),
    })
}

/// Looks at the validation images, with the bound of the training images in the same epoch.
fn looks(epochs: &[Epoch]) -> Vec<(u64, f64, f64)> {
    let bound = |map: &std::collections::BTreeMap<String, f64>| map.get("bound").copied();
    let look = |e: &Epoch| Some((e.epoch, bound(&e.train)?, bound(e.validation.as_ref()?)?));
    epochs.iter().filter_map(look).collect()
}

fn over_fitting(place: &str, epochs: &[Epoch]) -> Option<Finding> {
    let looks = looks(epochs);
    let (_, train, validation) = *looks.last()?;
    let (best_epoch, best) = looks.iter().map(|l| (l.0, l.2)).max_by(|a, b| a.1.total_cmp(&b.1))?;
    let (above, fallen) = (train - validation, best - validation);
    let numbers = format!(
        "the bound is {train:.2} on training and {validation:.2} on validation images (best {best:.2} in epoch {best_epoch})"
    );
    Some(if above > TRAINING_ABOVE || fallen > FALLEN {
        Finding {
            level: Level::Problem,
            about: "over-fitting".into(),
            finding: numbers,
            meaning: "the encoder, the decoder or both have learnt the training images by heart; the encoder alone is to \
                      blame where importance sampling of training and test images agrees".into(),
            action: format!(
                "use the best checkpoint (the default); compare `hmcvi eval {place} --split train` with `--split test`; \
                 train with more data or smaller `model.hidden`"
            ),
        }
    } else {
        good("over-fitting", numbers, "training and validation images are described equally well")
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
            "parameters are averaged, which takes out the noise of updates",
        ));
    }
    Some(if epochs.len() > 1 && last > HIGH_LAST_RATE * largest {
        Finding {
            level: Level::Problem,
            about: "learning-rate".into(),
            finding: numbers,
            meaning: "updates are still large at the end, and their noise keeps the bound below what the model can reach".into(),
            action: format!(
                "train again with `--set train.average=0.1` or `train.learning_rate.last={:.1e}`, or go on from it: `--init-from {place}`",
                largest / 10.0
            ),
        }
    } else {
        good("learning-rate", numbers, "the last updates are small")
    })
}

fn gradients(settings: &RunSettings, epochs: &[Epoch]) -> Option<Finding> {
    let (norm, limit) = (*epochs.last()?.train.get("gradient_norm")?, settings.longest_gradient);
    (limit > 0.0 && norm > LONG_GRADIENTS * limit).then(|| Finding {
        level: Level::Remark,
        about: "gradients".into(),
        finding: format!("gradients had a mean norm of {norm:.0} in the last epoch, and are shortened to {limit:.0}"),
        meaning: "the limit is there for rare accidents; where it shortens many updates, it can keep the bound down".into(),
        action: format!("train again with `--set train.adam.longest_gradient={:.0}`, or 0 for none", 10.0 * limit),
    })
}

fn still_rising(place: &str, epochs: &[Epoch]) -> Option<Finding> {
    let looks = looks(epochs);
    let last = looks.last()?;
    let fifth = looks.iter().rev().find(|l| l.0 as f64 <= 0.8 * last.0 as f64)?;
    let gain = last.2 - fifth.2;
    (gain > STILL_RISING).then(|| Finding {
        level: Level::Remark,
        about: "convergence".into(),
        finding: format!("the validation bound rose by {gain:.2} nats since epoch {}", fifth.0),
        meaning: "more epochs would improve the model".into(),
        action: format!("hmcvi resume {place} --set train.epochs={}", 2 * last.0),
    })
}

fn acceptance(epochs: &[Epoch]) -> Option<Finding> {
    let rate = *epochs.last()?.train.get("acceptance_rate")?;
    let numbers = format!("{:.1}% of proposals were accepted in the last epoch", 100.0 * rate);
    Some(if rate < LOW_ACCEPTANCE {
        Finding {
            level: Level::Problem,
            about: "acceptance".into(),
            finding: numbers,
            meaning: "most simulations are wasted, and the bound pays for every rejection".into(),
            action: "train longer, with a smaller `train.learning_rate.first`, or with fewer `chain.leapfrog_steps`".into(),
        }
    } else if rate > HIGH_ACCEPTANCE {
        Finding {
            level: Level::Remark,
            about: "acceptance".into(),
            finding: numbers,
            meaning:
                "the acceptance step hardly ever acts: it costs energies, and the step size could be larger"
                    .into(),
            action: "try `chain.acceptance=none`".into(),
        }
    } else {
        good("acceptance", numbers, "simulations are accurate enough")
    })
}

fn divergences(epochs: &[Epoch]) -> Option<Finding> {
    let last = epochs.iter().rfind(|e| e.train.contains_key("step_size"))?;
    let all: u64 = epochs.iter().map(|e| e.divergences).sum();
    let share = last.divergences as f64 / last.images.max(1) as f64;
    let numbers = format!("{} simulations diverged in the last epoch, {all} in all", last.divergences);
    Some(if share > MANY_DIVERGENCES {
        Finding {
            level: Level::Problem,
            about: "divergences".into(),
            finding: numbers,
            meaning: "the step size is too large for some images; without the acceptance step they do not count, so the \
                      bound is of the others".into(),
            action: "lower `train.learning_rate.first`, or use `chain.step_size=network` or `chain.acceptance=simple`"
                .into(),
        }
    } else {
        good("divergences", numbers, "simulations stay in range")
    })
}

fn skipped(epochs: &[Epoch]) -> Option<Finding> {
    let (skipped, steps): (u64, u64) = (epochs.iter().map(|e| e.skipped).sum(), epochs.last()?.step);
    (skipped > 0).then(|| Finding {
        level: if skipped * 100 > steps { Level::Problem } else { Level::Remark },
        about: "updates".into(),
        finding: format!("{skipped} of {steps} updates were left out because the gradient was not finite"),
        meaning: "numbers left the range of f32 in some batches".into(),
        action: "lower `train.learning_rate.first`".into(),
    })
}

fn outdated(place: &str, summary: Option<&Summary>, e: &Evaluation) -> Option<Finding> {
    let now = summary.map(|s| if e.checkpoint == "last" { s.epochs } else { s.best_epoch })?;
    (now != e.epoch).then(|| Finding {
        level: Level::Problem,
        about: "evaluation".into(),
        finding: format!(
            "the evaluation is of epoch {}, the {} checkpoint of epoch {now}",
            e.epoch, e.checkpoint
        ),
        meaning: "the model was trained on after it was judged".into(),
        action: format!("hmcvi eval {place}"),
    })
}

fn dimensions(e: &Evaluation) -> Option<Finding> {
    let d = e.dimensions?;
    let numbers = format!("{} of {} latent dimensions are used", d.used, d.all);
    Some(if d.used < d.all {
        Finding {
            level: Level::Remark,
            about: "dimensions".into(),
            finding: numbers,
            meaning: "the others were lost early in training, when large steps are noisy, or the data do not need them".into(),
            action: "train again, from the basic model on, with `--set train.learning_rate.warm_up=0.1` or a smaller \
                     `train.learning_rate.first`"
                .into(),
        }
    } else {
        good("dimensions", numbers, "the model has use for its latent space")
    })
}

/// Whether latent dimensions are so few that the prior's draws come near to every posterior, which may have several modes.
fn is_small(settings: &RunSettings) -> bool {
    settings.latent <= 3
}

/// A proposal that misses less than a Gaussian.
fn wider_proposal(settings: &RunSettings) -> &'static str {
    if is_small(settings) { "--proposal defensive" } else { "--proposal student-t --proposal-scale 1.5" }
}

fn importance(place: &str, settings: &RunSettings, e: &Evaluation) -> Option<Finding> {
    let s = e.importance_sampling.as_ref()?;
    let share = s.effective_sample_size / s.samples as f64;
    let numbers = format!(
        "k-hat is above 0.7 for {:.1}% of images (median {:.2}), {:.1}% of samples are effective",
        100.0 * s.k_hat_high,
        s.k_hat_median,
        100.0 * share
    );
    Some(if s.k_hat_high > HIGH_K_HAT_SHARE || share < SMALL_SAMPLE_SHARE {
        Finding {
            level: Level::Problem,
            about: "k-hat".into(),
            finding: numbers,
            meaning: "the proposal misses a part of the posterior: the likelihood is probably larger than estimated, and its \
                      standard error says nothing about that".into(),
            action: format!(
                "hmcvi eval {place} {}, and compare with --ais 100 --bdmc 100{}",
                wider_proposal(settings),
                if is_small(settings) { " --start prior" } else { "" },
            ),
        }
    } else {
        good("k-hat", numbers, "importance sampling covers the posteriors")
    })
}

/// Whether an estimate is above importance sampling by more than chance and more than matters.
fn is_above(above: &Estimate) -> bool {
    above.mean > ABOVE && above.mean > 3.0 * above.standard_error
}

fn quadrature(place: &str, e: &Evaluation) -> Option<Finding> {
    let q = e.quadrature.as_ref()?;
    let problem = |finding: String, meaning: &str, action: String| {
        Some(Finding {
            level: Level::Problem,
            about: "quadrature".into(),
            finding,
            meaning: meaning.into(),
            action,
        })
    };
    let annealing = || format!("hmcvi eval {place} --ais 1000, and report the likelihood by annealing");
    if q.halves_apart > HALVES_APART {
        let finer = q.spacing / 2.0;
        return problem(
            format!("integrals over either half of the points differ by up to {:.2} nats", q.halves_apart),
            "some posteriors are narrower than the grid: their likelihoods are not exact",
            if Quadrature::SPACINGS.contains(&finer) {
                format!("hmcvi eval {place} --quadrature {finer}")
            } else {
                annealing()
            },
        );
    }
    if let Some(rim) = q.rim.filter(|rim| *rim > WIDE_RIM) {
        return problem(
            format!("up to {:.0}% of an image's posterior lie in the rim of the disc", 100.0 * rim),
            "some posteriors reach beyond what is integrated over: their likelihoods are not exact",
            annealing(),
        );
    }
    let above = q.above_importance_sampling?;
    let numbers = format!(
        "the likelihood by quadrature is above importance sampling by {:.3} +- {:.3} nats",
        above.mean, above.standard_error
    );
    if is_above(&above) {
        problem(
            numbers,
            "importance sampling misses modes of some posteriors that the encoder does not point to",
            "report the likelihood by quadrature".into(),
        )
    } else {
        Some(good("quadrature", numbers, "importance sampling is right"))
    }
}

fn annealing(place: &str, settings: &RunSettings, e: &Evaluation) -> Option<Finding> {
    let above = e.annealing.as_ref()?.above_importance_sampling?;
    let numbers = format!(
        "annealing is above importance sampling by {:.3} +- {:.3} nats",
        above.mean, above.standard_error
    );
    Some(if is_above(&above) {
        Finding {
            level: Level::Problem,
            about: "importance-sampling".into(),
            finding: numbers,
            meaning: "importance sampling underestimates the likelihood by at least that much".into(),
            action: format!(
                "report the annealed estimate, or `hmcvi eval {place} {} --samples 50000`",
                wider_proposal(settings)
            ),
        }
    } else {
        good("importance-sampling", numbers, "two independent estimators agree")
    })
}

fn gap(place: &str, e: &Evaluation) -> Option<Finding> {
    let b = e.bidirectional.as_ref()?;
    let numbers = format!(
        "the two bounds on simulated data are {:.3} +- {:.3} nats apart",
        b.gap.mean, b.gap.standard_error
    );
    Some(if b.gap.mean > WIDE_GAP {
        Finding {
            level: Level::Problem,
            about: "bdmc-gap".into(),
            finding: numbers,
            meaning: "annealing is too fast: its estimates can be wrong by as much".into(),
            action: format!(
                "hmcvi eval {place} --bdmc {} --start {} --temperatures {}",
                b.points,
                b.settings.start,
                4 * b.settings.temperatures
            ),
        }
    } else {
        good("bdmc-gap", numbers, "annealed estimates are right to within this gap")
    })
}

fn posterior(e: &Evaluation) -> Option<Finding> {
    let p = e.posterior.as_ref()?;
    let gain = p.gain.gaussian_kl;
    let numbers = format!(
        "HMC steps take {:.3} +- {:.3} nats off the divergence from the posterior ({:.3} to {:.3})",
        gain.mean, gain.standard_error, p.initial.gaussian_kl.mean, p.improved.gaussian_kl.mean
    );
    Some(if p.r_hat > CONVERGED {
        Finding {
            level: Level::Problem,
            about: "posterior".into(),
            finding: format!("the reference chains disagree: R-hat {:.3}", p.r_hat),
            meaning: "distances from them mean nothing".into(),
            action: "look at fewer or other images; their posteriors may have several modes".into(),
        }
    } else if gain.mean.abs() < 3.0 * gain.standard_error && gain.mean != 0.0 {
        Finding {
            level: Level::Remark,
            about: "posterior".into(),
            finding: numbers,
            meaning: "no improvement can be told from chance".into(),
            action: "look at more images, or train with more `chain.hmc_steps`".into(),
        }
    } else {
        good("posterior", numbers, "measured against long chains on the posterior itself")
    })
}

fn reverse(e: &Evaluation) -> Option<Finding> {
    let r = e.reverse.as_ref()?;
    let gain = if r.own.mean > r.linear.mean { r.own } else { r.linear };
    let numbers = format!(
        "reverse models that know each image would add {:.3} +- {:.3} nats to the bound",
        gain.mean, gain.standard_error
    );
    Some(if gain.mean > POOR_REVERSE && gain.mean > 3.0 * gain.standard_error {
        Finding {
            level: Level::Remark,
            about: "reverse-models".into(),
            finding: numbers,
            meaning: "the bound is that far from the likelihood, at least, because the networks guess momenta poorly".into(),
            action: "train for longer, or with larger `model.hidden` layers".into(),
        }
    } else {
        good("reverse-models", numbers, "the networks guess momenta about as well as Gaussians can")
    })
}

fn good(about: &str, finding: String, meaning: &str) -> Finding {
    Finding {
        level: Level::Good,
        about: about.into(),
        finding,
        meaning: meaning.into(),
        action: String::new(),
    }
}
