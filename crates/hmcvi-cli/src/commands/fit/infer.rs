//! Find out about a posterior by the method that was asked for.

use hmcvi::bayes::fit::{Learning, Stopped};
use hmcvi::bayes::{Bound, Draws, FitError, Fitted};
use hmcvi::config::{FitSpec, Resample};
use hmcvi_nuts::{Nuts, Sampled, Start};
use hmcvi_record::{DrawTable, FitMethod, FitStage, SamplerFacts};

use super::evidence;
use super::model::Chosen;
use super::outcome::{Found, Outcome};
use super::quantities;
use super::watch::Watch;
use crate::Context;
use crate::failure::Failure;

/// Fits or samples.
pub(super) fn infer(context: &Context, spec: &FitSpec, chosen: &Chosen) -> Result<Outcome, Failure> {
    let mut outcome = match spec.method {
        FitMethod::Nuts => sample(context, spec, &chosen.bound),
        FitMethod::Hmcvi | FitMethod::Gaussian => fit(context, spec, &chosen.bound),
    }?;
    if let Some(stan) = &chosen.stan
        && !context.interrupt.requested()
    {
        outcome.generated = quantities::add(context, stan, spec.seed, spec.method, &mut outcome.chains)?;
        outcome.finished &= outcome.generated.is_some() || outcome.chains.is_empty();
    }
    Ok(outcome)
}

fn fit(context: &Context, spec: &FitSpec, bound: &Bound) -> Result<Outcome, Failure> {
    let (fitted, stages) = fitted(context, spec, bound)?;
    let draws = fitted.draws(spec.draws, spec.seed)?;
    let chosen = match spec.resample {
        Resample::Auto => draws.of_posterior(spec.draws, spec.seed),
        Resample::Always => Some(draws.resampled(spec.draws, spec.seed)),
        Resample::Never => None,
    };
    let shown = chosen.as_ref().unwrap_or(&draws);
    // What is shown beside draws that are no more those of the Gaussian.
    let apart = spec.method == FitMethod::Hmcvi || chosen.is_some();
    let of_gaussian = || table(bound, &fitted.gaussian_draws(spec.draws, spec.seed)?);
    let gaussian = apart.then(of_gaussian).transpose()?;
    let goes_on = || !context.interrupt.requested();
    let checked = match spec.check && goes_on() {
        true => evidence::check(context, spec, &fitted, shown)?,
        false => None,
    };
    let evidence = match spec.evidence && goes_on() {
        true => evidence::evidence(context, spec, &fitted, checked.as_ref())?,
        false => None,
    };
    let learnt = fitted.learning().map(|(_, learning)| learning);
    let all_learnt = learnt.into_iter().flatten().all(|learning| learning.stopped != Stopped::Asked);
    let chains = vec![table(bound, shown)?];
    let (nuts, check) = checked.map(|checked| (checked.chains, checked.record)).unzip();
    Ok(Outcome {
        finished: all_learnt && check.is_some() == spec.check && evidence.is_some() == spec.evidence,
        seconds: fitted.seconds(),
        stages,
        chains,
        gaussian,
        nuts: nuts.unwrap_or_default(),
        check,
        evidence,
        generated: None,
        found: Found::Fit {
            parameters: shown.summary(),
            resampled: chosen.is_some(),
            draws,
            fitted: Box::new(fitted),
        },
    })
}

/// The fit, and the stages that it went through.
fn fitted(context: &Context, spec: &FitSpec, bound: &Bound) -> Result<(Fitted, Vec<FitStage>), Failure> {
    let mut watch = Watch::new(context);
    let fitted = bound.fit_watched(&spec.into(), &mut |progress| watch.fit(progress));
    let mut stages = watch.finish();
    let fitted = fitted?;
    for (name, learning) in fitted.learning() {
        let stage = stages.iter_mut().find(|stage| stage.name == name);
        if let (Some(stage), Some(learning)) = (stage, learning) {
            stage.stopped = Some(why(learning).into());
        }
    }
    Ok((fitted, stages))
}

fn why(learning: &Learning) -> &'static str {
    match learning.stopped {
        Stopped::StoodStill => "stood-still",
        Stopped::MostUpdates => "most-updates",
        Stopped::Asked => "asked",
        Stopped::GivenUp => "given-up",
    }
}

