//! The command's allocator, which is the system's. If memory runs out, the command ends with status 2 and a message of
//! one line, not with an abort. Before large allocations the library checks the memory itself, with a better message.

use std::alloc::{GlobalAlloc, Layout, System};
use std::io::Write;

use crate::signals;

/// The system's allocator, with a message on failure.
pub struct Reporting;

// SAFETY: every call is one of the system's allocator, and a failure does not return.
unsafe impl GlobalAlloc for Reporting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller fulfils the same contract as the system's allocator demands.
        given(unsafe { System.alloc(layout) }, layout.size())
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller fulfils the same contract as the system's allocator demands.
        given(unsafe { System.alloc_zeroed(layout) }, layout.size())
    }

    unsafe fn realloc(&self, at: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: the caller fulfils the same contract as the system's allocator demands.
        given(unsafe { System.realloc(at, layout, size) }, size)
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        // SAFETY: the caller fulfils the same contract as the system's allocator demands.
        unsafe { System.dealloc(at, layout) }
    }
}

fn given(memory: *mut u8, size: usize) -> *mut u8 {
    if memory.is_null() {
        refuse(size);
    }
    memory
}

#[cold]
fn refuse(size: usize) -> ! {
    // The text is on the stack, since no memory is left.
    let mut text = [0; 160];
    let mut rest = &mut text[..];
    let _ = writeln!(
        rest,
        "error: out of memory: {size} bytes more are not to be had; give the command more, or less to do"
    );
    let left = rest.len();
    signals::leave(2, &text[..text.len() - left])
}
