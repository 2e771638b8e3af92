//! Run tasks on a fixed set of threads, without allocating.

use std::cell::UnsafeCell;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::thread::JoinHandle;
use std::time::Instant;

/// How often a waiting thread looks again before it sleeps: some tens of microseconds, longer than
/// the serial parts of a step.
const SPINS: usize = 20_000;

/// `task(number, worker)`
type Task<'t> = dyn Fn(usize, usize) + Sync + 't;

/// Parts of a run, which threads begin and end together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// Laying out right operands of products.
    Pack,
    /// Taking rows through a row stage, with their sums where each thread has shards of its own.
    Rows,
    /// Sums over rows that threads share.
    Sums,
    /// Fixed values, such as the update of parameters.
    Fixed,
}

impl Part {
    /// All of them, in the order of a run.
    pub const ALL: [Part; PARTS] = [Part::Pack, Part::Rows, Part::Sums, Part::Fixed];
}

const PARTS: usize = 4;

/// Where the time of runs went, in seconds.
#[derive(Clone, Debug)]
pub struct Times {
    /// What each part took.
    pub parts: [f64; PARTS],
    /// How long each thread was at work in it.
    pub busy: Vec<[f64; PARTS]>,
}

/// Nanoseconds of each part, in cache lines of their own.
#[derive(Default)]
#[repr(align(128))]
struct Clock([AtomicU64; PARTS]);

impl Clock {
    fn seconds(&self) -> [f64; PARTS] {
        self.0.each_ref().map(|nanoseconds| nanoseconds.load(Ordering::Relaxed) as f64 * 1e-9)
    }

    fn add(&self, part: usize, since: Instant) {
        self.0[part].fetch_add(since.elapsed().as_nanos() as u64, Ordering::Relaxed);
    }

    fn reset(&self) {
        self.0.iter().for_each(|nanoseconds| nanoseconds.store(0, Ordering::Relaxed));
    }
}

/// A fixed set of workers; the calling thread is worker 0.
pub(super) struct Pool {
    shared: Arc<Shared>,
    threads: Vec<JoinHandle<()>>,
    spins: usize,
    measured: bool,
}

/// Bits of [`Shared::round`] that say how many workers take part; the number of the round is above them.
const TAKE_PART: usize = 16;
const MOST: usize = (1 << TAKE_PART) - 1;

struct Shared {
    /// The round's number, and how many workers take part in it: those with fewer tasks than workers leave the others
    /// alone, whether they wait or sleep.
    round: AtomicUsize,
    /// The round's task and the number of times it is to run; read by workers that take part, while `busy` counts them.
    task: UnsafeCell<Option<(*const Task<'static>, usize)>>,
    next: AtomicUsize,
    busy: AtomicUsize,
    failed: AtomicBool,
    stop: AtomicBool,
    /// The part that the round is of, where times are measured; otherwise `PARTS`.
    part: AtomicUsize,
    /// Of the whole and of each worker.
    times: Vec<Clock>,
}

// SAFETY: `task` is written by `Pool::run` alone, while no worker is in a round, and read by workers between the start of
// their round and the moment they leave `busy`, during which `Pool::run` keeps the referent alive; the task is Sync.
unsafe impl Send for Shared {}
// SAFETY: as above.
unsafe impl Sync for Shared {}

impl Pool {
    pub(super) fn new(threads: usize) -> Self {
        let shared = Arc::new(Shared {
            round: AtomicUsize::new(0),
            task: UnsafeCell::new(None),
            next: AtomicUsize::new(0),
            busy: AtomicUsize::new(0),
            failed: AtomicBool::new(false),
            stop: AtomicBool::new(false),
            part: AtomicUsize::new(PARTS),
            times: (0..=threads.clamp(1, MOST)).map(|_| Clock::default()).collect(),
        });
        // Spinning only helps while every worker has a core of its own.
        let cores = std::thread::available_parallelism().map_or(1, |n| n.get());
        let spins = if threads <= cores { SPINS } else { 0 };
        let spawn = |worker| {
            let shared = shared.clone();
            std::thread::spawn(move || shared.work(worker, spins))
        };
        let threads = (1..threads.min(MOST)).map(spawn).collect();
        Pool { shared, threads, spins, measured: false }
    }

    pub(super) fn workers(&self) -> usize {
        self.threads.len() + 1
    }

    /// Starts to measure times, from zero.
    pub(super) fn measure(&mut self) {
        self.measured = true;
        self.shared.times.iter().for_each(Clock::reset);
    }

    pub(super) fn times(&self) -> Times {
        let [parts, busy @ ..] = &self.shared.times[..] else { unreachable!("there is at least one worker") };
        Times { parts: parts.seconds(), busy: busy.iter().map(Clock::seconds).collect() }
    }

    /// Runs tasks as [`Pool::round`] does, with its times measured where that is wanted.
    pub(super) fn run(&self, part: Part, count: usize, task: &Task<'_>) {
        if !self.measured {
            return self.round(count, task);
        }
        let start = Instant::now();
        self.shared.part.store(part as usize, Ordering::Relaxed);
        self.round(count, task);
        self.shared.times[0].add(part as usize, start);
    }

