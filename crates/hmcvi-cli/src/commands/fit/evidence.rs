//! Hold a fit against NUTS, and bracket its log evidence.

use hmcvi::bayes::fit::{Evidence, EvidenceSettings};
use hmcvi::bayes::{Draws, FitError, Fitted};
use hmcvi::config::FitSpec;
use hmcvi_nuts::{Check, CheckSettings, Element, Sampled, compare};
use hmcvi_record::{DrawTable, Estimate, FitCheck, FitDifference, FitEvidence};

use super::infer::{chains, facts, settings};
use super::watch::Watch;
use crate::Context;
use crate::failure::Failure;

/// A fit held against NUTS: draws of the chains, and what they say.
pub(super) struct Checked {
    pub(super) chains: Vec<DrawTable>,
    pub(super) record: FitCheck,
    /// The chains, where they are to be trusted.
    sampled: Option<Sampled>,
}

/// Runs chains that begin with the fit and others that do not; nothing if they were interrupted.
pub(super) fn check(
    context: &Context,
    spec: &FitSpec,
    fitted: &Fitted,
    draws: &Draws,
) -> Result<Option<Checked>, Failure> {
    let (nuts, mut watch) = (settings(spec), Watch::new(context));
    let how = CheckSettings { draws: spec.draws, cold: true, ..CheckSettings::default() };
    let checked = hmcvi_nuts::check(fitted, &nuts, &how, |progress| watch.nuts(progress, nuts.chains));
    watch.finish();
    let checked = checked?;
    if checked.warm.stopped || checked.cold.as_ref().is_none_or(|cold| cold.stopped) {
        return Ok(None);
    }
    // The check makes draws of its own, which were not chosen by their weights.
    let checked = Check { elements: compare(draws, &checked.warm, &how.limits), ..checked };
    let chains = chains(fitted.model(), &checked.warm)?;
    let record = FitCheck {
        seconds: checked.warm.seconds + checked.cold.as_ref().map_or(0.0, |cold| cold.seconds),
        sampler: facts(&checked.warm, nuts.warm_up_after_fit, nuts.max_depth),
        rhat: checked.trust.r_hat.as_ref().map(|(_, r_hat)| *r_hat).filter(|r_hat| r_hat.is_finite()),
        ess: checked.trust.effective_sample_size.as_ref().map(|(_, ess)| *ess),
        doubts: checked.trust.doubts.clone(),
        verdict: checked
            .verdict()
            .and_then(|verdict| Some(serde_json::to_value(verdict).ok()?.as_str()?.into())),
        parameters: checked.elements.iter().map(difference).collect(),
    };
    let sampled = checked.trust.is_good().then_some(checked.warm);
    Ok(Some(Checked { chains, record, sampled }))
}

fn difference(element: &Element) -> FitDifference {
    FitDifference {
        name: element.name.clone(),
        mean: Some(element.mean.value),
        sd_ratio: Some(1.0 + element.sd.value),
        wasserstein: Some(element.wasserstein.value),
    }
}

/// Anneals from both sides, back from draws of NUTS where there are any that can be trusted; nothing if it was
/// interrupted.
pub(super) fn evidence(
    context: &Context,
    spec: &FitSpec,
    fitted: &Fitted,
    checked: Option<&Checked>,
) -> Result<Option<FitEvidence>, Failure> {
    let chains = checked.and_then(|checked| checked.sampled.as_ref());
    let posterior: Option<Vec<Vec<f64>>> =
        chains.map(|sampled| sampled.chains.iter().flat_map(|chain| chain.unconstrained.clone()).collect());
    let how = EvidenceSettings { draws: spec.draws, seed: spec.seed, ..EvidenceSettings::default() };
    let mut watch = Watch::new(context);
    let found =
        fitted.evidence_watched(&how, posterior.as_deref(), &mut |stage, share| watch.evidence(stage, share));
    watch.finish();
    match found {
        Ok(found) => Ok(Some(record(&found))),
        Err(FitError::Evidence(_)) if context.interrupt.requested() => Ok(None),
        Err(error) => Err(error.into()),
    }
}

fn record(found: &Evidence) -> FitEvidence {
    let side = |side: &hmcvi::bayes::fit::Side| Estimate {
        mean: side.log_evidence,
        standard_error: side.standard_error,
    };
    FitEvidence {
        importance: Some(side(&found.importance)),
        lower: side(&found.lower),
        upper: side(&found.upper),
        between: found.between,
        posterior: if found.long_chain.is_some() { "long-chain" } else { "nuts" }.into(),
        is_bracket: found.is_bracket(),
        seconds: found.seconds,
    }
}
