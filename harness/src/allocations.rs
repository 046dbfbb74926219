//! Counts heap allocations, so that a report can show that a step makes none.
//!
//! `tests/allocation.rs` of the facade includes this very file, since it cannot depend on the harness.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicU64, Ordering};

static COUNT: AtomicU64 = AtomicU64::new(0);

/// The system's allocator with a counter in front of it; the binary installs it as its global allocator.
pub struct Counting;

// SAFETY: every call goes unchanged to the system's allocator, which keeps the contract of `GlobalAlloc`; the counter
// touches no memory of the caller.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        COUNT.fetch_add(1, Ordering::Relaxed);
        // SAFETY: the caller's promises about `layout` are those the system's allocator asks for.
        unsafe { System.alloc(layout) }
    }
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        COUNT.fetch_add(1, Ordering::Relaxed);
        // SAFETY: as in `alloc`.
        unsafe { System.alloc_zeroed(layout) }
    }
    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, new_size: usize) -> *mut u8 {
        COUNT.fetch_add(1, Ordering::Relaxed);
        // SAFETY: `pointer` came from the system's allocator, since nothing else ever served a request.
        unsafe { System.realloc(pointer, layout, new_size) }
    }
    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: as in `realloc`.
        unsafe { System.dealloc(pointer, layout) }
    }
}

/// Allocations of all threads since the program began; 0 when [`Counting`] is not installed.
pub fn count() -> u64 {
    COUNT.load(Ordering::Relaxed)
}
