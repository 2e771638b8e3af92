//! Say how far all rows are together, and how long the rest will take.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::{Row, State, cost_of};

/// Lines about everything come at most this often.
const SPEAK_EVERY: Duration = Duration::from_secs(60);

/// Epochs done of every row, by its number, and when that was last said.
pub(super) struct Overview<'a, R> {
    rows: &'a [R],
    begun: Instant,
    first: f64,
    state: Mutex<(BTreeMap<usize, u64>, Instant)>,
}

impl<'a, R: Row> Overview<'a, R> {
    /// Of those rows that are this process's own.
    pub(super) fn new(rows: &'a [R], own: &BTreeSet<usize>) -> Self {
        let done = |row: &R| match row.state() {
            State::Missing => 0,
            State::Training(epochs) => epochs,
            State::Trained | State::Evaluated => row.spec().train.epochs as u64,
        };
        let epochs: BTreeMap<usize, u64> = own.iter().map(|i| (*i, done(&rows[*i]))).collect();
        let now = Instant::now();
        let mut overview =
            Overview { rows, begun: now, first: 0.0, state: Mutex::new((BTreeMap::new(), now)) };
        overview.first = overview.work(&epochs);
        overview.state = Mutex::new((epochs, now));
        overview
    }

    /// Work done, in epochs of the basic model.
    fn work(&self, epochs: &BTreeMap<usize, u64>) -> f64 {
        epochs.iter().map(|(i, n)| *n as f64 * cost_of(self.rows[*i].spec())).sum()
    }

    /// Notes how far a row is; a line about all of them when the last one is a while ago.
    pub(super) fn note(&self, row: usize, epochs: u64) -> Option<String> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.0.insert(row, epochs);
        if state.1.elapsed() < SPEAK_EVERY {
            return None;
        }
        state.1 = Instant::now();
        let goal = |i: &usize| self.rows[*i].spec().train.epochs as u64;
        let all = self.work(&state.0.keys().map(|i| (*i, goal(i))).collect());
        let work = self.work(&state.0);
        let trained = state.0.iter().filter(|(i, n)| **n >= goal(i)).count();
        let left = self.begun.elapsed().as_secs_f64() * (all - work) / (work - self.first).max(1e-9);
        Some(format!(
            "all rows: {trained} of {} trained, {:.0}% of the work, about {:.0} minutes of training left",
            state.0.len(),
            100.0 * work / all,
            (left / 60.0).ceil()
        ))
    }
}
