//! Say how far all rows are together, and how long the rest will take.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::row::{Row, State};

/// Lines about everything come at most this often.
const SPEAK_EVERY: Duration = Duration::from_secs(60);

/// Epochs done of every row, by its number, and when that was last said.
pub(super) struct Overview<'a> {
    rows: &'a [Row],
    begun: Instant,
    first: f64,
    state: Mutex<(BTreeMap<usize, u64>, Instant)>,
}

impl<'a> Overview<'a> {
    pub(super) fn new(rows: &'a [Row]) -> Self {
        let done = |row: &Row| match row.state() {
            State::Missing => 0,
            State::Training(epochs) => epochs,
            State::Trained | State::Evaluated => row.spec.train.epochs as u64,
        };
        let epochs: BTreeMap<usize, u64> = rows.iter().map(done).enumerate().collect();
        let now = Instant::now();
        let mut overview =
            Overview { rows, begun: now, first: 0.0, state: Mutex::new((BTreeMap::new(), now)) };
        overview.first = overview.work(&epochs);
        overview.state = Mutex::new((epochs, now));
        overview
    }

    /// Work done, in epochs of the basic model.
    fn work(&self, epochs: &BTreeMap<usize, u64>) -> f64 {
        epochs.iter().map(|(i, n)| *n as f64 * self.rows[*i].cost()).sum()
    }

    /// Notes how far a row is; a line about all of them when the last one is a while ago.
    pub(super) fn note(&self, row: &Row, epochs: u64) -> Option<String> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let i = self.rows.iter().position(|r| r.path == row.path)?;
        state.0.insert(i, epochs);
        if state.1.elapsed() < SPEAK_EVERY {
            return None;
        }
        state.1 = Instant::now();
        let all: f64 = self.rows.iter().map(|r| r.spec.train.epochs as f64 * r.cost()).sum();
        let work = self.work(&state.0);
        let trained = (0..self.rows.len())
            .filter(|i| state.0.get(i).is_some_and(|n| *n >= self.rows[*i].spec.train.epochs as u64));
        let left = self.begun.elapsed().as_secs_f64() * (all - work) / (work - self.first).max(1e-9);
        Some(format!(
            "all rows: {} of {} trained, {:.0}% of the work, about {:.0} minutes of training left",
            trained.count(),
            self.rows.len(),
            100.0 * work / all,
            (left / 60.0).ceil()
        ))
    }
}
