//! Run NUTS as settings ask for it, and turn its chains into tables.

use hmcvi::bayes::{Bound, FitError};
use hmcvi::config::FitSpec;
use hmcvi_nuts::{Nuts, Sampled};
use hmcvi_record::{DrawTable, SamplerFacts};

use crate::found::columns;

/// What is said of each draw.
const SAID: [&str; 6] = ["lp__", "stepsize__", "treedepth__", "n_leapfrog__", "divergent__", "energy__"];

/// Settings of the sampler.
pub fn nuts(spec: &FitSpec) -> Nuts {
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
///
/// # Errors
/// If the density cannot be computed.
pub fn of_chains(bound: &Bound, sampled: &Sampled) -> Result<Vec<DrawTable>, FitError> {
    let names = columns(&SAID, &sampled.names);
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
pub fn facts(sampled: &Sampled, warm_up: usize, max_depth: u64) -> SamplerFacts {
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
