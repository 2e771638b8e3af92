//! Let pieces of work use a device in the order in which they came, as many at a time as it has room for.
//!
//! A GPU does not share itself out evenly: of a dozen trainings with work for one and a half times its processors,
//! two were left with nearly nothing for ten minutes. Those that wait for their turn here are served before others come
//! again.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// How long a turn is, at least: epochs are not cut short, and some take much less.
const LENGTH: Duration = Duration::from_millis(250);

/// The room of a device, and who waits for it.
pub(crate) struct Turns {
    room: usize,
    state: Mutex<State>,
    changed: Condvar,
}

struct State {
    free: usize,
    /// The number that the next one in the line gets, and the number that is served next.
    last: u64,
    next: u64,
}

/// Room that is held until it is dropped.
pub(crate) struct Turn {
    of: Arc<Turns>,
    size: usize,
    begun: Instant,
}

impl Turn {
    /// Whether others should have theirs now.
    pub(crate) fn is_over(&self) -> bool {
        self.begun.elapsed() >= LENGTH
    }
}

impl Turns {
    pub(crate) fn new(room: usize) -> Arc<Self> {
        let state = Mutex::new(State { free: room, last: 0, next: 0 });
        Arc::new(Turns { room, state, changed: Condvar::new() })
    }

    /// Waits until everyone who came earlier has room, and this much is left, or everything for those that need more.
    pub(crate) fn take(self: &Arc<Self>, size: usize) -> Turn {
        let size = size.min(self.room);
        let mut state = self.lock();
        let number = state.last;
        state.last += 1;
        while state.next != number || state.free < size {
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        state.next += 1;
        state.free -= size;
        drop(state);
        self.changed.notify_all();
        Turn { of: self.clone(), size, begun: Instant::now() }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        self.of.lock().free += self.size;
        self.of.changed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

    #[test]
    fn no_more_work_than_there_is_room_for() {
        let (turns, used) = (Turns::new(10), AtomicUsize::new(0));
        std::thread::scope(|scope| {
            for size in [1, 3, 4, 5, 9, 10, 200] {
                let (turns, used) = (&turns, &used);
                scope.spawn(move || {
                    for _ in 0..200 {
                        let _turn = turns.take(size);
                        let size = size.min(10);
                        assert!(used.fetch_add(size, SeqCst) + size <= 10);
                        std::thread::yield_now();
                        used.fetch_sub(size, SeqCst);
                    }
                });
            }
        });
        assert_eq!(turns.lock().free, 10);
    }

    #[test]
    fn nobody_overtakes_those_who_wait() {
        let turns = Turns::new(4);
        let first = turns.take(3);
        let order = Mutex::new(Vec::new());
        std::thread::scope(|scope| {
            // There is room for the second of these at once, but the first was there before.
            for (place, size) in [(0u64, 4), (1, 1)] {
                let (turns, order) = (&turns, &order);
                scope.spawn(move || {
                    let _turn = turns.take(size);
                    order.lock().expect("nobody panics").push(place);
                });
                while turns.lock().last != place + 2 {
                    std::thread::sleep(Duration::from_millis(1));
                }
            }
            drop(first);
        });
        assert_eq!(*order.lock().expect("nobody panics"), [0, 1]);
    }
}
