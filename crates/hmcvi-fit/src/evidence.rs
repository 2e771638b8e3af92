//! Hold a fit against NUTS, look for what its draws miss, and put a bracketed log evidence on record.

use std::ops::ControlFlow;

use hmcvi::bayes::fit::{Elsewhere, Evidence};
use hmcvi::bayes::{Draws, FitError, Fitted};
use hmcvi::config::FitSpec;
use hmcvi_nuts::{Check, CheckSettings, Element, NutsError, Progress, compare};
use hmcvi_record::{Estimate, FitCheck, FitDifference, FitElsewhere, FitEvidence, MissedPart};

use crate::found::Found;
use crate::sampler::{facts, nuts};

/// A fit held against NUTS.
#[derive(Clone, Debug)]
pub struct Checked {
    /// The chains, and what they say of each number.
    pub check: Check,
    /// What is kept of it.
    pub record: FitCheck,
}

/// Runs chains that begin with the fit and others that do not, and holds the draws that are shown against them; nothing if
/// they were stopped. `progress` hears of every draw.
///
/// # Errors
/// If chains find no place to begin.
pub fn check(
    spec: &FitSpec,
    fitted: &Fitted,
    shown: &Draws,
    progress: impl FnMut(&Progress) -> ControlFlow<()>,
) -> Result<Option<Checked>, NutsError> {
    let sampler = nuts(spec);
    let how = CheckSettings { draws: spec.draws, cold: true, ..CheckSettings::default() };
    let check = hmcvi_nuts::check(fitted, &sampler, &how, progress)?;
    if check.warm.stopped || check.cold.as_ref().is_none_or(|cold| cold.stopped) {
        return Ok(None);
    }
    // The check makes draws of its own, which were not chosen by their weights.
    let check = Check { elements: compare(shown, &check.warm, &how.limits), ..check };
    let record = FitCheck {
        seconds: check.warm.seconds + check.cold.as_ref().map_or(0.0, |cold| cold.seconds),
        sampler: facts(&check.warm, sampler.warm_up_after_fit, sampler.max_depth),
        rhat: check.trust.r_hat.as_ref().map(|(_, r_hat)| *r_hat).filter(|r_hat| r_hat.is_finite()),
        ess: check.trust.effective_sample_size.as_ref().map(|(_, ess)| *ess),
        doubts: check.trust.doubts.clone(),
        verdict: check
            .verdict()
            .and_then(|verdict| Some(serde_json::to_value(verdict).ok()?.as_str()?.into())),
        parameters: check.elements.iter().map(difference).collect(),
    };
    Ok(Some(Checked { check, record }))
}

/// Looks for a part of the posterior that the draws of a fit miss; nothing if it was stopped. `goes_on` is told how many of
/// how many walks are done.
///
/// # Errors
/// If the density cannot be evaluated.
pub fn elsewhere(
    found: &Found,
    goes_on: &mut dyn FnMut(usize, usize) -> bool,
) -> Result<Option<FitElsewhere>, FitError> {
    let sought = found.fitted.seek_elsewhere(&found.draws, goes_on)?;
    let missed = |found: Elsewhere| MissedPart {
        log_evidence: Estimate { mean: found.log_evidence, standard_error: found.standard_error },
        share: found.share,
        middle: found.middle,
    };
    Ok(sought.map(|sought| FitElsewhere { walks: sought.walks as u64, missed: sought.found.map(missed) }))
}

fn difference(element: &Element) -> FitDifference {
    FitDifference {
        name: element.name.clone(),
        mean: Some(element.mean.value),
        sd_ratio: Some(1.0 + element.sd.value),
        wasserstein: Some(element.wasserstein.value),
    }
}

/// What is kept of a bracketed log evidence.
pub fn evidence_record(found: &Evidence) -> FitEvidence {
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
