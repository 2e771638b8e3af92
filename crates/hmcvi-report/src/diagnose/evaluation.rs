//! Examine what an evaluation is of, and what it found beside the likelihood.

use hmcvi_record::{Evaluation, Finding};

use super::{Known, good, problem, remark, unchecked};

/// Fewest images whose mean says something about all, and that tell a used latent dimension from an unused one.
const FEW_IMAGES: u64 = 100;
/// Share of images without a bound above which the mean of the others is no bound.
const MANY_DROPPED: f64 = 0.01;
/// Nats that better reverse models may add to the bound.
const POOR_REVERSE: f64 = 0.5;
/// Largest R-hat of chains that agree.
const CONVERGED: f64 = 1.05;

/// Whether it is of this model, of its data, and of enough of it.
pub(super) fn subject(known: &Known<'_>, e: &Evaluation) -> Vec<Finding> {
    [outdated(known, e), other_data(known, e), few_images(known, e), dropped(e)]
        .into_iter()
        .flatten()
        .collect()
}

fn outdated(known: &Known<'_>, e: &Evaluation) -> Option<Finding> {
    (known.evaluation_is_current == Some(false)).then(|| {
        problem(
            "evaluation",
            format!("the evaluation is of the {} checkpoint as it was in epoch {}", e.checkpoint, e.epoch),
            "the model was trained further after it was evaluated",
            format!("hmcvi eval {}", known.place),
        )
    })
}

fn other_data(known: &Known<'_>, e: &Evaluation) -> Option<Finding> {
    let info = known.info?;
    (info.data_sha256 != e.data_sha256).then(|| {
        problem(
            "data",
            format!(
                "the model was trained on {} but evaluated on other data (its SHA-256 differs)",
                info.data
            ),
            "the numbers say how well the model describes that other data, not how well it was trained",
            format!("hmcvi eval {}", known.place),
        )
    })
}

fn few_images(known: &Known<'_>, e: &Evaluation) -> Option<Finding> {
    (e.images < FEW_IMAGES).then(|| {
        problem(
            &known.noun().say("images"),
            format!("only {} were evaluated", known.noun().counted(e.images, "")),
            "so few say little about the others, and a standard error over so few is itself uncertain",
            more_images(known),
        )
    })
}

fn more_images(known: &Known<'_>) -> String {
    let enough = known.noun().counted(FEW_IMAGES, "");
    format!("`hmcvi eval {}` without --limit, or on data with at least {enough}", known.place)
}

fn dropped(e: &Evaluation) -> Option<Finding> {
    let share = e.divergences as f64 / (e.images * e.draws * e.chain_draws).max(1) as f64;
    (share > MANY_DROPPED).then(|| {
        problem(
            "divergences",
            format!("{:.1}% of simulations diverged in the evaluation and were left out", 100.0 * share),
            "the mean over the others is not a bound on the likelihood of all",
            "train again with `chain.acceptance=simple`, or with a smaller `train.learning_rate.first`",
        )
    })
}

pub(super) fn dimensions(known: &Known<'_>, e: &Evaluation) -> Option<Finding> {
    let Some(d) = e.dimensions else {
        return Some(unchecked(
            "dimensions",
            known.noun().say("one image cannot show which latent dimensions are used"),
            "whether the latent space has collapsed is unknown",
            more_images(known),
        ));
    };
    let numbers = format!("{} of {} latent dimensions are used", d.used, d.all);
    let again = "train again, from the basic model on, with `--set train.learning_rate.warm_up=0.1` or a smaller \
                 `train.learning_rate.first`";
    Some(match d.used {
        0 => problem(
            "dimensions",
            numbers,
            "the model has collapsed: it ignores its latent variables, and all reconstructions are the same",
            again,
        ),
        used if used == d.all => good("dimensions", numbers, "the model has use for its latent space"),
        _ if e.images < FEW_IMAGES => unchecked(
            "dimensions",
            format!("{numbers} on {}", known.noun().counted(e.images, "")),
            &known.noun().say("more images may show that the others are used, too"),
            more_images(known),
        ),
        _ => remark(
            "dimensions",
            numbers,
            "the others were lost early in training, when large steps are noisy, or the data do not need them",
            again,
        ),
    })
}

pub(super) fn posterior(known: &Known<'_>, e: &Evaluation) -> Option<Finding> {
    let p = e.posterior.as_ref()?;
    let gain = p.gain.gaussian_kl;
    let numbers = format!(
        "the HMC steps reduce the divergence from the posterior by {:.3} +- {:.3} nats ({:.3} to {:.3})",
        gain.mean, gain.standard_error, p.initial.gaussian_kl.mean, p.improved.gaussian_kl.mean
    );
    // An R-hat that could not be computed is NaN, which is no agreement either.
    let agree = p.r_hat <= CONVERGED;
    Some(if !agree {
        problem(
            "posterior",
            format!("the reference chains disagree: R-hat {:.3}", p.r_hat),
            "distances from them mean nothing",
            known.noun().say("use fewer or other images; their posteriors may have several modes"),
        )
    } else if p.images < 2 {
        unchecked(
            "posterior",
            numbers,
            &known.noun().say("one image does not show whether the improvement is significant"),
            known.noun().say("use more images"),
        )
    } else if gain.mean.abs() < 3.0 * gain.standard_error && gain.mean != 0.0 {
        remark(
            "posterior",
            numbers,
            "the improvement is not significant",
            known.noun().say("use more images, or train with more `chain.hmc_steps`"),
        )
    } else {
        good("posterior", numbers, "measured against long chains on the posterior itself")
    })
}

pub(super) fn reverse(known: &Known<'_>, e: &Evaluation) -> Option<Finding> {
    let r = e.reverse.as_ref()?;
    let gain = if r.own.mean > r.linear.mean { r.own } else { r.linear };
    let numbers = format!(
        "reverse models fitted to each {} would add {:.3} +- {:.3} nats to the bound",
        known.noun().say("image"),
        gain.mean,
        gain.standard_error
    );
    Some(if gain.mean > POOR_REVERSE && gain.mean > 3.0 * gain.standard_error {
        remark(
            "reverse-models",
            numbers,
            "the bound is at least that far from the likelihood because the networks predict momenta poorly",
            "train for longer, or with larger `model.hidden` layers",
        )
    } else {
        good("reverse-models", numbers, "the networks predict momenta about as well as Gaussians can")
    })
}
