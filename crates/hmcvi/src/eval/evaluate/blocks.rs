//! Work through data points in blocks, as many at once as there are workers.

use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::{Phase, Watch};
use crate::eval::EvalError;

/// Blocks of data points, and what they are called in the journal.
pub(super) struct Blocks {
    pub(super) name: &'static str,
    pub(super) phase: Phase,
    /// Data points in all.
    pub(super) points: usize,
    /// Data points of a block.
    pub(super) size: usize,
}

impl Blocks {
    /// Results of all blocks in their order: recalled, or computed and kept. Work reports the share of it that is done, and
    /// stops when it is told to.
    pub(super) fn work<W: Send, R: Serialize + DeserializeOwned + Send>(
        &self,
        watch: &mut dyn Watch,
        workers: &mut [W],
        work: impl Fn(&mut W, Range<usize>, &mut dyn FnMut(f64) -> bool) -> Result<R, EvalError> + Sync,
    ) -> Result<Vec<R>, EvalError> {
        let range = |first: usize| first..self.points.min(first + self.size);
        let firsts: Vec<usize> = (0..self.points).step_by(self.size.max(1)).collect();
        let mut all = Vec::with_capacity(firsts.len());
        for together in firsts.chunks(workers.len()) {
            let part = |first: &usize| format!("{} {first}", self.name);
            let known: Vec<Option<R>> = together.iter().map(|first| recall(watch, &part(first))).collect();
            let missing =
                together.iter().zip(&known).filter(|(_, known)| known.is_none()).map(|(first, _)| *first);
            let stopped = AtomicBool::new(false);
            let (start, end) = (together[0], range(together[together.len() - 1]).end);
            let share = |own: f64| (start as f64 + own * (end - start) as f64) / self.points as f64;
            let found: Vec<Result<R, EvalError>> = std::thread::scope(|scope| {
                let (work, stopped) = (&work, &stopped);
                let mut jobs = missing.zip(workers.iter_mut());
                // This thread works too: it is the one that may speak.
                let own = jobs.next();
                let others: Vec<_> = jobs
                    .map(|(first, worker)| {
                        scope.spawn(move || {
                            work(worker, range(first), &mut |_| stopped.load(Ordering::Relaxed))
                        })
                    })
                    .collect();
                let own = own.map(|(first, worker)| {
                    let mut look = |done| watch.progress(self.phase, share(done)).is_break();
                    let result = work(worker, range(first), &mut look);
                    stopped.store(result.is_err(), Ordering::Relaxed);
                    result
                });
                let others = others.into_iter().map(|other| other.join().expect("workers do not panic"));
                own.into_iter().chain(others).collect()
            });
            let (mut found, mut failed) = (found.into_iter(), None);
            for (first, known) in together.iter().zip(known) {
                let computed = || {
                    let value = found.next().expect("every missing block was worked on")?;
                    keep(watch, &part(first), &value).map(|()| value)
                };
                // What was finished is kept, even if a block before it was not.
                match known.map_or_else(computed, Ok) {
                    Ok(value) => all.push(value),
                    Err(error) => failed = failed.or(Some(error)),
                }
            }
            failed.map_or(Ok(()), Err)?;
        }
        Ok(all)
    }
}

pub(super) fn recall<R: DeserializeOwned>(watch: &mut dyn Watch, part: &str) -> Option<R> {
    watch.recall(part).and_then(|value| serde_json::from_value(value).ok())
}

pub(super) fn keep<R: Serialize>(watch: &mut dyn Watch, part: &str, value: &R) -> Result<(), EvalError> {
    serde_json::to_value(value).map_or(Ok(()), |json| watch.keep(part, &json))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::ops::ControlFlow;

    use super::*;

    #[derive(Default)]
    struct Memory {
        kept: BTreeMap<String, serde_json::Value>,
        shares: Vec<f64>,
        /// Reports of progress until it stops.
        patience: Option<usize>,
    }

    impl Watch for Memory {
        fn progress(&mut self, _: Phase, share: f64) -> ControlFlow<()> {
            self.shares.push(share);
            match self.patience {
                Some(n) if self.shares.len() >= n => ControlFlow::Break(()),
                _ => ControlFlow::Continue(()),
            }
        }

        fn recall(&mut self, part: &str) -> Option<serde_json::Value> {
            self.kept.get(part).cloned()
        }

        fn keep(&mut self, part: &str, value: &serde_json::Value) -> Result<(), EvalError> {
            assert!(self.kept.insert(part.into(), value.clone()).is_none(), "`{part}` is computed once");
            Ok(())
        }
    }

    const BLOCKS: Blocks = Blocks { name: "block", phase: Phase::Annealing, points: 32, size: 3 };

    /// Sums up the points of a block; workers count their blocks.
    fn run(watch: &mut Memory, workers: &mut [usize]) -> Result<Vec<usize>, EvalError> {
        BLOCKS.work(watch, workers, |worker, points, look| {
            *worker += 1;
            if look(1.0) { Err(EvalError::Stopped) } else { Ok(points.sum()) }
        })
    }

    fn expected() -> Vec<usize> {
        (0..32).step_by(3).map(|first| (first..32.min(first + 3)).sum()).collect()
    }

    #[test]
    fn results_are_in_order_whoever_worked() {
        for count in 1..=5 {
            let (mut watch, mut workers) = (Memory::default(), vec![0; count]);
            assert_eq!(run(&mut watch, &mut workers).expect("it works"), expected());
            assert_eq!(workers.iter().sum::<usize>(), 11, "{workers:?}");
            assert!(workers.iter().all(|n| *n >= 11 / count), "{workers:?}");
            assert!(watch.shares.is_sorted() && watch.shares.last() == Some(&1.0), "{:?}", watch.shares);
        }
    }

    #[test]
    fn what_is_known_is_not_computed_again() {
        let mut watch = Memory { patience: Some(3), ..Memory::default() };
        assert!(matches!(run(&mut watch, &mut [0; 2]), Err(EvalError::Stopped)));
        // Two pairs were finished, and the second of the third pair where it was faster than the stop.
        let kept = watch.kept.len();
        assert!((4..=5).contains(&kept), "{:?}", watch.kept);
        // One block of a pair is missing.
        watch.kept.remove("block 3");
        (watch.patience, watch.shares) = (None, Vec::new());
        let mut workers = [0; 2];
        assert_eq!(run(&mut watch, &mut workers).expect("it works"), expected());
        assert_eq!(workers.iter().sum::<usize>(), 1 + 11 - kept, "one and those that were left");
    }

    #[test]
    fn what_was_finished_beside_a_failure_is_kept() {
        let mut watch = Memory::default();
        let found = BLOCKS.work(&mut watch, &mut [false, true], |works, points, _| {
            if *works { Ok(points.sum::<usize>()) } else { Err(EvalError::Stopped) }
        });
        assert!(matches!(found, Err(EvalError::Stopped)));
        assert_eq!(watch.kept.keys().collect::<Vec<_>>(), ["block 3"]);
    }
}
