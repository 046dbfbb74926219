//! Counts heap allocations, so that a report can show that a step makes none, and the bytes in use, so that a soak can show that
//! nothing is kept.
//!
//! The allocation tests of the facade include this very file, since it cannot depend on the harness.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};

static COUNT: AtomicU64 = AtomicU64::new(0);
/// Bytes handed out and not yet given back. Signed: threads may be seen to give back before they were seen to take.
static LIVE: AtomicI64 = AtomicI64::new(0);

/// The system's allocator with a counter in front of it; the binary installs it as its global allocator.
pub struct Counting;

// SAFETY: every call goes unchanged to the system's allocator, which keeps the contract of `GlobalAlloc`; the counter
// touches no memory of the caller.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        note(layout.size() as i64);
        // SAFETY: the caller's promises about `layout` are those the system's allocator asks for.
        unsafe { System.alloc(layout) }
    }
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        note(layout.size() as i64);
        // SAFETY: as in `alloc`.
        unsafe { System.alloc_zeroed(layout) }
    }
    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, new_size: usize) -> *mut u8 {
        note(new_size as i64 - layout.size() as i64);
        // SAFETY: `pointer` came from the system's allocator, since nothing else ever served a request.
        unsafe { System.realloc(pointer, layout, new_size) }
    }
    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        LIVE.fetch_sub(layout.size() as i64, Ordering::Relaxed);
        // SAFETY: as in `realloc`.
        unsafe { System.dealloc(pointer, layout) }
    }
}

/// One more request, which changes the bytes in use by so many.
fn note(bytes: i64) {
    COUNT.fetch_add(1, Ordering::Relaxed);
    LIVE.fetch_add(bytes, Ordering::Relaxed);
}

/// Allocations of all threads since the program began; 0 when [`Counting`] is not installed.
pub fn count() -> u64 {
    COUNT.load(Ordering::Relaxed)
}

/// Bytes in use by all threads; 0 when [`Counting`] is not installed.
#[allow(dead_code, reason = "the allocation tests that include this file count requests alone")]
pub fn live_bytes() -> i64 {
    LIVE.load(Ordering::Relaxed)
}