/// Draws of an approximation, with the log density of the model.
fn table(bound: &Bound, draws: &Draws) -> Result<DrawTable, FitError> {
    let all = 0..draws.len();
    let z: Vec<f64> = all.clone().flat_map(|i| draws.unconstrained(i)).copied().collect();
    let density = bound.evaluate(&z)?.log_density;
    let row = |i: usize| [density[i], draws.log_weights()[i]].into_iter().chain(draws.row(i).iter().copied());
    Ok(DrawTable { columns: columns(&FIT, draws.names()), values: all.flat_map(row).collect() })
}

/// What is said of each draw of a fit, and of each draw of NUTS.
const FIT: [&str; 2] = ["lp__", "log_weight__"];
const NUTS: [&str; 6] = ["lp__", "stepsize__", "treedepth__", "n_leapfrog__", "divergent__", "energy__"];

fn columns(sampler: &[&str], names: &[String]) -> Vec<String> {
    sampler.iter().map(|name| (*name).into()).chain(names.iter().cloned()).collect()
}

fn sample(context: &Context, spec: &FitSpec, bound: &Bound) -> Result<Outcome, Failure> {
    let (start, stages, before) = match spec.nuts.after_fit {
        true => {
            let (fitted, stages) = fitted(context, spec, bound)?;
            (Some(Start::try_from(&fitted.gaussian())?), stages, fitted.seconds())
        }
        false => (None, Vec::new(), 0.0),
    };
    let nuts = settings(spec);
    let mut watch = Watch::new(context);
    let sampled = nuts.run(bound, start.as_ref(), |progress| watch.nuts(progress, nuts.chains));
    watch.finish();
    let sampled = sampled?;
    let chains = chains(bound, &sampled)?;
    let warm_up = if start.is_some() { nuts.warm_up_after_fit } else { nuts.warm_up };
    let facts = facts(&sampled, warm_up, nuts.max_depth);
    Ok(Outcome {
        finished: !sampled.stopped,
        seconds: before + sampled.seconds,
        stages,
        chains,
        gaussian: None,
        nuts: Vec::new(),
        check: None,
        evidence: None,
        generated: None,
        found: Found::Chains(sampled, facts),
    })
}

/// Settings of the sampler.
pub(super) fn settings(spec: &FitSpec) -> Nuts {
    Nuts {
        chains: spec.nuts.chains,
        warm_up: spec.nuts.warm_up,
        draws: spec.draws.div_ceil(spec.nuts.chains),
        seed: spec.seed,
        target_accept: spec.nuts.target_accept,
        max_depth: spec.nuts.max_depth,
        threads: spec.nuts.threads,
        ..Nuts::default()
    }
}

/// Draws of the chains that have any.
pub(super) fn chains(bound: &Bound, sampled: &Sampled) -> Result<Vec<DrawTable>, FitError> {
    let names = columns(&NUTS, &sampled.names);
    let mut all = Vec::new();
    for chain in sampled.chains.iter().filter(|chain| !chain.values.is_empty()) {
        let density = bound.evaluate(&chain.unconstrained.concat())?.log_density;
        let row = |i: usize| {
            let (depth, steps) = (chain.depths[i] as f64, chain.steps[i] as f64);
            let diverging = f64::from(u8::from(chain.diverging[i]));
            let sampler = [density[i], chain.step_size, depth, steps, diverging, chain.energies[i]];
            sampler.into_iter().chain(chain.values[i].iter().copied())
        };
        let values = (0..chain.values.len()).flat_map(row).collect();
        all.push(DrawTable { columns: names.clone(), values });
    }
    Ok(all)
}

/// What chains say about themselves.
pub(super) fn facts(sampled: &Sampled, warm_up: usize, max_depth: u64) -> SamplerFacts {
    let finite = |value: f64| Some(value).filter(|value| value.is_finite());
    let deepest = sampled.chains.iter().flat_map(|chain| &chain.depths).filter(|depth| **depth >= max_depth);
    SamplerFacts {
        warm_up: warm_up as u64,
        divergences: sampled.divergences().into_iter().map(|n| n as u64).collect(),
        step_sizes: sampled.step_sizes().into_iter().map(finite).collect(),
        e_bfmi: sampled.chains.iter().map(|chain| chain.e_bfmi().and_then(finite)).collect(),
        deepest: deepest.count() as u64,
    }
}
