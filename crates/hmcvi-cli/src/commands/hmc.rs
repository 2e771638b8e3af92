//! Run plain HMC on a two-dimensional landscape and report how well it mixes.

mod verdict;

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use hmcvi::eval::prior_draws;
use hmcvi::hmc::diagnostics::{Summary, summary};
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
    /// HMC steps to keep of each chain [default: 5000; 100000 for craters, which chains rarely leave]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(8..=10_000_000))]
    steps: Option<u32>,
    /// HMC steps to discard first
    #[arg(long, default_value_t = 1000, value_name = "N")]
    warmup: u32,
    /// Leapfrog steps in each HMC step
    #[arg(long, default_value_t = 12, value_name = "N")]
    leapfrog_steps: usize,
    /// Step size of the leapfrog integrator [default: each chain tunes its own during warm-up]
    #[arg(long, value_name = "SIZE")]
    step_size: Option<f64>,
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
    warmup: u32,
    settings: SamplerSettings,
    /// Step size of every chain.
    step_sizes: Vec<f64>,
    acceptance_rate: f64,
    lowest_acceptance_rate: f64,
    divergences: usize,
    coordinates: Vec<Coordinate>,
    satisfactory: bool,
    problems: Vec<verdict::Problem>,
}

/// One coordinate over all chains.
#[derive(Serialize)]
struct Coordinate {
    /// Absent if no chain moved.
    #[serde(flatten)]
    summary: Option<Summary>,
    exact_mean: Option<f64>,
    exact_standard_deviation: Option<f64>,
}

/// Step size that tuning begins with, the acceptance rate it aims at, and the part of it that is drawn anew. Steps are
/// short, so that simulations stay stable in narrow places far from where a chain was tuned.
const FIRST_STEP_SIZE: f64 = 0.1;
const TARGET_ACCEPTANCE: f64 = 0.98;
const JITTER: f64 = 0.5;

pub(crate) fn run(context: &Context, arguments: &Arguments) -> Result<(), Failure> {
    let outputs = Outputs::claim(arguments.out.clone(), arguments.force)?;
    let landscape = Landscape::from(arguments.landscape);
    let (chains, steps) = (arguments.chains as usize, steps(arguments) as usize);
    let settings = settings(arguments);
    let mut sampler = Sampler::new(&settings, chains, |graph| landscape.potential(graph))?;
    let start = warm_up(&mut sampler, arguments)?;
    let samples = sampler.run(&start, steps)?;
    let mut found = Outcome {
        landscape,
        chains: arguments.chains,
        steps: steps as u32,
        warmup: arguments.warmup,
        settings,
        step_sizes: sampler.step_sizes().to_vec(),
        acceptance_rate: samples.acceptance_rate(),
        lowest_acceptance_rate: samples.acceptance_rates().into_iter().fold(1.0, f64::min),
        divergences: samples.divergences(),
        coordinates: (0..2).map(|d| coordinate(&samples, d, landscape)).collect(),
        satisfactory: true,
        problems: Vec::new(),
    };
    found.problems = verdict::problems(&found);
    found.satisfactory = found.problems.is_empty();
    if let Some(file) = &arguments.out {
        outputs.write_npy(file, &[steps, chains, 2], &samples.positions)?;
    }
    if context.terminal.json {
        context.terminal.print_json(&found)?;
    } else {
        context.terminal.print(&text(&found))?;
    }
    match found.problems.first() {
        None => Ok(()),
        Some(problem) => {
            let more = match found.problems.len() - 1 {
                0 => String::new(),
                n => format!(" (and {n} more)"),
            };
            let what = format!("these draws cannot be trusted: {}{more}", problem.finding);
            Err(Failure::Unsatisfactory(what).then(&problem.advice))
        }
    }
}

/// Steps that are kept: as many as the landscape takes, unless they are given.
fn steps(arguments: &Arguments) -> u32 {
    arguments.steps.unwrap_or(match arguments.landscape {
        LandscapeName::Craters => 100_000,
        _ => 5000,
    })
}

