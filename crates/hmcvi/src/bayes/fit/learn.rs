//! Maximise a bound until it stands still.

use hmcvi_graph::{Run, Store};

use super::FitError;
use crate::config::Adam;
use crate::device::Device;
use crate::family::Dropped;
use crate::train::{Objective, add_adam_state};

/// Updates of which the bound is looked at together.
const WINDOW: usize = 50;
/// Windows over which a bound has to rise.
const PATIENCE: usize = 3;
/// Learning rates as shares of the first. Each is learnt with until the bound stands still.
const RATES: [f64; 3] = [1.0, 0.25, 0.05];
/// Draws for each parameter, over which the last rate averages at least: what the noise of means costs is half the
/// number of parameters for each draw, in nats.
const DRAWS_EACH: usize = 8;
/// Updates that this asks for at most.
const MOST_AVERAGED: usize = 1000;

/// Why learning ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Stopped {
    /// The bound did not rise any more.
    StoodStill,
    /// All updates that were allowed were made.
    MostUpdates,
    /// It was asked to.
    Asked,
    /// It was not worth while.
    GivenUp,
}

/// What happened while learning.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Learning {
    /// Mean bound of each 50 updates.
    pub bounds: Vec<f64>,
    /// Updates.
    pub updates: usize,
    /// Why it ended.
    pub stopped: Stopped,
    /// How many of these bounds are those of the first learning rate.
    #[serde(default)]
    pub at_first_rate: usize,
}

impl Learning {
    /// The bound at the end: the mean of the last windows.
    pub(super) fn last(&self) -> f64 {
        mean_of_last(&self.bounds)
    }

    /// The bound at the end of the first learning rate, whose noise costs as much as that of others at this rate.
    pub(super) fn last_of_first_rate(&self) -> f64 {
        mean_of_last(&self.bounds[..self.at_first_rate.min(self.bounds.len())])
    }
}

/// The mean of the last windows.
fn mean_of_last(bounds: &[f64]) -> f64 {
    let last = &bounds[bounds.len().saturating_sub(PATIENCE)..];
    last.iter().sum::<f64>() / last.len() as f64
}

/// How to learn.
pub(super) struct Pace {
    pub(super) rows: usize,
    pub(super) rate: f64,
    pub(super) most: usize,
    pub(super) seed: u64,
    /// The smallest rise that is worth further updates, in nats; 0 for all that are allowed.
    pub(super) tolerance: f64,
    /// What the first rate has to reach for the others to be worth while.
    pub(super) at_least: f64,
}

/// Learns the parameters of an objective. `watch` is told updates so far, of how many at most, and the bound; it returns
/// whether to go on.
pub(super) fn learn(
    objective: &Objective<'_>,
    device: &Device,
    store: &mut Store<f64>,
    pace: &Pace,
    watch: &mut dyn FnMut(usize, usize, f64) -> bool,
) -> Result<Learning, FitError> {
    let adam = Adam { max_grad_norm: 100.0, ..Adam::default() };
    let program = objective.training_program(&adam)?;
    let mut executable = device.on_cpu::<f64>(&program, pace.rows);
    add_adam_state(store, objective.parameters());
    let mut average = Average::default();
    let mut learning =
        Learning { bounds: Vec::new(), updates: 0, stopped: Stopped::MostUpdates, at_first_rate: 0 };
    let learnt: usize =
        objective.parameters().iter().map(|(name, _)| store.get(name).map_or(0, |t| t.values.len())).sum();
    let averaged = (DRAWS_EACH * learnt / pace.rows).min(MOST_AVERAGED);
    let names: Vec<&str> = objective.parameters().iter().map(|(name, _)| name.as_str()).collect();
    'rates: for (stage, share) in RATES.into_iter().enumerate() {
        let mut bounds: Vec<(f64, f64)> = Vec::new();
        let last = stage + 1 == RATES.len();
        let fewest = if last { learning.updates + averaged } else { 0 };
        loop {
            let mut window = Window::default();
            for _ in 0..WINDOW {
                let rate = [pace.rate * share];
                let inputs: [(&str, &[f64]); 1] = [("learning_rate", &rate)];
                let step = learning.updates as u64;
                let run = Run { rows: pace.rows, inputs: &inputs, seed: pace.seed, step, ..Run::default() };
                executable.run(store, &run)?;
                let sum = |name| executable.output(name).map_or(0.0, |sum| sum[0]);
                window.add(sum("bound"), sum("count"), sum("dropped"), pace.rows);
                learning.updates += 1;
                if last {
                    average.add(store, &names);
                }
            }
            window.dropped.check()?;
            learning.bounds.push(window.mean());
            bounds.push((window.mean(), window.error()));
            if !watch(learning.updates, pace.most, window.mean()) {
                learning.stopped = Stopped::Asked;
                break 'rates;
            }
            // Each rate has its share of what is allowed, so that the last one comes.
            let allowed = pace.most * (stage + 1) / RATES.len();
            if learning.updates >= fewest && stands_still(&bounds, pace.tolerance) {
                learning.stopped = Stopped::StoodStill;
                break;
            }
            if learning.updates >= allowed {
                learning.stopped = Stopped::MostUpdates;
                break;
            }
        }
        if stage == 0 {
            learning.at_first_rate = learning.bounds.len();
            if learning.last() < pace.at_least {
                learning.stopped = Stopped::GivenUp;
                break;
            }
        }
    }
    average.give(store);
    Ok(learning)
}

