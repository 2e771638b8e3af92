//! Run chains side by side, and tell how far they are.

use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc;
use std::thread;
use std::time::Instant;

use hmcvi::bayes::Bound;
use serde::{Deserialize, Serialize};

use crate::chain::Task;
use crate::density::Compiled;
use crate::{ChainDraws, NutsError, Sampled, Start};

/// Settings of the sampler. The same settings give the same draws, on any number of threads.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Nuts {
    /// Chains.
    pub chains: usize,
    /// Draws of each chain that tune step size and metric, and are not kept.
    pub warm_up: usize,
    /// The same where chains begin with a fit.
    pub warm_up_after_fit: usize,
    /// Draws of each chain that are kept.
    pub draws: usize,
    /// Seed of all random numbers.
    pub seed: u64,
    /// Acceptance rate that the step size is tuned to. Higher values mean smaller steps and fewer divergences.
    pub target_accept: f64,
    /// Most doublings of a trajectory: it has fewer than `2^max_depth` steps.
    pub max_depth: u64,
    /// Chains that run at the same time; 0 for as many as there are cores.
    pub threads: usize,
}

impl Default for Nuts {
    fn default() -> Self {
        Nuts {
            chains: 4,
            warm_up: 1000,
            warm_up_after_fit: 300,
            draws: 1000,
            seed: 0,
            target_accept: 0.8,
            max_depth: 10,
            threads: 0,
        }
    }
}

/// How far a chain is.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Progress {
    /// The chain, from 0.
    pub chain: usize,
    /// Draws that it has done, those of the warm-up included.
    pub done: usize,
    /// Draws that it is to do.
    pub of: usize,
    /// Whether the last draw belongs to the warm-up.
    pub warming_up: bool,
    /// Trajectories that failed since the warm-up.
    pub divergences: usize,
    /// Its step size, as tuned so far.
    pub step_size: f64,
}

impl Nuts {
    /// Samples the posterior of a model. Chains begin with draws of a fit where there is one, else at random.
    ///
    /// `progress` is called on this thread after each draw of each chain. Where it says
    /// [`Break`](ControlFlow::Break), chains end, also in the midst of a trajectory, and the draws so far are kept.
    ///
    /// # Errors
    /// If a setting means nothing, the start has another dimension than the model, or a chain finds no place with a
    /// finite density.
    pub fn run(
        &self,
        bound: &Bound,
        start: Option<&Start>,
        progress: impl FnMut(&Progress) -> ControlFlow<()>,
    ) -> Result<Sampled, NutsError> {
        let begun = Instant::now();
        self.check()?;
        check_start(bound, start)?;
        let (compiled, stop) = (Compiled::new(bound)?, AtomicBool::new(false));
        let task = Task { nuts: self, compiled: &compiled, start, stop: &stop };
        let (chains, stopped) = self.side_by_side(&task, progress).map_err(|error| match error {
            NutsError::NoDensity { chain, tries, places, last, .. } => {
                let why = bound.without_density().unwrap_or_default();
                NutsError::NoDensity { chain, tries, places, last, why }
            }
            other => other,
        })?;
        let seconds = begun.elapsed().as_secs_f64();
        Ok(Sampled { names: bound.element_names(), chains, stopped, seconds })
    }

    /// Runs all chains; also says whether they were stopped.
    fn side_by_side(
        &self,
        task: &Task<'_>,
        mut progress: impl FnMut(&Progress) -> ControlFlow<()>,
    ) -> Result<(Vec<ChainDraws>, bool), NutsError> {
        let (next, (tell, told)) = (AtomicUsize::new(0), mpsc::channel());
        let mut stopped = false;
        let mut done = thread::scope(|scope| {
            let workers: Vec<_> = (0..self.workers())
                .map(|_| {
                    let (tell, next) = (tell.clone(), &next);
                    scope.spawn(move || work(task, self.chains, next, &tell))
                })
                .collect();
            drop(tell);
            for now in told {
                if !stopped && progress(&now).is_break() {
                    stopped = true;
                    task.stop.store(true, Ordering::Relaxed);
                }
            }
            let join = |worker: thread::ScopedJoinHandle<'_, Vec<_>>| match worker.join() {
                Ok(done) => done,
                Err(panic) => std::panic::resume_unwind(panic),
            };
            workers.into_iter().flat_map(join).collect::<Vec<_>>()
        });
        done.sort_by_key(|(chain, _)| *chain);
        let chains = done.into_iter().map(|(_, draws)| draws).collect::<Result<_, _>>()?;
        Ok((chains, stopped))
    }

    fn workers(&self) -> usize {
        let cores = || thread::available_parallelism().map_or(1, usize::from);
        let threads = if self.threads == 0 { cores() } else { self.threads };
        threads.min(self.chains)
    }

    fn check(&self) -> Result<(), NutsError> {
        let counts = [("chains", self.chains), ("draws", self.draws)];
        for (key, value) in counts {
            refuse(!(1..=MOST).contains(&value), key, value, "a number from 1 to 1000000000")?;
        }
        for (key, value) in [("warm_up", self.warm_up), ("warm_up_after_fit", self.warm_up_after_fit)] {
            refuse(value > MOST, key, value, "a number up to 1000000000")?;
        }
        let outside = !(self.target_accept > 0.0 && self.target_accept < 1.0);
        refuse(outside, "target_accept", self.target_accept, "a number between 0 and 1; 0.8 is usual")?;
        let outside = !(1..=DEEPEST).contains(&self.max_depth);
        refuse(outside, "max_depth", self.max_depth, "a number from 1 to 30; 10 is usual")
    }
}

/// Most chains and draws; numbers of rows are 32 bits wide.
const MOST: usize = 1_000_000_000;
/// Most doublings: no trajectory of more steps ever ends.
const DEEPEST: u64 = 30;

fn refuse(
    wrong: bool,
    key: &'static str,
    value: impl ToString,
    allowed: &'static str,
) -> Result<(), NutsError> {
    if wrong { Err(NutsError::Setting { key, value: value.to_string(), allowed }) } else { Ok(()) }
}

fn check_start(bound: &Bound, start: Option<&Start>) -> Result<(), NutsError> {
    match start.map(Start::dimension) {
        Some(given) if given != bound.dimension() => Err(NutsError::Start(format!(
            "the Gaussian has {given} dimensions, but the variables of the model are made from {} real numbers",
            bound.dimension()
        ))),
        _ => Ok(()),
    }
}

type Done = (usize, Result<ChainDraws, NutsError>);

/// Runs one chain after the other, as long as there are any left. Where one fails, all end.
fn work(task: &Task<'_>, chains: usize, next: &AtomicUsize, tell: &mpsc::Sender<Progress>) -> Vec<Done> {
    let mut done = Vec::new();
    loop {
        let chain = next.fetch_add(1, Ordering::Relaxed);
        if chain >= chains {
            return done;
        }
        let drawn = task.run(chain, tell);
        if drawn.is_err() {
            task.stop.store(true, Ordering::Relaxed);
        }
        done.push((chain, drawn));
    }
}
