//! Give one verdict on the likelihood by importance sampling from all evidence, the strongest first: quadrature is exact
//! where it applies, annealing between two bounds comes next, and k-hat is a symptom only.

use hmcvi_record::{
    Bidirectional, Estimate, Evaluation, Finding, ImportanceSampling, Quadrature, RunSettings,
};

use super::{Known, good, problem, remark, unchecked};

/// Share of images with a k-hat above 0.7 from which on the mean is not to be trusted.
const HIGH_K_HAT_SHARE: f64 = 0.05;
/// Effective share of samples below which importance sampling rests on too few of them.
const SMALL_SAMPLE_SHARE: f64 = 0.01;
/// Fewest samples of an image that say how far their mean can be trusted.
const FEW_SAMPLES: u64 = 100;
/// Nats by which another estimate may be above importance sampling.
const ABOVE: f64 = 0.1;
/// Nats between integrals over either half of the points, from which on they are too far from each other.
const HALVES_APART: f64 = 0.5;
/// Share of an integral in the rim of the disc from which on something may be beyond it.
const WIDE_RIM: f64 = 0.01;
/// Nats between the two bounds of bidirectional Monte Carlo.
const WIDE_GAP: f64 = 0.5;

/// What stronger evidence says of importance sampling.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Evidence {
    /// It agrees.
    For(&'static str),
    /// It is too low.
    Against,
    /// There is none.
    Missing,
}

pub(super) fn findings(known: &Known<'_>, e: &Evaluation) -> Vec<Finding> {
    let mut all = Vec::new();
    let (by_quadrature, finding) = quadrature(known, e);
    all.extend(finding);
    let (by_annealing, finding) = annealing(known, e);
    // Where both speak, the exact one decides, and what annealing says of importance sampling adds nothing.
    all.extend(finding.filter(|_| by_quadrature == Evidence::Missing));
    all.extend(e.bidirectional.as_ref().map(|b| gap(known, b)));
    let stronger = if by_quadrature == Evidence::Missing { by_annealing } else { by_quadrature };
    all.extend(importance(known, e, stronger));
    all
}

fn quadrature(known: &Known<'_>, e: &Evaluation) -> (Evidence, Option<Finding>) {
    let Some(q) = &e.quadrature else { return (Evidence::Missing, None) };
    if let Some(inexact) = inexact(known.place, q) {
        return (Evidence::Missing, Some(inexact));
    }
    let Some(above) = q.above_importance_sampling else { return (Evidence::Missing, None) };
    let numbers = above_text("the exact likelihood by quadrature", &above);
    if is_above(&above) {
        let finding = problem(
            "quadrature",
            numbers,
            "importance sampling misses modes of some posteriors that the encoder does not point to",
            "report the likelihood by quadrature",
        );
        (Evidence::Against, Some(finding))
    } else {
        (Evidence::For("quadrature"), Some(good("quadrature", numbers, "importance sampling is accurate")))
    }
}

/// Why integrals are not what they should be, if they are not.
fn inexact(place: &str, q: &Quadrature) -> Option<Finding> {
    let annealing = || format!("hmcvi eval {place} --ais 1000, and report the likelihood by annealing");
    if q.halves_apart > HALVES_APART {
        let finer = q.spacing / 2.0;
        let can_be_finer = Quadrature::SPACINGS.contains(&finer);
        return Some(problem(
            "quadrature",
            format!("integrals over either half of the points differ by up to {:.2} nats", q.halves_apart),
            "some posteriors are narrower than the grid: their likelihoods are not exact",
            if can_be_finer { format!("hmcvi eval {place} --quadrature {finer}") } else { annealing() },
        ));
    }
    let rim = q.rim.filter(|rim| *rim > WIDE_RIM)?;
    Some(problem(
        "quadrature",
        format!("up to {:.0}% of an image's posterior lies in the rim of the disc", 100.0 * rim),
        "some posteriors reach beyond the area of integration: their likelihoods are not exact",
        annealing(),
    ))
}

fn annealing(known: &Known<'_>, e: &Evaluation) -> (Evidence, Option<Finding>) {
    let above = e.annealing.as_ref().and_then(|a| a.above_importance_sampling);
    let Some(above) = above else { return (Evidence::Missing, None) };
    let numbers = above_text("annealing", &above);
    if is_above(&above) {
        let finding = problem(
            "importance-sampling",
            numbers,
            "importance sampling underestimates the likelihood by at least that much",
            format!(
                "report the annealed estimate, or `hmcvi eval {} {} --samples 50000`",
                known.place,
                wider_proposal(known.settings)
            ),
        );
        return (Evidence::Against, Some(finding));
    }
    // Both could miss the same modes: only bounds from both sides rule that out.
    let bracketed = e.bidirectional.as_ref().is_some_and(|b| b.gap.mean <= WIDE_GAP);
    let evidence = if bracketed { Evidence::For("annealing between two bounds") } else { Evidence::Missing };
    (evidence, Some(good("importance-sampling", numbers, "two independent estimators agree")))
}

