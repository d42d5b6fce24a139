//! How much memory a step takes: an allocator that counts, per thread.
//!
//! Without [`Counting`] as the global allocator everything seems to take nothing.

#![allow(unsafe_code, reason = "an allocator is unsafe by its nature; this one only counts")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

thread_local! {
    static LIVE: Cell<isize> = const { Cell::new(0) };
    static PEAK: Cell<isize> = const { Cell::new(0) };
}

/// The system's allocator, counting the live bytes of each thread.
pub struct Counting;

fn count(bytes: isize) {
    // The counters are gone while a thread ends; nobody asks for them then.
    let _ = LIVE.try_with(|live| {
        live.set(live.get() + bytes);
        PEAK.with(|peak| peak.set(peak.get().max(live.get())));
    });
}

// SAFETY: every call goes to the system's allocator unchanged.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size().cast_signed());
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, place: *mut u8, layout: Layout) {
        count(-layout.size().cast_signed());
        unsafe { System.dealloc(place, layout) }
    }

    unsafe fn realloc(&self, place: *mut u8, layout: Layout, new_size: usize) -> *mut u8 {
        // While it is moved both places are taken.
        count(new_size.cast_signed());
        count(-layout.size().cast_signed());
        unsafe { System.realloc(place, layout, new_size) }
    }
}

/// Runs a step and answers how many bytes this thread held more at the highest moment of it than before it.
pub fn peak_bytes<R>(step: impl FnOnce() -> R) -> (R, usize) {
    let before = LIVE.with(Cell::get);
    PEAK.with(|peak| peak.set(before));
    let result = step();
    let peak = PEAK.with(Cell::get) - before;
    (result, peak.max(0).cast_unsigned())
}