/// Whether the last windows are not above those before them by more than chance and what is worth it. Long chains rise by less
/// than chance in many windows, and by much in all of them: where any rise is worth it, none of this is asked.
fn stands_still(bounds: &[(f64, f64)], tolerance: f64) -> bool {
    if bounds.len() < 2 * PATIENCE || tolerance == 0.0 {
        return false;
    }
    let mean = |part: &[(f64, f64)]| part.iter().map(|(mean, _)| mean).sum::<f64>() / part.len() as f64;
    let (before, after) = bounds[bounds.len() - 2 * PATIENCE..].split_at(PATIENCE);
    let rise = mean(after) - mean(before);
    let squares: f64 = before.iter().chain(after).map(|(_, error)| error * error).sum();
    rise < tolerance.max(squares.sqrt() / PATIENCE as f64)
}

/// The bounds of some updates.
#[derive(Default)]
struct Window {
    bounds: Vec<f64>,
    dropped: Dropped,
}

impl Window {
    fn add(&mut self, sum: f64, count: f64, dropped: f64, rows: usize) {
        if count > 0.0 && sum.is_finite() {
            self.bounds.push(sum / count);
        }
        self.dropped += Dropped { rows: rows as u64, dropped: dropped as u64, no_density: 0 };
    }

    fn mean(&self) -> f64 {
        self.bounds.iter().sum::<f64>() / self.bounds.len() as f64
    }

    /// Standard error of the mean.
    fn error(&self) -> f64 {
        let (n, mean) = (self.bounds.len() as f64, self.mean());
        let squares: f64 = self.bounds.iter().map(|b| (b - mean).powi(2)).sum();
        (squares / (n * (n - 1.0).max(1.0))).sqrt()
    }
}

/// Means of parameters over updates.
#[derive(Default)]
struct Average {
    sums: Vec<(String, Vec<f64>)>,
    count: f64,
}

impl Average {
    fn add(&mut self, store: &Store<f64>, names: &[&str]) {
        if self.sums.is_empty() {
            let zeros =
                |name: &&str| store.get(name).map(|t| ((*name).to_owned(), vec![0.0; t.values.len()]));
            self.sums = names.iter().filter_map(zeros).collect();
        }
        for (name, sum) in &mut self.sums {
            if let Some(tensor) = store.get(name) {
                sum.iter_mut().zip(&tensor.values).for_each(|(sum, x)| *sum += x);
            }
        }
        self.count += 1.0;
    }

    /// Gives parameters their means.
    fn give(&self, store: &mut Store<f64>) {
        for (name, sum) in &self.sums {
            if let Some(tensor) = store.get_mut(name) {
                tensor.values.iter_mut().zip(sum).for_each(|(x, sum)| *x = sum / self.count);
            }
        }
    }
}
