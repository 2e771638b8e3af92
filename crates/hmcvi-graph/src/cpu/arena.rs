//! Take memory for the values of a program, in huge pages where the system has them.
//!
//! A training step walks through tens of megabytes; with pages of four kilobytes much of its time
//! goes into looking them up.

use std::alloc::{Layout, alloc_zeroed, dealloc, handle_alloc_error};
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;

use crate::real::Real;

/// Size of a huge page, and the size from which on memory is taken in such pages.
const HUGE_PAGE: usize = 2 << 20;
/// A cache line.
const LINE: usize = 64;

/// A fixed number of values, zero at first.
pub(super) struct Arena<T> {
    start: NonNull<T>,
    len: usize,
    layout: Layout,
    values: PhantomData<T>,
}

// SAFETY: an arena owns its values like a vector.
unsafe impl<T: Send> Send for Arena<T> {}
// SAFETY: as above.
unsafe impl<T: Sync> Sync for Arena<T> {}

impl<T: Real> Arena<T> {
    pub(super) fn new(len: usize) -> Self {
        let bytes = (len * size_of::<T>()).max(LINE);
        let align = if bytes >= HUGE_PAGE { HUGE_PAGE } else { LINE };
        let layout =
            Layout::from_size_align(bytes.next_multiple_of(align), align).expect("memory of a sane size");
        // SAFETY: the layout is not empty; zero bits are the number zero.
        let memory = unsafe { alloc_zeroed(layout) };
        let Some(start) = NonNull::new(memory.cast::<T>()) else { handle_alloc_error(layout) };
        #[cfg(target_os = "linux")]
        if align == HUGE_PAGE {
            // SAFETY: advice about memory that was just allocated; a refusal changes nothing.
            unsafe { libc::madvise(memory.cast(), layout.size(), libc::MADV_HUGEPAGE) };
        }
        Arena { start, len, layout, values: PhantomData }
    }
}

impl<T> Deref for Arena<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        // SAFETY: the arena owns `len` initialised values.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr(), self.len) }
    }
}

impl<T> DerefMut for Arena<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        // SAFETY: as above, and the borrow is exclusive.
        unsafe { std::slice::from_raw_parts_mut(self.start.as_ptr(), self.len) }
    }
}

impl<T> Drop for Arena<T> {
    fn drop(&mut self) {
        // SAFETY: allocated with this layout in `new`.
        unsafe { dealloc(self.start.as_ptr().cast(), self.layout) };
    }
}
