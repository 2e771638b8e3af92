//! Find out about a posterior by the method that was asked for.

use std::sync::{Arc, Mutex};

use hmcvi::bayes::Fitted;
use hmcvi::config::FitSpec;
use hmcvi_fit::{Drawn, Found, Outcome, Source, Subject, facts, nuts, of_chains};
use hmcvi_nuts::Start;
use hmcvi_record::{FitMethod, FitStage};

use super::evidence;
use super::watch::Watch;
use crate::Context;
use crate::failure::Failure;

/// Fits or samples.
pub(super) fn infer(context: &Context, spec: &FitSpec, subject: &Subject) -> Result<Outcome, Failure> {
    let mut outcome = match spec.method {
        FitMethod::Nuts => sample(context, spec, subject),
        FitMethod::Hmcvi | FitMethod::Gaussian => fit(context, spec, subject),
    }?;
    // Only what is written needs them.
    if context.processes.leads() && !context.interrupt.requested() {
        outcome.finished &= generate(context, spec, subject, spec.method, &mut outcome.drawn)?;
        // The draws of a check have the same columns.
        let mut checks = Drawn { chains: std::mem::take(&mut outcome.nuts), ..Drawn::default() };
        outcome.finished &= generate(context, spec, subject, FitMethod::Nuts, &mut checks)?;
        outcome.nuts = checks.chains;
    }
    Ok(outcome)
}

/// Adds generated quantities, where the model has them; returns whether it came to the end.
fn generate(
    context: &Context,
    spec: &FitSpec,
    subject: &Subject,
    method: FitMethod,
    drawn: &mut Drawn,
) -> Result<bool, Failure> {
    let watch = Mutex::new(Watch::new(context));
    let goes_on = |done: usize, of: usize| {
        // Whoever finds it busy need not wait: another draw is shown.
        watch.try_lock().map_or(true, |mut watch| watch.quantities(done, of))
    };
    let found = drawn.generate(subject, spec.seed, method, &goes_on);
    if let Ok(watch) = watch.into_inner() {
        watch.finish();
    }
    found.map_err(|error| Failure::Other(format!("the quantities of draws: {error}")))
}

fn fit(context: &Context, spec: &FitSpec, subject: &Subject) -> Result<Outcome, Failure> {
    let (fitted, stages) = fitted(context, spec, subject)?;
    let found = Found::of(fitted, stages, spec)?;
    let gaussian = found.gaussian(spec)?;
    let goes_on = || !context.processes.any(context.interrupt.requested());
    let elsewhere = match found.is_finished() && goes_on() {
        true => evidence::elsewhere(context, &found)?,
        false => None,
    };
    let checked = match spec.check && goes_on() {
        true => evidence::check(context, spec, &found)?,
        false => None,
    };
    let evidence = match spec.evidence && goes_on() {
        true => evidence::evidence(context, spec, &found.fitted, checked.as_ref())?,
        false => None,
    };
    let nuts = match &checked {
        Some(checked) => of_chains(&subject.bound, &checked.check.warm)?,
        None => Vec::new(),
    };
    Ok(Outcome {
        finished: found.is_finished()
            && elsewhere.is_some()
            && checked.is_some() == spec.check
            && evidence.is_some() == spec.evidence,
        seconds: found.fitted.seconds(),
        stages: found.stages.clone(),
        drawn: Drawn::of_fit(subject, found.shown())?,
        gaussian,
        nuts,
        check: checked.map(|checked| checked.record),
        elsewhere,
        evidence,
        source: Source::Fit(Arc::new(found)),
    })
}

/// The fit, and the stages that it went through.
fn fitted(context: &Context, spec: &FitSpec, subject: &Subject) -> Result<(Fitted, Vec<FitStage>), Failure> {
    let mut watch = Watch::new(context);
    let fitted = subject.bound.fit_watched(&spec.into(), &mut |progress| watch.fit(progress));
    let stages = watch.finish();
    let fitted = fitted?;
    let stages = stages.of(&fitted);
    Ok((fitted, stages))
}

fn sample(context: &Context, spec: &FitSpec, subject: &Subject) -> Result<Outcome, Failure> {
    let (start, stages, before) = match spec.nuts.after_fit {
        true => {
            let (fitted, stages) = fitted(context, spec, subject)?;
            (Some(Start::try_from(&fitted.gaussian())?), stages, fitted.seconds())
        }
        false => (None, Vec::new(), 0.0),
    };
    let nuts = nuts(spec);
    let mut watch = Watch::new(context);
    let sampled = nuts.run(&subject.bound, start.as_ref(), |progress| watch.nuts(progress, nuts.chains));
    watch.finish();
    let sampled = sampled?;
    let warm_up = if start.is_some() { nuts.warm_up_after_fit } else { nuts.warm_up };
    let facts = facts(&sampled, warm_up, nuts.max_depth);
    Ok(Outcome {
        finished: !sampled.stopped,
        seconds: before + sampled.seconds,
        stages,
        drawn: Drawn::of_chains(subject, &sampled)?,
        gaussian: None,
        nuts: Vec::new(),
        check: None,
        elsewhere: None,
        evidence: None,
        source: Source::Chains(Arc::new(sampled), facts),
    })
}
