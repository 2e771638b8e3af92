//! Hold a fit, its Gaussian and chains of NUTS against reference draws.

use hmcvi::eval::{wasserstein, wasserstein_by_chance};
use hmcvi::hmc::diagnostics;
use hmcvi_record::DrawTable;
use hmcvi_report::FitData;
use serde::{Deserialize, Serialize};

use super::reference::{Parameter, Reference};
use crate::failure::Failure;

/// A number of the model, and how far off it is.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Worst {
    pub(super) parameter: String,
    pub(super) value: f64,
}

/// 1-Wasserstein distances in standard deviations of the posterior, means over all numbers of the model.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub(super) struct Distances {
    pub(super) hmcvi: f64,
    /// Of the Gaussian alone.
    pub(super) gaussian: f64,
    /// Of as many exact draws, on average.
    pub(super) chance: f64,
}

/// How far draws are from the reference.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Against {
    /// The mean by NUTS that is furthest off, in standard errors.
    pub(super) nuts: Worst,
    /// What speaks against the chains.
    pub(super) doubts: Vec<String>,
    /// The mean of the fit that is furthest off, in standard deviations.
    pub(super) mean: Worst,
    /// The smallest and the largest standard deviation of the fit, divided by that of the reference.
    pub(super) sd: [Worst; 2],
    /// Distances from the reference draws.
    pub(super) reference: Distances,
    /// Standard error of what the fit is closer than its Gaussian, from the choice of all these draws.
    pub(super) gain_error: f64,
    /// Distances from the draws of NUTS, of which there are more.
    pub(super) chains: Distances,
}

/// Holds a fit against the reference.
pub(super) fn against(fit: &FitData, reference: &Reference) -> Result<Against, Failure> {
    let all = reference.parameters.iter().map(|p| of_parameter(fit, p, reference.count));
    let all: Vec<Of> = all.collect::<Result<_, Failure>>()?;
    let worst = |value: fn(&Of) -> f64, far: fn(f64) -> f64| {
        let pairs = all.iter().zip(&reference.parameters).map(|(of, p)| (value(of), &p.name));
        let found = pairs.max_by(|a, b| far(a.0).total_cmp(&far(b.0)));
        found.map_or_else(Worst::default, |(value, name)| Worst { parameter: name.clone(), value })
    };
    let mean = |of: fn(&Of) -> Distances| {
        let sum = |of_one: fn(&Distances) -> f64| {
            all.iter().map(|one| of_one(&of(one))).sum::<f64>() / all.len() as f64
        };
        Distances { hmcvi: sum(|d| d.hmcvi), gaussian: sum(|d| d.gaussian), chance: sum(|d| d.chance) }
    };
    Ok(Against {
        nuts: worst(|of| of.z, f64::abs),
        doubts: fit.record.check.as_ref().map_or_else(Vec::new, |check| check.doubts.clone()),
        mean: worst(|of| of.mean, f64::abs),
        sd: [worst(|of| of.sd, |x| -x), worst(|of| of.sd, |x| x)],
        reference: mean(|of| of.reference),
        gain_error: gain_error(&all),
        chains: mean(|of| of.chains),
    })
}

/// What is found of one number of the model.
struct Of {
    z: f64,
    mean: f64,
    sd: f64,
    reference: Distances,
    /// What the fit is closer than its Gaussian, with a part of the reference draws left out at a time, and with a part of
    /// the draws of both.
    gains: [Vec<f64>; 2],
    chains: Distances,
}

/// Parts of draws that are left out in turn.
const PARTS: usize = 20;

/// The standard error of the mean gain by the jackknife. Parts are the same draws of all numbers, which depend on each
/// other.
fn gain_error(all: &[Of]) -> f64 {
    let of = |whose: usize| {
        let gain = |part: usize| all.iter().map(|of| of.gains[whose][part]).sum::<f64>() / all.len() as f64;
        let gains: Vec<f64> = (0..PARTS).map(gain).collect();
        let n = PARTS as f64;
        let mean = gains.iter().sum::<f64>() / n;
        ((n - 1.0) / n * gains.iter().map(|gain| (gain - mean).powi(2)).sum::<f64>()).sqrt()
    };
    of(0).hypot(of(1))
}

/// All but one of the parts of some draws. Parts are neighbours, so that a draw that comes more than once is in one.
fn without(draws: &[f64], part: usize) -> Vec<f64> {
    let (from, to) = (part * draws.len() / PARTS, (part + 1) * draws.len() / PARTS);
    [&draws[..from], &draws[to..]].concat()
}

fn of_parameter(fit: &FitData, p: &Parameter, count: f64) -> Result<Of, Failure> {
    let column = |tables: &[DrawTable]| -> Option<Vec<Vec<f64>>> {
        let all: Option<Vec<Vec<f64>>> = tables.iter().map(|table| table.column(&p.name)).collect();
        all.filter(|all| !all.is_empty())
    };
    let none = || Failure::Data(format!("the fit in {} has no draws of `{}`", fit.place, p.name));
    let own = column(&fit.chains).ok_or_else(none)?.concat();
    let gaussian = fit.gaussian.as_ref().and_then(|table| table.column(&p.name)).ok_or_else(none)?;
    let chains = column(&fit.nuts).ok_or_else(none)?;
    let said = diagnostics::summary(&chains).ok_or_else(none)?;
    let row = fit.record.parameters.iter().find(|row| row.name == p.name).ok_or_else(none)?;
    // The reference draws are independent, or nearly.
    let error = said.mcse_mean.hypot(p.sd / count.sqrt());
    let chains = chains.concat();
    let apart = |draws: &[f64], to: &[f64]| wasserstein(draws.to_vec(), to.to_vec()) / p.sd;
    let distances = |to: &[f64], worth: f64| {
        let draws = (1.0 / own.len() as f64 + 1.0 / worth).sqrt();
        let chance = wasserstein_by_chance(to) * draws / p.sd;
        Distances { hmcvi: apart(&own, to), gaussian: apart(&gaussian, to), chance }
    };
    let gain = |own: &[f64], gaussian: &[f64], to: &[f64]| apart(gaussian, to) - apart(own, to);
    let of_reference = |part| gain(&own, &gaussian, &without(&p.draws, part));
    let of_draws = |part| gain(&without(&own, part), &without(&gaussian, part), &p.draws);
    Ok(Of {
        gains: [(0..PARTS).map(of_reference).collect(), (0..PARTS).map(of_draws).collect()],
        z: (said.mean - p.mean) / error,
        mean: (row.mean - p.mean) / p.sd,
        sd: row.sd / p.sd,
        reference: distances(&p.draws, p.draws.len() as f64),
        chains: distances(&chains, said.ess_mean.min(chains.len() as f64)),
    })
}
