//! Hold a fit against NUTS, look for what its draws miss, and bracket its log evidence.

use hmcvi::bayes::fit::EvidenceSettings;
use hmcvi::bayes::{FitError, Fitted};
use hmcvi::config::FitSpec;
use hmcvi::eval::EvalError;
use hmcvi_fit::{Checked, Found, evidence_record};
use hmcvi_record::{FitElsewhere, FitEvidence};

use super::watch::Watch;
use crate::Context;
use crate::failure::Failure;

/// Runs chains that begin with the fit and others that do not; nothing if they were interrupted.
pub(super) fn check(context: &Context, spec: &FitSpec, found: &Found) -> Result<Option<Checked>, Failure> {
    let mut watch = Watch::new(context);
    let checked = hmcvi_fit::check(spec, &found.fitted, found.shown(), |progress| {
        watch.nuts(progress, spec.nuts.chains)
    });
    watch.finish();
    Ok(checked?)
}

/// Looks for a part of the posterior that draws miss; nothing if it was interrupted.
pub(super) fn elsewhere(context: &Context, found: &Found) -> Result<Option<FitElsewhere>, Failure> {
    let mut watch = Watch::new(context);
    let sought = hmcvi_fit::elsewhere(found, &mut |done, of| watch.walks(done, of));
    watch.finish();
    Ok(sought?)
}

/// Anneals from both sides, back from draws of NUTS where there are any that can be trusted; nothing if it was
/// interrupted.
pub(super) fn evidence(
    context: &Context,
    spec: &FitSpec,
    fitted: &Fitted,
    checked: Option<&Checked>,
) -> Result<Option<FitEvidence>, Failure> {
    let trusted = checked.filter(|checked| checked.check.trust.is_good());
    let posterior = trusted.map(|checked| checked.check.warm.unconstrained());
    let how = EvidenceSettings { draws: spec.draws, seed: spec.seed, ..EvidenceSettings::default() };
    let mut watch = Watch::new(context);
    let found =
        fitted.evidence_watched(&how, posterior.as_deref(), &mut |stage, share| watch.evidence(stage, share));
    watch.finish();
    match found {
        Ok(found) => Ok(Some(evidence_record(&found))),
        Err(FitError::Evidence(EvalError::Stopped)) => Ok(None),
        Err(error) => Err(error.into()),
    }
}
