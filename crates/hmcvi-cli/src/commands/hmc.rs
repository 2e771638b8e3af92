//! Run plain HMC on a two-dimensional landscape and report how well it mixes.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use hmcvi::eval::prior_draws;
use hmcvi::hmc::diagnostics::summary;
use hmcvi::hmc::{Sampler, SamplerSettings, Samples};
use hmcvi::potential::Landscape;
use hmcvi_report::{Align, Table};
use serde::Serialize;

use crate::Context;
use crate::failure::Failure;
use crate::output::Outputs;

/// What was typed.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// The landscape
    #[arg(long, value_enum, default_value_t = LandscapeName::Craters)]
    landscape: LandscapeName,
    /// HMC steps to keep of each chain
    #[arg(long, default_value_t = 2000, value_name = "N", value_parser = clap::value_parser!(u32).range(8..=10_000_000))]
    steps: u32,
    /// HMC steps to discard first
    #[arg(long, default_value_t = 200, value_name = "N")]
    warmup: u32,
    /// Leapfrog steps in each HMC step
    #[arg(long, default_value_t = 10, value_name = "N")]
    leapfrog_steps: usize,
    /// Step size of the leapfrog integrator
    #[arg(long, default_value_t = 0.1)]
    step_size: f64,
    /// Number of chains
    #[arg(long, default_value_t = 4, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    chains: u32,
    /// Share of the momentum kept from step to step, between -1 and 1
    #[arg(long, default_value_t = 0.0, allow_negative_numbers = true)]
    alpha: f64,
    /// Seed of all random numbers
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Write all positions to this .npy file, with shape [steps, chains, 2]
    #[arg(long, value_name = "FILE.npy")]
    out: Option<PathBuf>,
    /// Replace existing files
    #[arg(long)]
    force: bool,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum LandscapeName {
    /// Several deep craters in a plateau, as in the paper's figures
    Craters,
    /// A correlated Gaussian
    Gaussian,
    /// A curved Gaussian
    Banana,
    /// A mixture of two Gaussians
    Mixture,
}

impl From<LandscapeName> for Landscape {
    fn from(name: LandscapeName) -> Self {
        match name {
            LandscapeName::Craters => Self::Craters,
            LandscapeName::Gaussian => Self::Gaussian,
            LandscapeName::Banana => Self::Banana,
            LandscapeName::Mixture => Self::Mixture,
        }
    }
}

/// What a run of chains says about itself.
#[derive(Serialize)]
struct Outcome {
    landscape: Landscape,
    chains: u32,
    steps: u32,
    settings: SamplerSettings,
    acceptance_rate: f64,
    divergences: usize,
    coordinates: Vec<Coordinate>,
}

/// One coordinate over all chains.
#[derive(Serialize)]
struct Coordinate {
    mean: f64,
    standard_error: f64,
    standard_deviation: f64,
    r_hat: f64,
    effective_sample_size: f64,
    exact_mean: Option<f64>,
    exact_standard_deviation: Option<f64>,
}

pub(crate) fn run(context: &Context, arguments: &Arguments) -> Result<(), Failure> {
    let outputs = Outputs::claim(arguments.out.clone(), arguments.force)?;
    let landscape = Landscape::from(arguments.landscape);
    let Arguments { step_size, leapfrog_steps, alpha, seed, .. } = *arguments;
    let settings = SamplerSettings { step_size, leapfrog_steps, alpha, seed, ..SamplerSettings::default() };
    let chains = arguments.chains as usize;
    let mut sampler = Sampler::new(&settings, chains, |graph| landscape.potential(graph))?;
    // Chains begin apart, so that R-hat can find those that do not mix.
    let start: Vec<f64> = prior_draws(2, chains, seed).iter().map(|z| 2.0 * f64::from(*z)).collect();
    let (warmup, steps) = (arguments.warmup as usize, arguments.steps as usize);
    let samples = sampler.run(&start, warmup + steps)?;
    let coordinates =
        (0..2).map(|d| coordinate(&samples, d, warmup, landscape)).collect::<Result<Vec<_>, _>>()?;
    let kept = |all: &[bool]| all[warmup * chains..].iter().filter(|a| **a).count();
    let found = Outcome {
        landscape,
        chains: arguments.chains,
        steps: arguments.steps,
        settings,
        acceptance_rate: kept(&samples.accepted) as f64 / (steps * chains) as f64,
        divergences: kept(&samples.diverging),
        coordinates,
    };
    if let Some(file) = &arguments.out {
        outputs.write_npy(file, &[steps, chains, 2], &samples.positions[warmup * chains * 2..])?;
    }
    if context.terminal.json {
        return context.terminal.print_json(&found);
    }
    context.terminal.print(&text(&found))
}

fn coordinate(
    samples: &Samples,
    dimension: usize,
    warmup: usize,
    landscape: Landscape,
) -> Result<Coordinate, Failure> {
    let chains: Vec<Vec<f64>> =
        (0..samples.chains).map(|chain| samples.coordinate(chain, dimension)[warmup..].to_vec()).collect();
    let s = summary(&chains).ok_or_else(|| {
        Failure::Numerical("the chains did not move or left the range of numbers; lower --step-size".into())
    })?;
    let exact = landscape.moments();
    Ok(Coordinate {
        mean: s.mean,
        standard_error: s.standard_error,
        standard_deviation: s.standard_deviation,
        r_hat: s.r_hat,
        effective_sample_size: s.effective_sample_size,
        exact_mean: exact.map(|(mean, _)| mean[dimension]),
        exact_standard_deviation: exact.map(|(_, variance)| variance[dimension].sqrt()),
    })
}

fn text(found: &Outcome) -> String {
    use Align::{Left, Right};
    let titles = [
        ("coordinate", Left),
        ("mean", Right),
        ("standard error", Right),
        ("exact", Right),
        ("deviation", Right),
        ("exact", Right),
        ("R-hat", Right),
        ("effective size", Right),
    ];
    let mut table = Table::new(titles);
    let exact = |value: Option<f64>| value.map_or("-".into(), |v| format!("{v:.3}"));
    for (i, c) in found.coordinates.iter().enumerate() {
        table.row([
            format!("z{i}"),
            format!("{:.4}", c.mean),
            format!("{:.4}", c.standard_error),
            exact(c.exact_mean),
            format!("{:.3}", c.standard_deviation),
            exact(c.exact_standard_deviation),
            format!("{:.3}", c.r_hat),
            format!("{:.0}", c.effective_sample_size),
        ]);
    }
    let mut text = format!(
        "{} chains of {} steps: acceptance rate {:.3}, {} divergences\n\n{table}",
        found.chains, found.steps, found.acceptance_rate, found.divergences
    );
    if found.coordinates.iter().any(|c| c.r_hat > 1.05) {
        text += "\nR-hat above 1.05: the chains do not agree yet; use more or longer chains (--steps, --leapfrog-steps)\n";
    }
    text
}
