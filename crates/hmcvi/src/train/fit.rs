//! Fit a chain to a log density of one's own: a fixed number of updates, and a bound that is one.

use hmcvi_graph::{CompileError, CpuOptions, Run, RunError, Store};

use super::adam::add_adam_state;
use super::objective::Objective;
use crate::config::Adam;
use crate::family::{Dropped, NotABound};

/// Settings of [`fit`].
#[derive(Clone, Debug, PartialEq)]
pub struct FitSettings {
    /// Updates.
    pub updates: u64,
    /// Rows in each update: draws of the chain, or data points.
    pub rows: usize,
    /// Learning rate.
    pub learning_rate: f64,
    /// Settings of Adam.
    pub adam: Adam,
    /// Seed of all draws.
    pub seed: u64,
}

impl Default for FitSettings {
    fn default() -> Self {
        FitSettings { updates: 600, rows: 256, learning_rate: 0.01, adam: Adam::default(), seed: 1 }
    }
}

/// What was learnt.
#[derive(Clone, Debug)]
pub struct Fit {
    /// Values of all parameters, and the state of Adam.
    pub store: Store<f32>,
    /// Mean bound over the last updates.
    pub bound: f64,
    /// Rows that are left out of it, 1% at most.
    pub dropped: Dropped,
}

/// A fit that cannot be made.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FitError {
    /// The model is not a well-formed program.
    #[error(transparent)]
    Compile(#[from] CompileError),
    /// The program could not run.
    #[error(transparent)]
    Run(#[from] RunError),
    /// Too many rows were left out.
    #[error(transparent)]
    NotABound(#[from] NotABound),
}

/// Updates after which rows that were left out are looked at. Those of the first ones are forgiven: the step size is
/// still learnt.
const WINDOW: u64 = 50;

/// Maximises the bound of an objective from first values of its parameters. `inputs` are given with every update.
///
/// # Errors
/// If more than 1% of rows are left out in a row of updates after the first ones, for as long as 100 updates or at the end.
pub fn fit(
    objective: &Objective<'_>,
    first: Store<f32>,
    settings: &FitSettings,
    inputs: &[(&str, &[f32])],
) -> Result<Fit, FitError> {
    fit_along(objective, first, settings, inputs, |_| vec![("learning_rate", settings.learning_rate as f32)])
}

/// The same with numbers that differ between updates, the learning rate among them.
///
/// # Errors
/// As [`fit`].
pub fn fit_along(
    objective: &Objective<'_>,
    first: Store<f32>,
    settings: &FitSettings,
    inputs: &[(&str, &[f32])],
    along: impl Fn(u64) -> Vec<(&'static str, f32)>,
) -> Result<Fit, FitError> {
    let program = objective.training_program(&settings.adam)?;
    let mut executable = program.on_cpu::<f32>(CpuOptions::for_rows(settings.rows));
    let mut store = first;
    add_adam_state(&mut store, objective.parameters());
    let (mut bound, mut dropped, mut before) = (0.0, Dropped::default(), Dropped::default());
    for step in 0..settings.updates {
        if step % WINDOW == 0 {
            (bound, before, dropped) = (0.0, dropped, Dropped::default());
        }
        let numbers = along(step);
        let numbers = numbers.iter().map(|(name, number)| (*name, std::slice::from_ref(number)));
        let inputs: Vec<(&str, &[f32])> = inputs.iter().copied().chain(numbers).collect();
        let run = Run { rows: settings.rows, inputs: &inputs, seed: settings.seed, step, ..Run::default() };
        executable.run(&mut store, &run)?;
        let sum = |name| executable.output(name).map_or(0.0, |sum| f64::from(sum[0]));
        bound += sum("bound");
        dropped += Dropped {
            rows: settings.rows as u64,
            dropped: sum("dropped") as u64,
            no_density: sum("no_density") as u64,
        };
        if (step + 1) % WINDOW == 0 && before.check().is_err() {
            dropped.check()?;
        }
    }
    dropped.check()?;
    Ok(Fit { store, bound: bound / (dropped.rows - dropped.dropped).max(1) as f64, dropped })
}
