//! Run tasks on a fixed set of threads, without allocating.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::JoinHandle;

/// How often a waiting thread looks again before it sleeps: some tens of microseconds, longer than
/// the serial parts of a step.
const SPINS: usize = 20_000;

/// `task(number, worker)`
type Task<'t> = dyn Fn(usize, usize) + Sync + 't;

/// A fixed set of workers; the calling thread is worker 0.
pub(super) struct Pool {
    shared: Arc<Shared>,
    threads: Vec<JoinHandle<()>>,
    spins: usize,
}

struct Shared {
    /// The round's task; only valid while `busy` counts workers in that round.
    task: Mutex<Option<(*const Task<'static>, usize)>>,
    start: Condvar,
    round: AtomicUsize,
    next: AtomicUsize,
    busy: AtomicUsize,
    failed: AtomicBool,
    stop: AtomicBool,
}

// SAFETY: the pointer in `task` is only followed between the start of a round and the moment its
// worker leaves `busy`, during which `Pool::run` keeps the referent alive; the task itself is Sync.
unsafe impl Send for Shared {}
// SAFETY: as above.
unsafe impl Sync for Shared {}

impl Pool {
    pub(super) fn new(threads: usize) -> Self {
        let shared = Arc::new(Shared {
            task: Mutex::new(None),
            start: Condvar::new(),
            round: AtomicUsize::new(0),
            next: AtomicUsize::new(0),
            busy: AtomicUsize::new(0),
            failed: AtomicBool::new(false),
            stop: AtomicBool::new(false),
        });
        // Spinning only helps while every worker has a core of its own.
        let cores = std::thread::available_parallelism().map_or(1, |n| n.get());
        let spins = if threads <= cores { SPINS } else { 0 };
        let spawn = |worker| {
            let shared = shared.clone();
            std::thread::spawn(move || shared.work(worker, spins))
        };
        let threads = (1..threads).map(spawn).collect();
        Pool { shared, threads, spins }
    }

    pub(super) fn workers(&self) -> usize {
        self.threads.len() + 1
    }

    /// Runs `task(0..count)`, each number once, on all workers; returns when all are done.
    pub(super) fn run(&self, count: usize, task: &Task<'_>) {
        if self.threads.is_empty() || count <= 1 {
            (0..count).for_each(|number| task(number, 0));
            return;
        }
        let shared = &*self.shared;
        // SAFETY: only the lifetime changes; this function returns after every worker has left.
        let erased = unsafe { std::mem::transmute::<*const Task<'_>, *const Task<'static>>(task) };
        shared.next.store(0, Ordering::Relaxed);
        shared.busy.store(self.threads.len(), Ordering::Relaxed);
        {
            let mut slot = shared.task.lock().unwrap_or_else(PoisonError::into_inner);
            *slot = Some((erased, count));
            shared.round.fetch_add(1, Ordering::Release);
        }
        shared.start.notify_all();
        // Workers must be waited for even if this thread's share panics: they use `task`.
        let own = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| shared.take(task, count, 0)));
        let mut spins = 0;
        while shared.busy.load(Ordering::Acquire) > 0 {
            spins += 1;
            if spins > self.spins { std::thread::yield_now() } else { std::hint::spin_loop() }
        }
        if let Err(panic) = own {
            std::panic::resume_unwind(panic);
        }
        assert!(!shared.failed.swap(false, Ordering::Relaxed), "a worker thread panicked");
    }
}

impl Shared {
    fn take(&self, task: &Task<'_>, count: usize, worker: usize) {
        loop {
            let number = self.next.fetch_add(1, Ordering::Relaxed);
            if number >= count {
                return;
            }
            task(number, worker);
        }
    }

    fn work(&self, worker: usize, spins: usize) {
        let mut round = 0;
        loop {
            let mut waited = 0;
            while self.round.load(Ordering::Acquire) == round && waited < spins {
                waited += 1;
                std::hint::spin_loop();
            }
            let (task, count) = {
                let mut slot = self.task.lock().unwrap_or_else(PoisonError::into_inner);
                while self.round.load(Ordering::Acquire) == round {
                    slot = self.start.wait(slot).unwrap_or_else(PoisonError::into_inner);
                }
                round = self.round.load(Ordering::Acquire);
                match *slot {
                    Some(task) if !self.stop.load(Ordering::Acquire) => task,
                    _ => return,
                }
            };
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
        {
            let _slot = self.shared.task.lock().unwrap_or_else(PoisonError::into_inner);
            self.shared.stop.store(true, Ordering::Release);
            self.shared.round.fetch_add(1, Ordering::Release);
        }
        self.shared.start.notify_all();
        for thread in self.threads.drain(..) {
            // A worker only ends by returning: panics of tasks are caught in its loop.
            let _ = thread.join();
        }
    }
}
