//! Decide from all evidence whether chains can be trusted, and say what to change if not.

use hmcvi::hmc::diagnostics::{ESS_LIMIT, R_HAT_LIMIT, Summary};
use serde::Serialize;

use super::Outcome;

/// Share of simulations that may diverge: each is a place that the chains could not explore.
const DIVERGENCES_LIMIT: f64 = 1e-3;
/// Acceptance rate below which a chain hardly moves.
const ACCEPTANCE_LIMIT: f64 = 0.2;
/// Standard errors that a mean may be away from the exact one; chance goes beyond it for one seed in 16,000.
const STANDARD_ERRORS: f64 = 4.0;

/// Why draws cannot be trusted, and what to do about it.
#[derive(Serialize)]
pub(super) struct Problem {
    pub(super) finding: String,
    pub(super) advice: String,
}

/// All that stands against a run, causes before their consequences.
pub(super) fn problems(found: &Outcome) -> Vec<Problem> {
    let causes: Vec<Problem> = [divergences(found), acceptance(found)].into_iter().flatten().collect();
    let remedy = match causes.first() {
        Some(cause) => cause.advice.clone(),
        None => format!(
            "use more --steps (now {}), or longer trajectories by more --leapfrog-steps (now {})",
            found.steps, found.settings.leapfrog_steps
        ),
    };
    let consequences = [convergence(found), bias(found)].into_iter().flatten();
    causes
        .into_iter()
        .chain(consequences.map(|finding| Problem { finding, advice: remedy.clone() }))
        .collect()
}

fn longest_step(found: &Outcome) -> f64 {
    found.step_sizes.iter().copied().fold(0.0, f64::max)
}

fn divergences(found: &Outcome) -> Option<Problem> {
    let simulations = f64::from(found.chains) * f64::from(found.steps);
    (found.divergences as f64 > DIVERGENCES_LIMIT * simulations).then(|| Problem {
        finding: format!("{} of {simulations} simulations diverged", found.divergences),
        advice: format!(
            "use a smaller --step-size (now {:.3}), with more --leapfrog-steps (now {}) for the same distance",
            longest_step(found),
            found.settings.leapfrog_steps
        ),
    })
}

fn acceptance(found: &Outcome) -> Option<Problem> {
    let rate = found.lowest_acceptance_rate;
    (rate < ACCEPTANCE_LIMIT).then(|| Problem {
        finding: format!("a chain accepted {:.1}% of its proposals and hardly moved", 100.0 * rate),
        advice: format!(
            "use a smaller --step-size (now {:.3}) or a longer --warmup (now {})",
            longest_step(found),
            found.warmup
        ),
    })
}

fn convergence(found: &Outcome) -> Option<String> {
    let worst = |f: fn(&Summary) -> f64, unknown: f64, pick: fn(f64, f64) -> f64| {
        found.coordinates.iter().map(|c| c.summary.as_ref().map_or(unknown, f)).reduce(pick)
    };
    let r_hat = worst(|s| s.r_hat, f64::INFINITY, f64::max)?;
    let ess = worst(Summary::smallest_ess, 0.0, f64::min)?;
    if !r_hat.is_finite() {
        return Some("chains never left the places where they began".into());
    }
    if r_hat > R_HAT_LIMIT {
        return Some(format!("the chains do not agree: R-hat {r_hat:.3} is above {R_HAT_LIMIT}"));
    }
    (ess < ESS_LIMIT)
        .then(|| format!("too few draws: they count as {ess:.0} independent ones, not {ESS_LIMIT}"))
}

/// Means that are wrong, where the right ones are known.
fn bias(found: &Outcome) -> Option<String> {
    found.coordinates.iter().enumerate().find_map(|(i, c)| {
        let (summary, exact) = (c.summary?, c.exact_mean?);
        let errors = (summary.mean - exact).abs() / summary.mcse_mean;
        (errors > STANDARD_ERRORS).then(|| {
            format!(
                "the mean of z{i} is {:.4}, {errors:.1} standard errors from the exact {exact}",
                summary.mean
            )
        })
    })
}
