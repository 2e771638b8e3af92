//! Count allocations while training steps run: after the first step there are none.
#![allow(missing_docs, unreachable_pub, reason = "tests are named for what they guard")]

mod common;
#[path = "common/training.rs"]
mod training;

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use hmcvi_graph::{CpuOptions, Real};
use training::{SMALL, Trainer, model, random_store};

/// The system's allocator, with a count of calls while counting is on. All threads are counted, so
/// this file has one test only.
struct Counting;

static ON: AtomicBool = AtomicBool::new(false);
static CALLS: AtomicUsize = AtomicUsize::new(0);

fn count() {
    if ON.load(Ordering::SeqCst) {
        CALLS.fetch_add(1, Ordering::SeqCst);
    }
}

// SAFETY: every call is passed on to the system's allocator as it is.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count();
        // SAFETY: guaranteed by the caller.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        count();
        // SAFETY: guaranteed by the caller.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count();
        // SAFETY: guaranteed by the caller.
        unsafe { System.realloc(pointer, layout, size) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        count();
        // SAFETY: guaranteed by the caller.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Allocations and releases of everything that `run` does.
fn allocations(run: impl FnOnce()) -> usize {
    CALLS.store(0, Ordering::SeqCst);
    ON.store(true, Ordering::SeqCst);
    run();
    ON.store(false, Ordering::SeqCst);
    CALLS.load(Ordering::SeqCst)
}

fn check_training<T: Real>(threads: usize) {
    let program = model::training_step(SMALL);
    let options = CpuOptions { threads, ..CpuOptions::for_rows(200) };
    let mut trainer = Trainer::<T>::new(&program, options, SMALL, random_store(SMALL));
    // The first use of a lock or a thread may allocate.
    trainer.step(200);
    let found = allocations(|| {
        // Batches of fewer rows need no other memory.
        for rows in [200, 200, 7, 100, 1, 200] {
            trainer.step(rows);
        }
    });
    assert_eq!(found, 0, "on {threads} threads");
}

#[test]
fn training_steps_allocate_nothing() {
    let seen = allocations(|| drop(std::hint::black_box(vec![1u8; 100])));
    assert_eq!(seen, 2, "the counter counts an allocation and its release");
    for threads in [1, 2] {
        check_training::<f32>(threads);
        check_training::<f64>(threads);
    }
}
