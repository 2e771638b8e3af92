//! Score rows one by one: the scores of a row depend on its content and the seed, not on its place or its company.
//!
//! Random numbers are keyed by a hash of the row, so that rows can be scored in any order, alone or together, with the
//! same result. Other rows have other random numbers, so that errors are independent; equal rows have equal scores.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use hmcvi_graph::Store;

use super::EvalError;
use super::bound::BoundEvaluator;
use super::evaluate::{ImportanceOptions, TEST_SEED};
use super::importance::ImportanceSampler;
use super::weights::WeightSummary;
use crate::data::{Hasher, Table};
use crate::device::Device;
use crate::family::Dropped;
use crate::problem::Subject;

/// Seed of the chains, apart from that of importance sampling.
const CHAINS: u64 = 0x63_6861_696e;

/// What was found out about a row.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RowScore {
    /// Mean of the bound over the chains of the row; not a number where all of them diverged.
    pub bound: f64,
    /// Weights of importance sampling, whose log mean is the log-likelihood.
    pub weights: Option<WeightSummary>,
}

/// How rows are scored.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ScoreOptions {
    /// Chains of each row: their bounds are averaged, and the mean of their ends is that of the proposal.
    pub chains: usize,
    /// Importance sampling. The mean of the proposal comes from the chains above.
    pub importance: Option<ImportanceOptions>,
}

/// Scores rows. `done` hears how many are done, and returns whether to go on.
///
/// # Errors
/// If programs cannot be run, more than 1% of the rows have no bound, or it was stopped.
pub fn score_rows(
    subject: &Subject,
    store: &Store<f32>,
    rows: &Table,
    options: &ScoreOptions,
    device: &Device,
    done: &mut dyn FnMut(usize) -> bool,
) -> Result<Vec<RowScore>, EvalError> {
    let queues = device.queues().max(device.threads()).min(rows.len().max(1));
    let mut workers = (0..queues)
        .map(|_| Worker::new(subject, store, rows, options, &device.beside(queues)?))
        .collect::<Result<Vec<_>, EvalError>>()?;
    let (next, finished, stopped) = (AtomicUsize::new(0), AtomicUsize::new(0), AtomicBool::new(false));
    let take = || Some(next.fetch_add(1, Ordering::Relaxed)).filter(|row| *row < rows.len());
    let goes_on = || !stopped.load(Ordering::Relaxed);
    let work = |worker: &mut Worker<'_>, told: &mut dyn FnMut(usize) -> bool| {
        let mut found = Vec::new();
        while let Some(row) = take().filter(|_| goes_on()) {
            found.push((row, worker.score(row)?));
            if !told(finished.fetch_add(1, Ordering::Relaxed) + 1) {
                stopped.store(true, Ordering::Relaxed);
            }
        }
        Ok::<_, EvalError>(found)
    };
    let parts: Vec<Result<Vec<_>, EvalError>> = std::thread::scope(|scope| {
        let (own, others) = workers.split_first_mut().expect("there is at least one");
        let others: Vec<_> =
            others.iter_mut().map(|worker| scope.spawn(|| work(worker, &mut |_| true))).collect();
        let own = work(own, done);
        let others = others.into_iter().map(|other| other.join().expect("workers do not panic"));
        std::iter::once(own).chain(others).collect()
    });
    let mut all = parts.into_iter().collect::<Result<Vec<_>, _>>()?.concat();
    if !goes_on() {
        return Err(EvalError::Stopped);
    }
    all.sort_by_key(|(row, _)| *row);
    let dropped = all.iter().filter(|(_, score)| score.bound.is_nan()).count() as u64;
    Dropped { rows: rows.len() as u64, dropped, no_density: 0 }.check()?;
    Ok(all.into_iter().map(|(_, score)| score).collect())
}

/// Scores one row after the other.
struct Worker<'s> {
    subject: &'s Subject,
    store: Store<f32>,
    rows: &'s Table,
    options: &'s ScoreOptions,
    chain: BoundEvaluator,
    sampler: Option<ImportanceSampler<f32>>,
}

impl<'s> Worker<'s> {
    fn new(
        subject: &'s Subject,
        store: &Store<f32>,
        rows: &'s Table,
        options: &'s ScoreOptions,
        device: &Device,
    ) -> Result<Self, EvalError> {
        let problem = &subject.problem;
        let sampler =
            |how: ImportanceOptions| ImportanceSampler::new(problem, how.proposal, how.samples, device);
        Ok(Worker {
            subject,
            store: store.clone(),
            rows,
            options,
            chain: BoundEvaluator::new(problem, &subject.observation, device)?,
            sampler: options.importance.map(sampler).transpose()?,
        })
    }

    fn score(&mut self, row: usize) -> Result<RowScore, EvalError> {
        let Subject { problem, observation, seed } = self.subject;
        let table = self.rows.pick(&[row as u32]);
        let key = key(&table);
        let drawn = observation.draw(&table, TEST_SEED ^ key, 0);
        let chains = vec![0; self.options.chains.max(1)];
        let found = self.chain.run(&self.store, &drawn, &chains, seed ^ CHAINS, key, |_| false)?;
        let bounds = found.bound.iter().filter(|bound| bound.is_finite());
        let bound = bounds.clone().sum::<f64>() / bounds.count() as f64;
        let (Some(sampler), Some(how)) = (&mut self.sampler, self.options.importance) else {
            return Ok(RowScore { bound, weights: None });
        };
        let latent = problem.model.latent();
        let mut mean = found.encoder_mean[..latent].to_vec();
        let ends: Vec<&[f32]> =
            found.end.chunks(latent).filter(|z| z.iter().all(|z| z.is_finite())).collect();
        if !problem.family.is_gaussian() && !ends.is_empty() {
            let average = |i: usize| ends.iter().map(|z| z[i]).sum::<f32>() / ends.len() as f32;
            mean = (0..latent).map(average).collect();
        }
        let widened = |log_variance: &f32| log_variance + how.scale.ln() as f32;
        let log_variance: Vec<f32> = found.encoder_log_variance[..latent].iter().map(widened).collect();
        let x = drawn.values(0..1);
        let weights = sampler.run(&self.store, &x, (&mean, &log_variance), how.samples, (*seed, key))?;
        Ok(RowScore { bound, weights: Some(weights) })
    }
}

/// A number that belongs to the content of a single row.
fn key(row: &Table) -> u64 {
    let mut values = vec![0.0; row.columns()];
    row.gather(&[0], &mut values);
    let mut hasher = Hasher::default();
    // A zero has two signs, which mean the same.
    values.iter().for_each(|value| hasher.update(&(value + 0.0).to_le_bytes()));
    u64::from_str_radix(&hasher.finish()[..16], 16).expect("a hash has hexadecimal digits")
}