fn gap(known: &Known<'_>, b: &Bidirectional) -> Finding {
    let numbers = format!(
        "the two bounds on simulated data are {:.3} +- {:.3} nats apart",
        b.gap.mean, b.gap.standard_error
    );
    // A gap that could not be computed is NaN, which is not narrow.
    let is_narrow = b.gap.mean <= WIDE_GAP;
    if !is_narrow {
        problem(
            "BDMC-gap",
            numbers,
            "annealing is too fast: its estimates can be wrong by as much",
            format!(
                "hmcvi eval {} --bdmc {} --start {} --temperatures {}",
                known.place,
                b.points,
                b.settings.start,
                4 * b.settings.temperatures
            ),
        )
    } else {
        good("BDMC-gap", numbers, "annealed estimates are accurate to within this gap")
    }
}

fn importance(known: &Known<'_>, e: &Evaluation, stronger: Evidence) -> Vec<Finding> {
    let check = format!("hmcvi eval {} --ais 100 --bdmc 100{}", known.place, start(known.settings));
    let Some(s) = &e.importance_sampling else {
        let estimated = e.quadrature.is_some() || e.annealing.is_some();
        return Vec::from_iter((!estimated).then(|| {
            unchecked(
                "likelihood",
                "only the bound was computed",
                "how loose the bound is remains unknown",
                format!("hmcvi eval {} --samples 5000", known.place),
            )
        }));
    };
    let mut all = Vec::from_iter(few_samples(known, s));
    all.extend(k_hat(known, s, stronger, &check));
    if stronger == Evidence::Missing && e.annealing.is_none() && e.quadrature.is_none() {
        all.push(unchecked(
            "importance-sampling",
            "no second estimator was run",
            "whether importance sampling misses modes of the posterior is unknown: its own diagnostics cannot see that",
            check,
        ));
    }
    all
}

fn few_samples(known: &Known<'_>, s: &ImportanceSampling) -> Option<Finding> {
    (s.samples < FEW_SAMPLES).then(|| {
        problem(
            "samples",
            format!("importance sampling used only {}", crate::counted(s.samples, "sample")),
            "so few give a loose bound on the likelihood, not an estimate of it",
            format!("hmcvi eval {} --samples 5000", known.place),
        )
    })
}

/// What the weights say of themselves. A symptom that stronger evidence explains is not a second problem.
fn k_hat(known: &Known<'_>, s: &ImportanceSampling, stronger: Evidence, check: &str) -> Option<Finding> {
    let share = s.effective_sample_size / s.samples as f64;
    let Some(median) = s.k_hat_median else {
        return Some(unchecked(
            "k-hat",
            format!("k-hat could not be computed from {}", crate::counted(s.samples, "sample")),
            "the weights cannot say how far their mean is to be trusted",
            format!("hmcvi eval {} --samples 5000", known.place),
        ));
    };
    let numbers = format!(
        "k-hat is above 0.7 for {:.1}% of {} (median {median:.2}), {:.1}% of samples are effective",
        100.0 * s.k_hat_high,
        known.noun().say("images"),
        100.0 * share
    );
    // Not `<` and `>`: values that could not be computed are NaN.
    let fine = s.k_hat_high <= HIGH_K_HAT_SHARE && share >= SMALL_SAMPLE_SHARE;
    Some(match stronger {
        _ if fine => good("k-hat", numbers, "the proposals fit the part of the posteriors that they reach"),
        Evidence::For(what) => remark(
            "k-hat",
            numbers,
            &known.noun().say(&format!("single images may be off, but the mean agrees with {what}")),
            known.noun().say("none needed for the mean; for single images use the stronger estimate"),
        ),
        Evidence::Against => remark(
            "k-hat",
            numbers,
            "the weights show what the stronger estimate above has measured",
            "see above",
        ),
        Evidence::Missing => problem(
            "k-hat",
            numbers,
            "the proposal misses a part of the posterior: the likelihood is probably larger than estimated, and its \
             standard error says nothing about that",
            format!("hmcvi eval {} {}, and compare: {check}", known.place, wider_proposal(known.settings)),
        ),
    })
}

/// Whether latent dimensions are so few that the prior's draws come near every posterior, which may have several modes.
fn is_small(settings: &RunSettings) -> bool {
    settings.latent <= 3
}

/// A proposal that misses less than a Gaussian.
fn wider_proposal(settings: &RunSettings) -> &'static str {
    if is_small(settings) { "--proposal defensive" } else { "--proposal student-t --proposal-scale 1.5" }
}

/// Where annealing has to begin so as to miss nothing.
fn start(settings: &RunSettings) -> &'static str {
    if is_small(settings) { " --start prior" } else { "" }
}

/// Whether an estimate is above importance sampling by more than chance and more than matters.
fn is_above(above: &Estimate) -> bool {
    above.mean > ABOVE && above.mean > 3.0 * above.standard_error
}

fn above_text(what: &str, above: &Estimate) -> String {
    format!("{what} is above importance sampling by {:.3} +- {:.3} nats", above.mean, above.standard_error)
}