    /// Runs `task(0..count)`, each number once, on as many workers as there are tasks for; returns when all are done.
    /// Only runs of the program call this, of which there is one at a time.
    fn round(&self, count: usize, task: &Task<'_>) {
        let others = self.threads.len().min(count.saturating_sub(1));
        if others == 0 {
            self.shared.next.store(0, Ordering::Relaxed);
            return self.shared.take(task, count, 0);
        }
        let shared = &*self.shared;
        // SAFETY: only the lifetime changes; this function returns after every worker has left.
        let erased = unsafe { std::mem::transmute::<*const Task<'_>, *const Task<'static>>(task) };
        // SAFETY: no worker is in a round, so nobody reads it.
        unsafe { *shared.task.get() = Some((erased, count)) };
        shared.next.store(0, Ordering::Relaxed);
        shared.busy.store(others, Ordering::Relaxed);
        self.begin(others);
        // Workers must be waited for even if this thread's share panics: they use `task`.
        let own = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| shared.take(task, count, 0)));
        let mut spins = 0;
        while shared.busy.load(Ordering::Acquire) > 0 {
            spins += 1;
            if spins > self.spins { std::thread::yield_now() } else { std::hint::spin_loop() }
        }
        let failed = shared.failed.swap(false, Ordering::Relaxed);
        if let Err(panic) = own {
            std::panic::resume_unwind(panic);
        }
        assert!(!failed, "a worker thread panicked");
    }

    /// Begins a round in which workers 1 to `others` take part, and wakes those that sleep.
    fn begin(&self, others: usize) {
        let number = (self.shared.round.load(Ordering::Relaxed) >> TAKE_PART).wrapping_add(1);
        self.shared.round.store((number << TAKE_PART) | others, Ordering::Release);
        // Waking one that does not sleep costs no call of the system.
        self.threads[..others].iter().for_each(|worker| worker.thread().unpark());
    }
}

impl Shared {
    /// Runs tasks until none is left, and notes how long that took if times are measured.
    fn take(&self, task: &Task<'_>, count: usize, worker: usize) {
        let part = self.part.load(Ordering::Relaxed);
        let start = (part < PARTS).then(Instant::now);
        loop {
            let number = self.next.fetch_add(1, Ordering::Relaxed);
            if number >= count {
                break;
            }
            task(number, worker);
        }
        if let Some(start) = start {
            self.times[worker + 1].add(part, start);
        }
    }

    /// Waits for the round after another one.
    fn wait(&self, last: usize, spins: usize) -> usize {
        for _ in 0..spins {
            let round = self.round.load(Ordering::Acquire);
            if round != last {
                return round;
            }
            std::hint::spin_loop();
        }
        loop {
            let round = self.round.load(Ordering::Acquire);
            if round != last {
                return round;
            }
            // Returns at once if somebody unparked this thread since it looked.
            std::thread::park();
        }
    }

    fn work(&self, worker: usize, spins: usize) {
        let mut round = 0;
        loop {
            round = self.wait(round, spins);
            if self.stop.load(Ordering::Acquire) {
                return;
            }
            if worker > (round & MOST) {
                continue;
            }
            // SAFETY: this worker takes part in the round, which does not end before it has left `busy`.
            let Some((task, count)) = (unsafe { *self.task.get() }) else { return };
            // SAFETY: `Pool::run` keeps the task alive until `busy` reaches zero.
            let task = unsafe { &*task };
            let run = std::panic::AssertUnwindSafe(|| self.take(task, count, worker));
            if std::panic::catch_unwind(run).is_err() {
                self.failed.store(true, Ordering::Relaxed);
            }
            self.busy.fetch_sub(1, Ordering::Release);
        }
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        self.shared.stop.store(true, Ordering::Release);
        self.begin(self.threads.len());
        for thread in self.threads.drain(..) {
            // A worker only ends by returning: panics of tasks are caught in its loop.
            let _ = thread.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::{Part, Pool};

    /// Rounds of all sizes, also right after each other and on more threads than there are cores.
    #[test]
    fn every_task_runs_once_in_every_round() {
        for threads in [1, 2, 3, 8] {
            let pool = Pool::new(threads);
            for round in 0..2000 {
                let count = round % 11;
                let runs: Vec<AtomicUsize> = (0..count).map(|_| AtomicUsize::new(0)).collect();
                pool.run(Part::Rows, count, &|number, worker| {
                    assert!(worker < threads.min(count));
                    runs[number].fetch_add(1, Ordering::Relaxed);
                });
                assert!(runs.iter().all(|runs| runs.load(Ordering::Relaxed) == 1));
            }
        }
    }

    #[test]
    fn a_round_after_a_panic_runs_all_tasks() {
        let pool = Pool::new(3);
        let all_panic = || pool.run(Part::Rows, 6, &|_, _| panic!("on purpose"));
        assert!(std::panic::catch_unwind(std::panic::AssertUnwindSafe(all_panic)).is_err());
        let done = AtomicUsize::new(0);
        pool.run(Part::Rows, 6, &|_, _| {
            done.fetch_add(1, Ordering::Relaxed);
        });
        assert_eq!(done.into_inner(), 6);
    }
}