fn settings(arguments: &Arguments) -> SamplerSettings {
    let Arguments { leapfrog_steps, alpha, seed, .. } = *arguments;
    let (step_size, jitter) = match arguments.step_size {
        Some(step_size) => (step_size, 0.0),
        None => (FIRST_STEP_SIZE, JITTER),
    };
    SamplerSettings { step_size, jitter, leapfrog_steps, alpha, seed, ..SamplerSettings::default() }
}

/// Where chains are after warm-up, in which each tunes its step size unless one was given.
fn warm_up(sampler: &mut Sampler, arguments: &Arguments) -> Result<Vec<f64>, Failure> {
    let (chains, warmup) = (arguments.chains as usize, arguments.warmup as usize);
    // Chains begin apart, so that R-hat can find those that do not mix.
    let start: Vec<f64> =
        prior_draws(2, chains, arguments.seed).iter().map(|z| 2.0 * f64::from(*z)).collect();
    if arguments.step_size.is_none() {
        return Ok(sampler.warm_up(&start, warmup, TARGET_ACCEPTANCE)?);
    }
    let moved = sampler.run(&start, warmup)?.positions;
    Ok(if moved.is_empty() { start } else { moved[moved.len() - start.len()..].to_vec() })
}

fn coordinate(samples: &Samples, dimension: usize, landscape: Landscape) -> Coordinate {
    let chains: Vec<Vec<f64>> = (0..samples.chains).map(|c| samples.coordinate(c, dimension)).collect();
    let exact = landscape.moments();
    Coordinate {
        summary: summary(&chains),
        exact_mean: exact.map(|(mean, _)| mean[dimension]),
        exact_standard_deviation: exact.map(|(_, variance)| variance[dimension].sqrt()),
    }
}

fn text(found: &Outcome) -> String {
    use Align::{Left, Right};
    let titles = [
        ("coordinate", Left),
        ("mean", Right),
        ("MCSE", Right),
        ("exact", Right),
        ("deviation", Right),
        ("exact", Right),
        ("R-hat", Right),
        ("bulk ESS", Right),
        ("tail ESS", Right),
    ];
    let mut table = Table::new(titles);
    let number = |value: Option<f64>, digits: usize| value.map_or("-".into(), |v| format!("{v:.digits$}"));
    for (i, c) in found.coordinates.iter().enumerate() {
        let of = |f: fn(&Summary) -> f64| c.summary.as_ref().map(f);
        table.row([
            format!("z{i}"),
            number(of(|s| s.mean), 4),
            number(of(|s| s.mcse_mean), 4),
            number(c.exact_mean, 3),
            number(of(|s| s.standard_deviation), 3),
            number(c.exact_standard_deviation, 3),
            number(of(|s| s.r_hat), 3),
            number(of(|s| s.ess_bulk), 0),
            number(c.summary.and_then(|s| s.ess_tail), 0),
        ]);
    }
    let (shortest, longest) = found
        .step_sizes
        .iter()
        .fold((f64::INFINITY, 0.0), |(low, high), s| (f64::min(low, *s), f64::max(high, *s)));
    let sizes =
        if shortest == longest { format!("{longest}") } else { format!("{shortest:.3} to {longest:.3}") };
    let mut text = format!(
        "{} chains of {} steps, step size {sizes}: acceptance rate {:.3} (lowest of a chain {:.3}), {} divergences\n\n{table}\n",
        found.chains, found.steps, found.acceptance_rate, found.lowest_acceptance_rate, found.divergences
    );
    for problem in &found.problems {
        text += &format!("PROBLEM  {}\n         next: {}\n", problem.finding, problem.advice);
    }
    if found.satisfactory {
        text += "good     chains agree, there are enough draws, and simulations are stable\n";
    }
    text
}
