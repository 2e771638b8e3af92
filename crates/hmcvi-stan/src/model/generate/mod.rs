//! Compute all quantities of draws: parameters, transformed parameters, generated quantities.

mod draw;
mod order;

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use super::{Model, on_stack};
use crate::error::{Problem, Result, StanError};
use draw::Drawer;

pub(super) use draw::one;
pub(super) use order::variables;
pub use order::{Block, Variable};

/// All quantities of draws.
#[derive(Clone, Debug)]
pub struct Quantities {
    /// One row for each draw, in the order of [`Model::names`]. What could not be computed is not a number.
    pub values: Vec<f64>,
    /// What went wrong, if anything did.
    pub failed: Option<Failed>,
}

/// Draws of which some quantities could not be computed, or are outside of what is declared.
#[derive(Clone, PartialEq, Debug)]
pub struct Failed {
    /// How many draws these are.
    pub draws: usize,
    /// The first of them, counted from 0.
    pub first: usize,
    /// What went wrong there.
    pub error: StanError,
}

/// Draws that a thread takes at a time.
const CHUNK: usize = 16;

/// What threads share.
struct Shared<'m> {
    model: &'m Model,
    rows: &'m [f64],
    seed: u64,
    next: AtomicUsize,
    done: AtomicUsize,
    stopped: AtomicBool,
}

/// Quantities of all rows on so many threads; nothing if it was stopped.
pub(super) fn all(
    model: &Model,
    rows: &[f64],
    seed: u64,
    threads: usize,
    goes_on: &(dyn Fn(usize) -> bool + Sync),
) -> Result<Option<Quantities>> {
    let width = model.bound.element_names().len();
    if width == 0 || !rows.len().is_multiple_of(width) {
        return Err(format!("{} numbers are no draws of {width} numbers each", rows.len()).into());
    }
    let (count, names) = (rows.len() / width, model.names.len());
    let mut values = vec![f64::NAN; count * names];
    let shared = Shared {
        model,
        rows,
        seed,
        next: AtomicUsize::new(0),
        done: AtomicUsize::new(0),
        stopped: AtomicBool::new(false),
    };
    let threads = threads.clamp(1, count.div_ceil(CHUNK).max(1));
    let found: Vec<Result<Part>> = std::thread::scope(|scope| {
        let work = || on_stack(|| shared.work(goes_on));
        let all: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        let joined = all.into_iter().map(|thread| thread.join());
        joined.map(|found| found.unwrap_or_else(|_| Err("a thread ended".into()))).collect()
    });
    let mut failed: Vec<(usize, Problem)> = Vec::new();
    for part in found {
        let part = part?;
        for (first, chunk) in part.chunks {
            values[first * names..first * names + chunk.len()].copy_from_slice(&chunk);
        }
        failed.extend(part.failed);
    }
    if shared.stopped.into_inner() {
        return Ok(None);
    }
    failed.sort_by_key(|(draw, _)| *draw);
    let draws = failed.len();
    let failed = failed.into_iter().next().map(|(first, problem)| Failed {
        draws,
        first,
        error: problem.in_text(&model.program.source),
    });
    Ok(Some(Quantities { values, failed }))
}

/// What one thread has found: values from a draw on, and draws with problems.
#[derive(Default)]
struct Part {
    chunks: Vec<(usize, Vec<f64>)>,
    failed: Vec<(usize, Problem)>,
}

impl Shared<'_> {
    fn work(&self, goes_on: &(dyn Fn(usize) -> bool + Sync)) -> Result<Part> {
        let width = self.model.bound.element_names().len();
        let count = self.rows.len() / width;
        let mut drawer = Drawer::new(self.model);
        let mut part = Part::default();
        while !self.stopped.load(Ordering::Relaxed) {
            let first = self.next.fetch_add(CHUNK, Ordering::Relaxed);
            if first >= count {
                break;
            }
            let mut values = Vec::new();
            for draw in first..(first + CHUNK).min(count) {
                let row = &self.rows[draw * width..(draw + 1) * width];
                if let Some(problem) = drawer.draw(row, self.seed, draw as u32, &mut values)? {
                    part.failed.push((draw, problem));
                }
                let done = self.done.fetch_add(1, Ordering::Relaxed) + 1;
                if !goes_on(done) {
                    self.stopped.store(true, Ordering::Relaxed);
                    break;
                }
            }
            part.chunks.push((first, values));
        }
        Ok(part)
    }
}
